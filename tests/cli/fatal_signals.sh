# A program that dies of a signal which it leaves to the kernel is looked at before: what is lost is
# known then, the status is the program's, and the program sees nothing of it.
. "$HERE/lib.sh"

victim=$VICTIMS/fatal_signals
lost() { # PROFILE: what is lost and reachable; the block of a thread's TLS is possibly lost
    tidemark leaks --json "$1" | jq -r '[.lost, .reachable] | map("\(.blocks) \(.bytes)") | join(" | ")'
}
status() { # COMMAND: as the shell has it, which does not say that it was killed
    { (exec "$@" 2>err); } 2>/dev/null
    echo "$?$(cat err)"
}
recorded() { # ARGUMENTS: bare and recorded
    rm -f run.*tmk
    echo "$*: status $(status "$victim" "$@"), recorded $(status tidemark record -q -o run.tmk "$victim" "$@")"
}

echo "== each signal"
for number in 1 2 15; do
    recorded kill "$number"
    lost run.tmk
    tidemark report --json run.tmk | jq -r .end
done

echo "== each way"
for way in beside_a_thread in_a_register after_a_handler by_its_own_handler after_a_vfork; do
    recorded "$way"
    lost run.tmk
done
recorded on_a_small_stack
recorded within_a_call
lost run.tmk | cut -d' ' -f1,2

echo "== whatever else the program does meanwhile"
for way in by_a_thread_that_goes_on beside_an_exit beside_jumps by_two by_a_call_of_its_own; do
    recorded $way
done

echo "== a child, whose end nobody else tells"
recorded as_a_child
lost run.tmk
tidemark report --json run.session.tmk | jq -c '.profiles[] | [.end, .end_status]'

echo "== a filter that forbids what our handler does: it is gone by then"
recorded under_a_filter
tidemark leaks run.tmk 2>&1 | grep -o 'what is lost is not known'

echo "== by timeout, which sends it to record and to the group: record passes it on, and that is no second one"
timeout 300 tidemark record -q -o run.tmk "$victim" wait_for_it &
until_true test -e ready
kill -TERM $!
{ wait $!; } 2>/dev/null
echo "status $?: $(lost run.tmk)"

echo "== what the program sees"
for number in 1 2 15; do
    "$victim" ask $number >bare.txt
    tidemark record -q -o run.tmk "$victim" ask $number >recorded.txt
    cmp bare.txt recorded.txt && echo "$number: the same"
done
(trap '' HUP INT TERM; exec tidemark record -q -o run.tmk grep SigIgn /proc/self/status) |
    while read -r _ mask; do echo "ignored: $((0x$mask & 3)), $((0x$mask >> 14 & 1))"; done

echo "== twenty times in the midst of calls"
for _ in $(seq 20); do
    status tidemark record -q -o run.tmk "$victim" within_a_call
done | sort | uniq -c | tr -s ' '
