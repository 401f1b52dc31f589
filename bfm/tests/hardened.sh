#!/bin/sh
# What BFM_OPTIONS notices, and what goes unnoticed without: each misuse in a process of its own.
hardened=$1
failed=0
ulimit -c 0

expect() { # STATUS OPTIONS MISUSE
    BFM_OPTIONS=$2 "$hardened" "$3" 2>said
    status=$?
    [ $status = "$1" ] || { echo "$3 with BFM_OPTIONS=$2: exit status $status, not $1"; cat said; failed=1; }
    [ "$1" != 134 ] || grep -q '^BFM: ' said || { echo "$3: nothing was said"; failed=1; }
}

expect 134 check twice
expect 134 check inside
for misuse in twice-tree twice-tree-soon twice-tree-late resized-after-free front-after-free \
    before-region twice twice-after-one misaligned long-write \
    long-write-at-the-end long-write-before-another links-after-free foreign \
    twice-large resized-large-after-free empty-twice empty-inside never-taken; do
    expect 134 '' $misuse
done
# Addresses without access end the program by SIGSEGV, which the sanitizers would report in another way.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0
TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}handle_segv=0
export ASAN_OPTIONS TSAN_OPTIONS
for misuse in empty-read empty-write far-behind far-behind-tree far-before far-before-tree; do
    expect 139 '' $misuse
done
expect 139 check,canary,random,zero empty-read
for misuse in one-behind one-before twice inside inside-page foreign; do
    expect 134 guard $misuse
done
for misuse in page-behind behind-whole-page before-whole-page read-after-free long-write; do
    expect 139 guard $misuse
done
expect 0 guard same-again
expect 0 guard many-guarded
expect 0 guard guarded-again
expect 0 guard,canary,zero,random many-guarded
expect 134 canary behind
expect 134 canary behind-tree
expect 0 zero stale
expect 0 random ordered
expect 1 '' ordered
for options in '' check canary random zero guard guard,canary canary,zero,random no-huge no-populate decay=0 decay=never,cache=0; do
    expect 0 "$options" right
done
expect 0 nonsense,decay=x right
grep -q '"nonsense" is not understood' said && grep -q '"decay=x" is not understood' said ||
    { echo "unknown options are passed over in silence"; failed=1; }
# It says that this is ignored, so it must be.
expect 0 canary=0 behind
grep -q '"canary=0" is not understood' said || { echo "canary=0 is passed over in silence"; failed=1; }
rm -f said
exit $failed
