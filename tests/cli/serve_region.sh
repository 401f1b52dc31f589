# Regions in the browser: each is served as a profile of its own, with the report's figures; of a trace
# also within a window; and one file holds them.
. "$HERE/lib.sh"
. "$HERE/serving.sh"

tidemark record -q --trace -o p.tmk "$APIS/api_phases" 3 >/dev/null
begin p.tmk p.tmt
python3 "$HERE/serve_region.py" "$url" p.tmk p.tmt
end

echo "--- a profile that is replaced"
tidemark record -q -o live.tmk "$APIS/api_phases" 2 >/dev/null
begin live.tmk
allocations() { get p/0/region/0/summary | sed 's/^200 //' | jq .program.alloc_count; }
allocations
tidemark record -q -o next.tmk "$APIS/api_phases" 4 >/dev/null
mv next.tmk live.tmk
is_new() { [ "$(allocations)" = 800 ]; }
until_true is_new
allocations
end

echo "--- one file"
tidemark html -q p.tmk 2>/dev/null || tidemark html p.tmk 2>/dev/null
block() { grep -o "data-name=\"$1\" data-type=\"json\">[^<]*" p.html | sed 's/.*>//' | base64 -d | gunzip; }
for region in $(seq 0 $(($(tidemark report --json p.tmk | jq '.regions | length') - 1))); do
    name=$(tidemark report --json p.tmk | jq -r ".regions[$region].name")
    tidemark report --json --region "$name" p.tmk | jq -S .program >wanted
    block "p/0/region/$region/summary" | jq -S .program | cmp - wanted && echo "$name as in the report"
done
block p/0/summary | jq -c '[.resources[] | select(. == "region")]'
grep -c 'data-name="p/0/region/0/paths"' p.html || true
