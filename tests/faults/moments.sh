#!/bin/bash
# Deaths at the worst moment: the program is killed between its hello and the collector's welcome, and the command ends all
# the same. The collector is stopped meanwhile, so that it learns of the death before it hears the hello.
. "$(dirname "$0")/../torture/lib.sh"

# The shell goes on when the collector stands still in poll(), number 7; what it executes waits for its welcome in recvmsg().
mkfifo go
"$TIDEMARK" record -q -o run.tmk -- bash -c 'read line <go; exec "$1"' bash \
    "$BUILD/../faults/faults_program" >out 2>err &
recorder=$!
in_call() { grep -q "^$2 " "/proc/$1/syscall"; } # PID NUMBER
program_of() { pgrep -P "$recorder" "$1"; } # NAME
opens_fifo() { in_call "$(program_of bash)" 257; }
until_true opens_fifo
collector=$(collector_of "$recorder")
until_true in_call "$collector" 7
kill -STOP "$collector"
echo >go
until_true program_of faults_program >/dev/null
program=$(program_of faults_program)
until_true in_call "$program" 47
kill -KILL "$program"
kill -CONT "$collector"
until_true [ ! -d "/proc/$recorder" ]
if [ -d "/proc/$recorder" ]; then
    kill_hard "$recorder"
else
    { wait "$recorder"; } 2>/dev/null
    status=$?
    [ $status = 137 ] || fail "the command ended with status $status, not as its program"
fi
exit $failed
