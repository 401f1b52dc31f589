# Processes of a node's collector that have ended are in one file: every command has of them what it has of files
# of their own, of both in one directory too, and of a file that is damaged what is sound.
. "$HERE/lib.sh"
. "$HERE/serving.sh"
command -v python3 >/dev/null && command -v cc >/dev/null || skip "no python3 or no cc"

cat >rank.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) static char *load_mesh(size_t bytes) { return memset(malloc(bytes), 1, bytes); }
int main(int count, char **words)
{
    char *mesh = load_mesh(1000000 * (size_t)(1 + atoi(getenv("PMI_RANK"))));
    if (count > 2)
        execl(words[0], words[0], words[1], NULL);
    while (access(words[1], F_OK))
        usleep(1000);
    return mesh[5] - 1;
}
END
cc -g -O1 -o rank rank.c
export PMI_SIZE=3
start() { # RANK JOB STOP [OPTION…] [-- WORD]: the rank runs until there is a file STOP
    local rank=$1 job=$2 stop=$3
    shift 3
    PMI_RANK=$rank tidemark record -q --job=runs --job-id="$job" "$@" ./rank "$stop" &
}
begun() { until_true sh -c "[ \$(grep -a '^rank ' runs/$1/*.entry | wc -l) = $2 ]"; }
run() { # JOB [OPTION…]: all ranks at once
    local job=$1 rank
    shift
    for rank in 0 1 2; do start $rank "$job" "stop.$job" "$@"; done
    begun "$job" 3
    touch "stop.$job"
    wait
}
# What is written behind a rank's end is there, and COUNT processes have files of their own.
settled() { # DIR COUNT
    until_true sh -c "[ \$(ls $1 | grep -c 'entry\$') = $2 ] && [ \$(cat $1/*.entry /dev/null | grep -c '^end ') = $2 ]"
}
files() { ls "$1" | sed -E 's/^(node|rank-[0-9]*)\..*\.(session\.tmk|tmk|entry|tmt)$/\1 \2/' | sort | uniq -c | tr -s ' '; }
figures() { # of a job, but for times, names and ids
    tidemark job --json "$1" | jq -c '[.id, .size, .missing, .program, [.ranks[] | [.rank, .state, .peak_bytes, .live_bytes, .alloc_count]],
        [.functions[] | select(.function == "load_mesh") | del(.[] | select(type == "string"))]]' | sed "s/\"$(basename "$1")\"/\"ID\"/"
}

echo "== one file for the node"
run x
settled runs/x 0
files runs/x
run y --separate
settled runs/y 3
files runs/y
figures runs/x >x && figures runs/y >y && cmp x y && jq -c '.[4] | map(.[0:3])' x
tidemark job -o x.tmk runs/x >/dev/null && tidemark job -o y.tmk runs/y >/dev/null && for file in x y; do
    query $file.tmk "SELECT sum(peak_bytes), sum(alloc_count) FROM site"
done | uniq | wc -l

echo "== a rank by name, by pattern, by pid"
node=$(ls runs/x/node.*)
name=$(job_entries runs/x | sed -n 's/^profile \(rank-00001.*\)/\1/p')
pid=${name%.tmk} pid=${pid##*.}
other=$(ls runs/y/rank-00001.*.tmk)
for operand in "runs/x/$name" runs/x/rank-00001.*.tmk 'r*/x/rank-00001.*' "$node@$pid" "runs/x@$pid"; do
    case $operand in *.\*) operand=$operand.tmk ;; esac
    query "$operand" "SELECT value FROM meta WHERE key = 'rank'"
done
for command in report insight "check --baseline $other" "export --to=folded -o -" plot "diff $other" html leaks; do
    tidemark ${command% -o -} $(case $command in html) echo -o page.html ;; export*) echo -o - ;; esac) "$node@$pid" >out 2>err
    echo "${command%% *} $?"
done
tidemark report "$node@$pid" | grep -c load_mesh
try tidemark report 'runs/x/rank-*.tmk'
sentence 'are 3 profiles in files of nodes: choose one'
try tidemark report runs/x
sentence 'is the directory of a job'
tidemark report "$node" | head -1 | sed 's/.*  //'

begin runs/x
get profiles | sed 's/^200 //' | jq -c '[.profiles[] | select(.error == null)] | length'
for rank in 0 1 2; do get p/$((rank + 1))/summary | grep -c '^200'; done
end

