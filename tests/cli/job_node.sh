# All ranks of a job on a node have one collector, whoever of them comes first, late, dies or takes the collector along.
. "$HERE/lib.sh"
. "$HERE/../lib/mpi.sh"

cat >rank.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) static char *load_mesh(int rank) { return memset(malloc(100000 * (rank + 1)), 1, 100000); }
int main(int argc, char **argv) /* ends by the file that it is told */
{
    int rank = atoi(getenv("PMI_RANK"));
    char *mesh = load_mesh(rank);
    char name[32];
    snprintf(name, sizeof name, "began.%d", rank);
    fclose(fopen(name, "w"));
    while (access(argv[1], F_OK))
        free(malloc(10)), usleep(10000);
    int status = mesh[5] + rank;
    free(mesh);
    return status;
}
END
cc -g -O1 -o rank rank.c
cat >host.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int gethostname(char *name, size_t bytes) { return snprintf(name, bytes, "%s", getenv("HOST_NAME")) < 0; }
END
cc -shared -fPIC -o host.so host.c
unset PMI_RANK
export PMI_SIZE=8
start() { # RANK JOB STOP OPTION…: its status goes to status.RANK
    rank=$1 id=$2 stop=$3
    shift 3
    (PMI_RANK=$rank $AROUND tidemark record -q --separate --job=runs --job-id=$id "$@" ./rank $stop; echo "rank $rank status $?" >status.$rank) 2>err.$rank &
}
began() { until_true sh -c "$(for i; do echo "[ -e began.$i ] &&"; done) :"; }
ended() { until_true sh -c "$(for i; do echo "[ -s status.$i ] &&"; done) :"; cat $(for i; do echo status.$i; done); rm -f status.* began.*; }
all_ended() { until_true sh -c "[ \$(cat runs/$1/*.entry | grep -c '^end ') -ge $2 ]"; }
sessions() { cat runs/$1/*.entry | sed -n 's/^session //p' | sort -u | wc -l; }
collectors() { # of the job; not those of the same job in another directory
    pgrep -f "tidemark record -q --separate --job=runs --job-id=$1 " | while read -r pid; do
        [ "$(cat /proc/$pid/comm)" = tidemark ] && [ "$(readlink /proc/$pid/cwd)" = "$PWD" ] && echo $pid; done; }
# A child of it has its name for a moment, until it takes one of its own.
one_collector() { collectors $1 >collectors.$1; [ "$(wc -l <collectors.$1)" = 1 ]; }
said_collectors() { tidemark job runs/$1 | tr -s ' \n' ' ' | grep -o 'collectors.*have another'; }
peaks() { for entry in runs/$1/*.entry; do echo "rank $(entry rank $entry): $(entry peak_bytes $entry) end $(entry end $entry) $(entry end_status $entry)"; done | sort; }

echo "== four at once, one more later: one collector; each has its own status and figures"
for i in 0 1 2 3; do start $i a stop.a; done
began 0 1 2 3
start 4 a stop.a
began 4
until_true one_collector a
wc -l <collectors.a
pid=$(cat collectors.a)
ps -o sid=,pgid= -p $pid,$$ | awk '{ session[NR] = $1; group[NR] = $2 } END { print "session " (session[1] == session[2] ? "of its ranks" : "of its own") ", process group " (group[1] == group[2] ? "of its ranks" : "of its own") }'
touch stop.a
ended 0 1 2 3 4
all_ended a 5
sessions a
peaks a | sed 's/: .* end/: end/'
for entry in runs/a/*.entry; do tidemark report ${entry%.entry}.tmk | grep -q load_mesh && echo load_mesh; done | uniq -c | tr -s ' '

echo "== a rank is killed: the others go on"
for i in 0 1 2; do start $i b stop.b; done
began 0 1 2
kill_hard "$(sed -n 's/^pid //p' runs/b/rank-00001.*.entry)"
all_ended b 1
touch stop.b
ended 0 1 2
all_ended b 3
sessions b
peaks b | sed 's/: .* end/: end/'

echo "== the collector is killed: ranks go on, the job says from when; who comes later has another"
for i in 0 1; do start $i c stop.c; done
began 0 1
saved() { for i in 0 1; do tidemark report runs/c/rank-0000$i.*.tmk | grep -q load_mesh || return 1; done; }
until_true saved
until_true one_collector c
kill_hard "$(cat collectors.c)"
start 2 c stop.c
began 2
touch stop.c
ended 0 1 2
all_ended c 1
sessions c
tidemark job runs/c | sed -n 's/after [0-9.]* m*s/after …/; s/^ *\(rank [0-9]\)[^:]*[ :]*\(its recording.*\)/\1 \2/p' | tr -s ' '
tidemark job runs/c | grep -c 'cut short after [0-9.]* m*s: figures'

echo "== two nodes, other options and one for each rank: a collector each"
for i in 0 1; do HOST_NAME=one LD_PRELOAD=$PWD/host.so start $i d stop.d; done
for i in 2 3; do HOST_NAME=two LD_PRELOAD=$PWD/host.so start $i d stop.d; done
start 4 d stop.d --free-stacks
start 5 d stop.d --for=1h
for i in 6 7; do start $i d stop.d --job-collector=rank; done
began 0 1 2 3 4 5 6 7
touch stop.d
ended 0 1 2 3 4 5 6 7
all_ended d 8
sessions d
for host in one two; do grep -l "^host $host" runs/d/*.entry | wc -l; done

said_collectors d

# A container: a mount namespace of its own. A root of its own: directories of this one, in another. Prints nothing
# but what the test expects where that is not allowed.
echo "== ranks in a container, in another root, and beside: a collector each, and the job says so"
into='unshare -m'
[ "$(id -u)" = 0 ] || into='unshare -rm'
cat >other_root.sh <<'END'
    mkdir -p root/usr root/etc root/proc root/dev "root$BIN/.." "root$PWD"
    for name in lib lib64 bin; do [ -L /$name ] && ln -s $(readlink /$name) root/$name; done
    for name in /usr /etc /proc /dev "$(dirname "$BIN")" "$PWD"; do mount --rbind "$name" "root$name" || exit; done
    exec chroot root sh -c 'cd "$0" && exec "$@"' "$PWD" "$@"
END
if $into true 2>/dev/null; then
    cat >both.sh <<END
    exec $into sh -c '
        PMI_RANK=3 "\$@" & # beside rank 2, in its container, and in its root
        exec sh other_root.sh "\$@"' both "\$@"
END
    start 0 f stop.f
    AROUND="$into" start 1 f stop.f
    AROUND="sh $PWD/both.sh" start 2 f stop.f
    began 0 1 2 3
    touch stop.f
    ended 0 1 2
    all_ended f 4
    sessions f
    said_collectors f
else
    sed -n '/^== ranks in a container/,/^== children/p' "$HERE/job_node.out" | sed '1d;$d'
fi

echo "== two jobs at once: a collector each, and each job has its own ranks"
for job in g h; do for i in 0 1; do start $i $job stop.gh; done; done
began 0 1
until_true sh -c '[ "$(ls runs/g/*.entry runs/h/*.entry | wc -l)" = 4 ]'
touch stop.gh
all_ended g 2
all_ended h 2
ended 0 1
sessions g
sessions h
cat runs/g/*.entry runs/h/*.entry | sed -n 's/^session //p' | sort -u | wc -l

echo "== children are of their rank, with an emptied environment too"
for i in 0 1; do
    PMI_RANK=$i tidemark record -q --separate --job=runs --job-id=e sh -c '
        "$VICTIMS/basic" 1
        env -i LD_PRELOAD="$LD_PRELOAD" "$VICTIMS/basic" 1
        touch '"began.$i"'; while [ ! -e began.0 ] || [ ! -e began.1 ]; do sleep 0.05; done' &
done
wait
all_ended e 6
sessions e
for entry in runs/e/*.basic.*.entry; do basename $entry | cut -d. -f1; done
rm -f began.*

echo "== what is wanted only begins later, and ends before the next: all are recorded, whoever collects; a collector that is told to end does"
cp "$VICTIMS/basic" wanted && cp "$VICTIMS/basic" other
for by in rank node; do
    PMI_RANK=0 tidemark record -q --separate --job=runs --job-id=only.$by --job-collector=$by --only=wanted >/dev/null sh -c '
        ./wanted 1; sleep 1.2; ./other 1; ./wanted 1; sleep 1.2; ./wanted 1'
    all_ended only.$by 3
    ls runs/only.$by/*.entry | wc -l
    PMI_RANK=0 tidemark record -q --separate --job=runs --job-id=term.$by --job-collector=$by --only=wanted >/dev/null sh -c "
        ./wanted 1; touch began.0; while [ ! -e stop.term.$by ]; do sleep 0.05; done" &
    began 0
    kill -TERM $(collectors term.$by)
    none_is_left() { ! pgrep -f "^tidemark record -q --separate --job=runs --job-id=term.$by " | while read -r pid; do readlink /proc/$pid/cwd; done | grep -qx "$PWD"; }
    until_true none_is_left
    touch stop.term.$by
    wait
    rm -f began.0
done
