# Other tools' files as profiles: what is known, what is not, and what is refused.
. "$HERE/lib.sh"

echo "# massif"
cat >massif.out <<'M'
desc: (none)
cmd: ./server --quiet
time_unit: ms
#-----------
snapshot=0
#-----------
time=0
mem_heap_B=0
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=empty
#-----------
snapshot=1
#-----------
time=120
mem_heap_B=1000
mem_heap_extra_B=16
mem_stacks_B=0
heap_tree=peak
n2: 1000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n1: 900 0x1234: load (load.c:7)
  n0: 900 0x2345: main (main.c:3)
 n0: 100 in 2 places, all below massif's threshold (1.00%)
M
try tidemark import massif.out
sentence 'wrote massif.out.tmk'
tidemark report massif.out.tmk | sed 's/ *$//' | sed -n '1,/imported/p; /^  allocations /p; /^  frees /p'
tidemark report --json massif.out.tmk | jq -c '.program | [.at_peak_bytes, .peak_ns, .alloc_count, .live_bytes]'
tidemark export --to folded -o - massif.out.tmk
tidemark insight massif.out.tmk | head -3
try tidemark report --sort count massif.out.tmk
sentence 'did not record it'
echo "# massif calls a moment the peak that is none: the highest moment with call paths is it, and what is above is said"
more() { # TIME BYTES TREE
    printf '#-----------\nsnapshot=2\n#-----------\ntime=%s\nmem_heap_B=%s\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n' "$@"
}
{ cat massif.out && more 150 5000 detailed && echo 'n0: 5000 0x1234: load (load.c:7)' && more 180 6000 empty; } >grown.out
tidemark import grown.out 2>/dev/null
tidemark report --json grown.out.tmk | jq -c '.program | [.at_peak_bytes, .peak_bytes, .peak_ns]'
tidemark report grown.out.tmk | tr -s ' \n' ' ' | grep -o 'the peak is the .* without them'
{ sed '/^heap_tree=peak/,$d; s/^time_unit: ms/time_unit: i/' massif.out && echo heap_tree=empty; } >flat.out
tidemark import flat.out 2>/dev/null
tidemark report flat.out.tmk | tr -s ' \n' ' ' | grep -o 'one of its units\|there are no call paths'

echo "# jemalloc"
cat >jemalloc.heap <<'M'
heap_v2/1
  t*: 3: 300 [5: 500]
@ 0x1000 0x2000
  t*: 2: 200 [4: 400]
  t0: 2: 200 [4: 400]
@ 0x3000 0x2000
  t*: 1: 100 [1: 100]

MAPPED_LIBRARIES:
1000-4000 r-xp 00000000 00:00 1 /nowhere/program
M
tidemark import -o jemalloc.tmk jemalloc.heap 2>/dev/null
tidemark report --json jemalloc.tmk | jq -c '.program | [.live_bytes, .live_count, .alloc_count, .alloc_bytes, .at_peak_bytes]'
echo "# sampled ones are scaled: 1 / (1 - exp(-100 / 1000))"
sed -i 's,heap_v2/1,heap_v2/1000,' jemalloc.heap
tidemark import --force -o jemalloc.tmk jemalloc.heap 2>/dev/null
tidemark report --json jemalloc.tmk | jq -c '.program | [.live_bytes, .live_count]'
echo "# gperftools"
printf 'heap profile:      2:      200 [     4:      400] @ heapprofile\n     2:      200 [     4:      400] @ 0x1000 0x2000\n' >tc.heap
tidemark import tc.heap 2>/dev/null && tidemark report --json tc.heap.tmk | jq -c '.program | [.live_bytes, .alloc_count]'
tidemark report tc.heap.tmk | grep -o 'not recorded by .*' | sort -u

echo "# packed"
gzip -k massif.out
tidemark import massif.out.gz -o packed.tmk 2>/dev/null
tidemark report --json packed.tmk | jq .program.at_peak_bytes

echo "# what is refused"
refused() {
    try tidemark import "$@"
    sed 1q err | sed 's/^tidemark import: //'
}
refused
refused nothing
refused massif.out
refused --from fortran massif.out
printf 'hello\n' >text
refused text
printf '\037\213junk' >text.gz
refused text.gz
refused --from massif text
tidemark record -q --trace -o own.tmk true
tidemark unpack own.tmk own.db
for own in own.tmk own.db own.tmt; do
    refused -o other.tmk $own
done
rm own.*
printf 'v 10400 9\n' >future
refused future
printf 'v 10400 3\n+ 5\n' >wild
refused wild
printf 'v 10400 3\ns ffffffffffff x\n' >long
refused long
printf '{"dhatFileVersion":2,"mode":"heap","ftbl":["[root]"],"pps":[{"tb":1,"tbk":1,"fs":[7]}]}' >wild.json
refused wild.json
refused /dev/null
ls *.tmk
