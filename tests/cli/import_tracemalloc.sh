# What tracemalloc's own statistics say of each line, call path and file of a snapshot, the imported profile says too, to the byte.
. "$HERE/lib.sh"
exchange() { python3 "$HERE/import_tracemalloc.py" "$@"; }

round() { # WORK FRAMES
    exchange take $2 $1 old new || echo "no snapshot of $1"
    tidemark import --force old 2>/dev/null && tidemark import --force new 2>/dev/null
    exchange compare old new | sed "s/[0-9][0-9]*/N/g; s/^/$1 $2: /"
}
for work in json ast xml email sqlite deep; do round $work 25; done
for work in json deep; do round $work 1; done

echo "# of xml, with 25 frames"
exchange take 25 xml old new
tidemark import --force old 2>/dev/null && tidemark import --force new 2>/dev/null
tidemark report new.tmk | sed -n '/^  command/d; s/ *$//; s/[0-9][0-9.]* [KM]iB in [0-9.,k ]* blocks/SIZE in N blocks/; s/of [0-9.,k ]* of [0-9.,k ]* blocks/of N of M blocks/; 2,/^  frees/p'
echo "# the first section is of what is known"
tidemark report --show functions,libraries,tree new.tmk | grep -E '^(Functions|Libraries|Call tree)' | sed 's/of [0-9.]* .iB/of SIZE/'
tidemark report --no-hide-std --show libraries --top 50 new.tmk | grep -c 'dom/minidom.py$'
tidemark report --json new.tmk | jq -c '.program | [.at_peak_bytes, .peak_ns, .alloc_count, .free_count, .live_count > 0]'
tidemark annotate new.tmk | sed -n 's/: [0-9].*//; 1p'
echo "# functions are not in it, and are not made up"
tidemark query new.tmk 'select count(*) as named from function where name is not null'
tidemark query --format csv new.tmk "select function from call_sites where file like '%minidom.py' limit 1" | tr -d '\r' | sed 's/^.*minidom.py:[0-9]*$/minidom.py:N/'
echo "# out again: each line is where it was"
tidemark export --no-hide-std --to folded --metric live_bytes -o - new.tmk | grep -q 'minidom.py:[0-9]*;expatbuilder.py:[0-9]*' && echo lines
tidemark export --no-hide-std --to pprof -o new.pb.gz new.tmk 2>/dev/null && tidemark import -o again.tmk new.pb.gz 2>/dev/null
tidemark report --json again.tmk | jq .program.live_bytes >a
tidemark report --json new.tmk | jq .program.live_bytes | cmp - a && echo the same

echo "# what is refused"
refused() {
    try tidemark import "$@"
    sed 1q err | sed 's/^tidemark import: //'
}
python3 - <<'P'
import os, pickle, tracemalloc
class Runs:
    def __reduce__(self):
        return os.system, ("touch it-ran",)
tracemalloc.start()
kept = [str(i) for i in range(100)]
snapshot = tracemalloc.take_snapshot()
def dump(name, what, protocol=4):
    with open(name, "wb") as file:
        pickle.dump(what, file, protocol)
dump("other", {"a": 1})
dump("several", [snapshot, snapshot])
dump("runs", [snapshot, Runs()])
dump("statistics", snapshot.statistics("lineno"))
dump("old_protocol", snapshot, 1)
dump("protocol_2", snapshot, 2)
snapshot.dump("whole")
snapshot.traces._traces[0] = (0, -5, *snapshot.traces._traces[0][2:])
dump("negative", snapshot)
P
refused other
refused several
refused runs
ls it-ran 2>&1 | grep -c cannot
refused statistics
refused old_protocol
refused --from tracemalloc other
refused negative
head -c 1000 whole >cut
refused cut
tidemark import protocol_2 2>/dev/null && tidemark import whole 2>/dev/null
for each in protocol_2 whole; do tidemark report --json $each.tmk | jq -c '.program | [.live_bytes, .live_count]'; done | uniq | wc -l
