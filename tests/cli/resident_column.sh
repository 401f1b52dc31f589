# What of each call path's blocks was resident is a column, a sort key and a figure as any other; of
# mappings likewise; unknown where nobody looked.
. "$HERE/lib.sh"

tidemark record -q -o run.tmk "$VICTIMS/resident" >facts 2>/dev/null
tidemark report --json run.tmk >run.json
resident() { # FUNCTION FILE: MiB
    jq --arg name "$1" '[.functions.rows[] | select(.function == $name) | .exclusive.resident_bytes] | add / 1048576 | round' "$2"
}
echo "== of 100 MiB half was touched"
resident victim_touches_half run.json
echo "== of 16 mapped MiB four, and one that is shared"
tidemark report --of=mapped --json run.tmk >mapped.json
resident victim_maps mapped.json
echo "== all paths are all that the look found"
tidemark query -f csv run.tmk "SELECT
    (SELECT sum(resident_bytes) FROM functions) = (SELECT sum(resident_bytes) FROM owner WHERE kind = 0 AND sample =
        (SELECT sample FROM owner GROUP BY sample ORDER BY sum(resident_bytes) DESC LIMIT 1))" | tail -1 | tr -d '\r'
echo "== a column, and a sort key"
tidemark report --columns=resident_bytes --show=functions -w 100 run.tmk | grep -A1 '^Functions' | tail -1 | grep -c 'resident'
tidemark report --sort=resident run.tmk | sed -n '/^Resident when most was/,/^$/p' | grep -c 'victim_touches_half'
echo "== unknown where nobody looked"
tidemark record -q --no-looks -o blind.tmk "$VICTIMS/resident" >facts 2>/dev/null
tidemark report --json blind.tmk | jq '.program.resident_bytes'
try tidemark report --sort=resident blind.tmk
grep -o 'no look at the program.s pages is in it' out err | cut -d: -f2 | sort -u
