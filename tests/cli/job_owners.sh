# Who has a job's resident memory: the looks of its ranks added up, each of its own moment. A rank without a
# look is said, and has no part in the sums.
. "$HERE/lib.sh"
export PMI_SIZE=4
for rank in 0 1 2; do
    PMI_RANK=$rank tidemark record -q --job=runs --job-id=x perl -e "push @x, 'a' x 1000 for 1 .. $((20000 * (rank + 1)))"
done
PMI_RANK=3 tidemark record -q --no-looks --job=runs --job-id=x "$VICTIMS/basic" >/dev/null
dir=$(ls -d runs/*)

tidemark job -f json "$dir" >job.json 2>/dev/null
tidemark job -o job.tmk "$dir" >/dev/null 2>&1
tidemark job -J 1 -o again.tmk "$dir" >/dev/null 2>&1
tidemark report --json job.tmk >report.json
tidemark report --json again.tmk | grep -v '"file"\|again.tmk' >again
grep -v '"file"\|job.tmk' report.json | cmp - again && echo "the same by one thread"
for rank in 0 1 2; do tidemark report --json "$dir"/rank-0000$rank.*.tmk >"$rank.json"; done
python3 - <<'P'
import collections, json
job, merged = json.load(open("job.json")), json.load(open("report.json"))
ranks = [json.load(open(f"{rank}.json")) for rank in range(3)]
whole = sum(rank["resident_bytes"] for rank in ranks)
def by_kind(owners):
    sums = collections.Counter()
    for owner in owners:
        sums[owner["kind"]] += owner["resident_bytes"]
    return +sums
def functions(owners):
    return {o["function"] for o in owners if o.get("function") and o["resident_bytes"]}
apart = by_kind(owner for rank in ranks for owner in rank["owners"])
assert whole > 60 * 2**20
for what in job, merged:
    assert what["owner_ranks"] == 3, what["owner_ranks"]
    assert what["resident_bytes"] == whole, (what["resident_bytes"], whole)
    assert by_kind(what["owners"]) == apart, (by_kind(what["owners"]), apart)
assert functions(merged["owners"]) == set().union(*(functions(rank["owners"]) for rank in ranks))
assert [rank["owned_bytes"] for rank in job["ranks"]] == [rank["resident_bytes"] for rank in ranks] + [None]
most = max((o for o in job["owners"] if "function" in o), key=lambda o: o["resident_bytes"])
assert most["ranks"] == 3 and most["max_rank"] == 2 and most["min"] > 15 * 2**20, most
for key in "count", "proportional_bytes", "swapped_bytes", "virtual_bytes":
    sums = [sum(o[key] or 0 for o in owners) for owners in ([o for r in ranks for o in r["owners"]], merged["owners"])]
    assert sums[0] == sums[1], (key, sums)
print("equal")
P
echo "--- in words"
tidemark report job.tmk | sed -n 's/^Resident  [0-9.]* MiB/Resident/p'
tidemark report job.tmk | sed -n '/^Resident/,/^$/p' | grep -c 'blocks\|file'
tidemark report --of=resident job.tmk | grep -c '^Held at the peak'
echo "--- each rank has a stack of main()'s: one row"
tidemark job -f json --of=resident "$dir" 2>/dev/null | jq -c '[.functions[] | select((.function // "") | startswith("[stack]")) | [.function, .at_peak.ranks]]'
echo "--- hidden"
tidemark job -f json --redact=places "$dir" 2>/dev/null | jq -r '.owners[] | .name // empty' | grep -c '/usr'
tidemark job -f json --redact=names "$dir" 2>/dev/null | jq -r '.owners[] | .function // empty' | grep -c Perl
echo "--- none has a look"
PMI_SIZE=1 PMI_RANK=0 tidemark record -q --no-looks --job=bare --job-id=y "$VICTIMS/basic" >/dev/null
tidemark job -f json bare/* 2>/dev/null | jq -c '[.owner_ranks, .resident_bytes, .owners]'
tidemark job -o bare.tmk bare/* >/dev/null 2>&1
tidemark report --json bare.tmk | jq -c '[.owner_ranks, .resident_bytes, .owners]'
try tidemark report --of=resident bare.tmk
sentence 'profile of a job'
