#!/bin/sh
# The instructions of a pair of malloc and free, counted by callgrind: no load of the machine changes
# them. Two runs, so that what a process costs by itself cancels out. The loop's own 10 are included.
pairs=$1
command -v valgrind >/dev/null || { echo "no valgrind"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the bounds are x86-64's"; exit 77; }
failed=0

count() { # BYTES PAIRS
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$pairs" "$1" "$2" 2>&1 |
        sed -n 's/.*Collected : //p'
}

at_most() { # INSTRUCTIONS BYTES
    few=$(count "$2" 2000) many=$(count "$2" 12000)
    each=$(((many - few) / 10000))
    echo "$2 bytes: $each instructions a pair, at most $1"
    [ -n "$few" ] && [ "$each" -gt 10 ] && [ "$each" -le "$1" ] || failed=1
}

for bytes in 16 32 64 512; do at_most 57 $bytes; done
for bytes in 513 600 2048 8192 32000 32768; do at_most 128 $bytes; done
exit $failed
