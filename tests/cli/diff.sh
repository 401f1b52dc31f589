# Two builds compared, and several runs of each.
. "$HERE/lib.sh"

for run in 1 2 3; do
    tidemark record -q -o old$run.tmk "$VICTIMS/rebuilt_older" $((9000 + run % 2 * 700)) >/dev/null
    tidemark record -q -o new$run.tmk "$VICTIMS/rebuilt_newer" $((9000 + run % 3 * 500)) >/dev/null
done
try tidemark diff old1.tmk new1.tmk
[ "$(wc -L <out)" -le 80 ] && echo "80 columns"
grep -c "$(printf '\033')" out
grep -q '^ *+97.6 KiB .* load_table ' out && echo "what grew"
grep -q '^ *−19.5 KiB .*gone.* old_cache ' out && echo "what went"
grep -q 'same_as_before' out || echo "what stayed is not there"
try tidemark diff --json old1.tmk new1.tmk
python3 - <<'END'
import json
d = json.load(open("out"))
print(d["format"], d["version"], d["metric"], [r["group"] for r in d["runs"]])
for f in d["functions"]:
    print(f["function"], f["before"], f["after"], f["difference"], f["counts"])
print("adds up:", sum(f["difference"] for f in d["functions"]) == d["total"]["difference"] == sum(p["difference"] for p in d["paths"]))
for p in d["paths"]:
    leaf = p["frames"][0]
    if leaf["function"] in ("three_calls", "same_as_before"):
        print(leaf["function"], p["before"], p["after"], "moved" if leaf["line_before"] and leaf["line_after"] and leaf["line_after"] > 1000 > leaf["line_before"] else "on one side")
END
# The totals are the report's.
tidemark diff -j old1.tmk new1.tmk | jq -c '.totals[] | select(.name == "peak_bytes" or .name == "alloc_count") | [.name, .before, .after]' >got
for metric in peak_bytes alloc_count; do
    jq -c -n --arg name $metric --argjson a "$(tidemark report --json old1.tmk | jq .program.$metric)" --argjson b "$(tidemark report --json new1.tmk | jq .program.$metric)" '[$name, $a, $b]'
done >want
diff want got && echo "totals as in the report"
# Several runs: what varies by itself is no difference.
try tidemark diff -j old1.tmk old2.tmk old3.tmk -- new1.tmk new2.tmk new3.tmk
jq -c '.functions[] | [.function, .counts, .noise > 0]' out
tidemark diff old1.tmk old2.tmk old3.tmk -- new1.tmk new2.tmk new3.tmk >out
grep -q 'random_part' out || echo "noise is left out"
grep -q 'no more than noise' out && echo "and counted"
tidemark diff -j old1.tmk new1.tmk new2.tmk | jq -c '[.runs[].group]'
# A recording compared with itself; other metrics; normalised.
tidemark diff old1.tmk old1.tmk | grep -c 'grown\|shrunk'
tidemark diff -j --sort temporary --inclusive old1.tmk new1.tmk | jq -c '[.metric, .functions[0].difference]'
tidemark diff -j --per count old1.tmk new1.tmk | jq -c '[.normalised, (.totals[] | select(.name == "alloc_count") | .before == .after)]'
tidemark diff -j --per time old1.tmk new1.tmk | jq -c '[.normalised, .runs[0].scale]'
# Sampled: the error bars are noise.
tidemark record -q --sample=1K -o sampled.tmk "$VICTIMS/rebuilt_newer" >/dev/null
tidemark diff -j old1.tmk sampled.tmk | jq -c '[.total.noise > 0, [.runs[].sampled]]'
tidemark diff old1.tmk sampled.tmk | grep 'tmk:'
# With a column of noise little of the line is left: names go below the figures. A sample may miss a path
# of the function that the other recording has: a third row.
for width in 72 80 100; do
    timeout 300 tidemark diff --width $width old1.tmk sampled.tmk >out || echo "status $? at $width"
    rows=$(grep -c '^    three_calls\|±[^ ]* K*i*B  three_calls' out)
    [ "$(wc -L <out)" -le $width ] && [ "$rows" -ge 2 ] && [ "$rows" -le 3 ] && echo "both at $width"
done
tidemark record -q --stacks=none -o callers.tmk "$VICTIMS/rebuilt_newer" >/dev/null
tidemark diff --width 120 old1.tmk callers.tmk | grep -o 'call paths: .*'
tidemark report callers.tmk | grep 'call paths'
# So are whole paths then: what did not change is no difference because of how it was recorded.
tidemark diff --width 120 new1.tmk callers.tmk | grep -o 'By what calls the allocator itself'
tidemark diff -j new1.tmk callers.tmk | jq -c '[.callers_only, ([.paths[].frames | length] | max), ([.functions[] | select(.function == "load_table") | .difference] | add)]'
tidemark diff -j callers.tmk callers.tmk | jq -c .callers_only
tidemark record -q --stacks=fp -o fp.tmk "$VICTIMS/rebuilt_newer" >/dev/null
tidemark diff --width 120 new1.tmk fp.tmk | grep -o 'Call paths were found in different ways'
tidemark record -q -o other.tmk "$VICTIMS/basic" 2 >/dev/null
tidemark diff other.tmk old1.tmk | grep "tmk:\|e+"
tidemark diff old1.tmk old2.tmk | grep 'tmk:'
try tidemark diff old1.tmk
sentence "only one"
try tidemark diff
sentence "no profiles"
try tidemark diff old1.tmk nothing.tmk
sentence "nothing.tmk"
try tidemark diff --sort freed old1.tmk new1.tmk
sentence "old1.tmk.*free-stacks"
tidemark diff old1.tmk new1.tmk | head -1 >/dev/null
echo "status ${PIPESTATUS[0]}" | sed 's/status \(0\|141\)$/ended quietly/'
