# How full vectors, strings and hash tables are, as the victim itself says: with debug information, without
# names, at its end and while it waits.
. "$HERE/lib.sh"

rows() { # of a report's JSON: FUNCTION BLOCKS BYTES USED
    jq -r '.fill.containers | group_by(.function)[] | "\(.[0].function | sub("\\(\\)"; "")) \(map(.count) | add) \(
        map(.bytes) | add) \(map(.used_bytes) | add)"' | sort
}

echo "== at the end"
tidemark record -q -o run.tmk "$VICTIMS/filled" | sort >said
tidemark report --json run.tmk | rows | diff - said && echo "as it says"
echo "== what, and how that is known"
tidemark report --json run.tmk | jq -r '.fill.containers[] | "\(.function) \(.what) by \(.by)"' | sort -u
echo "== stripped, all of them but the hash tables, which are few"
strip -o bare "$VICTIMS/filled"
tidemark record -q -o bare.tmk ./bare >/dev/null
tidemark report --json bare.tmk | jq -r '.fill.containers[] | "\(.count) \(.bytes) \(.used_bytes)"' | sort >found
grep -v make_tables said | sed 's/^[a-z_]* //' | sort | diff - found && echo "as it says"
echo "== of a process that waits"
mkfifo to from
tidemark record -q --separate -o live.tmk "$VICTIMS/filled" wait <to >from &
exec 7>to 8<from
while read -r name value <&8 && [ "$name" != pid ]; do
    echo "$name $value"
done >told
sort told >said
snapshot=$(tidemark snapshot "$value" 2>&1 | grep -o '[^ ]*\.tmk$')
exec 7>&- 8<&-
wait $!
tidemark report --json "$snapshot" | rows | diff - said && echo "as it says"
echo "== text"
tidemark report --show=fill -n 2 -w 80 run.tmk | sed -n '/^Containers/,$p' | cut -c1-68 | sed 's/ *$//'
echo "== in SQL, and among the findings"
query run.tmk "SELECT count(*) > 5, sum(count) = (SELECT fill_count FROM sample ORDER BY id DESC LIMIT 1) FROM live_fill"
tidemark insight --json run.tmk | jq '[.insights[] | select(.id == "unfilled-containers")] | length'
echo "== a program without any"
tidemark record -q -o basic.tmk "$VICTIMS/basic" 1 >/dev/null
tidemark report --json basic.tmk | jq -c '.fill | [.count, .bytes]'
echo "== nobody has read that"
tidemark record -q --no-looks -o none.tmk "$VICTIMS/filled" >/dev/null
tidemark report --json none.tmk | jq .fill
tidemark report --show=fill none.tmk | grep -c 'is not known'
