# What is alive at a moment of a trace, which blocks these are, and what happened: on a program whose
# numbers are known.
. "$HERE/lib.sh"

tidemark record -q --trace -o m.tmk "$VICTIMS/basic" 1 >/dev/null
echo "== at"
try tidemark at m.tmt peak
grep -q 'victim_spike' out && echo "who holds the peak"
grep -q 'victim_before_peak' out || echo "and not who did before it"
grep -Eq '^  threads +1$' out && echo "one thread"
[ "$(wc -L <out)" -le 80 ] && echo "80 columns"
grep -c "$(printf '\033')" out
try tidemark at m.tmt peak --paths --libraries
grep -q '^Call paths' out && grep -q '^Programs and libraries' out && echo "paths and libraries"
try tidemark at m.tmt peak --json --paths --top 0
python3 - <<'EOF'
import json
at = json.load(open("out"))
print(at["format"], at["version"], at["estimated"], at["warnings"])
by_name = {f["function"]: f for f in at["functions"]}
for name in "victim_spike", "victim_held", "victim_calloc":
    print(name, by_name[name]["exclusive"])
print(at["at"] == at["peak"])
print(sum(f["exclusive"]["live_bytes"] for f in at["functions"]) == at["at"]["live_bytes"])
print(sum(p["live_bytes"] for p in at["paths"]) == at["at"]["live_bytes"])
EOF
try tidemark at m.tmt peak --inclusive
grep -Eq 'MiB +100 %.* main' out && echo "main holds all"

echo "== what a replay says, at a dozen events"
python3 - <<'EOF'
import json, subprocess
lines = subprocess.run(["tidemark", "events", "m.tmt", "--json"], capture_output=True, check=True).stdout
events = [e for e in map(json.loads, lines.splitlines()) if "event" in e]
live, levels, pending = {}, {}, None
for e in events:
    kind, address = e["kind"], e.get("address")
    if kind in ("malloc", "calloc", "aligned", "new", "new[]", "realloc-to") and not e["failed"]:
        if kind == "realloc-to":
            live.pop(pending, None)
        live[address] = e["size_bytes"]
    elif kind == "realloc-of":
        pending = address
    elif kind == "free":
        live.pop(address, None)
    levels[e["event"]] = (sum(live.values()), len(live)) if pending is None else None
    if kind == "realloc-to":
        pending = None
