# Threads that still work when main() ends lose nothing, though they allocate and free while the
# blocks are looked at. Where nobody works, pointers in free memory keep nothing at a snapshot either.
# (One pointer may still lie on the stack of main().)
. "$HERE/lib.sh"

lost() { # FILE or PID: blocks lost and indirectly lost
    tidemark leaks --json "$1" | jq '.lost.blocks + .indirect.blocks'
}

for threads in 1 3; do
    echo "== they work, threads: $threads"
    for _ in 1 2 3 4 5 6; do
        tidemark record -q --separate -o run.tmk "$VICTIMS/working" "$threads" 3
        lost run.tmk
    done | sort | uniq -c | sed 's/^ *//'
done
echo "== they wait: at a snapshot the list is exact, too"
mkfifo from
tidemark record -q --separate -o run.tmk "$VICTIMS/working" 3 100 wait >from &
job=$!
read -r pid <from
lost "$pid" | awk '{ print ($1 == 99 || $1 == 100 ? "99 or 100" : $1) }'
kill -9 "$pid"
wait "$job" 2>/dev/null || true
