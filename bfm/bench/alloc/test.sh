#!/bin/bash
# What ctest runs of the bench: it measures nothing. BENCH, COUNT and BROKEN are as CMakeLists.txt says.
# ALLOCATOR, a library, is tested in glibc's place if it is given.
set -eu
unset LD_PRELOAD
ulimit -c 0
allocator=${ALLOCATOR:-libc.so.6}
work=$(mktemp -d "${TMPDIR:-/tmp}/bench-alloc.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$*"
    exit 1
}

# Every pattern runs to its end, each block keeps its contents until its free, and nothing is misaligned.
patterns() {
    "$BENCH" --list >"$work/list"
    [ "$(grep -c '^pattern ' "$work/list")" = 28 ] || fail "the report has 28 patterns"
    [ "$(grep -c ' 1$' "$work/list")" = 17 ] || fail "the slowest call is that of 17 streams"
    for name in $(cut -d' ' -f2 "$work/list") netbuild:1/1 netbuild:5/2 worst:3; do
        LD_PRELOAD=$allocator "$BENCH" "$name" --mode=check --bytes=1000000 --shapes=2000 >"$work/out" ||
            fail "$name ended with $?"
        grep -q "\"pattern\": \"$name\"" "$work/out" || fail "$name said: $(cat "$work/out")"
        if grep -q '"misaligned"' "$work/out"; then
            grep -q '"misaligned": 0' "$work/out" || fail "$name: $(cat "$work/out")"
        fi
    done
    for mode in time plain latency; do
        LD_PRELOAD=$allocator "$BENCH" r:1-63 --mode=$mode --bytes=1000000 >"$work/out" ||
            fail "r:1-63 --mode=$mode ended with $?"
    done
}

# As many calls are counted as the pattern makes.
count() {
    command -v qemu-x86_64 >/dev/null || { echo "skip: qemu-x86_64 is not installed"; exit 77; }
    case $(uname -m) in x86_64) ;; *) echo "skip: marks are known on x86-64 only"; exit 77 ;; esac
    qemu-x86_64 -plugin "$COUNT,out=$work/count" -E LD_PRELOAD="$allocator" -E LD_BIND_NOW=1 \
        "$BENCH" m12:1-N/128 --mode=count --blocks=1024 >"$work/out" 2>"$work/err" || {
        grep -q 'API version' "$work/err" && { echo "skip: $(cat "$work/err")"; exit 77; }
        fail "qemu ended with an error: $(cat "$work/err")"
    }
    pairs=$(sed 's/.*"pairs": \([0-9]*\).*/\1/' "$work/out")
    for call in malloc free; do
        counted=$(sed "s/.*\"$call\": {\"calls\": \([0-9]*\).*/\1/" "$work/count")
        [ "$counted" = "$pairs" ] || fail "$counted of $pairs calls of $call are counted"
        most=$(sed "s/.*\"$call\": {[^}]*\"max\": \([0-9]*\).*/\1/" "$work/count")
        [ "$most" -ge 5 ] || fail "no $call takes $most instructions"
    done
}

stress() {
    LD_PRELOAD=$allocator "$BENCH" stress:4 --blocks=50000 --strict || fail "the stress ended with $?"
}

