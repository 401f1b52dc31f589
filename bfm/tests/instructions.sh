#!/bin/sh
# The instructions of a pair of malloc and free, counted by callgrind: no load of the machine changes
# them. Two runs, so that what a process costs by itself cancels out. The loop's own 10 are included.
pairs=$1
command -v valgrind >/dev/null || { echo "no valgrind"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the bounds are x86-64's"; exit 77; }
failed=0

count() { # BYTES PAIRS [HOW]
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$pairs" "$@" 2>&1 |
        sed -n 's/.*Collected : //p'
}

at_most() { # INSTRUCTIONS BYTES [HOW]
    bytes=$2 most=$1
    shift 2
    few=$(count "$bytes" 2000 "$@") many=$(count "$bytes" 12000 "$@")
    each=$(((many - few) / 10000))
    echo "$bytes bytes${1:+, $1}: $each instructions a pair, at most $most"
    [ -n "$few" ] && [ "$each" -gt 10 ] && [ "$each" -le "$most" ] || failed=1
}

for bytes in 16 32 64 512; do at_most 54 $bytes; done
for bytes in 513 600 2048 8192 32000 32768; do at_most 109 $bytes; done
at_most 200 24 resize
at_most 220 200 resize
at_most 230 24 heard
at_most 395 600 resize
at_most 600 600 heard
at_most 190 600 clear
at_most 280 600 align
at_most 156 16 many
at_most 170 104 many
at_most 290 512 many
at_most 655 513 all
at_most 695 1000 all
at_most 890 5000 all
exit $failed
