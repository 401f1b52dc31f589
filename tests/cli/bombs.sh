# Small files that would take gigabytes: one sentence, and the machine keeps its memory. Honest files
# of that size are read as ever.
. "$HERE/lib.sh"
command -v python3 >/dev/null || skip "no python3"
command -v zstd >/dev/null || skip "no zstd"

# The most memory that a command took, in MiB, is below LIMIT.
below() { # LIMIT COMMAND…
    local limit=$1 most
    shift
    python3 - "$@" <<'P' >most
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=open("out", "wb"), stderr=open("err", "wb")).returncode
print("status", status, file=sys.stderr)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)
P
    most=$(cat most)
    [ "$most" -lt "$limit" ] && echo "below $limit MiB" || echo "$most MiB, not below $limit"
}

echo "== pprof"
python3 "$HERE/bombs.py" pprof bomb.pb.gz
below 450 tidemark import -o made.tmk bomb.pb.gz 2>&1
sentence "TIDEMARK_READ_MEMORY"
ls made.tmk* 2>/dev/null

echo "== a profile"
tidemark record -q -o run.tmk "$VICTIMS/basic" 1 >/dev/null
tidemark unpack run.tmk run.db
python3 "$HERE/bombs.py" profile run.db bomb.tmk
for command in report "diff run.tmk" insight "check -B run.tmk" "export --to folded -o -" "query" "plot --terminal" "unpack"; do
    echo "$command"
    case $command in
    query) below 600 tidemark query bomb.tmk "SELECT count(*) FROM meta" 2>&1 ;;
    *) below 600 tidemark $command bomb.tmk 2>&1 ;;
    esac
    sentence "TIDEMARK_READ_MEMORY"
done

echo "== honest ones, and more where it is asked for"
try tidemark report run.tmk
TIDEMARK_READ_MEMORY=1M try tidemark report run.tmk
sentence "TIDEMARK_READ_MEMORY"
