# When the ranks of a machine held most together, of what their traces say, and who held what then.
. "$HERE/lib.sh"

cat >waves.c <<'END'
/* Levels that go up and down in each rank by chance, so that no rank's own peak is the machine's. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static unsigned seed;
static unsigned some(unsigned limit) { return (seed = seed * 1103515245 + 12345) / 65536 % limit; }
__attribute__((noinline)) static void *flow(size_t size) { return memset(malloc(size), 1, size); }
__attribute__((noinline)) static void *ebb(size_t size) { return memset(malloc(size), 1, size); }
int main(void)
{
    static void *blocks[256];
    seed = 77 + 1000 * atoi(getenv("PMI_RANK"));
    for (int i = 0; i < 6000; i++) {
        void **block = &blocks[some(i / 1000 % 2 ? 256 : 32)];
        free(*block);
        *block = i / 500 % 2 ? ebb(1 + some(9000)) : flow(1 + some(9000));
        if (i % 100 == 0)
            usleep(10000);
    }
    return 0;
}
END
cc -O1 -g -o waves waves.c
for rank in 0 1 2; do
    PMI_SIZE=3 PMI_RANK=$rank tidemark record -q --trace --separate --job=runs --job-id=x ./waves &
done
wait
echo "== the sum is what each trace alone says of that time, and no instant has more"
tidemark at --json -n 0 runs node-peak >at.json
# The time in each rank's own run, from the job's JSON; what it holds then, from its trace alone. The
# mark is an event of one of them, of which a whole nanosecond may be just before: so the next one.
for rank in 0 1 2; do
    time=$(jq ".ranks[$rank].time_ns" at.json)
    tidemark at --json -n 0 runs/x/rank-0000$rank.*.tmt "$((time + 1))ns"
done | jq -s -c --slurpfile at at.json '($at[0]) as $at | [
    (map(.at.live_bytes) | add) == $at.live_bytes, (map(.at.live_count) | add) == $at.live_count,
    $at.live_bytes == $at.nodes[0].live_bytes, map(.at.live_bytes) == ($at.ranks | map(.live_bytes)),
    (map(.functions[]) | group_by(.function) | map({name: .[0].function, own: (map(.exclusive.live_bytes) | add)}) |
        map(select(.own > 0)) | sort_by(.name)) == ($at.functions | map({name: .function, own: .exclusive_bytes}) |
        map(select(.own > 0)) | sort_by(.name))]'
# By every event of all traces, laid over each other so that the mark is one instant. Times are whole
# nanoseconds there, so a block or two may be in another order. What lies between the ranks' beginnings
# is what the machine's counter says (a trace's head has its number, doc/FORMAT-trace.md).
cat >sums.py <<'END'
import glob, json, struct, subprocess
births = {"malloc", "calloc", "aligned", "new", "new[]", "realloc-to"}
said = json.load(open("at.json"))
steps, largest, starts = [], 0, []
for trace, rank in zip(sorted(glob.glob("runs/x/*.tmt")), said["ranks"]):
    starts.append((struct.unpack_from("<Q", open(trace, "rb").read(64), 24)[0], rank["time_ns"]))
    live = {}
    for line in subprocess.run(["tidemark", "events", "--json", trace], stdout=subprocess.PIPE).stdout.splitlines():
        event = json.loads(line)
        if event.get("failed") or "address" not in event:
            continue
        address, moment = event["address"], event["time_ns"] - rank["time_ns"]
        if event["kind"] in births:
            live[address] = event["size_bytes"]
            largest = max(largest, live[address])
            steps.append((moment, live[address]))
        elif event["kind"] in ("free", "realloc-of") and address in live:
            steps.append((moment, -live.pop(address)))
    steps.append((rank["duration_ns"] + 1 - rank["time_ns"], -sum(live.values())))
total = most = 0
for _, change in sorted(steps):
    total += change
    most = max(most, total)
print("the highest sum of events is the mark", abs(most - said["live_bytes"]) <= 2 * largest)
ticks, ns = zip(*((start - starts[0][0], starts[0][1] - time) for start, time in starts[1:]))
print("the ranks began as the counter says", abs(ticks[0] * ns[1] - ticks[1] * ns[0]) <= 1e-3 * abs(ticks[0] * ns[1]))
END
python3 sums.py
echo "== the job's report says the same, and that it is exact"
tidemark job --json runs | jq -c --slurpfile at at.json '.nodes[0] | [.exact, .lower_bytes == .upper_bytes,
    .upper_bytes == $at[0].live_bytes, (.held_by | map(.bytes)) == ($at[0].ranks | map(.live_bytes) | map(select(. > 0)) | sort | reverse)]'
tidemark job runs | grep -c "exactly after"
tidemark at runs node-peak | sed -n '/^Machines/,/^$/p' | sed 's/^ *[0-9].*/  …/'
echo "== machines each have their own, and the job has one"
sed 's/^host .*/host other/; s/^boot .*/boot 2/' runs/x/rank-00002.*.entry >entry && cp entry runs/x/rank-00002.*.entry
tidemark at --json runs node-peak | jq -c '[.live_bytes == ([.nodes[].live_bytes] | add), (.nodes | length)]'
tidemark at --json --node=other runs node-peak | jq -c '[.live_bytes == .ranks[0].peak_bytes, [.ranks[].rank]]'
tidemark at --json runs job-peak | jq -c '[.live_bytes == ([.ranks[].live_bytes] | add), (.nodes | map(.time_ns) | unique | length)]'
echo "== a rank without a trace: at least; without any: refused, and the profiles have bounds"
rm runs/x/rank-00001.*.tmt
tidemark at --json runs node-peak | jq -c '[.at_least, .unknown_ranks]'
tidemark job --json runs | jq -c '[.nodes[] | [.exact, .lower_bytes <= .upper_bytes]]'
rm runs/x/*.tmt
try tidemark at runs node-peak
sentence "it has no trace here"
echo "== refused"
try tidemark at --of=mapped runs node-peak
sentence "is known of the heap"
try tidemark at --node=none runs peak
sentence "no rank of the job ran on none"
try tidemark record -q --trace -o one.tmk "$VICTIMS/basic"
try tidemark at one.tmt node-peak
sentence "is of all ranks of a job"
try tidemark events --from=job-peak one.tmt
sentence "is of all ranks of a job"
