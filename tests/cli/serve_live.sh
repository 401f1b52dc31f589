# A profile that is still being recorded: pages are told of new versions, and its figures grow.
. "$HERE/lib.sh"
command -v curl >/dev/null || skip "no curl"

tidemark record -q -o live.tmk "$VICTIMS/killed" 1 counters 2>err &
recorder=$!
until_true test -s counters
has_figures() { tidemark report --json live.tmk | grep -q '"alloc_count": [1-9]'; }
until_true has_figures
tidemark serve live.tmk >url 2>err &
server=$!
until_true grep -q http url
url=$(cat url)
get() { curl -s -H "Authorization: Bearer ${url##*=}" "${url%%#*}api/v1/$1"; }

curl -sN -H "Authorization: Bearer ${url##*=}" "${url%%#*}api/v1/live" >events 2>/dev/null &
listener=$!
first=$(get p/0/summary | jq .program.alloc_count)
get profiles | jq -r '.profiles[0].state'
enough() { [ "$(grep -c '^event: changed' events)" -ge 3 ]; }
until_true enough && echo "pages are told"
grep -m 1 -cE '^data: \{"profile":0,"generation":[0-9]+,"state":"recording"\}$' events
second=$(get p/0/summary | jq .program.alloc_count)
[ "$second" -gt "$first" ] && echo "it grows"
rises() { sed -n 's/.*"generation":\([0-9]*\).*/\1/p' events | sort -nc 2>/dev/null; }
rises && echo "generations rise"

# The recording ends: the last version is told too, and is complete.
kill -TERM "$(od -An -tu8 -j 0 -N 8 counters | tr -d ' ')"
wait $recorder 2>/dev/null
finished() { grep -Eq '"state":"(complete|cut short)"' events; }
until_true finished && echo "and the end"
get profiles | jq -r '.profiles[0].state'

# With a page that listens the server still ends at once, and the page is told by the stream's end.
kill -TERM $server
wait $server
echo "ended: $?"
wait $listener
echo "stream ended: $?"
