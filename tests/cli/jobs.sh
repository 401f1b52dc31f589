# Ctrl-Z stops both, the shell sees the job stopped, and fg goes on with both.
. "$HERE/lib.sh"

state() { sed 's/.*) //; s/ .*//' "/proc/$1/stat"; }
is() { [ "$(state "$1")" = "$2" ]; }
sleeps() { is "$1" S; }

set -m
tidemark record -q -o j.tmk bash -c 'echo $$ >pid; while [ ! -e enough ]; do sleep 0.1; done; exit 12' &
set +m
recorder=$!
until_true test -s pid
program=$(cat pid)
[ "$(ps -o pgid= -p "$program" | tr -d ' ')" = "$(ps -o pgid= -p $recorder | tr -d ' ')" ] &&
    echo "one process group"

kill -TSTP $recorder
until_true is "$recorder" T
until_true is "$program" T
echo "both stopped"
kill -CONT -- -$recorder
until_true sleeps "$program"
echo "both go on"
kill -TSTP -- -$recorder
until_true is "$recorder" T
until_true is "$program" T
echo "both stopped again, by the group"
: >enough
kill -CONT -- -$recorder
wait $recorder
echo "status $?"
query j.tmk "SELECT count(*) FROM program"

# A terminal: the program reads it, and is in its foreground group.
command -v script >/dev/null || exit 0
echo "typed" | script -qec "tidemark record -q -o t.tmk sh -c 'test -t 0 && test -t 1 && read line && echo \"read: \$line\"'" typescript |
    tr -d '\r' | grep '^read'
