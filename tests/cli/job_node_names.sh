# Another user has the names by which ranks of a node find their collector: each rank has its own at once, and waits for nobody.
. "$HERE/lib.sh"

if [ "$(id -u)" != 0 ] || ! strace -o /dev/null true 2>/dev/null; then # prints what is expected where it cannot be tried
    cat "$HERE/job_node_names.out"
    exit
fi
export PMI_RANK=0 PMI_SIZE=1
cat >take.py <<'EOF'
import os, socket, sys
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
taken = []
for name in sys.argv[2:]:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM if name.endswith("-start") else socket.SOCK_SEQPACKET)
    s.bind("\0" + name)
    if sys.argv[1] == "listens":
        s.listen(5)
    taken.append(s)
print("taken", flush=True)
sys.stdin.read()
EOF
record() { tidemark record -q --separate --job=runs --job-id=a "$VICTIMS/basic" 1 >/dev/null; }
record
name=$(grep -o 'tidemark-node-0-[0-9a-f]*' /proc/net/unix | sort -u | head -n 1) # for half a second after the rank
[ -n "$name" ] && echo "a name"
until_true sh -c "! grep -q $name /proc/net/unix"

# How often a rank sleeps 3 ms for want of an answer, of a thousand times.
pauses() { strace -qq -o calls -e trace=clock_nanosleep,nanosleep sh -c 'exec "$0" "$@"' tidemark record -q --separate --job=runs --job-id=a "$VICTIMS/basic" 1 >/dev/null
    grep -c 'tv_nsec=3000000' calls | awk '{ print ($1 <= most ? "at most " most : $1), "pauses" }' most=$1; }
try() { # MOST HOW NAME…
    most=$1
    shift
    mkfifo hold
    exec 9<>hold
    python3 take.py "$@" <hold >held 9>&- &
    until_true grep -q taken held
    pauses $most
    exec 9>&-
    wait
    rm -f hold held
}
echo "== the lock's name, by who listens"
try 5 listens $name-start
echo "== the lock's name, by who does not"
try 210 silent $name-start
echo "== the collector's name"
try 5 listens $name
echo "== all of these ranks are recorded"
ls runs/a/*.entry | wc -l
grep -h '^end ' runs/a/*.entry | sort | uniq -c | tr -s ' '
