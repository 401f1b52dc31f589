# tidemark count: exact, with any number of threads, against what a program is known to do and against
# a count from beneath; and programs that end otherwise.
. "$HERE/lib.sh"

field() { sed -n "s/^ *\"$2\": \(.*[^,]\),*\$/\1/p" "$1"; }

known() { # THREADS
    local few=3 many=203 n
    tidemark count -f json -o few.json "$BIN/../tests/cli/cli_counted" "$1" $few
    tidemark count -f json -o many.json "$BIN/../tests/cli/cli_counted" "$1" $many
    echo "$1 threads:"
    for name in malloc calloc realloc aligned free failed total_bytes current_bytes; do
        n=$(($(field many.json $name) - $(field few.json $name)))
        echo "  $name $((n / $1 / (many - few)))$([ $((n % ($1 * (many - few)))) = 0 ] || echo " and a rest")"
    done
    [ "$(field many.json threads)" = $(($1 + 1)) ] && echo "  and the main thread"
    # All threads hold all of a round's blocks at the barrier.
    least=$(($1 * (71107 - 1000 - 16 + 16 * (many - 1))))
    most=$((least + $1 * 2000 + 100 + $(field many.json peak_error_bytes)))
    peak=$(field many.json peak_bytes)
    [ "$peak" -ge $((least - $(field many.json peak_error_bytes))) ] && [ "$peak" -le $most ] &&
        [ "$(field many.json peak_error_bytes)" -le $((peak / 2000 + ($1 + 1) * 2048)) ] && echo "  peak within its error"
    rm -f ./*.json ./*.old
}
known 1
known 4
known 16

# From before the counters' own beginning, and inherited.
tidemark count -f json -o before.json "$BIN/../tests/cli/cli_before"
jq -c '.processes[] | [.forked, .calls.malloc, .calls.free, .current_bytes]' before.json

beneath() { # NAME PROGRAM …
    local name=$1
    shift
    rm -f beneath.*
    COUNT_FILE=beneath LD_PRELOAD=$COUNT_CALLS tidemark count -f json -o count.json "$@" >/dev/null
    pid=$(field count.json pid | head -1)
    # Beneath, a failed call is a call and realloc(NULL, n) a realloc.
    beneath=$(awk '$1 != "free" { n += $2 } END { print n }' "beneath.$pid")
    counted=0
    for kind in malloc calloc realloc aligned failed; do
        counted=$((counted + $(field count.json $kind)))
    done
    [ "$beneath" = "$counted" ] || echo "$name: $beneath allocations, not $counted"
    beneath=$(awk '$1 == "free" { print $2 }' "beneath.$pid")
    # The library beneath is done before the last destructors are, the counters are not.
    [ "$beneath" = "$(field count.json free)" ] || { [ -n "$LATE" ] && [ "$beneath" -lt "$(field count.json free)" ]; } || echo "$name: $beneath frees, not $(field count.json free)"
    bytes=$(awk '$1 != "free" { n += $3 } END { print n }' "beneath.$pid")
    [ -n "$ROUNDED" ] || [ "$bytes" = "$(field count.json total_bytes)" ] ||
        echo "$name: $bytes bytes, not $(field count.json total_bytes)"
    echo "$name: as counted from beneath"
    rm -f count.json
}
ROUNDED= LATE=
beneath ls /bin/ls /
beneath basic "$VICTIMS/basic" 5
beneath crossfree "$VICTIMS/crossfree" 4
beneath recursion "$VICTIMS/recursion" 8
beneath dlopen "$VICTIMS/dlopen" "$VICTIMS/plugin_alpha.so" "$VICTIMS/plugin_beta.so"
ROUNDED=yes # operator new makes an aligned size of an odd one
beneath cxx_new "$VICTIMS/cxx_new"
beneath cxx_throw "$VICTIMS/cxx_throw"
ROUNDED= LATE=yes
[ ! -x "$VICTIMS/fortran" ] || beneath fortran "$VICTIMS/fortran" | grep -v 'as counted'
if command -v valgrind >/dev/null; then
    valgrind /bin/ls / 2>&1 >/dev/null | sed -n 's/.*total heap usage: \(.*\) allocs, .* frees, \(.*\) bytes allocated/\1 \2/p' >theirs
    tidemark count -f json -o count.json /bin/ls / >/dev/null
    allocations=$(($(field count.json malloc) + $(field count.json calloc) + $(field count.json realloc) + $(field count.json aligned)))
    [ "$(tr -d , <theirs)" = "$allocations $(field count.json total_bytes)" ] ||
        echo "valgrind: $(cat theirs), not $allocations $(field count.json total_bytes)"
    rm -f count.json
fi

echo "--- against the profile of the same run"
same_run() { # THREADS
    local counted=$BIN/../tests/cli/cli_counted
    tidemark record -q --separate -o run.%n.tmk tidemark count --peak exact -f json -o count.json "$counted" "$1" 50
    tidemark report run.cli_counted.tmk --json >report.json
    python3 - <<'EOF_PY'
import json
counted, = json.load(open("count.json"))["processes"]
profile = json.load(open("report.json"))["program"]
calls = counted["calls"]
# In a profile a realloc ends a block, too. The peak depends on how threads interleave.
print(counted["threads"], "threads:", *(name for name, ours, theirs in (
    ("allocations", calls["malloc"] + calls["calloc"] + calls["aligned"], profile["alloc_count"]),
    ("reallocs", calls["realloc"], profile["realloc_count"]),
    ("frees", calls["free"] + calls["realloc"], profile["free_count"]),
    ("total", counted["total_bytes"], profile["alloc_bytes"] + profile["realloc_bytes"]),
    ("current", counted["current_bytes"], profile["live_bytes"]),
    ("peak", counted["threads"] > 2 or counted["peak_bytes"], counted["threads"] > 2 or profile["peak_bytes"]),
) if ours == theirs))
EOF_PY
    rm -f run.*.tmk count.json
}
for threads in 1 2 4 8 16; do
    same_run $threads
done

echo "--- endings"
{ tidemark count bash -c 'kill -9 $$' 2>err; echo "status $?"; } 2>/dev/null
grep -c 'killed by signal 9, total: [1-9]' err
tidemark count -f json -o exec.json bash -c 'exec "$0" 1 3' "$BIN/../tests/cli/cli_counted"
field exec.json program
tidemark count bash -c 'exit 7' 2>/dev/null
echo "status $?"
tidemark count -o same bash -c : && tidemark count -o same bash -c : && ls same same.old
echo "--- to what is no file"
tidemark count -f json -o /dev/fd/3 true 3>stream && field stream program
tidemark count -o /dev/null true && [ -c /dev/null ] && echo "a device is written to"
mkfifo pipe
tidemark count -o pipe true & cut -c 1-23 <pipe
wait
try tidemark count -o . true
sentence 'cannot step aside: it is no regular file'
echo "--- preloaded by hand"
LD_PRELOAD=$BIN/../lib/libtidemark-count.so ls / 2>&1 >/dev/null | grep -c '^tidemark count ### ls\[[0-9]*\] exiting, total: '
TIDEMARK_COUNT_OUTPUT=line LD_PRELOAD=$BIN/../lib/libtidemark-count.so "$BIN/../tests/cli/cli_counted" 2 5
sed 's/\[.*, malloc/[…] malloc/' line
echo "--- children, however they were forked: each took 100,000 bytes and gave back 10,000"
forked() { # HOW…
    tidemark count -f json -o forks.json "$CLI/cli_count_forks" "$@"
    python3 -c '
import json, sys
processes = json.load(open("forks.json"))["processes"]
main, = (one for one in processes if one["main"])
print("program:", main["current_bytes"], "bytes in", main["calls"]["malloc"], "calls;", len(processes) - 1, "children")
for one in processes:
    if not one["main"]:
        print(one["forked"], one["current_bytes"] - one["inherited_bytes"], one["calls"]["malloc"], one["calls"]["free"], one["not_counted"])'
    rm -f forks.json
}
forked fork _Fork clone vfork
forked clone clone _Fork fork
echo "--- threads that begin before the preloaded library does: 800,000 blocks, all given back"
tidemark count -f json -o early.json "$CLI/cli_early"
echo "$(($(field early.json free) / 800000)) $(field early.json not_counted)"
echo "--- refusals"
try tidemark count
sentence 'no program given'
try tidemark count ./nothing
sentence 'no such'
try tidemark count ''
sentence "'': no such program"
try tidemark count -o /nowhere/file true
sentence 'cannot write'
echo "--- nothing is left in /dev/shm"
ends() { # in a /dev/shm of its own: others count too
    mount -t tmpfs -o size=64m none /dev/shm || exit
    tidemark count true
    tidemark count sh -c 'exit 3'
    tidemark count sh -c 'kill -KILL $$'
    tidemark count sh -c 'sh -c true & wait; exec sleep 0'
    tidemark count ./nothing
    tidemark count -o /nowhere/file true
    ls /dev/shm
}
unshare -rm true 2>/dev/null && export -f ends && unshare -rm bash -c ends 2>/dev/null
true
