# Known streams of allocations under other allocators, good and bad ones. What depends on the machine
# is compared with what must hold of it.
. "$HERE/lib.sh"
export PAGER=cat

toy=$VICTIMS/toy_allocator.so
for kind in stairs handover brief growth unknown sampled nothing huge; do
    "$VICTIMS/known_trace" $kind $kind.tmt
done

# What jq says of `tidemark replay --json --under=$1 $2`, with options behind.
ask() {
    local under=$1 trace=$2 filter=$3
    shift 3
    tidemark replay --json --rounds=1 --under="$under" "$@" $trace.tmt | jq -c "$filter"
}

echo "== what is known of a stream"
for kind in stairs handover brief growth unknown; do
    ask glibc $kind '[.trace, .stream.calls, .stream.threads, .stream.requested_peak_bytes,
        .stream.requested_at_end_bytes, .stream.blocks_freed_by_another_thread]'
done
ask glibc unknown '.stream.left_out'

echo "== the C library's allocator: peak and waste"
# 96 MiB were asked for, in blocks of 64 KiB with 16 bytes each beside them.
ask glibc stairs '.allocators[0] | .peak_resident_bytes.median / 1048576 | (. > 95.9 and . < 98)'
ask glibc stairs '.allocators[0] | .waste_bytes / 1048576 | (. > -0.1 and . < 2)'
ask glibc stairs '.allocators[0] | [(.resident_bytes | length), .failed_calls.median, .failure]'
ask glibc stairs '.allocators[0] | (.resident_bytes[0] / 1048576 | . > 60 and . < 66)'
ask glibc stairs '.allocators[0] | .peak_resident_bytes.median / 1048576 | . < 50' --touch=first
ask glibc stairs '.allocators[0] | [.waste_bytes, (.peak_resident_bytes.median / 1048576 | . < 10)]' \
    --touch=none

echo "== a realloc writes what is new, and no more than that"
ask glibc growth '.allocators[0] | .peak_resident_bytes.median / 1048576 | (. > 15.9 and . < 32)'

echo "== threads, in any order"
for order in near free strict; do
    for kind in handover brief; do
        ask glibc,TOY=bump\ $toy $kind \
            '[.order, (.allocators[] | [.rounds, .failure, .failed_calls.median])]' --order=$order
    done
done
ask glibc handover '.allocators[0].call_ns | [.malloc.median > 0, .free.p99 > 0, .realloc.median]'

echo "== other people's allocators"
for name in jemalloc tcmalloc mimalloc; do
    # What is not installed cannot be asked.
    if tidemark replay --rounds=1 --under=$name nothing.tmt 2>&1 | grep -q 'usual places'; then
        echo "[1,null,0,true]"
        continue
    fi
    ask $name handover '.allocators[0] | [.rounds, .failure, .failed_calls.median,
        (.malloc_in != null and (.malloc_in | test("libc.so") | not))]'
done

echo "== an allocator that gives nothing back"
# 64 + 64 MiB in large blocks, and 20,000 of 100 bytes with 44 beside them
ask "TOY=bump $toy" stairs '.allocators[0] | .peak_resident_bytes.median / 1048576
    | (. > 130 and . < 132)'
echo "== one that takes a page more for each block"
ask "TOY=bloat $toy" stairs '.allocators[0] | .peak_resident_bytes.median / 1048576
    | (. > 250 and . < 320)'

echo "== one that has no memory"
ask "TOY=empty $toy" stairs '.allocators[0] | [.rounds, .failed_calls.median, .failure]'

echo "== bad ones cost their own row only"
try tidemark replay --rounds=2 --patience=1s --json \
    --under="TOY=crash $toy,TOY=abort $toy,TOY=hang $toy,glibc" stairs.tmt
jq -c '.allocators[] | [(.allocator | sub(" .*"; "")), .rounds, .failure,
    .peak_resident_bytes.median != null, (.reached // 1 | . * 100 | floor)]' out
cat err

echo "== as text"
try tidemark replay --rounds=1 --under="TOY=crash $toy,glibc" stairs.tmt
sed -n '1,5p' out
grep -A1 '^Failures' out | tail -1 | sed 's/TOY=.*\.so/toy/; s/  */ /g'
grep -c 'requested' out

echo "== a library that is no allocator"
try tidemark replay --rounds=1 --json --under="$VICTIMS/plugin_alpha.so" stairs.tmt
jq -c '.allocators[0] | [.rounds, .failure, .peak_resident_bytes]' out

echo "== a damaged trace is run as far as it can be read"
head -c $(($(stat -c %s handover.tmt) * 2 / 3)) handover.tmt >cut.tmt
ask glibc cut '[(.stream.calls > 60000 and .stream.calls < 160000),
    (.allocators[0] | .rounds, .failure)]'

echo "== refusals"
try tidemark replay --under=glibc sampled.tmt
sentence 'sample'
try tidemark replay --under=glibc nothing.tmt
sentence 'no allocations'
try tidemark replay --under=glibc huge.tmt
sentence '1.00 TiB at once.*--touch'
try tidemark replay --under=glibc missing.tmt
sentence 'missing.tmt'
try tidemark replay --under=no-such-allocator stairs.tmt
sentence 'no-such-allocator.*usual places'
try tidemark replay --under=./known.so stairs.tmt
sentence 'known.so.*No such file'
echo text >text.so
try tidemark replay --under=./text.so stairs.tmt
sentence 'not a shared library'
try tidemark replay --under=glibc,, stairs.tmt
sentence 'empty name'
try tidemark replay --under=A=1 stairs.tmt
sentence 'setting without an allocator'
try "$(dirname "$BIN")/libexec/tidemark/tidemark-alloc-driver"
sentence 'not by hand'

echo "== nobody comes to the end"
try tidemark replay --rounds=1 --patience=200ms --under="TOY=hang $toy" stairs.tmt
tr -s ' \n' ' ' <out | grep -c 'no call came back for 200 ms'
sentence "no allocator came to the end of the stream"
try tidemark replay --rounds=0 --under=glibc stairs.tmt
sentence "rounds takes 1 to 1000"
