# Only some ranks of a job are recorded; the others run bare, and nobody misses them.
. "$HERE/lib.sh"
export PMI_SIZE=6
for rank in 0 1 2 3 4; do
    PMI_RANK=$rank tidemark record -q --separate --job=runs --job-id=x --ranks=0,3-:2 \
        sh -c 'echo "rank $PMI_RANK: ${TIDEMARK_SESSION:+recorded}"; exit $PMI_RANK'
    echo "status $?"
done
ls runs/x | sed 's/\..*\./ ./' | sort -u
echo "--- rank 5 was to be recorded and left nothing; 1, 2 and 4 were not"
tidemark job runs | grep -E '^ *recorded|left nothing' | tr -s ' '
tidemark job --json runs | jq -c '[.size, .recorded_ranks, .left_out_count, .missing_count, .missing]'
tidemark job -o job.tmk runs >/dev/null 2>&1
tidemark report job.tmk | tr -s ' \n' ' ' | grep -oE 'all recorded[^;]*; [0-9]+ more were not recorded|[0-9]+ left nothing; [0-9]+ more were not recorded'
echo "--- refused"
try tidemark record --ranks=0 true
sentence "give --job=DIR too"
PMI_RANK=0 try tidemark record --job=runs --ranks=8-5 true
sentence "'8-5' is not right for --ranks"
(unset PMI_SIZE && try tidemark record --job=runs --ranks=0 true && sentence "this process is no rank")
