# record --job=DIR: a directory per job, a profile and an entry per process, whatever happens. The
# launcher here only sets what MPICH's sets; with the real ones see mpi.sh.
. "$HERE/lib.sh"
. "$HERE/../lib/mpi.sh"

library=$(dirname "$BIN")/lib/libtidemark.so
export PMI_SIZE
launch() { # FIRST LAST COMMAND…: ranks at once, their output in out.RANK and err.RANK
    sh -c 'first=$1 last=$2; shift 2
        for rank in $(seq $first $last); do
            PMI_RANK=$rank "$@" >out.$rank 2>err.$rank &
        done
        wait' launcher "$@"
}
# A rank leaves when its profile is complete, or after --exit-wait; 300 at once may need longer on two processors.
all_ended() { # DIR COUNT
    until_true sh -c "[ \$(cat $1/*/*.entry | grep -c '^end ') -ge $2 ]"
}
ends() { # in all entries below DIR, counted
    cat "$1"/*/*.entry | awk '$1 == "end" { how = $2 } $1 == "end_status" { how = how " " $2 }
        $1 == "." { print how; how = "" }' | sort | uniq -c | awk '{ $1 = $1; print }'
}

echo "== one rank: the program's output and status, one line on stderr, from rank 0"
PMI_SIZE=2
PMI_RANK=0 try tidemark record --separate --job=runs/a sh -c 'echo out; exit 5'
cat out
sentence 'recording the ranks. profiles into runs/a/hydra-.*: tidemark job runs/a shows them'
PMI_RANK=1 try tidemark record --separate --job=runs/a "$VICTIMS/imbalance"
wc -c <err
PMI_RANK=0 try tidemark record -q --separate --job=runs/a true
wc -c <err
all_ended runs/a 3
file=$(ls runs/a/*/rank-00001.*.entry)
for key in launcher rank ranks end end_status peak_bytes; do
    echo "$key $(entry $key "$file")"
done
[ "$(entry profile "$file")" = "$(basename "${file%.entry}.tmk")" ] && echo "its profile is beside it"
[ "$(entry job "$file")" = "$(basename "$(dirname "$file")")" ] && echo "its job is the directory"
[ "$(entry duration_ns "$file")" = "$(query "${file%.entry}.tmk" "SELECT value FROM meta WHERE key = 'duration_ns'")" ] && echo "and as long as it"
query "${file%.entry}.tmk" "SELECT key, value FROM meta WHERE key IN ('launcher', 'rank', 'ranks') ORDER BY key"
tidemark report "${file%.entry}.tmk" | sed -n 's/.*\(rank . of .\) in job hydra-.*/the report: \1/p'

echo "== 300 ranks at once: nothing is said, nothing is lost, high-water marks are exact"
PMI_SIZE=300
launch 0 299 tidemark record --separate --job=runs/b "$VICTIMS/imbalance"
all_ended runs/b 300
cat err.* | grep -v 'recording the ranks'
cat out.* | wc -l
ls runs/b | wc -l
ls runs/b/*/*.entry | wc -l
ls runs/b/*/*.tmk | wc -l
ls -A runs/b/* | grep -c '^\.'
ends runs/b
cat runs/b/*/*.entry | awk '$1 == "rank" { rank = $2 } $1 == "peak_bytes" && $2 != 97700000 + int(78000000 * rank / 299) { print "rank", rank, "has", $2 }'
cat runs/b/*/*.entry | sed -n 's/^rank //p' | sort -n | uniq | wc -l
rm -f out.* err.*

echo "== the same, preloaded by hand"
PMI_SIZE=20
TIDEMARK_OPTIONS="--separate --job=runs/c" LD_PRELOAD=$library launch 0 19 "$VICTIMS/imbalance"
all_ended runs/c 20
cat err.* | wc -c
ls runs/c/hydra-*/rank-*.entry | wc -l
cat runs/c/hydra-*/*.entry | awk '$1 == "rank" { rank = $2 } $1 == "peak_bytes" && $2 != 97700000 + int(78000000 * rank / 19) { print "rank", rank, "has", $2 }'
cat runs/c/hydra-*/*.entry | grep -c '^end_status 0$'
rm -f out.* err.*

