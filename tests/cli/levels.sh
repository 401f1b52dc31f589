# Levels of memory in words, in the report's first screen, of a job and from the server.
. "$HERE/lib.sh"

tidemark record -q -o run.tmk "$CLI/cli_levels" >/dev/null
# Mappings are called mappings.
tidemark report --of=mapped run.tmk >out
grep -c '^  never unmapped 50.0 MiB in 1 mapping$' out
grep -o '^  mappings     2 of 150 MiB in all' out
grep -o '^Never unmapped\|^Mapped at the peak  100 MiB\|^Most mappings' out
grep -c 'allocations\|never freed\|Never freed' out
tidemark report --of=mapped --sort=freed run.tmk | grep -o '^Unmapped most *100 MiB'
tidemark report --of=all run.tmk | grep -o '^  never freed  50.0 MiB'
# Who has most of what is resident, and through whom.
tidemark report run.tmk | sed -n '/^Resident  /,/^Held/p' | grep -A1 'mapping    map_and_touch' | sed -n 's,.*through \(gives_back\|keeps\) .*,through its caller,p'
# pprof's file has all levels, each with the report's sum.
tidemark report --json run.tmk >report.json
for pair in "mapped mapped" "all all" "resident resident"; do
    set -- $pair
    tidemark export --of="$1" --to folded -o - run.tmk 2>/dev/null | awk '{ sum += $NF } END { print sum }' >sum
    [ "$(cat sum)" = "$(tidemark report --of="$2" --json run.tmk | jq .program.at_peak_bytes)" ] && echo "folded $1"
done
[ "$(cat sum)" = "$(jq '[.owners[] | select(.kind != "tool").resident_bytes] | add' report.json)" ] && echo "resident is the owners' sum"
# Lines of source, and curves.
tidemark annotate --of=mapped --json run.tmk | jq -c '[.. | objects | select(.function? == "map_and_touch")] | length > 0'
tidemark plot --of=mapped --terminal --width 100 run.tmk | grep -o 'peak 100 MiB mapped' | head -1
tidemark plot --of=mapped --functions 1 --terminal --width 100 run.tmk | grep -o 'map_and_touch' | head -1
tidemark plot --of=resident --terminal --width 100 run.tmk | grep -c 'requested'
try tidemark plot --of=mapped "$HERE/../golden/profile-v1.tmk"
sentence "does not say what is mapped"
# A trace at a moment: who holds mappings, or both, when that level was highest, and which ones they are.
tidemark record -q --trace -o traced.tmk "$CLI/cli_levels" >/dev/null
for level in mapped all; do
    tidemark at --of=$level --json traced.tmt peak | jq -c "[.of, .at.live_bytes == .peak.live_bytes, .peak.live_bytes == $(tidemark report --of=$level --json traced.tmk | jq .program.peak_bytes), .functions[0].function, .functions[0].exclusive.at_peak_bytes]"
done
tidemark at --of=mapped traced.tmt peak | grep -o '^  live memory  100 MiB in 1 mapping, 100 %\|^  of  .*'
tidemark blocks --of=mapped --json traced.tmt | jq -c '[.size_bytes, .thread, .mapping, .frames[1].function]'
tidemark blocks --of=all --at peak --json traced.tmt | jq -c '[.size_bytes, .mapping, .frames[0].function]'
tidemark blocks --of=mapped traced.tmt | grep -o '1 mapping (50.0 MiB) is alive\|kind .*mapped by'
try tidemark at --of=resident traced.tmt peak
sentence "a trace has no pages"
try tidemark blocks --of=resident traced.tmt
sentence "a trace has no pages"
try tidemark at --of=stack traced.tmt peak
sentence "'stack' is not right for --of: expected heap.mapped.all"
for command in at blocks; do tidemark $command --help | grep '^ *--of'; done
try tidemark blocks --of=mapped --thread 1 traced.tmt
sentence "which thread has mapped something is not known"
# What grew says first whose it is, as the kernel charges it; where that is not known it is not said.
tidemark record -q -o more.tmk "$CLI/cli_levels" 150 >/dev/null
tidemark diff run.tmk more.tmk | grep -o '^Resident memory: grown by owner\|^Alive at the peak: grown\|map_and_touch' | head -2
tidemark diff --json run.tmk more.tmk | jq -c '.resident_owners | (.[0] | [.function, (.after / 1048576 | round), .difference > 0]), (map(.function) | sort | unique | length) == length'
tidemark diff --json run.tmk more.tmk | jq -c '[.resident_owners[] | select(.function | test("^.stack. .* [0-9]+$"))]'
tidemark diff --json --sort=count run.tmk more.tmk | jq -c .resident_owners
tidemark diff --json run.tmk "$HERE/../golden/profile-v1.tmk" | jq -c .resident_owners
# Files for other tools say which memory they have.
for level in heap mapped all resident; do
    tidemark export --to massif --of=$level -o - run.tmk | sed -n 's/^desc: tidemark [0-9.]*: \(.*\); .*/massif: \1/p'
