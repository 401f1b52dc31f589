# Types by what a call's result is assigned to, or what a constructor makes of it, as debug information says: of
# programs as compilers make them at each level. None is wrong; what is not certain has none: a block that is larger
# than what it is assigned to, and one of no type. Of characters the C library may have some of its own.
. "$HERE/lib.sh"

types_of() { # PROFILE: each type, and how many blocks
    tidemark report --json "$1" | jq -r '.types | map(select(.name != "char") | "\(.name) \(.metrics.alloc_count)") | sort | join(", ")'
}

for level in 0 1 2 3; do
    for victim in called made; do
        tidemark record -q -o "$victim$level.tmk" "$VICTIMS/${victim}_types_$level" >/dev/null
        echo "$victim -O$level: $(types_of "$victim$level.tmk")"
    done
done
echo "== by what"
tidemark report --json called2.tmk | jq -c '[.types[].sources[]] | unique'
tidemark report --by type -w 80 called2.tmk | grep -c '  call    node$'
echo "== of no debug information: none"
strip -g -o bare "$VICTIMS/called_types_2"
tidemark record -q -o bare.tmk ./bare >/dev/null
echo "[$(types_of bare.tmk)]"
echo "== names are hidden with others"
tidemark html --redact=names -o hidden.html called2.tmk >/dev/null 2>&1
grep -c 'plain_t' hidden.html
echo "== of a trace that is replayed"
tidemark record -q --trace -o traced.tmk "$VICTIMS/called_types_2" >/dev/null
tidemark replay -q -o replayed.tmk traced.tmt
types_of replayed.tmk
