# A job's figures do not depend on who collects. What becomes of ranks whose collector has few descriptors or stands still.
. "$HERE/lib.sh"

cat >rank.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct cell { double value[4]; struct cell *next; };
__attribute__((noinline)) static struct cell *load_mesh(int count)
{
    struct cell *all = NULL;
    for (int i = 0; i < count; i++) {
        struct cell *cell = malloc(sizeof *cell);
        cell->next = all;
        all = cell;
    }
    return all;
}
__attribute__((noinline)) static void solve(int count)
{
    for (int i = 0; i < count; i++) {
        char *row = malloc(100 + i % 50);
        row[0] = 1;
        free(row);
    }
}
__attribute__((noinline)) static char *grow(int count)
{
    char *table = malloc(10);
    for (int i = 1; i <= count; i++)
        table = realloc(table, 10 + i * 1000);
    return table;
}
int main(int argc, char **argv) /* waits for the file, if it is told one */
{
    int rank = atoi(getenv("PMI_RANK"));
    struct cell *mesh = load_mesh(1000 * (rank + 1));
    char name[32];
    solve(5000 + rank);
    free(grow(30));
    for (struct cell *next; mesh && rank % 2; mesh = next) {
        next = mesh->next;
        free(mesh);
    }
    snprintf(name, sizeof name, "began.%d", rank);
    fclose(fopen(name, "w"));
    while (argc > 1 && access(argv[1], F_OK))
        usleep(10000);
    return 0;
}
EOF
cc -g -O1 -o rank rank.c
export PMI_SIZE=6
start() { # JOB COLLECTOR WORD…: its status goes to status.RANK
    job=$1 by=$2
    shift 2
    for rank in 0 1 2 3 4 5; do
        (PMI_RANK=$rank tidemark record -q --separate --job=runs --job-id=$job --job-collector=$by ./rank "$@"; echo "rank $rank status $?" >status.$rank) 2>err.$rank &
    done
}
ended() { until_true sh -c 'for i in 0 1 2 3 4 5; do [ -s status.$i ] || exit 1; done'; cat status.? | uniq -c -f 2 | tr -s ' '; rm -f status.* began.*; }
all_ended() { until_true sh -c "[ \$(cat runs/$1/*.entry | grep -c '^end ') -ge 6 ]"; }

echo "== the same figures"
for by in rank node; do
    start ways.$by $by
    ended
    all_ended ways.$by
    tidemark job --json runs/ways.$by >$by.json
    for entry in runs/ways.$by/*.entry; do
        tidemark report --json "${entry%.entry}.tmk" | python3 -c '
import json, sys
program = json.load(sys.stdin)["program"]
print({key: value for key, value in program.items() if isinstance(value, int) and "_ns" not in key and "resident" not in key and "virtual" not in key})'
    done >figures.$by
done
cmp figures.rank figures.node && wc -l <figures.node
python3 - <<'EOF'
import json

def figures(value, path, found):
    """All but what a clock, the kernel's pages and the process's number say."""
    if isinstance(value, dict):
        for key, part in value.items():
            if not any(word in "." + key for word in ("_ns", "pid", "file", "timeline", "resident", "owned", "owners", "nodes", "collectors", ".id")):
                figures(part, path + "." + key, found)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            figures(part, f"{path}[{number}]", found)
    else:
        found[path] = value
    return found

print(*(json.load(open(name + ".json"))["collectors"] for name in ("rank", "node")), "collectors")
rank, node = (figures(json.load(open(name + ".json")), "", {}) for name in ("rank", "node"))
differ = [path for path in rank.keys() | node.keys() if rank.get(path) != node.get(path)]
print("figures differ:", sorted(differ)) if differ else print("more than 50 figures, all the same" if len(rank) > 50 else len(rank))
EOF

echo "== few descriptors: each rank runs, and is recorded or says why not"
(ulimit -n 24; start few node; ended)
until_true sh -c '! pgrep -f "^tidemark record -q --separate --job=runs --job-id=few " >/dev/null'
recorded=$(grep -l '^end exit' runs/few/*.entry 2>/dev/null | wc -l)
[ $recorded -gt 0 ] && echo some are recorded

echo "== each process has so much memory: a collector for all would have that of one, so each rank has its own"
(ulimit -v 120000; start limited node; ended)
all_ended limited
cat runs/limited/*.entry | sed -n 's/^\(end\|session\) //p' | sort -u | sed 's/.*-.*/a session/' | uniq -c | tr -s ' '
tidemark job runs/limited | tr -s ' \n' ' ' | grep -o 'those with limits.*one each'

echo "== the collector stands still: ranks end all the same; when it goes on all is there"
start still node stop
until_true sh -c 'for i in 0 1 2 3 4 5; do [ -e began.$i ] || exit 1; done'
collector=$(pgrep -f "tidemark record -q --separate --job=runs --job-id=still " | while read -r pid; do
    [ "$(cat /proc/$pid/comm)" = tidemark ] && echo $pid; done)
kill -STOP $collector
touch stop
ended
kill -CONT $collector
all_ended still
tidemark job --json runs/still | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["ranks"]), "ranks")'
