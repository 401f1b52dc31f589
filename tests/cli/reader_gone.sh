# A reader that closes its pipe early is no failure, and nothing is said of it: neither where the kernel would
# end the command by a signal, nor where whoever started it ignores that signal.
. "$HERE/lib.sh"

tidemark record -q --held --page-content -o run.tmk "$VICTIMS/basic" >/dev/null 2>&1
# Standard output is a pipe without a reader, and SIGPIPE is ignored.
unread() {
    perl -e '$SIG{PIPE} = "IGNORE"; pipe R, W; close R; open STDOUT, ">&", W; exec @ARGV' "$@" 2>err
    echo "$2 $3: status $?"
    cat err
}

for command in report insight leaks held content annotate; do
    unread tidemark $command run.tmk
    unread tidemark $command --json run.tmk
done
unread tidemark diff run.tmk run.tmk
unread tidemark diff --json run.tmk run.tmk
unread tidemark doctor --no-try | sed "s,status 1$,status 0," # 1: this machine has a problem
unread tidemark export --to=folded -o - run.tmk
unread tidemark query run.tmk
unread tidemark plot run.tmk
unread tidemark maps $$ | sed "s/$$/PID/"
unread tidemark html --no-sources -o - run.tmk
unread python3 "$HERE/../truth/run.py" --list | sed 's,^.*/run.py,run.py,'
# A disk that is full is one.
for command in report insight leaks held content annotate; do
    tidemark $command run.tmk >/dev/full 2>err
    echo "$command: status $?, $(grep -c "^tidemark.*: cannot write: No space left on device" err)"
    tidemark $command --json run.tmk >/dev/full 2>err
    echo "$command --json: status $?, $(grep -c "^tidemark.*: cannot write: No space left on device" err)"
done
many='WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number LIMIT 9999) SELECT n FROM number'
for format in table csv json jsonl; do # more than one buffer of it
    tidemark query -f $format run.tmk "$many" >/dev/full 2>err
    echo "query -f $format: status $?, $(grep -c "^tidemark.*: cannot write: No space left on device" err)"
    unread tidemark query -f $format run.tmk "$many"
done
