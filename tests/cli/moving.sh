# A program that runs on and moves its blocks about has lost none at any moment: with one thread and
# with several, recorded from its start, attached to, and when attach leaves.
. "$HERE/lib.sh"

begin() { # COMMAND…: its pid
    rm -f from
    mkfifo from
    "$@" >from &
    job=$!
    read -r pid <from
}

lost() {
    for _ in 1 2 3 4 5; do
        tidemark leaks "$pid" | head -1
    done | sort | uniq -c | sed 's/^ *//'
}

for threads in 1 3; do
    echo "== recorded, threads: $threads"
    begin tidemark record -q --separate -o run.tmk "$VICTIMS/moving" "$threads"
    lost
    tidemark held --json "$pid" | jq -r '[.holders[] | select(.name == "lists") | .retained_blocks] | add > 10000'
    kill -9 "$pid"
    wait "$job" 2>/dev/null || true
    echo "== attached, threads: $threads"
    begin "$VICTIMS/moving" "$threads"
    tidemark attach -q -o attached.tmk "$pid" &
    attach=$!
    until_true tidemark snapshot "$pid" >/dev/null
    sleep 0.5
    lost
    kill -INT "$attach"
    wait "$attach"
    echo "== when attach has left"
    tidemark leaks attached.tmk | head -1
    kill -9 "$pid"
    wait "$job" 2>/dev/null || true
done
echo "== a process that nobody records: one sentence"
begin "$VICTIMS/moving" 1
try tidemark leaks "$pid"
sentence "is not being recorded(: start it with tidemark record| by this user)"
try tidemark held "$pid"
sentence "is not being recorded(: start it with tidemark record| by this user)"
kill -9 "$pid"
wait "$job" 2>/dev/null || true
