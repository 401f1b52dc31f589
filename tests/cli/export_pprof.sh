# pprof itself: `go tool pprof`, where Go is installed.
. "$HERE/lib.sh"
go tool pprof -h >/dev/null 2>&1 || [ $? = 2 ] || skip "no go tool pprof"

tidemark record -q -o run.tmk "$VICTIMS/basic" >/dev/null 2>&1
tidemark export --to pprof run.tmk 2>/dev/null
tidemark report --json run.tmk >report.json
total() { go tool pprof -top -unit=B -sample_index="$1" "${@:2}" run.pb.gz 2>/dev/null | sed -n 's/.*Total samples = \([0-9]*\).*/\1/p;s/.*of \([0-9]*\)B* total.*/\1/p' | head -1; }
for pair in "alloc_objects .alloc_count+.realloc_count" "alloc_space .alloc_bytes+.realloc_bytes" "inuse_objects .live_count" \
    "inuse_space .live_bytes" "peak .at_peak_bytes" "temporary .temporary_count"; do
    set -- $pair
    [ "$(total $1)" = "$(jq ".program | $2" report.json)" ] && echo "$1" || echo "$1: $(total $1)"
done
go tool pprof -top -sample_index=alloc_objects run.pb.gz 2>/dev/null | grep -c ' victim_' | sed 's/[1-9][0-9]*/functions/'
go tool pprof -top -sample_index=alloc_objects -base run.pb.gz run.pb.gz 2>/dev/null | grep -o 'accounting for 0'
go tool pprof -traces run.pb.gz 2>/dev/null | grep -q victim_ && echo "traces"
