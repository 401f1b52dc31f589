# A recursion with tens of thousands of call paths: reports take time in proportion to them, and not to
# their square. The limit is processor time, so that a busy machine has no part in it.
. "$HERE/lib.sh"

within() { # SECONDS COMMAND…
    local seconds=$1
    shift
    (ulimit -t "$seconds" && exec tidemark "$@") >out 2>err && echo "$1 $2: in time" || echo "$1 $2: status $?: $(head -1 err)"
}
tidemark record -q -o deep.tmk "$CLI/cli_deep_recursion" 40000
within 6 report deep.tmk
within 8 report --json deep.tmk
within 6 export --to=dot deep.tmk
tidemark record -q -o less.tmk "$CLI/cli_deep_recursion" 8000
within 10 diff --json less.tmk less.tmk
rm out
tidemark record -q -o old.tmk "$CLI/cli_deep_recursion" 2000
within 10 diff --json old.tmk old.tmk
# A path that goes on as another one does has all of its frames.
python3 - <<'END'
import json
paths = json.load(open("out"))["paths"]
written = sum(len(path["frames"]) for path in paths)
def frames(path):
    while path["continues"]:
        rest = path["continues"]
        yield from path["frames"]
        at, path = rest["frame"], paths[rest["path"]]
        path = {"frames": path["frames"][at:], "continues": path["continues"]}
    yield from path["frames"]
depths = sorted(sum(frame["function"] == "descend" for frame in frames(path)) for path in paths)
ends = {list(frames(path))[-1]["function"] for path in paths[:20]}
print(len(paths), "paths, at most 100 frames each:", written <= 100 * len(paths))
print("of all depths:", depths == list(range(1, 2002)), "from one beginning:", len(ends) == 1)
print("short ones whole:", all(path["continues"] is None for path in paths if len(path["frames"]) < 100))
END
# Its beginning is an event.
tidemark record -q -o one.tmk "$CLI/cli_deep_recursion"
tidemark report one.tmk | grep -o 'none: .*'
