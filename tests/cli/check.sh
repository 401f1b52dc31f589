# A budget in CI: kept, exceeded, a baseline, suppressions, the formats of CI systems, updates.
. "$HERE/lib.sh"

tidemark record -q -o old.tmk "$VICTIMS/rebuilt_older" >/dev/null
tidemark record -q -o new.tmk "$VICTIMS/rebuilt_newer" >/dev/null
# The first budget is what was measured and more: kept. Of the new build it is not.
try tidemark check old.tmk --budget b.toml --update
grep -c '^\(peak\|live\|allocations\|temporary\) = ' b.toml
try tidemark check old.tmk --budget b.toml
grep -q 'all of 4 kept' out && echo "kept"
try tidemark check new.tmk --budget b.toml
grep -q 'exceeded  peak' out && grep -A1 'exceeded  peak' out | grep -q 'load_table .*rebuilt.c:10[0-9][0-9]' && echo "the path that has most"
grep -c 'kept  ' out
[ "$(wc -L <out)" -le 80 ] && echo "80 columns"
# Of blocks that are left the first budget counts those of the program, as the check does, not its output's buffer.
tidemark record -q -o pools.tmk "$VICTIMS/basic" 1 >/dev/null
tidemark check pools.tmk --budget pools.toml --update >/dev/null 2>&1
tidemark check pools.tmk --budget pools.toml --json | jq '.verdicts[] | select(.metric == "live") | .max < 1.11 * .value'
# By scope, and what is unknown is not kept.
cat >scopes.toml <<'END'
# A comment that stays.
tolerance = "1%"
[program]
temporary = { max = "50%", growth = true }   # and this one
rate = "100M/s"
[function."*_table"]
peak = "200 KiB"       # less than it has
[function.main]
exclusive = true
allocations = 0
[file."rebuilt.c"]
largest = "1 MiB"
bytes = 1000000
[library."rebuilt_*"]
live_blocks = 0
END
try tidemark check new.tmk -b scopes.toml
sentence "baseline"
try tidemark check -j new.tmk -b scopes.toml -B old.tmk
jq -c '.verdicts[] | [.state, .metric, .scope, .pattern, .exclusive, .line]' out
jq -c '[.kept, .exceeded, .unknown]' out
jq -c '.verdicts[] | select(.state == "exceeded") | [.value, .most, .paths[0].value, .paths[0].frames[0].function, (.paths[0].frames | length)]' out
# A baseline alone.
try tidemark check new.tmk -B old.tmk -f json
jq -c '.verdicts[] | [.metric, .state, .baseline, .value]' out
jq -c '.verdicts[0].paths[] | [.value, .frames[0].function]' out
try tidemark check new.tmk -B old.tmk --tolerance 100%
try tidemark check old.tmk -B old.tmk --tolerance 0%
[ -s err ] && cat err
# What is compared may be the wrong file: that is said, and the verdict stands.
try tidemark check new.tmk -B old.tmk --tolerance 100%
sentence "the baseline is a recording of rebuilt_older, and this one of rebuilt_newer"
tidemark record -q --sample=1K -o sampled.tmk "$VICTIMS/rebuilt_newer" >/dev/null
try tidemark check new.tmk -B sampled.tmk --tolerance 10000%
sentence "sampled.tmk is a sample"
# No share, and no count.
printf '[program]\ntemporary = 0.1\n' >share.toml
try tidemark check new.tmk -b share.toml
sentence 'share.toml:2: a number is whole; "1.5 MiB", and shares, "5%", are strings'
# For CI systems.
try tidemark check new.tmk -b b.toml -B old.tmk --junit j.xml --sarif s.sarif -f github
sed -n 's/^::error file=.*rebuilt.c,line=\(1[0-9]*\),title=Memory budget::peak .*: \(.*\)%0A\(.*\)  load_table.*%0A.*/annotation \2 \3/p' out | head -1
xmllint --noout j.xml && xmllint --xpath 'concat(/testsuites/@tests, " ", /testsuites/@failures, " ", count(//testcase), " ", count(//failure), " ", count(//error))' j.xml
python3 - <<'END'
import json
s = json.load(open("s.sarif"))
run = s["runs"][0]
rules = {r["id"] for r in run["tool"]["driver"]["rules"]}
print(s["version"], run["tool"]["driver"]["name"], len(run["results"]))
for r in run["results"]:
    assert r["ruleId"] in rules and r["message"]["text"] and r["level"] == "error"
    place = r["locations"][0]["physicalLocation"]
    assert place["region"]["startLine"] >= 1 and place["artifactLocation"]["uri"]
    for stack in r["stacks"]:
        assert stack["frames"] and all(f["location"]["message"]["text"] for f in stack["frames"])
