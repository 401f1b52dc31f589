# Of what goes into the background the daemon leads the summary; a worker that is waited for does not.
. "$HERE/lib.sh"
for how in "" waits; do
    "$BIN/tidemark" record --wait -o "daemon$how.tmk" "$CLI/cli_daemon" $how 2>&1 |
        sed -nE 's/pid [0-9]+/pid N/; s/\.[0-9]+\.tmk/.PID.tmk/; s/@[0-9]+/@PID/
            s/^  peak *([0-9.]+ [A-Za-z]+) .*/peak \1/p; s/^  (look at it|another) */\1: /p'
done

# Of a script the program that it runs leads, if the script holds next to nothing; its status stays.
"$BIN/tidemark" record -o script.tmk sh -c '"$@"; exit 3' sh perl -e '$a = "x" x 9000000' >said 2>&1
echo "status $?"
sed -nE 's/pid [0-9]+/pid N/; s/\.[0-9]+\.tmk/.PID.tmk/
    s/^tidemark: (perl [^ ]+ [^ ]+).*/\1/p; s/^  (look at it) */\1: /p; s/^  (another .*), peak [^:]*/\1/p' said

# Where others are larger than the script, its own file is named too; and it leads if a signal has killed it.
"$BIN/tidemark" record -o many.tmk sh -c '"$@"; "$@"; true' sh perl -e '$a = "x" x 9000000' 2>&1 |
    sed -nE 's/pid [0-9]+/pid N/; s/^tidemark: ([^ ]+ [^ ]+ [^ ]+).*/\1/p; s/^  (. others|started by) */\1: /p' |
    sed -E 's/, peak .*//'
"$BIN/tidemark" record -o killed.tmk sh -c '"$@"; kill -SEGV $$' sh perl -e '$a = "x" x 9000000' 2>&1 |
    sed -nE 's/pid [0-9]+/pid N/; s/^tidemark: ([^ ]+ [^ ]+ [^ ]+) [^ ]+ [^ ]+, /\1: /p'

# It runs on when record is through, which lets go of the streams; and is recorded to its end.
# Its profile may have been begun, or not, and then it may become a row: both are told by their names.
daemon_names() {
    sed -E 's/pid [0-9]+/pid N/; s/\.[0-9]+\.tmk/.PID.tmk/; s/@[0-9]+/@PID/
        s/^  (so far       tidemark report|its profile ) ([^ ]*)$/  profile      \2/; /^  if small     goes.session.tmk@PID$/d'
}
is_complete() {
    [ -e goes.cli_daemon.*.tmk ] &&
        [ "$(query goes.cli_daemon.*.tmk "SELECT value FROM meta WHERE key = 'complete'")" = 1 ]
}
touch stays
"$BIN/tidemark" record -o goes.tmk "$CLI/cli_daemon" stays >said 2>&1 </dev/null
daemon_names <said
[ -e stays ] && ! is_complete && echo "it runs on"
rm stays
until_true is_complete
tidemark report goes.cli_daemon.*.tmk | sed -nE 's/^  (peak *[0-9.]+ [A-Za-z]+) .*/\1/p'
# The exit status of what has started it is the program's.
touch stays
"$BIN/tidemark" record -q -o fails.tmk "$CLI/cli_daemon" stays fails >said 2>&1
echo "status $?"
cat said
rm stays
# In a directory of jobs the same.
touch stays
timeout 300 "$BIN/tidemark" record --separate --job=jobs "$CLI/cli_daemon" stays >said 2>&1 </dev/null
echo "job: status $?"
daemon_names <said | sed -E 's#jobs/[^ :]*/#jobs/ID/#; s/cli_daemon\.[^ ]*\.PID/cli_daemon.HOST.PID/'
grep -c '^end ' jobs/*/*.entry | cut -d: -f2 | sort | paste -sd ' '
rm stays
until_true sh -c '[ $(cat jobs/*/*.entry | grep -c "^end exit") = 2 ]'
tidemark job -f json jobs | jq -c '[.ranks[] | [.state, .peak_bytes]] | sort'