done
highest() { # SERIES [OPTION…]: the most of it in a file of chrome's, in MiB
    local series=$1
    shift
    tidemark export --to chrome "$@" -o - run.tmk |
        jq -c --arg series "$series" '[.traceEvents[] | select(.ph == "C" and .name == $series).args.bytes] | max / 1048576 | floor'
}
echo "chrome: $(highest requested), $(highest mapped), $(highest mapped --of=mapped), $(highest 'requested and mapped' --of=all)"
for level in mapped all resident; do
    tidemark export --to chrome --of=$level -o - run.tmk | grep -c '"name":"requested"'
done
tidemark export --to csv --rows=timeline -o - run.tmk | sqlite3 :memory: '.mode csv' '.import /dev/stdin t' \
    'SELECT max(requested_max + 0) >> 20, max(mapped_max + 0) >> 20, max(requested_and_mapped_max + 0) >> 20 FROM t'
tidemark export --to csv --rows=timeline --of=mapped -o - run.tmk | sqlite3 :memory: '.mode csv' '.import /dev/stdin t' \
    "SELECT max(requested_max) = '', max(mapped_max + 0) >> 20 FROM t"
for format in heaptrack dhat; do
    try tidemark export --to $format --of=resident -o x run.tmk
    sentence "$format files say what was allocated and freed"
done
# A job's ranks, each at that level.
for rank in 0 1; do
    OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=$rank \
        tidemark record -q --job=jobs --job-id=two "$CLI/cli_levels" >/dev/null
done
for level in heap mapped all; do
    tidemark job --json --of=$level -o $level.tmk jobs >job.json
    jq -c '[.of, .ranks[].peak_bytes / 1048576, .functions[0].function]' job.json
    tidemark report --json $level.tmk | jq -c '[.meta.level, .program.peak_bytes / 1048576, .program.live_bytes / 1048576]'
done
tidemark job --json --of=resident jobs | jq -c '[.of, (.ranks | map(.peak_bytes > 52428800) | all)]'
tidemark job --of=mapped jobs | grep -o 'of          what the program maps itself'
# Nobody has requested what is mapped or resident.
for level in heap mapped all resident; do
    tidemark job --of=$level jobs | grep -Eo '^(High-water|Nodes) .*|and were sampled'
done
try tidemark report --of=mapped heap.tmk
sentence "a job.*tidemark job --of=mapped -o FILE"
tidemark report --of=resident --json heap.tmk | jq -c '[.meta.level, .owner_ranks, .program.peak_bytes > 104857600]'
try tidemark job --of=mapped "$HERE/../golden/profile-v1.tmk"
sentence "does not say what is mapped"
# The server answers for each level as for a profile, and in one file it stands too.
python3 - "$BIN/tidemark" run.tmk "$HERE/../golden/profile-v1.tmk" <<'END'
import json, subprocess, sys, urllib.error, urllib.request
server = subprocess.Popen([sys.argv[1], "serve", "--no-token", "--no-open", *sys.argv[2:]], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
base = server.stdout.readline().strip().rstrip("/") + "/api/v1/p/"
def get(name):
    try:
        return json.load(urllib.request.urlopen(base + name))
    except urllib.error.HTTPError as error:
        return error.code
try:
    print(get("0/summary")["levels"], get("1/summary")["levels"])
    for level in ("mapped", "all", "resident"):
        summary = get(f"0/of/{level}/summary")
        said = json.loads(subprocess.check_output([sys.argv[1], "report", "--json", f"--of={level}", sys.argv[2]]))
        print(level, summary["meta"]["level"], summary["levels"], summary["program"]["peak_bytes"] == said["program"]["peak_bytes"],
              summary["program"]["live_bytes"] == said["program"]["live_bytes"])
    print(get("0/of/heap/summary"), get("0/of/mapped/insights"), get("1/of/mapped/summary"), get("1/of/resident/summary"), get("0/of/x/summary"))
finally:
    server.terminate()
    server.wait()
END
tidemark html -o run.html run.tmk 2>/dev/null
grep -o 'data-name="p/0/of/[a-z]*/summary"' run.html
