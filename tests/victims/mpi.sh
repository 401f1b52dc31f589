#!/bin/bash
# mpi.sh openmpi|mpich RANKS EXPECT VICTIM: runs an MPI victim bare and recorded in the two ways that
# there are, compares what it prints and its exit status, and checks the profile of each rank with
# EXPECT, where `rank` and `ranks` are known. TIDEMARK names the command.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/mpi.sh"
launcher=$1 ranks=$2 expect=$3 victim=$4
command -v mpirun.$launcher >/dev/null || { echo "skip: no mpirun.$launcher"; exit 77; }
library=$(cd "$(dirname "$TIDEMARK")/../lib" && pwd)/libtidemark.so
work=run/mpi.$launcher.$(basename "$expect" .expect)
rm -rf "$work"
mkdir -p "$work/db"
failed=0
ulimit -c 0

say() {
    echo "$*"
    failed=1
}

# Each process's entry as a file of its own, of nodes' files too.
take_entries() { # DIR
    rm -rf "$work/entries"
    mkdir "$work/entries"
    find "$1" -name '*.entry' -o -name '*.session.tmk' | TO="$work/entries" xargs perl -0777 -ne '
        while (/(tidemark entry 1\n.*?\n\.\n)/gs) {
            my $entry = $1;
            my ($name) = $entry =~ /^profile (.*)\.tmk$/m;
            open my $file, ">", "$ENV{TO}/$name.entry";
            print $file $entry;
        }'
}

check_rank() { # ENTRY DIR
    local profile
    profile=$(echo "$2"/*)/$(basename "$1" .entry).tmk
    local database=$work/db/$(basename "$profile").db
    [ "$(entry end "$1") $(entry end_status "$1")" = "exit 0" ] || say "$1: it did not end well"
    [ "$(entry ranks "$1")" = "$ranks" ] || say "$1: not of $ranks ranks"
    rm -f "$database"
    "$TIDEMARK" unpack "$profile" "$database" || say "unpack failed"
    printf 'rank=%s\nranks=%s\n' "$(entry rank "$1")" "$ranks" >"$work/facts"
    "$here/../lib/check.sh" "$expect" "$database" 1 "$work/facts" || say "  (in $profile)"
}

check_job() { # DIR
    [ "$(ls "$1" | wc -l)" = 1 ] || say "$(ls "$1" | wc -l) jobs in $1 instead of one"
    local entries
    take_entries "$1"
    entries=$(ls "$work"/entries/rank-*.entry)
    [ "$(echo "$entries" | wc -l)" = "$ranks" ] || say "not $ranks entries in $1: $entries"
    [ "$(sed -n 's/^rank //p' $entries | sort -u | wc -l)" = "$ranks" ] || say "not all ranks in $1"
    for file in $entries; do
        check_rank "$file" "$1"
    done
}

compare() { # STATUS WHAT
    [ "$1" = "$bare" ] || say "$2: exit status $1, bare run $bare"
    sort "$work/out" | cmp - "$work/bare.out" || say "$2: standard output differs"
    cmp "$work/err" "$work/bare.err" || say "$2: standard error differs: $(head -5 "$work/err")"
}

mpi "$launcher" "$ranks" "$victim" 2>"$work/bare.err" | sort >"$work/bare.out"
bare=${PIPESTATUS[0]}
[ "$bare" = 0 ] || say "the bare run fails already: $(cat "$work/bare.err")"

mpi "$launcher" "$ranks" "$TIDEMARK" record -q --job="$work/wrapped" "$victim" >"$work/out" 2>"$work/err"
compare $? "wrapped"
check_job "$work/wrapped"

mpi "$launcher" "$ranks" $(mpi_set "$launcher" LD_PRELOAD "$library") \
    $(mpi_set "$launcher" TIDEMARK_OPTIONS "--job=$work/preloaded") "$victim" \
    >"$work/out" 2>"$work/err"
compare $? "preloaded"
check_job "$work/preloaded"
exit $failed