# Each mistake is found by what looks for it.
broken() {
    LD_PRELOAD=$BROKEN "$BENCH" stress:2 --blocks=4000 >/dev/null || fail "without a mistake: $?"
    LD_PRELOAD=$BROKEN "$BENCH" r:1-63 --mode=check --bytes=1000000 >/dev/null ||
        fail "without a mistake: $?"
    for mistake in overlap short dirty lost; do
        if BROKEN_BY=$mistake LD_PRELOAD=$BROKEN "$BENCH" stress:2 --blocks=8000 2>"$work/err"; then
            fail "$mistake is not found by the stress"
        fi
        grep -q '^bench_alloc: .*--seed=' "$work/err" || fail "$mistake: $(cat "$work/err")"
    done
    if BROKEN_BY=overlap LD_PRELOAD=$BROKEN "$BENCH" r:1-63 --mode=check --bytes=4000000 2>"$work/err"
    then
        fail "overlapping blocks are not found by a pattern"
    fi
    grep -q 'no longer holds' "$work/err" || fail "overlap: $(cat "$work/err")"
    # half the lie's length: what was taken out for other programs is known to some microseconds only
    BROKEN_BY=tardy LD_PRELOAD=$BROKEN "$BENCH" r:1-63 --mode=latency --bytes=1000000 >"$work/out" ||
        fail "a slow allocator ends with $?"
    slowest=$(sed 's/.*"malloc": {[^}]*"max_ns": \([0-9]*\).*/\1/' "$work/out")
    [ "$slowest" -ge 1500000 ] || fail "calls of 3 ms are not found: $(cat "$work/out")"
    if "$BENCH" no-such-pattern 2>"$work/err"; then
        fail "a pattern that is none is run"
    fi
    grep -q "there is no pattern 'no-such-pattern'" "$work/err" || fail "$(cat "$work/err")"
}

# The driver, with little to do: what it prints, draws and writes; a library that is no allocator has no
# figures and says so.
driver() {
    command -v python3 >/dev/null || { echo "skip: python3 is not installed"; exit 77; }
    (cd "$SOURCE/bfm/bench/alloc" && python3 -B - <<'END') || fail "a real program has no input"
import os, programs
words = [word for _, argv, _ in programs.commands() for word in argv or ()]
lost = [word for word in words if word.startswith(programs.ROOT) and not os.path.exists(word)]
assert not lost, lost
END
    cp "$BENCH" "$work/bench_alloc"
    cp "$COUNT" "$work/count_plugin.so"
    python3 "$SOURCE/bfm/bench/alloc.py" --bin="$work" --work="$work" --quick --bytes=1000000 --shapes=500 \
        --parts=patterns,streams,threads,latency --only='^(r:1-63|lifo:13|comb|netbuild:4/1|worst:2)$' \
        --allocators=glibc,other,none --with=other="$BROKEN" --with=none="$COUNT" >"$work/out" ||
        fail "alloc.py ended with $?: $(cat "$work/out")"
    grep -q '^none has no figure for patterns r:1-63 (time): malloc came from ' "$work/out" ||
        fail "a library that is no allocator is taken for one: $(cat "$work/out")"
    python3 - "$work/alloc.json" <<'END' || fail "the JSON is not as expected: $(cat "$work/out")"
import json, sys
bench = json.load(open(sys.argv[1]))
means = bench["figures"]["means"]
assert means["cpu_ns"]["glibc"] == means["rss_peak_bytes"]["glibc"] == 1, means
peak = bench["figures"]["threads"]["rss_peak_bytes"]
assert peak["worst:2"]["other"] > 1.2, "who never frees needs more memory: %s" % peak
assert means["cpu_ns"]["none"] is None, means
assert {run["pattern"] for run in bench["runs"]} == {"r:1-63", "lifo:13", "comb", "netbuild:4/1", "worst:2"}
assert {failure["by"] for failure in bench["failures"]} == {"none"}, bench["failures"]
assert bench["figures"]["slowdown"]["glibc"]["value"] > 0
assert bench["figures"]["latency"]["slowest"]["glibc"]["value"] > 0
END
    for plot in patterns-cpu patterns-rss_peak threads-cpu slowest-call means; do
        python3 -c 'import sys, xml.dom.minidom as d; d.parse(sys.argv[1])' \
            "$work/alloc-plots/$plot.svg" || fail "$plot.svg is not drawn"
    done
    if python3 "$SOURCE/bfm/bench/alloc.py" --bin="$work" --work="$work" --with=x 2>"$work/err"; then
        fail "an allocator without a path is taken"
    fi
    grep -q 'NAME=LIBRARY' "$work/err" || fail "$(cat "$work/err")"
}

"$1"
