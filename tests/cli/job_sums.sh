# Each figure of a job against the sum over its ranks, which job_sums.py makes on its own.
. "$HERE/lib.sh"
command -v python3 >/dev/null || skip "no python3"

"$MAKE_JOB" made 16 4
tidemark job -o made.tmk made >/dev/null
python3 "$HERE/job_sums.py" made made.tmk
echo "--- recorded, each rank another program"
rank=0
for program in imbalance warm basic recursion; do
    PMI_SIZE=4 PMI_RANK=$rank tidemark record -q --job=runs --job-id=x "$VICTIMS/$program" >/dev/null
    rank=$((rank + 1))
done
tidemark job -o runs.tmk runs >/dev/null
python3 "$HERE/job_sums.py" runs runs.tmk
