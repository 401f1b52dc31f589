# pprof and Perfetto, taken apart by protoc with the fields that are known; and pprof back again.
. "$HERE/lib.sh"
[ -x /usr/bin/python3 ] || skip "no python3"
command -v protoc >/dev/null || skip "no protoc"
exchanged() { /usr/bin/python3 "$HERE/exchanged.py" "$@"; }
decode() { protoc --proto_path="$HERE/proto" --decode="$1" "$2"; }

tidemark record -q -o run.tmk "$VICTIMS/basic" >/dev/null 2>&1
tidemark export --to pprof run.tmk 2>/dev/null
tidemark export --to perfetto run.tmk 2>/dev/null

echo "# pprof"
gzip -dc run.pb.gz | decode tidemark.pprof.Profile pprof.proto >pprof.txt && exchanged pprof_text run.tmk pprof.txt

echo "# perfetto"
decode tidemark.perfetto.Trace perfetto.proto <run.perfetto-trace >perfetto.txt && exchanged perfetto_text run.tmk perfetto.txt

echo "# pprof, and back"
tidemark import run.pb.gz -o back.tmk 2>/dev/null
exchanged imported run.tmk back.tmk alloc_count alloc_bytes live_count live_bytes at_peak_bytes temporary_count \
    'free_count?' 'slack_bytes?'
tidemark export --to folded -m count -o - back.tmk | LC_ALL=C sort >back.folded
tidemark export --to folded -m count -o - run.tmk | LC_ALL=C sort >run.folded
grep -c victim_ run.folded | sed 's/[1-9][0-9]*/stacks/'
grep victim_ run.folded | cmp - <(grep victim_ back.folded) && echo "the same stacks"
