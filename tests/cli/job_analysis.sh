# A job of 64 ranks whose every figure follows from a formula (tests/unit/job/made.h).
. "$HERE/lib.sh"

"$MAKE_JOB" run16 16
"$MAKE_JOB" run32 32
"$MAKE_JOB" run64 64 16 7

tidemark job --width 90 --rows 8 run64
for width in 72 80 100; do
    echo "$(tidemark job --width $width run64 | wc -L) of $width"
done
tidemark job --width 80 run64 | sed -n '/^Nodes/,/node01/p' | tail -n +4
echo "--- ASCII"
LC_ALL=en_US.ISO-8859-1 tidemark job --width 90 --rows 4 run64 | sed -n '/^Memory over time/,/100 %/p'
echo "--- colour"
NO_COLOR= tidemark job --color=always --rows 4 run64 | grep -c "$(printf '\033')\[38;5;160m"

echo "--- the same from its files, by any number of threads"
tidemark job -f json run64/*.tmk >a.json
tidemark job -f json -J 1 run64 >b.json
tidemark job -f json -J 5 run64 >c.json
cmp b.json c.json
strip() { grep -v '"file"' "$1"; }
strip a.json >a; strip b.json >b; cmp a b

echo "--- JSON against SQL over the profiles themselves"
python3 - <<'P'
import json, math, subprocess, sqlite3, os, glob
job = json.load(open("b.json"))
peaks = []
for path in sorted(glob.glob("run64/*.tmk")):
    subprocess.run(["tidemark", "unpack", path, "one.db"], check=True)
    peaks.append(sqlite3.connect("one.db").execute("SELECT peak_bytes FROM program").fetchone()[0])
    os.unlink("one.db")
marks = job["high_water_marks"]
mean = sum(peaks) / len(peaks)
assert [r["peak_bytes"] for r in job["ranks"]] == peaks
assert (marks["min"], marks["max"], marks["sum"]) == (min(peaks), max(peaks), sum(peaks))
assert abs(marks["deviation"] - math.sqrt(sum((p - mean) ** 2 for p in peaks) / len(peaks))) < 1e-3
assert abs(marks["imbalance"] - max(peaks) / mean) < 1e-12
for node in job["nodes"]:
    mine = [r["peak_bytes"] for r in job["ranks"] if r["node"] == node["name"]]
    assert node["lower_bytes"] <= sum(mine) <= node["upper_bytes"], node
print("equal")
P

echo "--- scaling"
tidemark job --width 90 run64 run16 run32

echo "--- laws"
for n in 4 8; do "$MAKE_JOB" "law$n" $n $n -1 "law$n"; done
tidemark job --width 110 --forecast 128,4096 --rank-memory 2G law4 law8 run16 run32 run64 | sed -n '/^With more/,/^$/p'
# what made.h gives to each function, at 128 and 4,096 ranks
tidemark job -j --forecast 128,4096 --rank-memory 2G law4 law8 run16 run32 run64 >laws.json
python3 - <<'P'
import json
job = json.load(open("laws.json"))
known = {"MPI_Init": lambda p: 2 << 20, "main": lambda p: 1 << 20, "load_mesh": lambda p: 32768 * (p - 1),
         "halo_tables": lambda p: 4096 * p, "solve_cells": lambda p: (64 << 20) / p, "deflateInit_": lambda p: 1 << 18}
for function in job["functions"]:
    law = known.pop(function["function"], None)
    for at in function["law"]["forecasts"] if law else ():
        assert abs(at["bytes"] - law(at["ranks"])) <= 1e-4 * law(at["ranks"]), (function["function"], at)
        assert at["low"] <= at["bytes"] <= at["high"], at
assert not known, known
limit = job["rank_memory"]
assert limit["exceeded_earliest"] <= limit["exceeded_from"] <= limit["exceeded_latest"], limit
assert abs(limit["exceeded_from"] - ((2 << 30) - 3.1875 * 2 ** 20) / 69632) < 3, limit
assert limit["function"] == "load_mesh"
print("as they were made")
P
tidemark job --width 80 run16 run32 | sed -n '/^With more/,/^$/p'

echo "--- a job profile"
tidemark job -o job.tmk run64 >/dev/null
tidemark report --width 90 --pager job.tmk | head -9
query job.tmk "SELECT count(*), sum(peak_bytes), (SELECT sum(at_peak_bytes) FROM site), (SELECT peak_bytes FROM program), (SELECT count(*) FROM rank_timeline), (SELECT count(*) FROM nodes) FROM ranks"

echo "--- damage costs only itself"
rm run64/rank-00003.tmk
head -c 1000 run64/rank-00005.tmk >cut && mv cut run64/rank-00005.tmk
echo nonsense >run64/rank-00009.tmk
tidemark job --width 90 run64 | sed -n '/^Not as/,/^$/p'
tidemark job --width 90 run64 | grep -E 'ranks on|most  .*rank'

echo "--- what is wrong is said"
try tidemark job
sentence "no directory"
try tidemark job nowhere
sentence "nowhere"
mkdir empty
try tidemark job empty
sentence "empty"
tidemark unpack run32/rank-00000.tmk odd.db
python3 -c 'import sqlite3; odd = sqlite3.connect("odd.db"); odd.execute("UPDATE program SET peak_bytes = -7"); odd.commit()'
try tidemark job odd.db
sentence "odd.db: part of it could not be read"
try tidemark job run16 run32/rank-00000.tmk
sentence "directories and profiles"
try tidemark job -o x.tmk run16 run32
sentence "one job"
try tidemark job --forecast 4,x run16 run32
sentence "numbers of ranks are wanted"
try tidemark job --forecast 8 run16
sentence "which several jobs tell"
mkdir two
"$MAKE_JOB" two/a 2 2 -1 first
"$MAKE_JOB" two/b 3 3 -1 second
try tidemark job two/a/*.tmk two/b/*.tmk
cat err
tidemark job --id second two/a/*.tmk two/b/*.tmk | head -1

echo "--- what was made of its profiles is none of its ranks"
tidemark job -f json run16 >before.json
tidemark job -o run16/job.tmk run16 >/dev/null
cp run16/rank-00001.tmk run16/rank-00001.replay.tmk
tidemark job -f json run16 | cmp - before.json && echo "left out"
tidemark job run16/job.tmk | head -1 | grep -o '^[a-z]*  1 rank '

echo "--- ranks that are all alike"
"$MAKE_JOB" alike 1
cp alike/rank-00000.tmk again.tmk && cp again.tmk third.tmk
tidemark job alike/rank-00000.tmk again.tmk third.tmk | grep -E '^(Distribution|Why)' || echo "nothing to explain"

echo "--- the first rank's profile cannot be read: what the others say of the program stands"
tidemark job run16 | head -1
echo junk >run16/rank-00000.tmk
tidemark job run16 | head -1

echo "--- ranks that differ by little have as few rows as their figures tell apart"
printf '#include <stdlib.h>\nint main(int argc, char **argv) { char *volatile p = malloc(strtoul(argv[argc - 1], 0, 10)); free(p); return 0; }\n' >little.c
cc -o little little.c
for bytes in 4740000 4755000 4772000; do tidemark record -q -o $bytes.tmk ./little $bytes; done
tidemark job 47?????.tmk | sed -nE '/^Distribution/,/^$/s/^ *([0-9].*[0-9]) .*/\1/p'
