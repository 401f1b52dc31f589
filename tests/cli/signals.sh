# Signals sent to tidemark record reach the program.
. "$HERE/lib.sh"

program='trap "echo got USR1; exit 3" USR1; trap "echo got TERM; exit 4" TERM
    trap "echo got HUP; exit 5" HUP; trap "echo got INT; exit 6" INT
    echo ready >ready; while :; do sleep 0.05; done'
for signal in USR1 TERM HUP; do
    rm -f ready
    tidemark record -q -o s.tmk bash -c "$program" &
    until_true test -s ready
    kill -$signal $!
    wait $!
    echo "$signal: status $?"
done

# Ctrl-C: the terminal signals the whole group. An untrapped one kills the program and us.
rm -f ready
set -m
tidemark record -q -o s.tmk bash -c "$program" &
set +m
until_true test -s ready
kill -INT -- -$!
wait $!
echo "INT to the group: status $?"

set -m
tidemark record -q -o s.tmk sleep 60 2>/dev/null &
set +m
until_true pgrep -P $! sleep >/dev/null
kill -INT -- -$!
wait $! 2>/dev/null
echo "INT untrapped: status $?"
tidemark report s.tmk >/dev/null && echo "and a profile"

# Whoever starts it may ignore SIGCHLD: it waits all the same, and its program ignores it, too.
(trap '' CHLD; exec tidemark record -q -o s.tmk grep -hs SigIgn /proc/self/status missing) >ignored &
until_true test -s ignored
gone() { ! kill -0 "$1"; }
until_true gone $! || kill_hard $!
wait $!
echo "SIGCHLD ignored: status $?, in the program $((0x$(cut -f 2 ignored) >> 16 & 1))"

echo "--- commands with a screen: the other program ignores what was ignored here"
mkdir -p copy/bin copy/libexec/tidemark
cp "$BIN/tidemark" copy/bin
cat >copy/libexec/tidemark/tidemark-view <<'END'
#!/usr/bin/env python3
import signal
print("ignored:", signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN)
END
chmod +x copy/libexec/tidemark/tidemark-view
(trap '' CHLD && exec copy/bin/tidemark top)
copy/bin/tidemark top
