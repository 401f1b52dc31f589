# What the ranks of a job hold at a moment: the sum of what each rank's trace says alone.
. "$HERE/lib.sh"

export PMI_SIZE=4
for rank in 0 1 2; do
    PMI_RANK=$rank tidemark record -q --trace --separate --job=runs --job-id=x "$VICTIMS/imbalance"
done
unset PMI_SIZE
cd runs/x || exit
# Of each moment: the job's sums against those of its ranks' traces, asked one by one, with functions that have only what others below them asked for.
for moment in peak 0% 37% 50% 80% 100%; do
    for of in heap all; do
        tidemark at --json --of=$of -n 0 . $moment >job.json
        for rank in 0 1 2; do
            tidemark at -i --json --of=$of -n 0 rank-0000$rank.*.tmt $moment
        done | jq -s '{bytes: (map(.at.live_bytes) | add), count: (map(.at.live_count) | add),
            functions: (map(.functions[]) | group_by(.function) |
                map({name: .[0].function, own: (map(.exclusive.live_bytes) | add), below: (map(.inclusive.live_bytes) | add),
                    most: (map(.exclusive.live_bytes) | max), ranks: length}) | map(select(.own > 0)) | sort_by(.name))}' >sum.json
        jq -c --arg moment "$moment $of" --slurpfile sum sum.json '[$moment, .live_bytes == $sum[0].bytes, .live_count == $sum[0].count,
            .live_bytes == ([.ranks[].live_bytes] | add), .live_bytes == ([.nodes[].live_bytes] | add),
            ([.functions[] | {name: .function, own: .exclusive_bytes, below: .inclusive_bytes, most: .most_bytes, ranks}] | sort_by(.name))
                == $sum[0].functions]' job.json
    done
done
cd ../..
echo "== who has most, and what is missing"
tidemark at runs peak | sed 's/[0-9.]* \(ms\|s\|us\|µs\) \( *rank\)/T \2/; s/ on .*//' | tr -s ' '
tidemark at --json runs peak | jq -c '[.id, .moment, .of, .at_least, .alive_ranks, .missing_ranks, .functions[0].most_rank]'
tidemark at -i -n 1 runs peak | sed -n '/^Functions/,$p' | tr -s ' ' | head -3
tidemark at --filter='!victim_kept' --json -n 0 runs peak | jq -c '[.filtered_bytes < .live_bytes, .filtered_bytes == ([.functions[].exclusive_bytes] | add)]'
echo "== by the clock: one had not begun, then both live, then both have ended"
PMI_SIZE=2 PMI_RANK=0 tidemark record -q --trace --separate --job=late --job-id=y "$VICTIMS/warm" &
has_begun() { ls late/y/rank-00000.*.entry; }
until_true has_begun >/dev/null
sleep 1
PMI_SIZE=2 PMI_RANK=1 tidemark record -q --trace --separate --job=late --job-id=y "$VICTIMS/warm"
wait
for moment in 500ms 1h; do
    tidemark at --json late $moment | jq -c '[.moment, .at_least, [.ranks[] | [.rank, .state, .live_bytes, .time_ns != null]]]' |
        sed 's/"alive",[0-9]*/"alive",N/'
done
tidemark at late 1h | tr -s ' ' | grep -A 1 '^ ranks\|^Ranks'
echo "== a rank without a trace, one whose trace was cut off, and a mark that only one has made"
PMI_SIZE=3 PMI_RANK=0 tidemark record -q --trace --separate --job=mixed --job-id=z "$APIS/api_phases" >/dev/null
PMI_SIZE=3 PMI_RANK=1 tidemark record -q --separate --job=mixed --job-id=z "$VICTIMS/imbalance" >/dev/null
PMI_SIZE=3 PMI_RANK=2 tidemark record -q --trace --separate --job=mixed --job-id=z "$VICTIMS/imbalance" >/dev/null
cut=$(echo mixed/z/rank-00002.*.tmt)
truncate -s 3000 "$cut"
for moment in peak mark:start; do
    tidemark at --json mixed $moment | jq -c '[.at_least, .unknown_ranks, [.ranks[] | [.state, .live_bytes == null]],
        ([.ranks[].live_bytes // 0] | add) == .live_bytes]'
done
tidemark at mixed peak | tr -s ' ' | sed -n '/^ ranks/p; /^ warning/,/^$/p' | head -4
echo "== a machine is what has one boot id, whatever it calls itself"
nodes() { tidemark at --json "$@" | jq -c '[.nodes[] | [.node, .alive]] | sort'; }
cp -r runs named
host=$(uname -n)
sed -i 's/^host .*/host elsewhere/' named/x/rank-00002.*.entry
nodes named peak | sed "s/\"$host\"/HOST/"
nodes --node=elsewhere named peak | sed "s/\"$host\"/HOST/"
sed -i 's/^boot .*/boot another/' named/x/rank-00001.*.entry
nodes named node-peak | sed "s/\"$host\"/HOST/g"
for file in named/x/rank-00001.*.tmt; do truncate -s 100 "$file"; done
tidemark at --json named peak | jq -c '.nodes[] | select(.alive == 0) | [.live_bytes, .unknown]'
echo "== refused"
try tidemark at runs '#5'
sentence "an event is of one trace"
try tidemark at --paths runs peak
sentence "are of one trace"
try tidemark at --id=x runs/x/rank-00000.*.tmt peak
sentence "give its directory"
try tidemark at --id=w runs peak
sentence "no job w in runs"
try tidemark at runs mark:none
sentence "of none of the job's 3 ranks it is known: there is no mark 'none'"
mkdir empty
try tidemark at empty peak
sentence "empty"
