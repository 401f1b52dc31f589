# What pages hold: of a process that waits, of its profile, and page by page by a script of the test's own.
. "$HERE/lib.sh"

begin() { # records the victim, which waits; ranges become NAME:START:END
    rm -f to from live.tmk*
    mkfifo to from
    tidemark record -q --separate -o live.tmk "$VICTIMS/contents" wait <to >from &
    recorder=$!
    exec 7>to 8<from
    ranges=
    while read -r name value <&8 && [ "$name" != pid ]; do
        ranges="$ranges $name:$value:$(printf %#x $((value + (4 << 20))))"
    done
    pid=$value
}

end() {
    exec 7>&- 8<&-
    wait "$recorder"
}

rows() { # of content's JSON: NAME RESIDENT ZEROS COPIES COMPRESSIBLE
    jq -r '.owners[] | select((.kind == "blocks" or .kind == "mapping") and (.function // "" | startswith("victim_"))) |
        "\(.function[7:]) \(.resident_bytes) \(.zero_bytes) \(.copy_bytes) \(.compressible_bytes)"' | sort
}

# Each rounds down in another order.
compare() { # ours theirs
    paste -d' ' "$1" "$2" | awk '{
        same = $1 == $6
        for (i = 2; i <= 5; i++) { d = $i - $(i + 5); if (d > 8 || d < -8) same = 0 }
        print $1, same ? "as page by page" : "differs: " $0
    }'
}

echo "== of a process"
begin
tidemark content --json "$pid" >now.json
python3 "$HERE/pages.py" "$pid" $ranges >pages || { end; exit $?; }
rows <now.json >ours
sort pages >theirs
compare ours theirs
echo "== and of its profile, when it has ended: the same moment, because nobody asked for others"
end
tidemark content --json live.tmk | rows | cmp - ours && echo "the same"
echo "== recorded with it"
tidemark record -q --page-content -o run.tmk "$VICTIMS/contents" >/dev/null
tidemark content --json run.tmk | rows | awk '{
    printf "%s %d %d %d %s\n", $1, $2 / 1048576 + 0.5, $3 / 1048576 + 0.5, $4 / 1048576 + 0.5,
        ($5 > 2097152) ? "compressible" : "-" }'
tidemark content --json run.tmk | jq '.at, ([.owners[].copy_bytes] | add) == .copy_bytes, .resident_bytes > 20000000'
echo "== text"
tidemark content -w 90 run.tmk | sed -n '1s/[0-9.]* MiB/N/gp; 4,6s/^ *[0-9.]* MiB *[0-9.]* %/N/p; 8s/ *$//p'
tidemark content -n 1 run.tmk | tail -1 | sed 's/[0-9][0-9]*/N/g'
echo "== in the report, in SQL and among the findings"
tidemark report --show=memory run.tmk | grep -c '^  pages hold'
query run.tmk "SELECT function, copy_bytes > 4000000, compressible_bytes < 20000 FROM owners WHERE function = 'victim_copies'
    AND kind = 'blocks' AND sample = (SELECT max(id) FROM sample)"
tidemark insight --json run.tmk | jq -r '.insights[] | select(.id == "empty-pages") | "\(.severity) \(.paths | length)"'
echo "== nobody asked: one sentence, and no finding"
tidemark record -q -o none.tmk "$VICTIMS/contents" >/dev/null
try tidemark content none.tmk
sentence "record with --page-content"
tidemark insight --json none.tmk | jq '[.insights[] | select(.id == "empty-pages")] | length'
echo "== nothing of the contents is in the file"
tidemark unpack run.tmk run.db
grep -ac 00000000001600 run.db
try tidemark content
sentence "no profile and no process"
