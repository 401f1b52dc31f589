# What works here, and what is said of programs. That something works is tried: where it is taken away it is
# a problem.
. "$HERE/lib.sh"

try tidemark doctor --json "$VICTIMS/basic"
python3 - <<'END'
import json
d = json.load(open("out"))
print(d["format"], d["version"], d["problems"])
by_area = {f["area"]: f for f in d["findings"]}
for area in ("processor", "kernel", "shared memory", "recording", "program", "names", "call paths", "compiler"):
    print(area, "problem" if by_area[area]["state"] == "problem" else "no problem")
print("basic" in by_area["program"]["what"], "lines" in by_area["names"]["what"])
print("advice where it is not ok:", all(bool(f["advice"]) == (f["state"] != "ok") for f in d["findings"]))
END
try tidemark doctor --no-try --width 72
[ "$(wc -L <out)" -le 72 ] && echo "72 columns"
grep -c '^Tidemark works here\.$' out
# Programs that cannot be recorded.
strip -o stripped "$VICTIMS/basic"
try tidemark doctor --no-try -j ./stripped
jq -r '.findings[] | select(.area == "names") | [.state, .what] | @tsv' out
try tidemark doctor --no-try -j "$BIN/../tests/cli/cli_static" nosuchprogram .
jq -r '.findings[] | select(.area == "program") | [.state, .advice] | @tsv' out
# The library taken away: the recording is tried, and fails.
mkdir -p elsewhere/bin
cp "$BIN/tidemark" elsewhere/bin
try elsewhere/bin/tidemark doctor -j
jq -r '.findings[] | select(.area == "recording") | [.state, (.what | test("libtidemark"))] | @tsv' out
# Limits and directories.
(ulimit -f 1000; tidemark doctor --no-try -j) | jq -r '.findings[] | select(.area == "limits") | .state'
TMPDIR=/nowhere try tidemark doctor -j
jq -r '.findings[] | select(.area == "temporary" or .area == "recording") | .state' out
DEBUGINFOD_URLS= tidemark doctor --no-try -j | jq -r '.findings[] | select(.area == "debuginfod") | .state'
mkdir own && TMPDIR=$PWD/own tidemark doctor >/dev/null; ls own
try tidemark doctor --whatever
sentence "whatever"
