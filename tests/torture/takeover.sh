#!/bin/bash
# The collector is killed at random while it has 30, 60 and 90 processes. Their program says what it says
# and has its exit status, no process of ours is left, and whatever has a final name opens: complete, or
# cut short. No log and no draft lies beside. ROUNDS makes more of it (`make check-takeover`: 20).
. "$(dirname "$0")/lib.sh"
rounds=${ROUNDS:-1}
command -v perl >/dev/null || skip "no perl"
many='$SIG{TERM} = "IGNORE"; my ($n, $s) = @ARGV;
    for my $i (1 .. $n) {
        next if fork;
        for (1 .. $s) { push @kept, "x" x (1000 + $_); select undef, undef, undef, 0.05 }
        exit 0;
    }
    1 while wait > 0;
    print "all of $n\n";
    exit 7;'

round() { # PROCESSES
    local count=$1 file opened=0 cut=0 saved=0 lost status recorder
    rm -rf round
    mkdir round
    (cd round && exec "$TIDEMARK" record -o run.tmk -- perl -e "$many" "$count" 160) >out 2>err &
    recorder=$!
    until_true collector_of $recorder >collector || return
    sleep "$((RANDOM % 4)).$(printf %03d $((RANDOM % 1000)))"
    kill -KILL "$(cat collector)" || fail "$count processes: the collector had ended"
    wait $recorder
    status=$?
    [ $status = 7 ] && [ "$(cat out)" = "all of $count" ] || fail "$count processes: status $status, $(cat out)"
    [ "$(grep -c 'the collector cannot go on (Killed)' err)" = 1 ] && [ "$(wc -l <err)" = 1 ] ||
        fail "$count processes: said $(cat err)"
    for file in round/*; do
        [ -e "$file" ] || continue
        case $file in
        *.tmk)
            opened=$((opened + 1))
            "$TIDEMARK" report "$file" >report 2>report.err || fail "$file: $(head -3 report.err)"
            grep -q 'cut short' report && cut=$((cut + 1))
            grep -q 'nothing was saved' report || saved=$((saved + 1))
            ;;
        *) fail "$count processes: $file is left" ;;
        esac
    done
    # Of whom nothing was saved is said.
    lost=$(sed -n 's/.*; lost: \([0-9]*\) process.*/\1/p' err)
    [ $((saved - 1 + ${lost:-0})) -le "$count" ] || fail "$count processes: $opened files and $(cat err)"
    echo "$count processes: $opened files, $cut of them cut short, ${lost:-0} lost"
}

for ((round = 1; round <= rounds; round++)); do
    for processes in 30 60 90; do round $processes; done
done

# Killed before anything was saved: there is a file all the same, and it is not the one of before.
"$TIDEMARK" record -q -o soon.tmk true
"$TIDEMARK" record -o soon.tmk sh -c 'kill -KILL $(pgrep -P $PPID -x tidemark-coll); echo on; exit 5' >out 2>err
[ $? = 5 ] && [ "$(cat out)" = on ] || fail "killed at once: $(cat out err)"
# A busy machine lets the shell kill only after the first commit: then what was committed is there.
"$TIDEMARK" report soon.tmk >report && grep -q 'cut short' report || fail "killed at once: $(cat report)"
grep -q 'nothing was saved' report ||
    [ "$("$TIDEMARK" report --json soon.tmk | jq -r '.meta.duration_ns')" -ge 1000000000 ] ||
    fail "killed at once: $(cat report)"
"$TIDEMARK" report soon.tmk.old >report && grep -q 'exit status 0' report || fail "killed at once: the older one is not kept"

