# Formats that need no other tool to be looked at, and what the command refuses.
. "$HERE/lib.sh"
[ -x /usr/bin/python3 ] || skip "no python3"
exchanged() { /usr/bin/python3 "$HERE/exchanged.py" "$@"; }

tidemark record -q -o run.tmk "$VICTIMS/basic" >/dev/null 2>&1
export_to() { tidemark export --to "$@" 2>err || cat err; }

echo "# folded"
export_to folded run.tmk
exchanged folded run.tmk run.folded
export_to folded --metric leaked -o - run.tmk | awk '{ sum += $NF } END { print sum }' >leaked
tidemark report --json run.tmk | jq .program.live_bytes | cmp - leaked && echo "what was never freed"
export_to folded --filter victim_calloc -m count -o - run.tmk | sed 's/.*;//'
try tidemark export --to folded --filter victim_calloc -o - run.tmk
[ -s err ] && cat err
try tidemark export --to folded --filter no_such_function -o - run.tmk
sentence "no call path passes the filter"
wc -c <out

echo "# speedscope"
export_to speedscope run.tmk
exchanged speedscope run.tmk run.speedscope.json
export_to speedscope -m bytes -o - run.tmk | jq -c '[.profiles[].name]'

echo "# tables"
export_to csv run.tmk
export_to jsonl run.tmk
export_to csv --rows paths -o paths.csv run.tmk
export_to csv --rows timeline -o timeline.csv run.tmk
exchanged tables run.tmk run.csv run.jsonl paths.csv timeline.csv

echo "# chrome"
export_to chrome run.tmk
exchanged chrome run.tmk run.chrome.json

echo "# sqlite"
export_to sqlite run.tmk
tidemark report --json run.tmk | jq .program.at_peak_bytes >peak
sqlite3 run.db 'SELECT sum(at_peak_bytes) FROM site' | cmp - peak && echo "rows"

echo "# dot"
export_to dot run.tmk
grep -c 'label="victim_.*(.*%) of ' run.dot | sed 's/[1-9][0-9]*/functions/'
if command -v dot >/dev/null; then
    export_to svg run.tmk
    head -c 5 run.svg
    echo
else
    echo "<?xml"
fi
PATH=$BIN try tidemark export --to svg -o none.svg run.tmk
sentence 'cannot run dot'
ls none.svg* 2>/dev/null

echo "# dhat, and back"
export_to dhat run.tmk
tidemark import run.dhat.json -o back.tmk 2>/dev/null
exchanged imported run.tmk back.tmk alloc_count alloc_bytes live_count live_bytes at_peak_bytes at_peak_count peak_bytes \
    free_count 'temporary_count?'

echo "# nothing is overwritten, nothing half is left"
try tidemark export --to folded run.tmk
sentence 'will not replace run.folded'
try tidemark export --to folded --force run.tmk
sentence 'wrote run.folded'
try tidemark export --to folded -o missing/out run.tmk
sentence 'missing/out'
mkfifo pipe
try tidemark export --to folded --force -o pipe run.tmk
sentence 'will not replace pipe: it is no regular file'
[ -p pipe ] && rm pipe
ls -d ./*.folded.* missing 2>/dev/null

echo "# of a job, and of a rank"
"$MAKE_JOB" run4 4
for rank in 0 3; do
    export_to folded --rank $rank -o - run4 | awk '{ sum += $NF } END { print sum }' >sum
    tidemark report --json run4/rank-0000$rank.tmk | jq .program.at_peak_bytes | cmp - sum && echo "rank $rank"
done
tidemark job -o all.tmk run4 >/dev/null 2>&1
export_to folded -o - run4 | awk '{ sum += $NF } END { print sum }' >sum
tidemark report --json all.tmk | jq .program.at_peak_bytes | cmp - sum && echo "all"

echo "# of a region"
tidemark record -q -o phases.tmk "$APIS/api_phases" 3 >/dev/null 2>&1
of_region() { tidemark report --json --region parallel phases.tmk | jq ".program.$1"; }
for metric in at_peak_bytes live_bytes alloc_bytes temporary_count; do
    export_to folded -r parallel -m $metric -o - phases.tmk | awk '{ sum += $NF } END { print sum }' >sum
    of_region $metric | cmp - sum && echo "$metric"
done
export_to openmetrics -r parallel -o - phases.tmk | grep -E '^tidemark_(alloc_blocks|peak_bytes){.*region="parallel"} [0-9]+$' |
    sed 's/.* //' >sums
{ of_region alloc_count && of_region peak_bytes; } | cmp - sums && echo "openmetrics"
export_to massif -r parallel -o - phases.tmk | sed -n 's/^n[0-9]*: \([0-9]*\) .*/\1/p' >sum
of_region at_peak_bytes | cmp - sum && echo "massif"
export_to csv -r parallel --rows paths -o - phases.tmk | wc -l
export_to dhat -r scratch phases.tmk
tidemark import phases.dhat.json -o scratch.tmk 2>/dev/null
tidemark report --json scratch.tmk | jq -c '.program | [.alloc_count, .alloc_bytes, .live_bytes]'

echo "# what is refused"
refused() {
    try tidemark export "$@"
    sed 1q err | sed 's/^tidemark export: //'
}
refused --to folded
refused run.tmk
refused --to foldd run.tmk
refused --to folded -m size_max run.tmk
refused --to folded -m freed -o none run.tmk
refused --to callgrind -m peak run.tmk
refused --to pprof --inclusive run.tmk
refused --to folded --from 1s run.tmk
refused --to folded --rank 3 run.tmk
refused --to folded --filter '(' run.tmk
refused --to sqlite -o - run.tmk
refused --to sqlite --region parallel phases.tmk
refused --to csv --rows timeline --region parallel phases.tmk
refused --to folded --region nix -o none phases.tmk
refused --to folded --region nix -o none run.tmk
refused --to folded nothing.tmk

echo "# of a trace, and of a part of one"
tidemark record -q --trace -o traced.tmk "$VICTIMS/basic" >/dev/null 2>&1
export_to folded -m count -o whole.folded traced.tmt
export_to folded -m count -o - traced.tmk | cmp - whole.folded && echo "the same as the profile's"
export_to folded -m count --from peak -o - traced.tmt | awk '{ sum += $NF } END { print sum + 0 }' >part
awk '{ sum += $NF } END { print sum }' whole.folded >whole
[ "$(cat part)" -lt "$(cat whole)" ] && echo "less from the peak on"