echo "== both layouts, and a rank that is both"
mkdir runs/z && cp "$node" runs/z/ && python3 - "$node" runs/z <<'END'
import struct, sys
path, to = sys.argv[1:]
taken = False
data, at = open(path, "rb").read(), 16
while at < len(data):
    kind, size, _ = struct.unpack_from("<IIQ", data, at)
    head = struct.unpack_from("<IIiiIIII", data, at + 16)
    entry, profile = struct.unpack_from("<II", data, at + 16 + 88)
    texts = at + 16 + head[0] + head[6] + head[7]
    said = data[texts:texts + entry].decode()
    assert kind == 0x1e4c4857 and head[0] + head[6] + head[7] + entry + profile == size
    if head[0] == 96 and not taken: # packed against no other: it is as its file was
        taken = True
        name = [line[8:] for line in said.split("\n") if line.startswith("profile ")][0]
        open(f"{to}/{name}", "wb").write(data[texts + entry:at + 16 + size])
        open(f"{to}/{name[:-4]}.entry", "w").write("".join(
            line + "\n" for line in said.split("\n")[:-1] if not line.startswith("end")))
    at += 16 + size
END
files runs/z | sed 's/rank-0000./rank-N/'
figures runs/z | sed 's/"x"/"ID"/' | cmp - x && echo "counts once"
tidemark report runs/z/rank-*.tmk | grep -c load_mesh
for rank in 0 1; do start $rank m stop.m; done
start 2 m stop.m --separate
begun m 3
touch stop.m
wait
settled runs/m 1
files runs/m
figures runs/m | cmp - y && echo "the same"
rm stop.m
for rank in 0 1 2; do start $rank m stop.m; done
begun m 4
touch stop.m
wait
settled runs/m 1
tidemark job --json runs/m | jq -c '[.size, .missing, (.ranks | length)]'

echo "== a rank that executes another program, and one with children"
PMI_SIZE=1 PMI_RANK=0 tidemark record -q --job=runs --job-id=e sh -c './rank stop.x; ./rank stop.x; exec ./rank stop.x exec'
settled runs/e 0
files runs/e
job_entries runs/e | sed -nE 's/^(program|end) //p' | paste - - | sort | uniq -c | tr -s ' \t' ' '
tidemark job runs/e | grep -c '^Functions'

echo "== traces"
run t --trace
settled runs/t 0
files runs/t
tidemark at --json runs/t peak | jq -c '[.functions[] | select(.function == "load_mesh")] | length'
tidemark at runs/t/rank-00002.*.tmt peak | grep -c load_mesh

echo "== a process that is several programs of one name, one after the other, has a trace of each"
PMI_SIZE=1 PMI_RANK=0 tidemark record -q --trace --job=runs --job-id=i \
    sh -c 'sleep 0.7; exec sh -c "sleep 0.7; exec sh -c \"sleep 0.7; exit\""'
settled runs/i 0
job_entries runs/i | sed -n 's/^profile //p' | sort | uniq -d | wc -l
[ "$(job_entries runs/i | grep -c '^trace ')" = "$(ls runs/i | grep -c 'tmt$')" ] && echo "each its own"
ls runs/i | grep -c 'old$'

echo "== a collector that is killed"
start 0 k stop.k0
start 1 k stop.k1
begun k 2
touch stop.k0
until_true sh -c 'ls runs/k/node.* && ! ls runs/k/rank-00000.*' >/dev/null
kill -9 $(pgrep -f '^tidemark record -q --job=runs --job-id=k ' | while read -r one; do [ "$(cat /proc/$one/comm)" = tidemark ] && [ "$(readlink /proc/$one/cwd)" = "$PWD" ] && echo $one; done)
touch stop.k1
wait
tidemark job --json runs/k | jq -c '.ranks | map([.rank, .state == "complete"])'

echo "== damage"
damaged() { # HOW: a copy of x whose file is changed by python
    rm -rf runs/d && mkdir runs/d && python3 -c "
import sys
data = bytearray(open(sys.argv[1], 'rb').read())
$1
open('runs/d/' + sys.argv[1].split('/')[-1], 'wb').write(data)" "$node"
    tidemark job --json runs/d >out 2>err
    echo "status $? $(jq -c '[(.missing | length), (.ranks | map(.state) | sort)]' out)"
    grep -o 'is damaged: .* of its bytes are of no process that can be read' out | head -1 | sed 's/[0-9]* of/N of/'
}
damaged "data[60] ^= 255"
damaged "data[20] ^= 255"
damaged "data[3000] ^= 255"
damaged "data = data[:-10]"
damaged "data = data[:-1000]"
damaged "data = data[:100]"
damaged "data = b'nonsense'"
damaged "data = b''"
damaged "data += data[16:]" # each row stands twice
listed() { tidemark report --json "$1" | jq -c '[.rows, (.programs | map(.processes) | add)]'; }
[ "$(listed runs/d/node.*.session.tmk)" = "$(listed "$node")" ] && echo "and is listed once"