# Those that had begun and have no file are lost, which is said: what they were, and in the named one's profile
# how many and since when.
rm -rf round
mkdir round
# They are there when each of them says so: programs of that name which do.
cp "$(command -v perl)" sleep
(cd round && exec "$TIDEMARK" record -o run.tmk -- sh -c 'for i in 1 2 3 4 5; do
        ../sleep -e "open my \$began, q(>), q(../began.) . shift; close \$began; select undef, undef, undef, 3" $i & done
    until [ -e ../began.1 ] && [ -e ../began.2 ] && [ -e ../began.3 ] && [ -e ../began.4 ] && [ -e ../began.5 ]; do :; done
    kill -KILL $(pgrep -P $PPID -x tidemark-coll); wait; exit 6') >out 2>err
[ $? = 6 ] && [ "$(wc -l <err)" = 1 ] || fail "lost: $(cat err)"
lost=$(sed -n 's/.*; lost: [0-9]* process.*(\(.*, \)\{0,1\}sleep \([0-9]*\).*/\2/p' err)
lost=$((${lost:-0} + $(find round -name 'run.sleep.*' | wc -l)))
[ "$lost" = 5 ] || [ "$lost" = 6 ] || fail "lost: $lost of five: $(cat err; ls round)"
[ "$(find round -name 'run.sleep.*' | wc -l)" -gt 0 ] ||
    "$TIDEMARK" report round/run.tmk | tr -s ' \n' ' ' | grep -q 'SIGKILL; [0-9]* processes of which nothing was saved are lost with it (begun up to [0-9.]* m*s before)' ||
    fail "lost: the report does not say so: $("$TIDEMARK" report round/run.tmk | head -8)"

# Processes that ended before are rows of the file. Those that begin after it is dead are recorded by another
# collector, as soon as that listens, and what the first one wrote stays as it is.
rm -rf round
mkdir round
(cd round && exec "$TIDEMARK" record -o run.tmk -- sh -c 'i=0
    while [ $i -lt 30 ]; do /bin/true; i=$((i + 1)); done
    old=$(pgrep -P '"\$PPID"' -x tidemark-coll)
    # On a busy machine it writes the rows late: until it waits, as one sees at twenty looks.
    looks=0
    while [ $looks -lt 20 ]; do
        read -r line <"/proc/$old/stat"
        case $line in *") S "*) looks=$((looks + 1)) ;; *) looks=0 ;; esac
    done
    kill -KILL $old
    # On a busy machine another one begins late, and what begins before is recorded by nobody.
    until pgrep -P '"\$PPID"' -x tidemark-coll | grep -qvx $old; do :; done
    while [ $i -lt 120 ]; do /bin/true; i=$((i + 1)); done
    echo all; exit 9') >out 2>err
[ $? = 9 ] && [ "$(cat out)" = all ] || fail "another: $(cat out err)"
grep -q 'is recorded beside: run-2.tmk$' err && [ "$(wc -l <err)" = 1 ] || fail "another: said $(cat err)"
"$TIDEMARK" report round/run.tmk | grep -q 'cut short' || fail "another: the first one's profile is not cut"
before=$("$TIDEMARK" report --json round/run.session.tmk | jq '[.programs[].processes] | add')
behind=$("$TIDEMARK" report --json round/run-2.session.tmk | jq '[.programs[].processes] | add')
[ "$before" -ge 27 ] && [ "$before" -le 30 ] || fail "another: $before of 30 processes before"
[ "$behind" -ge 30 ] && [ "$behind" -le 100 ] || fail "another: $behind of 90 processes behind"
[ "$(find round ! -name '*.tmk' -type f | wc -l)" = 0 ] || fail "another: $(ls round)"

# It is record that is killed: the collector completes the profile.
rm -rf round
mkdir round
(cd round && exec "$TIDEMARK" record -o run.tmk -- perl -e "$many" 3 40) >out 2>err &
recorder=$!
disown $recorder
until_true collector_of $recorder >collector
sleep 0.5
kill -KILL $recorder
until_true [ ! -d "/proc/$(cat collector)" ]
"$TIDEMARK" report round/run.tmk >report && ! grep -q 'cut short' report || fail "record killed: $(head -5 report)"
[ "$(cat out)" = 'all of 3' ] || fail "record killed: $(cat out)"

# A collector that goes on alone, with a daemon, is killed: nobody is left to say so but the file itself.
rm -rf round
mkdir round
(cd round && exec "$TIDEMARK" record -q -o run.tmk -- perl -e 'use POSIX; exit 3 if fork; POSIX::setsid();
    for (1 .. 400) { push @kept, "x" x 1000; select undef, undef, undef, 0.05 }') >out 2>err </dev/null
[ $? = 3 ] && [ ! -s err ] || fail "alone: $(cat out err)"
alone_of() { for recorder in $(pgrep -x tidemark-coll); do
    [ "$(readlink "/proc/$recorder/cwd")" = "$PWD/round" ] && echo "$recorder" && return 0; done; return 1; }
has_saved() { ls round/run.perl.*.tmk; }
until_true has_saved >/dev/null 2>&1
alone_of >alone && kill -KILL "$(cat alone)" || fail "alone: there is no collector"
until_true [ ! -d "/proc/$(cat alone)" ]
[ "$("$TIDEMARK" report --json round/run.perl.*.tmk | jq -r .state)" = 'cut short' ] ||
    fail "alone: $("$TIDEMARK" report round/run.perl.*.tmk)"
"$TIDEMARK" report round/run.perl.*.tmk >report && grep -q 'cut short' report || fail "alone: $(head -4 report)"
# Seen once, on a machine with fifty processes ready to run: what was so then is said.
[ "$(find round ! -name '*.tmk' -type f | wc -l)" = 0 ] || fail "alone: $(ls -la round); locks: $(cat /proc/locks)
    read once more: $("$TIDEMARK" report round/run.perl.*.tmk | tail -3); then: $(ls round)"
exit $failed
