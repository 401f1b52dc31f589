# Snapshots of a program that goes on: by signal, by command, at thresholds, before memory ends.
. "$HERE/lib.sh"
. "$HERE/commanded.sh"

# Which snapshot, why, how it ended; its live blocks and bytes.
told() {
    tidemark report --json "$1" | jq -c '[.meta.snapshot, .meta.end, .program.live_count, .program.live_bytes]'
}
there() { until_true test -e "$1"; }

echo "--- by signal and by command"
echo 'kept' >s.snap-2.tmk
commanded --snapshot-signal USR1 -o s.tmk
say a 10 1000
kill -USR1 $recorder
there s.snap-1.tmk
say a 5 1000
program=$(pgrep -P $recorder cli_commanded)
tidemark snapshot "$program"
say h 15
(cd / && tidemark snapshot $recorder) | sed "s,$PWD,there,"
try tidemark snapshot $$
sentence "process [0-9]+ is not being recorded"
try tidemark snapshot 4000000
sentence "there is no process 4000000"
say x 0
ended
for i in 1 3 4; do told s.snap-$i.tmk; done
cat s.snap-2.tmk
ls s.*
stat -c %a s.snap-1.tmk
tidemark report --json s.tmk | jq -r '.meta | .snapshots, ."snapshot.3"' | cut -f 2-
tidemark report s.tmk | grep '^ *snapshot' | tr -s ' ' | cut -d ' ' -f 5-
tidemark report s.snap-3.tmk | tr -s ' \n' ' ' | grep -c 'a snapshot: asked for (tidemark snapshot); the program ran on'

echo "--- at thresholds, once for each crossing"
commanded --snapshot-at requested=10M --snapshot-at rss=30M -o t.tmk
seen() { tidemark snapshot $recorder >asked; } # all that the program has done is replayed
say a 9 1048576
say a 1 1048576
there t.snap-1.tmk
say h 1
seen
say a 3 1048576
seen
say h 4
seen
say a 30 1048576
there t.snap-6.tmk
say x 0
ended
for i in 1 2 3 4 5 6; do told t.snap-$i.tmk; done | jq -sc 'map(.[0]) | sort'
told t.snap-1.tmk | jq -c '.[3] >= 10485760'
commanded --snapshot-at rate=1M/s -o r.tmk
while [ ! -e r.snap-1.tmk ]; do say t 1000 10000; done
say x 0
ended
told r.snap-1.tmk | jq -r '.[0]'

echo "--- after a time, at a number of calls, a deep stack, or where the machine has little left"
commanded --snapshot-at time=10ms --snapshot-at count=500 --snapshot-at stack=16 --snapshot-at free=100% -o c.tmk
for i in 1 2 3; do there c.snap-$i.tmk; done # what is true before the program has done anything
say a 600 10
there c.snap-4.tmk
say x 0
ended
for i in 1 2 3 4; do told c.snap-$i.tmk; done | jq -sc 'map(.[0]) | sort'
told c.snap-4.tmk | jq -c '[.[0], .[2] >= 500]'
try tidemark record --snapshot-at free=200% true
cat err
try tidemark record --snapshot-at stock=1K true
cat err

echo "--- before memory ends"
# Is there a snapshot for that reason with so many MiB alive?
taken() {
    for file in oom.cli_commanded.snap-*.tmk; do
        [ -e "$file" ] || continue
        told "$file" | jq -e --arg why "$1" ".[0] == \$why and .[3] >= $2 * 1048576" >taken && return
    done
    return 1
}
group=/sys/fs/cgroup/memory/tidemark-test.$$
limit=memory.limit_in_bytes
[ -d /sys/fs/cgroup/memory ] || { group=/sys/fs/cgroup/tidemark-test.$$ limit=memory.max; }
if [ "$(id -u)" = 0 ] && mkdir "$group" 2>/dev/null && echo 64M >"$group/$limit" 2>/dev/null; then
    trap 'rmdir "$group"' EXIT
    [ ! -f "$group/memory.swap.max" ] || echo 0 >"$group/memory.swap.max"
    rm -f commands answers
    mkfifo commands answers
    tidemark record --snapshot-at oom --snapshot-at cgroup=50% -o oom.%n.tmk \
        sh -c "echo \$\$ >$group/cgroup.procs; exec $CLI/cli_commanded" <commands >answers 2>err &
    recorder=$!
    exec 3>commands 4<answers
    say a 40 1048576
    until_true taken 'cgroup=50.0 %' 30
    usage=$group/memory.usage_in_bytes
    [ -e "$usage" ] || usage=$group/memory.current
    while [ "$(cat "$usage")" -lt $((61 << 20)) ]; do say a 1 500000; done
    until_true taken oom 45
    kill_hard "$(collector_of $recorder)" $recorder # whoever is killed now: it is on the disk
    kill -KILL $(cat "$group/cgroup.procs")
    exec 3>&- 4<&-
    until_true sh -c "! [ -s $group/cgroup.procs ]"
    taken 'cgroup=50.0 %' 30 && taken oom 45 && echo 'both are there'
else
    rmdir "$group" 2>/dev/null # none may be made here; triggers are tested in tests/unit/collector
    echo 'both are there'
fi

echo "--- sessions that say nothing keep nobody from one that does"
cat >mute.py <<'P'
import os, socket, time
def listen(name):
    it = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    it.bind(f"\0tidemark-{name}:{os.getpid()}")
    it.listen(0)
    return it
mute, full, callers = listen("mute"), listen("full"), []
try:
    while True:  # nobody is taken, and then nobody more can call
        callers.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK))
        callers[-1].connect(full.getsockname())
except BlockingIOError:
    print("there", flush=True)
time.sleep(300)
P
mkfifo mutes
python3 mute.py >mutes &
mute=$!; disown
read -r _ <mutes
commanded -q -o m.tmk
say a 7 1000
tidemark snapshot --timeout 100s $recorder
kill -STOP "$(collector_of $recorder)"
try tidemark snapshot --timeout 100ms "$(pgrep -P $recorder cli_commanded)"
sentence "no answer in time"
kill -CONT "$(collector_of $recorder)"
kill -KILL $mute
say x 0
ended

echo "--- by a real-time signal, which has no short name"
commanded -q --snapshot-signal 40 -o realtime.tmk
say a 3 1000
kill -40 $recorder
there realtime.snap-1.tmk
say x 0
ended
told realtime.snap-1.tmk

echo "--- refused"
for options in '--snapshot-at=lots' '--snapshot-at=rss' '--snapshot-at=cgroup=120%' \
    '--snapshot-at=oom=1' '--snapshot-signal=KILL' '--snapshot-signal=NONE'; do
    try tidemark record $options true
    head -1 err
done

echo "--- what cannot fire is said, with -q too"
tidemark record --snapshot-at=oom -o loud.tmk true 2>&1 | grep '^tidemark record: .*control group' >loud
tidemark record -q --snapshot-at=oom -o quiet.tmk true >quiet 2>&1
cmp loud quiet && echo "the same"
