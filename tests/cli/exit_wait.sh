# A program's exit waits for its collector as long as --exit-wait says, also where signals interrupt it.
. "$HERE/lib.sh"

tidemark record -q --exit-wait=3s -o run.tmk "$CLI/cli_ticking" go &
recorder=$!
disown $recorder
ticks() { pgrep -P $recorder cli_ticking >ticking && tidemark snapshot "$recorder" >/dev/null; }
until_true ticks
collector=$(pgrep -P $recorder -x tidemark-coll)
kill -STOP "$collector"
begun=$(date +%s%N)
touch go
# A thread that exits is a zombie at the last, because its parent waits for the collector.
gone() { ! grep -q '^State:.[RSD]' "/proc/$(cat ticking)/status"; }
until_true gone
waited=$((($(date +%s%N) - begun) / 1000000))
kill -CONT "$collector"
until_true [ ! -d /proc/$recorder ]
if [ $waited -ge 2900 ]; then echo "waited for 3 s"; else echo "waited for $waited ms"; fi
tidemark report --json run.tmk | jq '.program.alloc_count >= 1'
