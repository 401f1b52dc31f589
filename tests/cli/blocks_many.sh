# A list of many blocks: which are shown takes as much memory as a piece of the list, whatever their number,
# and pieces follow each other without a gap.
. "$HERE/lib.sh"
. "$HERE/commanded.sh"
command -v python3 >/dev/null || skip "no python3"
commanded -q --trace -o many.tmk
say a 300000 24
say a 300000 8
say x 0
ended

# The most memory of the command, in KiB.
most() {
    python3 - "$@" <<'P'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
P
}

echo "== the first of them"
none=$(most tidemark blocks many.tmt --min-size 1G)
some=$(most tidemark blocks many.tmt --top 100)
[ $((some - none)) -lt 8192 ] && echo "no more memory than to show none" || echo "$some KiB, $none to show none"

echo "== all of them"
tidemark blocks many.tmt --json --paths-once >list
wc -l <list
sed 's/.*"address":\([0-9]*\),"size_bytes":\([0-9]*\),.*/\2 \1/' list | sort -c -k1,1nr -k2,2n && echo "the largest first"
tidemark blocks many.tmt --json --paths-once --sort address | sed 's/.*"address":\([0-9]*\),.*/\1/' >addresses
sort -c -n -u addresses && wc -l <addresses
tidemark blocks many.tmt --json --paths-once --top 300000 | cmp - list 2>&1 | grep -c EOF
