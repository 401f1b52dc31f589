# The insights of a known program, and the command's options.
. "$HERE/lib.sh"

tidemark record -q -o i.tmk "$VICTIMS/basic" 1 >/dev/null
try tidemark insight i.tmk
grep -q 'peak-one-site' out && grep -q 'victim_spike.*basic\.c:[0-9]' out && echo "the peak's call site"
[ "$(wc -L <out)" -le 80 ] && echo "80 columns"
grep -c "$(printf '\033')" out
try tidemark insight --width 72 i.tmk
[ "$(wc -L <out)" -le 72 ] && echo "72 columns"
try tidemark insight --least severe i.tmk
grep -q 'victim_spike' out || echo "milder ones left out"
grep -q 'not shown (--least)' out && echo "and counted"
try tidemark insight --color always i.tmk
grep -q "$(printf '\033')" out && echo "colour"
try tidemark insight --json i.tmk
python3 - <<'EOF'
import json
answer = json.load(open("out"))
print(answer["format"], answer["version"], answer["program"], answer["complete"], answer["end"])
found = [i for i in answer["insights"] if i["id"] == "peak-one-site"][0]
print(sorted(found))
print(found["paths"][0]["frames"][0]["function"], found["paths"][0]["unit"])
print([f["unit"] for f in found["evidence"] if f["metric"] == "at_peak_bytes"])
known = {i["id"] for i in answer["insights"]} & {n["id"] for n in answer["not_asked"]}
print("found and not asked:", known or "none")
EOF
# The report has the first of them, in one line each, and all in JSON.
tidemark report i.tmk >out
sed -n '/^Insights/,/^$/p' out >shown
first=$(tidemark insight --json i.tmk | jq -r '.insights[0] | "  \(.severity) *\(.title[0:13])"')
grep -q "^$first" shown && [ "$(grep -c '^  ' shown)" -le 3 ] &&
    echo "in the report"
tidemark report --sort count i.tmk | grep -q '^Insights' || echo "not where one metric is asked for"
tidemark report --json i.tmk | jq -r '.insights[] | select(.id == "peak-one-site") | .severity == "info" or .severity == "notice"'

try tidemark insight
sentence "no profile"
try tidemark insight i.tmk i.tmk
sentence "more than one"
try tidemark insight --least dreadful i.tmk
sentence "severe|least"
try tidemark insight nothing.tmk
sentence "nothing.tmk"
tidemark insight i.tmk | head -1 >/dev/null
echo "status ${PIPESTATUS[0]}" | sed 's/status \(0\|141\)$/ended quietly/'
# Of a program that was killed.
sh -c 'tidemark record -q -o k.tmk "$VICTIMS/endings" kill; :' >/dev/null 2>&1
tidemark insight --json k.tmk | jq -r '.end'
