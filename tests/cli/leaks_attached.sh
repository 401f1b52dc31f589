# What memory from before the recording points to is not lost. Where things lie differs from run to run.
. "$HERE/lib.sh"

for turn in 1 2 3 4; do
    "$CLI/cli_kept_before" >said &
    program=$!
    until grep -q ready said 2>/dev/null; do sleep 0.05; done
    tidemark attach -q --for=0.5s -o run.tmk "$program"
    kill "$program"
    wait "$program" 2>/dev/null || true
    tidemark leaks --json run.tmk | jq -c '[.lost.blocks, .indirect.blocks]'
done
