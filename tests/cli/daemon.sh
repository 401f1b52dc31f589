# Of what goes into the background the daemon leads the summary; a worker that is waited for does not.
. "$HERE/lib.sh"
for how in "" waits; do
    "$BIN/tidemark" record -o "daemon$how.tmk" "$CLI/cli_daemon" $how 2>&1 |
        sed -nE 's/pid [0-9]+/pid N/; s/\.[0-9]+\.tmk/.PID.tmk/; s/@[0-9]+/@PID/
            s/^  peak *([0-9.]+ [A-Za-z]+) .*/peak \1/p; s/^  (look at it|another) */\1: /p'
done