print(run["results"][0]["ruleId"], run["results"][0]["stacks"][0]["frames"][0]["location"]["logicalLocations"][0]["fullyQualifiedName"])
END
tidemark check new.tmk -b b.toml --junit j.xml >/dev/null 2>&1
ls j.xml*
# Leaks that are known.
tidemark record -q -o leaky.tmk "$VICTIMS/basic" 1 >/dev/null
printf '[program]\nlive = 0\n' >none.toml
try tidemark check leaky.tmk -b none.toml
printf 'leak:victim_calloc\n' >lsan.supp
printf '{\n  the rest\n  Memcheck:Leak\n  fun:malloc\n  ...\n  fun:main\n}\n' >valgrind.supp
printf '{\n  of threads and the loader\n  Memcheck:Leak\n  ...\n  obj:*\n}\n' >>valgrind.supp
try tidemark check leaky.tmk -b none.toml -S lsan.supp
try tidemark check leaky.tmk -b none.toml -S lsan.supp -S valgrind.supp -j
jq -c '[.kept, (.suppressed[0] | [.name, .bytes, .blocks])]' out
mkdir -p sub && { echo 'suppressions = ["../lsan.supp", "../valgrind.supp"]' && cat none.toml; } >sub/b.toml
try tidemark check leaky.tmk -b sub/b.toml
# Updates leave all else in the file alone; what was is kept.
cp scopes.toml scopes.before
try tidemark check new.tmk -b scopes.toml -B old.tmk --update
diff scopes.before scopes.toml.old && diff scopes.before scopes.toml
cmp new.tmk old.tmk && ls old.tmk.old
try tidemark check new.tmk -b scopes.toml -B old.tmk
try tidemark check new.tmk -B fresh.tmk --update
cmp new.tmk fresh.tmk && echo "the baseline"
# Regions of the program's own: two threads, and then three, each with 100 blocks of 10,000 bytes.
tidemark record -q -o two.tmk "$APIS/api_phases" 2 >/dev/null
tidemark record -q -o three.tmk "$APIS/api_phases" 3 >/dev/null
cat >regions.toml <<'END'
[region.parallel]
allocations = { max = 600, growth = 0 }
bytes = 3090000
live_blocks = "150"
peak = { max = "10 MiB", growth = "200%" }
largest = 9999
rate = 1
temporary = "50%"
[region."scratch"]
peak = 299
live = 0
[region.nobodys]
peak = 0
END
try tidemark check -j three.tmk -b regions.toml -B two.tmk
jq -c '.verdicts[] | [.state, .metric, .pattern, (if .metric == "rate" then .value > 1 elif .metric == "peak" then .value >= 0 else .value end), (if .metric == "peak" then null else .baseline end), .nothing_matches, .paths[0].frames[0].function]' out
tidemark check three.tmk -b regions.toml -B two.tmk | grep 'nobodys'
printf '[region.x]\npeak = 1\nlive = { growth = 0 }\n' >x.toml
tidemark check new.tmk -b x.toml -B old.tmk | grep -c 'not known .*knows of no regions'
# A recording that is not whole: events of a program that was too fast for what it was given.
sh -c 'tidemark record -q -o k.tmk "$VICTIMS/endings" kill; :' >/dev/null 2>&1
printf '[program]\npeak = "1 GiB"\n[function.renamed_since]\npeak = 0\n' >ample.toml
try tidemark check k.tmk -b ample.toml
grep -q 'peak of function renamed_since.*nothing matches' out && echo "a killed program is recorded whole; a pattern without anything is said"
head -c $(($(stat -c %s new.tmk) / 2)) new.tmk >cut.tmk
tidemark check cut.tmk -b b.toml >out 2>&1
echo "half a file: $?" | sed 's/: \(1\|125\)$/: not kept/'
# A wrapper that becomes the program: the name is the program's, and the wrapper's own profile says nothing
# of that one.
tidemark record -q -o w.tmk sh -c 'exec "$VICTIMS/rebuilt_older"' >/dev/null
try tidemark check w.sh.*.tmk -b ample.toml
grep -q 'not known.*replaced by another' out && echo "a wrapper is not checked for the program"
try tidemark check w.tmk -b ample.toml
# What is wrong.
try tidemark check new.tmk
sentence "against what"
try tidemark check -b b.toml
sentence "no profile"
try tidemark check new.tmk -b nothing.toml
sentence "nothing.toml"
printf '[program]\npeek = 1\n' >wrong.toml
try tidemark check new.tmk -b wrong.toml
sentence "wrong.toml:2: 'peek' cannot be limited"
printf '[program]\npeak = 64 MiB\n' >wrong.toml
try tidemark check new.tmk -b wrong.toml
sentence "wrong.toml: line 2"
printf '[program]\npeak = "5%%"\n' >wrong.toml
try tidemark check new.tmk -b wrong.toml
sentence "wrong.toml:2: of what"
printf '[thread.x]\npeak = 1\n' >wrong.toml
try tidemark check new.tmk -b wrong.toml
sentence "wrong.toml:2: 'thread' is unknown"
printf '[region.x]\nresident = 1\n' >wrong.toml
try tidemark check new.tmk -b wrong.toml
sentence "wrong.toml:2: what is resident is not known by region"
printf '[region.x]\nexclusive = true\npeak = 1\n' >wrong.toml
try tidemark check new.tmk -b wrong.toml
sentence "wrong.toml:2: exclusive is of functions"
printf '# nothing\n' >wrong.toml
try tidemark check new.tmk -b wrong.toml
sentence "no limit"
try tidemark check new.tmk -b b.toml -S b.toml
sentence "b.toml: line 3: neither"
try tidemark check new.tmk -B old.tmk --tolerance 5
sentence "tolerance"
try tidemark check new.tmk -b b.toml --junit /nowhere/j.xml
sentence "/nowhere/j.xml"
