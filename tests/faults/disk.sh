#!/bin/bash
# A disk that is full: the trace ends first and says why, the profile beside it is whole. A disk that is full for a moment,
# before the first commit or later, costs nothing. One that stays full after the first commit does not either.
if [ "$(id -u)" != 0 ]; then
    unshare -rm true 2>/dev/null || { echo "skip: no file system can be mounted here"; exit 77; }
    exec unshare -rm bash "$0"
fi
. "$(dirname "$0")/../torture/lib.sh"
program=$BUILD/../faults/faults_program
small=$work/small
mkdir "$small"
mount -t tmpfs -o size=12m tmpfs "$small" 2>/dev/null || skip "no file system can be mounted here"
trap 'touch "$work/stop"; wait; umount "$small"; rm -rf "$work"' EXIT

begin() { # OPTIONS…
    rm -f stop child
    "$TIDEMARK" record "$@" -o "$small/run.tmk" -- "$program" churn 1000 "$work/stop" >out 2>err &
    recorder=$!
}
fill() { dd if=/dev/zero of="$small/filler" bs=4k >dd 2>&1; [ -s "$small/filler" ]; }
has_committed() { [ "$(query "$small/run.tmk" 'SELECT alloc_count FROM program')" -gt 1000 ]; }
# By the processor time of the program, in seconds: flushes come and go meanwhile.
has_run() { # SECONDS
    local child
    child=$(pgrep -P "$recorder" faults_program | head -1)
    [ -n "$child" ] && [ "$(awk '{ print $14 }' "/proc/$child/stat")" -gt $((100 * $1)) ]
}
conclude() { # WHAT: the program ends, and its profile is whole
    touch stop
    wait "$recorder"
    [ $? = 7 ] || fail "$1: another exit status"
    [ "$(cat out)" = "churn: done" ] || fail "$1: another output"
    "$TIDEMARK" report "$small/run.tmk" >report 2>&1 || fail "$1: $(head -1 report)"
    grep -q 'exit status 7' report || fail "$1: the profile is not whole: $(head -4 report; cat err)"
    [ "$(ls "$small" | grep -cv '^run.tm[kt]$\|^filler$')" = 0 ] || fail "$1: left behind: $(ls "$small")"
}

begin --trace
until_true has_run 3
conclude trace
grep -q 'the trace .* ended as the disk had only .* left' err || fail "trace: nobody says why it ended: $(cat err)"
"$TIDEMARK" replay -q -o replayed.tmk "$small/run.tmt" || fail "trace: it cannot be replayed"
"$TIDEMARK" report replayed.tmk | tr -s ' \n' ' ' | grep -q 'recording ended as the disk had only' ||
    fail "trace: it does not say why it ends"
rm -f "$small"/*

begin -q
until_true has_committed
fill
until_true has_run 2
rm "$small/filler"
conclude "for a moment"
[ ! -s err ] || fail "for a moment: $(cat err)"
rm -f "$small"/*

fill
begin -q
until_true has_run 3
rm "$small/filler"
conclude "full at first"
[ ! -s err ] || fail "full at first: $(cat err)"
rm -f "$small"/*

# Rows of small processes that end meanwhile come when there is room again.
"$TIDEMARK" record -o "$small/run.tmk" -- sh -c "dd if=/dev/zero of=$small/filler bs=4k 2>&1 >/dev/null | grep -c 'No space'
    i=0; while [ \$i -lt 40 ]; do /bin/true; i=\$((i + 1)); done; sleep 7; rm $small/filler; exit 7" >out 2>err
[ $? = 7 ] && [ "$(cat out)" = 1 ] || fail "rows: $(cat out err)"
[ "$("$TIDEMARK" report --json "$small/run.session.tmk" | jq '[.programs[] | select(.program == "true").processes] | add')" = 40 ] ||
    fail "rows: $("$TIDEMARK" report "$small/run.session.tmk"; cat err)"
grep -q 'small *44 small processes are in' err && ! grep -q cannot err || fail "rows: said $(cat err)"
rm -f "$small"/*

begin -q
until_true has_committed
fill
until_true has_run 2
conclude "for good"
[ ! -s err ] || fail "for good: $(cat err)"
exit $failed
