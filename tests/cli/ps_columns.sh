# tidemark ps: columns by name, the tree, narrow terminals, and what was saved of a machine.
. "$HERE/lib.sh"
# 32 MiB of its own, a child with 16 MiB, of which 4 KiB are locked.
cat >known.py <<'PY'
import ctypes, mmap, os, time
child = os.fork()
own = mmap.mmap(-1, (16 if child == 0 else 32) << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
own.write(b"y" * len(own))
if child == 0:
    ctypes.CDLL(None).mlock(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(own))), ctypes.c_size_t(4096))
open("ready.child" if child == 0 else "ready.parent", "w").close()
time.sleep(600)
PY
python3 known.py columns-shown-$$ &
parent=$!
until_true test -e ready.child -a -e ready.parent
child=$(pgrep -P $parent)

echo "== columns"
tidemark ps $parent $child -o pid,ppid,pss%,anon,locked,file,shmem,huge,hugetlb,swap,size -w 200 >table
sed -n 1p table
awk -v parent=$parent -v child=$child '$1 == child { print "child of", ($2 == parent ? "its parent" : $2), $3 ~ /[0-9.]/, $4 }' table
awk -v child=$child '$1 == child { for (i = 5; i <= NF; i++) if ($i == "4.00" && $(i + 1) == "KiB") print "locked" }' table | head -1
# Pages of files that another process of python3 maps are nobody's alone: while one begins or ends, the two
# readings are of two moments.
agrees_with_smem() {
    "$smem" -H -c "pid uss" | awk -v pid=$parent -v ours="$(tidemark ps -j $parent | jq .rows[0].uss_bytes)" '
        $1 == pid { agrees = $2 * 1024 - ours <= 1048576 && ours - $2 * 1024 <= 1048576 } END { exit !agrees }'
}
smem=$(command -v smem) && until_true agrees_with_smem
try tidemark ps -o pid,nothing
sentence "no column 'nothing'"
try tidemark ps -o pid,pid
sentence "twice"
# The name ends each line whether it is asked for or not; in the middle it is no column.
tidemark ps $parent -o pid,pss,command | sed -n 1p
try tidemark ps -o command,pid
sentence "no column 'command'"
try tidemark ps -o pid -j
sentence "all columns"

echo "== tree"
tidemark ps --tree $parent $child -o pid,tree,pss -w 100 >tree
sed -n "s/^ *$parent .*python3 known.*/the parent/p; s/^ *$child .*  └ python3 known.*/  its child/p" tree
tidemark ps --tree -j $parent $child | jq -c '[.rows[] | .depth], (.rows[0].tree_pss_bytes == (.rows[0].pss_bytes + .rows[1].pss_bytes)), (.rows[0].tree_pss_bytes >= 48 * 1048576)'
try tidemark ps --tree --by user
sentence 'not with --by'

echo "== no line is longer than the terminal"
for columns in 40 44 50 60 66 72 80 100; do
    for how in '' --bars --tree '--by library' '--by user'; do
        tidemark ps $how -w $columns | LC_ALL=C.UTF-8 grep -E "^.{$((columns + 1)),}" | sed "s/^/$columns $how: /"
    done
done

echo "== saved"
tidemark ps --save saved | sed 's/^[0-9]*/N/'
[ "$(stat -c %a saved)" = 700 ] && echo "its owner's alone"
tidemark ps --root saved $parent $child -j >saved.json
tidemark ps $parent $child -j >now.json
jq -c --slurpfile now now.json '[.rows[] | [.pid, .anonymous_bytes, .command]] == [$now[0].rows[] | [.pid, .anonymous_bytes, .command]]' saved.json
tidemark ps --root saved -j | jq '.machine.total_bytes > 0'
tidemark ps --root saved --by library --name columns-shown-$$ | grep -c 'anonymous'
try tidemark ps --save saved
sentence 'File exists'
try tidemark ps --root nowhere
sentence 'No such file'
# As smemcap takes it: no status, no sums.
for pid in $parent $child; do
    mkdir -p "smem/$pid" && for file in cmdline smaps stat; do cat /proc/$pid/$file >"smem/$pid/$file"; done
done
cat /proc/meminfo >smem/meminfo
tidemark ps --root smem -j | jq -c --slurpfile now now.json '[.rows[] | [.pid, .parent_pid, .anonymous_bytes]] == [$now[0].rows[] | [.pid, .parent_pid, .anonymous_bytes]]'
mkdir -p hang/5 && mkfifo hang/5/smaps hang/5/status && cp "smem/$parent/stat" hang/5/stat && mkfifo hang/meminfo
timeout 300 tidemark ps --root hang -j | jq -c '.rows'
# A capture that lies: its own parent.
mkdir -p "odd/7" && printf '7 (a) b) S 7 0\n' >odd/7/stat && printf 'x' >odd/7/cmdline && cp saved/$parent/smaps odd/7/smaps
tidemark ps --root odd --tree -j | jq -c '.rows[] | [.pid, .name, .depth]'
