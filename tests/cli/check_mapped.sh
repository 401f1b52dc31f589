# Limits on what a program maps and on what is resident: the whole, and by function, file and library.
. "$HERE/lib.sh"

tidemark record -q -o new.tmk "$CLI/cli_levels" >/dev/null
cat >kept.toml <<'END'
[program]
mapped = "101 MiB"
mapped_live = "51 MiB"
all = "102 MiB"
[function.gives_back]
mapped = "100 MiB"
mapped_live = 0
[function.keeps]
mapped = 0                # it maps after the high-water mark
mapped_live = "50 MiB"
[file."levels.c"]
mapped_live = { max = "50 MiB", growth = 0 }
all = { max = "101 MiB", growth = true }
[library."cli_levels"]
mapped = "100 MiB"
END
try tidemark check -j new.tmk -b kept.toml -B new.tmk
jq -c '.verdicts[] | [.state, .metric, .scope, .pattern, .value / 1048576, .baseline]' out
# What is exceeded names the call path; resident memory by function has mappings.
cat >exceeded.toml <<'END'
[function.main]
mapped = "99 MiB"
mapped_live = "49 MiB"
resident = "1 MiB"
[program]
all = "100 MiB"
END
try tidemark check -j new.tmk -b exceeded.toml
jq -c '.verdicts[] | [.state, .metric, .value >= .paths[0].value, (.metric == "resident" or .paths[0].frames[1].function == (if .metric == "mapped_live" then "keeps" else "gives_back" end))]' out
jq '.verdicts[] | select(.metric == "resident") | .value >= 52428800' out
# Only what a function maps itself: the one that calls mmap.
printf '[function.map_and_touch]\nexclusive = true\nmapped = 0\n[function.keeps]\nexclusive = true\nmapped_live = 0\n' >exclusive.toml
try tidemark check -j new.tmk -b exclusive.toml
jq -c '.verdicts[] | [.state, .pattern, .value]' out
# A profile of a version that did not follow mappings does not pass.
printf '[program]\nmapped = "1 GiB"\nmapped_live = "1 GiB"\nall = "1 GiB"\n[function.main]\nmapped = "1 GiB"\n' >ample.toml
try tidemark check -j "$HERE/../golden/profile-v1.tmk" -b ample.toml --allow-loss
jq -r '.verdicts[] | [.state, (.sentence | test("does not say what the program mapped"))] | join(" ")' out
printf '[region.x]\nmapped = 1\n' >wrong.toml
try tidemark check new.tmk -b wrong.toml
sentence "wrong.toml:2: what is mapped is not known by region"
