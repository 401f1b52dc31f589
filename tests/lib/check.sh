#!/bin/sh
# check.sh EXPECT DATABASE THREADS [FACTS]: compares an unpacked profile with what EXPECT says.
#
#   FUNCTION METRIC OPERATOR VALUE   METRIC of all call paths through FUNCTION; "total": the program;
#                                    "meta": a fact about the recording; "fact": what the victim said
#   1: …                             only with one thread
#   process FUNCTION COUNT           what follows is for each of the COUNT profiles in which FUNCTION
#                                    allocates ("other any": profiles of no other section)
#
# VALUE is an SQL expression of T (threads), the facts and @FUNCTION.METRIC. METRIC is a column of
# `site` or `program` (doc/FORMAT-profile.md), or paths, depth, unwalkable, threads (metrics.sql).
# With SECTION set, only the lines of that section count. Prints what differs; fails if anything does.
set -u
here=$(dirname "$0")
expect=$1 database=$2 threads=$3 facts=${4:-/dev/null}
script=$(mktemp)
trap 'rm -f "$script"' EXIT

[ -f "$facts" ] || facts=/dev/null
{
    echo "CREATE TEMP TABLE expect(function TEXT, metric TEXT, operator TEXT, said TEXT);"
    grep -v '^ *\(#\|$\)' "$expect" |
        awk -v section="${SECTION:-}" -v threads="$threads" '
            $1 == "process" { current = $2; next }
            section != "" && current != section { next }
            $1 == "1:" { if (threads != 1) next; sub(/^1: */, "") }
            { rest = $4; for (i = 5; i <= NF; i++) rest = rest " " $i
              text = rest; gsub(/\047/, "\047\047", text)
              printf "INSERT INTO expect VALUES(\047%s\047,\047%s\047,\047%s\047,\047%s\047);\n", $1, $2, $3, text }'
    cat "$here/metrics.sql"
    echo "CREATE TEMP TABLE verdict(line TEXT, value, good INTEGER);"
    sed -n 's/^\([a-z_]*\)=\([0-9]*\)$/INSERT INTO got VALUES('\''fact'\'','\''\1'\'',\2);/p' "$facts"
    grep -v '^ *\(#\|$\)' "$expect" |
        awk -v section="${SECTION:-}" -v threads="$threads" -v facts="$facts" '
            BEGIN { while ((getline line < facts) > 0) { split(line, part, "="); fact[part[1]] = part[2] } }
            function got(function_name, metric) {
                return "(SELECT value FROM got WHERE function=\047" function_name "\047 AND metric=\047" metric "\047)"
            }
            function expression(text,    out, word) {
                out = ""
                while (match(text, /@[A-Za-z_:]+\.[a-z_]+|[A-Za-z_]+/)) {
                    word = substr(text, RSTART, RLENGTH)
                    out = out substr(text, 1, RSTART - 1)
                    text = substr(text, RSTART + RLENGTH)
                    if (word ~ /^@/) { split(substr(word, 2), part, "."); out = out got(part[1], part[2]) }
                    else if (word == "T") out = out threads
                    else if (word in fact) out = out "(" fact[word] ")"
                    else out = out "NULL"
                }
                return out text
            }
            $1 == "process" { current = $2; next }
            section != "" && current != section { next }
            $1 == "1:" { if (threads != 1) next; sub(/^1: */, "") }
            { rest = $4; for (i = 5; i <= NF; i++) rest = rest " " $i
              wanted = expression(rest); actual = got($1, $2)
              printf "INSERT INTO verdict SELECT \047%s %s %s \047 || \047%s\047 || \047 (\047 || coalesce(%s, \047unknown\047) || \047)\047, %s, coalesce(%s %s (%s), 0);\n", $1, $2, $3, rest, wanted, actual, actual, $3, wanted }'
    # Nothing lost, nothing out of order, unless EXPECT itself says more about it.
    for metric in lost_events late_events replaced_blocks; do
        echo "INSERT INTO verdict SELECT 'total $metric = 0', value, value = 0 FROM got WHERE function = 'total' AND metric = '$metric' AND NOT EXISTS (SELECT 1 FROM expect WHERE function = 'total' AND metric = '$metric');"
    done
    echo "SELECT 'profile: ' || line || '; it says ' || coalesce(value, 'nothing') FROM verdict WHERE NOT good;"
    echo "SELECT 'profile: ' || what FROM broken LIMIT 5;"
    echo "SELECT 'profile: nothing was compared' WHERE NOT EXISTS (SELECT 1 FROM verdict);"
} >"$script"

differences=$(sqlite3 -batch "$database" <"$script" 2>&1) || differences="sqlite3: $differences"
[ -z "$differences" ] && exit 0
printf '%s\n' "$differences"
exit 1
