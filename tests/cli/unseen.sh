# An allocator that is known to be there and cannot be seen is named wherever the recording is looked at,
# and nothing reads as if there was none.
. "$HERE/lib.sh"
[ "$(uname -m)" = x86_64 ] || exit 77

json() { tidemark report --json unseen.tmk | python3 -c "import json, sys; d = json.load(sys.stdin); print($1)"; }

record() { # PROGRAM WHAT …
    local program=$CLI/$1
    shift
    rm -f unseen.tmk
    echo "== $1"
    tidemark record -o unseen.tmk "$program" "$@" 2>summary
    echo "status $?"
}

look() {
    json "[(u['what'], (u['module'] or '').rsplit('/', 1)[-1], u['why']) for u in d['unseen']]"
    tidemark report unseen.tmk | grep -c '^  loss  *none'
    grep -c '^  loss  *not seen: ' summary
    tidemark insight unseen.tmk | grep -c '^warning  Counts are lower bounds, not seen: '
}

record cli_unseen_short short
look
json "[d['program'][key] for key in ('alloc_count', 'alloc_bytes', 'live_bytes', 'peak_bytes')]"
grep allocations summary | sed 's/; resident .*//' # which a process that is so short may have ended before
tidemark report unseen.tmk | grep -E '^  (peak|allocations|frees|never freed) '
printf '[program]\nlive = "1 MiB"\n' >budget.toml
tidemark check --budget=budget.toml unseen.tmk >out
echo "check: status $?"
grep -o 'is not whole: not seen: mimalloc in cli_unseen_short' out
query unseen.tmk "SELECT count FROM loss WHERE what = 'unseen'"
# As a row of a session's file.
tidemark record -q -o unseen_row.tmk sh -c "$CLI/cli_unseen_short short; true"
tidemark report --json unseen_row.session.tmk | jq -c '.programs[] | [.program, .peak_bytes, .allocations, .sum_bytes]'

record cli_unseen namespace
look
grep -c '^  allocations  at least ' summary

record cli_unseen mapped
look

# It is loaded while the program has one thread: nothing is hidden from us.
record cli_unseen plugin "$UNSEEN_PLUGIN"
look
query unseen.tmk "SELECT sum(alloc_count), sum(alloc_bytes), sum(free_count), sum(live_bytes) FROM site
    JOIN path ON path.id = site.path JOIN location_frame USING (location)
    JOIN function ON function.id = location_frame.function WHERE function.name = 'unseen_plugin_work'"

# What comes and goes costs no memory.
record cli_unseen cycles "$UNSEEN_PLUGIN"
query unseen.tmk "SELECT sum(alloc_count) FROM site
    JOIN path ON path.id = site.path JOIN location_frame USING (location)
    JOIN function ON function.id = location_frame.function WHERE function.name = 'unseen_plugin_work'"

record cli_unseen threads "$UNSEEN_PLUGIN"
look
