# The machine's processes, among them some of known memory, and the mappings of one.
. "$HERE/lib.sh"

# 48 MiB of its own, 24 MiB shared with its child, which has 8 MiB of its own.
cat >known.py <<'PY'
import mmap, os, time
shared = mmap.mmap(-1, 24 << 20)
shared.write(b"x" * (24 << 20))
child = os.fork()
own = mmap.mmap(-1, (8 if child == 0 else 48) << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
own.write(b"y" * len(own))
if child == 0:
    for at in range(0, 24 << 20, 4096):
        shared[at]
open("ready.child" if child == 0 else "ready.parent", "w").close()
time.sleep(600)
PY
python3 known.py tide-known-$$ &
parent=$!
until_true test -e ready.child -a -e ready.parent
child=$(pgrep -P $parent)
odd="od d
$(printf '\033')[31m"
cp "$(command -v sleep)" "$odd"
"./$odd" 600 &
strange=$!
until_true grep -aq 600 /proc/$strange/cmdline

echo "== JSON"
try tidemark ps --json
python3 - $parent $child $strange <<'EOF_PY'
import json, sys
parent, child, strange = map(int, sys.argv[1:])
ps = json.load(open("out"))
MiB = 1 << 20
by_pid = {row["pid"]: row for row in ps["rows"]}
print(ps["format"], ps["version"], ps["by"])
a, b = by_pid[parent], by_pid[child]
print("own", a["uss_bytes"] >= 48 * MiB, 8 * MiB <= b["uss_bytes"] < 24 * MiB)
print("and half of what is shared", all(
    12 * MiB <= p["pss_bytes"] - p["uss_bytes"] < 24 * MiB <= p["shared_bytes"] for p in (a, b)))
print("rss is own and shared", a["rss_bytes"] == a["uss_bytes"] + a["shared_bytes"])
print("parent", b["parent_pid"] == parent)
print("odd name", repr(by_pid[strange]["name"]))
known = [row["pss_bytes"] for row in ps["rows"]]
print("sorted", known == sorted(known, reverse=True))
for column in "pss_bytes", "uss_bytes", "rss_bytes", "swap_bytes":
    print(column, sum(row[column] for row in ps["rows"]) == ps["total"][column])
m = ps["machine"]
parts = "processes anonymous_elsewhere unmapped_shared_memory unmapped_page_cache kernel huge_pool free rest"
print("adds up", sum(m[part + "_bytes"] for part in parts.split()) == m["total_bytes"])
print("processes", m["processes_bytes"] == ps["total"]["pss_bytes"])
meminfo = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in open("/proc/meminfo")}
print("meminfo", m["total_bytes"] == meminfo["MemTotal"])
EOF_PY

echo "== the same by hand"
kill -STOP $parent $child
for pid in $parent $child; do
    awk '/^Anonymous:/ {n += $2} END {print n * 1024}' /proc/$pid/smaps
done >expected
tidemark ps --json $parent $child --sort name >out
python3 -c '
import json
rows = {row["pid"]: row["anonymous_bytes"] for row in json.load(open("out"))["rows"]}
print(sorted(rows.values()) == sorted(int(line) for line in open("expected")))'
# And every figure against a sum of what smaps says of each mapping, added up here. Which pages of
# libraries are shared, and by how many, changes with every process that begins: USS and PSS are exact
# for memory that these two alone have, and near it for all.
cat >sum.py <<'EOF_PY'
import csv, re, subprocess, sys
pids, own = sys.argv[1:], ("[anonymous]", "[heap]", "[stack]", "/dev/zero")
fields = {"rss_bytes": ["Rss"], "uss_bytes": ["Private_Clean", "Private_Dirty"], "pss_bytes": ["Pss"],
          "shared_bytes": ["Shared_Clean", "Shared_Dirty"], "swap_bytes": ["Swap"], "locked_bytes": ["Locked"],
          "anonymous_bytes": ["Anonymous"], "huge_bytes": ["AnonHugePages", "ShmemPmdMapped", "FilePmdMapped"]}
passing = {"uss_bytes", "pss_bytes", "shared_bytes"}
def sums(wanted):
    found, name = dict.fromkeys(sum(fields.values(), []), 0), None
    for pid in pids:
        for line in open(f"/proc/{pid}/smaps"):
            if re.match("[0-9a-f]+-", line):
                name = re.sub(r" \(deleted\)$", "", line.rstrip("\n")[73:]) or "[anonymous]"
            elif wanted(name) and line.split(":")[0] in found:
                found[line.split(":")[0]] += int(line.split()[1]) * 1024
    return found
def compare(what, summed, near, *options):
    text = subprocess.run(["tidemark", "ps", "-f", "csv", *options, *pids], capture_output=True, text=True).stdout
    rows = list(csv.DictReader(text.splitlines()))
    for field, names in fields.items():
        ours, theirs = sum(int(row[field]) for row in rows), sum(summed[name] for name in names)
        if abs(ours - theirs) > (near if field in passing else 0):
            print(what, field, ours, theirs)
    print(what, "as summed" if summed["Rss"] > 96 << 20 else "nothing")
for by in "mapping", "library", "process", "name", "user", "cgroup":
    compare("by " + by, sums(lambda name: True), 4 << 20, "--by", by)
pattern = "^(" + "|".join(re.escape(name) for name in own + ("[bss]", "[reserved]")) + ")$"
compare("their own", sums(lambda name: name in own), 0, "--by", "mapping", "--mapping", pattern)
EOF_PY
python3 sum.py $parent $child
tidemark ps -f csv $parent $child >out
python3 -c '
import csv
rows = list(csv.DictReader(open("out")))
print(len(rows), sorted(int(row["anonymous_bytes"]) for row in rows) == sorted(int(line) for line in open("expected")))'
kill -CONT $parent $child

echo "== text"
try tidemark ps
[ "$(wc -L <out)" -le 80 ] && echo "80 columns"
grep -c "$(printf '\033')" out
grep -q '^The machine.s' out && grep -Eq '^  free +[0-9]' out && echo "the machine"
try tidemark ps $strange
grep -c 'od d' out
grep -q 'x0a\|x0A' out && echo "a newline is shown, not sent"
try tidemark ps --name tide-known-$$ --bars
grep -Eq "$parent .*█" out && echo "bars"
grep -q 'total of 2 processes' out && echo "two"
grep -q 'machine' out || echo "no balance of a part"
LC_ALL=en_US.ISO-8859-1 tidemark ps --name tide-known-$$ --bars | LC_ALL=C grep -c '[^ -~]'
tidemark ps --color always | grep -c "$(printf '\033')" | sed 's/[1-9][0-9]*/colour/'
tidemark ps -n 1 | grep -q 'others (-n 0: all)' && echo "the others"

echo "== groups"
for by in name user cgroup mapping library; do
    tidemark ps --by $by --json --name tide-known-$$ >out
    python3 - $by <<'EOF_PY'
import json, sys
ps = json.load(open("out"))
by = sys.argv[1]
rows = {row[by]: row for row in ps["rows"]}
ok = sum(row["rss_bytes"] for row in ps["rows"]) == ps["total"]["rss_bytes"]
print(by, ok, ps["total"]["processes"])
if by == "mapping":
    print(rows["/dev/zero"]["rss_bytes"] >> 20, rows["/dev/zero"]["pss_bytes"] >> 20, rows["/dev/zero"]["processes"])
if by == "library":
    print(rows["[shared memory]"]["pss_bytes"] >> 20, any("/libc.so" in name for name in rows))
EOF_PY
done
tidemark ps --mapping '^/dev/zero$' $parent --json | python3 -c '
import json, sys
row, = json.load(sys.stdin)["rows"]
print("only that mapping", row["rss_bytes"] >> 20, row["pss_bytes"] >> 20, row["uss_bytes"])'
me=$(id -un)
tidemark ps --user "$me" --json $parent | grep -c '"pid"'
tidemark ps --cgroup '^never there$' --json | grep -c '"pid"'

echo "== maps"
try tidemark maps $parent
[ "$(wc -L <out)" -le 80 ] && echo "80 columns"
grep -Eq '24\.0 MiB .*shared memory' out && echo "shared memory"
grep -q '  libc\|/libc.so' out && echo "a library"
try tidemark maps $parent --all --sort address
kill -STOP $parent
try tidemark maps $parent --all --json
grep -c '^[0-9a-f]*-' /proc/$parent/smaps >expected
awk '/^Rss:/ {n += $2} END {print n * 1024}' /proc/$parent/smaps >>expected
kill -CONT $parent
python3 - <<'EOF_PY'
import json
maps = json.load(open("out"))
count, rss = map(int, open("expected"))
print(len(maps["mappings"]) == count == maps["total"]["mappings"], maps["total"]["rss_bytes"] == rss)
for field in "pss_bytes", "rss_bytes", "uss_bytes", "size_bytes":
    total = maps["total"][field]
    print(field, total == sum(kind[field] for kind in maps["kinds"])
          == sum(file[field] for kind in maps["kinds"] for file in kind["files"])
          == sum(mapping[field] for mapping in maps["mappings"]))
print({kind["kind"]: kind["rss_bytes"] for kind in maps["kinds"]}["shared memory"] >> 20)
EOF_PY
try tidemark maps $strange -f csv
head -1 out

echo "== wrong use"
try tidemark ps here
sentence "'here' is no number"
try tidemark ps --user nobody-of-that-name
sentence "no user"
try tidemark ps --name '('
sentence "regular expression"
try tidemark ps 2147483647
sentence "no process 2147483647"
try tidemark ps 2147483647 $parent
sentence "no process 2147483647"
try tidemark maps
sentence "no process given"
try tidemark maps 2147483647
sentence "no process 2147483647"
try tidemark maps $parent --sort address
sentence "needs --all"
tidemark ps --by mapping -n 0 2>err | head -1 >/dev/null
[ -s err ] || echo "a closed pipe is no error"

# The last, for it gives up its rights: what cannot be read is said.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    setpriv --reuid=65534 --regid=65534 --clear-groups tidemark ps >out
    setpriv --reuid=65534 --regid=65534 --clear-groups tidemark maps $parent >/dev/null 2>err
    sentence permission
else
    echo "1 of root" >out
    echo "one sentence about permission"
fi
grep -q 'of root' out && echo "said whose"
