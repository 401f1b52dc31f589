# No figure is absurd: every presenter and exporter over every importer and every kind of profile. A
# number that a recording does not know is "-", null or left out; it is never added, compared or printed.
. "$HERE/lib.sh"
. "$HERE/commanded.sh"
command -v python3 >/dev/null || skip "no python3"
export PYTHONDONTWRITEBYTECODE=1 PAGER=cat
mkdir made job

# ---- Importers: files of every format; those of the fuzzer's corpus begin with a byte of its own.
corpus=$HERE/../../fuzz/corpus/import
for name in heaptrack massif dhat_valgrind jemalloc gperftools pprof; do
    tail -c +2 "$corpus/$name" >$name.file
done
# What valgrind writes: a peak with its tree, in milliseconds and in instructions.
valgrind_massif() { # UNIT
    printf 'desc: (none)\ncmd: ./server --quiet\ntime_unit: %s\n' "$1"
    snapshot() {
        printf '#-----------\nsnapshot=%s\n#-----------\ntime=%s\nmem_heap_B=%s\n' "$1" "$2" "$3"
        printf 'mem_heap_extra_B=16\nmem_stacks_B=0\nheap_tree=%s\n' "$4"
    }
    snapshot 0 0 0 empty
    snapshot 1 120 70000 peak
    echo "n2: 70000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc."
    echo " n1: 69000 0x1234: load (load.c:7)"
    echo "  n0: 69000 0x2345: main (main.c:3)"
    echo " n0: 1000 in 2 places, all below massif's threshold (1.00%)"
    snapshot 2 150 400 empty
}
valgrind_massif ms >massif_ms.file
valgrind_massif i >massif_i.file
# A heap dump without what was ever allocated, and a pprof file of nothing but that.
printf 'heap_v2/1\n  t*: 3: 300 [0: 0]\n@ 0x1000 0x2000\n  t*: 3: 300 [0: 0]\n' >jemalloc_live.file
{
    printf '\012\004\010\001\020\002\022\007\012\001\001\022\002\200\020' # a sample type, a sample: 2048
    printf '\042\006\010\001\042\002\010\001\052\004\010\001\020\003'     # its location and function
    printf '\062\000\062\013alloc_space\062\005bytes\062\004main'
} >pprof_alloc.file
for file in *.file; do
    tidemark import -o "made/import_${file%.file}.tmk" "$file" 2>err || cat err
done

# ---- Kinds of profiles.
record() { # NAME [options] PROGRAM…
    local name=$1
    shift
    tidemark record -q -o "made/$name.tmk" "$@" >out 2>err || echo "record $name: status $?"
}
record exact "$VICTIMS/basic"
record cxx --trace "$VICTIMS/cxx_new" 1
record sampled --sample=4K "$VICTIMS/basic"
record callers --stacks=none "$VICTIMS/basic"
record timed --timed "$VICTIMS/basic"
record freed --free-stacks "$VICTIMS/freed"
record threads "$VICTIMS/crossfree" 2
record budget --budget-cpu=1% "$VICTIMS/basic"
record drops --no-looks "$VICTIMS/realloc"
record regions "$APIS/api_phases"
record pages --allocator=bfm --events=pages "$VICTIMS/cxx_new" 1
record little true
tidemark replay -q -o made/window.tmk --from=20% --to=70% made/cxx.tmt
tidemark replay -q -o made/instant.tmk --from=peak --to=peak made/cxx.tmt

# Cut short; a snapshot of a program that goes on; attached to one.
commanded -q -o made/killed.tmk
say a 200 3000
until_true tidemark report made/killed.tmk >out
kill_hard "$(collector_of $recorder)" $recorder
exec 3>&- 4<&-
commanded -q -o made/running.tmk
say a 50 1000
until_true tidemark snapshot $recorder >out
say x 0
ended >out
mv made/running.snap-1.tmk made/snapshot.tmk
rm -f commands answers
mkfifo commands answers
"$CLI/cli_commanded" <commands >answers 2>err &
program=$!
exec 3>commands 4<answers
say a 10 1000
tidemark attach -q -o made/attached.tmk $program >out 2>attach.err &
attached=$!
attached_or_refused() { [ -s made/attached.tmk ] || ! kill -0 $attached; }
until_true attached_or_refused
if [ -s made/attached.tmk ]; then
    say a 50 2000
    tidemark attach --detach $program >out 2>&1
    wait $attached
fi
say x 0
exec 3>&- 4<&-
wait $program
rm -f commands answers

# ---- Jobs: recorded ranks, one of which dies; and imported ones.
export PMI_SIZE=3
for rank in 0 1 2; do
    PMI_RANK=$rank tidemark record -q --job=job "$VICTIMS/imbalance" >out 2>err
done
unset PMI_SIZE
tidemark job -o made/job.tmk job >out 2>err || cat err
tidemark job -o made/job_of_imports.tmk made/import_massif_ms.tmk made/import_massif_i.tmk >out 2>err || cat err
tidemark job -o made/job_of_dumps.tmk made/import_jemalloc.tmk made/import_dhat_valgrind.tmk >out 2>err || cat err

# ---- All of it.
python3 "$HERE/absurd.py" made job
