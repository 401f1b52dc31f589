# report of several profiles: which programs were recorded, and which is the largest.
. "$HERE/lib.sh"

tidemark record -q -o one.tmk "$CLI/cli_levels"
tidemark record -q -o two.tmk "$CLI/cli_levels" 20
tidemark record -q -o three.tmk "$CLI/cli_runtime_end" >/dev/null
try tidemark report one.tmk two.tmk three.tmk
head -1 out
grep -c 'cli_levels$' out
tidemark report --json one.tmk two.tmk three.tmk | jq -c '[.format, .path, [.programs[] | [.program, .processes]]]'
tidemark report one.tmk two.tmk | tail -1
# What is asked of one; what is not there; what is no profile.
try tidemark report --of=mapped one.tmk two.tmk
sentence "for one profile"
try tidemark report one.tmk nothing.tmk
sentence "nothing.tmk"
echo text >text.tmk
try tidemark report one.tmk text.tmk
grep -A1 '^Not read' out | grep -o 'text.tmk'
# The proposed command can be typed, whatever the name; one more is no plural.
mkdir "it's" && cp one.tmk two.tmk "it's"
tidemark report --top 1 "it's" >out
grep -o 'and 1 more.*' out
next=$(sed -n 's/^Next: //p' out)
eval "$next" | grep -c '^cli_levels  pid'