echo "== two jobs into one directory are two, two runs without a launcher too"
PMI_SIZE=2
launch 0 1 tidemark record -q --separate --job=runs/d true
launch 0 1 tidemark record -q --separate --job=runs/d true
ls runs/d | wc -l
unset PMI_SIZE PMI_RANK
tidemark record -q --separate --job=runs/e true
tidemark record -q --separate --job=runs/e true
ls runs/e | wc -l
ls runs/e/*/process.true.*.entry | wc -l
tidemark record --separate --job=runs/f --job-id=mine.1 true 2>err
sentence '1 profile in runs/f: '
ls runs/f

echo "== children are processes of their rank; the shell that becomes a program is one more"
PMI_SIZE=1 PMI_RANK=0 tidemark record -q --separate --job=runs/g sh -c '"$VICTIMS/basic" 1; exec "$VICTIMS/basic" 1'
all_ended runs/g 3
ls runs/g/*/*.entry | sed 's|.*/||; s/\.[0-9]*\.entry$/.entry/; s/\.2\.entry/.entry/' | cut -d. -f1,2 | sort
ends runs/g

: >plain.in
echo "== its stdio, pid and parent are as without us"
cat >show <<'SHOW'
readlink /proc/$$/fd/0 /proc/$$/fd/1 | sed 's|.*/||'
[ "$PPID" = "$STARTER" ] && echo "the launcher's own child"
SHOW
export STARTER=$$
PMI_SIZE=1 PMI_RANK=0 tidemark record -q --separate --job=runs/j bash show <plain.in >plain.out
cat plain.out

echo "== a rank is killed"
{ PMI_SIZE=1 PMI_RANK=0 tidemark record -q --separate --job=runs/h sh -c 'kill -9 $$'; echo "status $?"; } 2>/dev/null
all_ended runs/h 1
ends runs/h

echo "== its collector is killed: the entry has no end, and nobody holds it; what was recorded is there"
tidemark record -q --separate --job=runs/i sh -c 'echo $$ >pid; while [ ! -e killed ]; do sleep 0.05; done; echo on >went' &
recorder=$!
until_true sh -c 'test -s pid && tidemark report runs/i/*/process.sh.*.tmk >/dev/null 2>&1'
kill -KILL "$(collector_of $recorder)"
: >killed
until_true test -s went
wait $recorder
sed -n 's/^\(locked .*\|end.*\)/\1/p' runs/i/*/process.sh.*.entry
tidemark report runs/i/*/process.sh.*.tmk >/dev/null && echo "its profile is read"

echo "== nowhere to write"
echo file >plain
try tidemark record --job=plain true
sentence "cannot write into the directory plain: Not a directory"
try tidemark record --job=/proc/none true
sentence "cannot write into the directory /proc/none"
TIDEMARK_OPTIONS="--job=plain/deep" LD_PRELOAD=$library try "$VICTIMS/basic" 1
sentence "this process is not recorded: cannot write into the directory plain/deep"

echo "== options that make no sense"
try tidemark record --job=x -o y.tmk true
sentence 'leave -o out'
try tidemark record --job-id=x true
sentence 'give --job=DIR too'
try tidemark record --job=x --job-id=../y true
sentence 'job-id takes letters'
try tidemark record --job= true
sentence 'needs the name of a directory'

echo "== who calls the collector and says nothing keeps nobody waiting"
python=$(python3 -c 'import sys; print(sys.executable)') # "python3" may be a script that runs many shells
PMI_SIZE=1 PMI_RANK=0 timeout 600 tidemark record -q --separate --job=runs/k "$python" -c '
import os, socket
mute = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for i in range(100)]
for one in mute:
    one.connect("\0" + os.environ["TIDEMARK_SESSION"].split(":")[0])
os.execvp(os.environ["VICTIMS"] + "/basic", ["basic", "1"])'
until_true sh -c 'ls runs/k/*/rank-00000.basic.*.entry >/dev/null' && echo "recorded"