known = [n for n, level in levels.items() if level]
wrong = 0
for n in known[::max(1, len(known) // 12)]:
    at = json.loads(subprocess.run(["tidemark", "at", "m.tmt", f"#{n}", "--json"], capture_output=True,
                                   check=True).stdout)["at"]
    wrong += (at["live_bytes"], at["live_count"]) != levels[n]
    blocks = subprocess.run(["tidemark", "blocks", "m.tmt", "--at", f"#{n}", "--json"],
                            capture_output=True, check=True).stdout.splitlines()
    sizes = [json.loads(b)["size_bytes"] for b in blocks]
    wrong += (sum(sizes), len(sizes)) != levels[n]
print("wrong:", wrong, "of", "more than 10" if len(known) > 10 else len(known))
EOF

echo "== blocks"
try tidemark blocks m.tmt --at peak --min-size 100K --depth 1
grep -Eq '4\.76 MiB .*victim_spike' out && echo "the largest"
grep -q 'victim_peak' out && echo "and its caller"
try tidemark blocks m.tmt --at peak --function victim_held --json
python3 -c '
import json
blocks = [json.loads(line) for line in open("out")]
print([(b["size_bytes"], b["frames"][0]["function"]) for b in blocks])'
tidemark blocks m.tmt --at peak --json >each
tidemark blocks m.tmt --at peak --json --paths-once >once
python3 -c '
import json
frames, again = {}, []
for line in open("once"):
    block = json.loads(line)
    assert ("frames" in block) == (block["node"] not in frames)
    again.append({**block, "frames": frames.setdefault(block["node"], block.get("frames"))})
each = [json.loads(line) for line in open("each")]
print("once:", again == each, len(frames) < len(each))'
try tidemark blocks m.tmt --paths-once
sentence "is for --json"
try tidemark blocks m.tmt --thread 1
sed 's/^[0-9,]* blocks.*; 0 of them/none/; s/ at .*//; q' out | cut -c1-5
try tidemark blocks m.tmt --older-than 1h --json
wc -l <out
try tidemark blocks m.tmt --at 0%
cat out

echo "== events"
try tidemark events m.tmt --kind malloc --min-size 5000000 --stacks
grep -q '5,000,000 .*victim_spike' out && grep -q '↑ victim_peak\|\^ victim_peak' out && echo "one with its path"
address=$(tidemark blocks m.tmt --at peak --function victim_spike --json |
    python3 -c 'import json, sys; print(hex(json.loads(sys.stdin.readline())["address"] + 4096))')
try tidemark events m.tmt --address "$address" --json
python3 - <<'EOF'
import json
story = [json.loads(line) for line in open("out")]
spike = [e for e in story if e.get("size_bytes") == 5000000][0]
end = story[story.index(spike) + 1]
print(spike["kind"], end["kind"], end["address"] == spike["address"], end["lifetime_ns"] > 0)
EOF
tidemark events m.tmt | head -1 >/dev/null
echo "a closed pipe: ${PIPESTATUS[0]}"
try tidemark events m.tmt --from '#10' --to '#12' --json --kind malloc,free,calloc,new,realloc
[ "$(wc -l <out)" -le 3 ] && echo "three events at most"
try tidemark events m.tmt --to '#12' --json
before=$(wc -l <out)
try tidemark events m.tmt --from '#13' --json
cat out >behind
try tidemark events m.tmt --json
[ "$(tail -n +$((before + 1)) out | cmp - behind && echo all)" = all ] &&
    echo "samples and threads too are on one side of an event"
try tidemark events m.tmt --from '#99999999'
sentence "behind the end of the trace, which spans .* and has [0-9,]* events"

echo "== a made-up program with eight threads"
"$VICTIMS/../make_trace" made.tmt 300000 7 && "$VICTIMS/../make_trace" again.tmt 300000 7
cmp made.tmt again.tmt && echo "always the same for a seed"
python3 - <<'EOF'
import json, subprocess
def run(*words):
    return subprocess.run(["tidemark", *words, "--json"], capture_output=True, check=True).stdout
for moment in "0%", "37%", "peak", "99.9%", "#65535", "#65536", "100%":
    at = json.loads(run("at", "made.tmt", moment, "--paths", "--top", "0"))
    held = {p["node"]: (p["live_bytes"], p["live_count"]) for p in at["paths"]}
    replayed = {}
    for line in run("blocks", "made.tmt", "--at", moment).splitlines():
        block = json.loads(line)
        size, count = replayed.get(block["node"], (0, 0))
        replayed[block["node"]] = (size + block["size_bytes"], count + 1)
    print(moment, held == replayed, at["at"]["threads"])
EOF

echo "== wrong use"
try tidemark at m.tmt
sentence "no moment"
try tidemark at m.tmt yesterday
sentence "is no moment"
try tidemark at m.tmt mark:here
sentence "no mark .here"
try tidemark at m.tmk peak
sentence "is not a trace"
try tidemark at none.tmt peak
sentence "none.tmt"
try tidemark events m.tmt --kind malloc,fee
sentence "'fee'"
try tidemark events m.tmt --address here
sentence "no address"
try tidemark blocks m.tmt --function '('
sentence "regular expression"
try tidemark events m.tmt --from 80% --to 20%
sentence "ends before it begins"
try tidemark replay m.tmt --rounds 2
sentence "give --under too"
try tidemark record --compress=lz4 true
sentence "give --trace too"

echo "== what is not shown is said"
try tidemark events m.tmt --address 0x10
sentence "no event"
wc -c <out
try tidemark at m.tmt peak --top 1 --paths
grep -Eo '[0-9]+ more (functions|call paths)' out | sed 's/[0-9]*/N/'
tidemark events m.tmt | grep -c ' $'

echo "== cut off"
head -c $(($(stat -c %s m.tmt) * 2 / 3)) m.tmt >cut.tmt
try tidemark at cut.tmt 50% --json
python3 -c 'import json; print("cut off" in json.load(open("out"))["warnings"][0])'
for command in blocks events; do
    try tidemark $command cut.tmt
    sentence "^tidemark $command: cut.tmt is cut off after [0-9]+ whole blocks"
done
try tidemark export --to folded -o - cut.tmt
sentence "^tidemark export: cut.tmt is cut off after"
mkfifo fifo
for command in at blocks events replay; do
    timeout 300 tidemark $command fifo $([ $command = at ] && echo 50%) 2>err
    echo "status $?"
    sentence "cannot read fifo: it is no regular file"
done

echo "== odd moments"
try tidemark events m.tmt --from 60% --to 20%
sentence "ends before it begins"
for moment in '#18446744073709551615' "#$(tidemark events m.tmt --json | grep -c '"event"')" 1000h; do
    try tidemark at m.tmt "$moment"
    sentence "behind the end of the trace, which spans .* and has [0-9,]* events"
    try tidemark blocks m.tmt --at "$moment"
    sentence "behind the end of the trace"
    try tidemark replay -q m.tmt --from "$moment" -o behind.tmk
    sentence "behind the end of the trace"
done
tidemark at m.tmt "#$(($(tidemark events m.tmt --json | grep -c '"event"') - 1))" | grep -c 'after event'
ls behind.tmk 2>/dev/null
echo "== cut off before the first block: unknown is not zero"
head -c 100 m.tmt >first.tmt
try tidemark at first.tmt 50%
sentence "cut off before its first whole block of events"
try tidemark blocks first.tmt
sentence "cut off before its first whole block of events"
try tidemark events first.tmt
sentence "cut off before its first whole block of events"
try tidemark replay -q first.tmt -o behind.tmk
sentence "cut off before its first whole block of events"
