# tidemark ps more than once: what grew, written down, and drawn. And one answer as bars.
. "$HERE/lib.sh"
# 32 MiB; 16 MiB more when it is told, and the end when it is told again.
# Static, so that it shares nothing: its share of what others have would grow when they end.
cat >known.c <<'C'
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void await(const char *name)
{
    while (access(name, F_OK))
        usleep(20000);
}
static void take(size_t mib, const char *said)
{
    memset(malloc(mib << 20), 'y', mib << 20);
    close(creat(said, 0600));
}
int main(void)
{
    take(32, "ready");
    await("grow");
    take(16, "grown");
    await("end");
}
C
cc -static -O1 -fno-builtin -o known known.c
NAME=watched-$$
./known $NAME &
program=$!
until_true test -e ready

echo "== growth since the start, as lines"
tidemark ps --watch --every 200ms --name $NAME -w 100 >watched &
recorder=$!
until_true grep -q "$NAME" watched
touch grow
until_true test -e grown
until_true grep -q '+16' watched
kill -TERM $recorder
wait $recorder
echo "status $?"
sed -n 2p watched
awk -v pid=$program '$1 == pid { print $5, ($5 == "0" || $5 ~ /^.[0-9.]*$/) }' watched | sed 's/+16.[0-9]* 1/grew by 16 MiB/; s/^0 1/nothing at first/' | sort -u | grep -v KiB | tail -2

echo "== times of centuries, which are as good as never"
tidemark ps --watch --every 5124094h --name $NAME >rare &
recorder=$!
until_true grep -q "$NAME" rare
kill -TERM $recorder
wait $recorder
echo "status $?, looks: $(grep -c 'growth since' rare)"
timeout 60 tidemark ps --watch --every 100ms --for 5124094h --name $NAME >long &
recorder=$!
until_true eval '[ "$(grep -c "growth since" long)" -ge 2 ]'
kill -TERM $recorder
wait $recorder
echo "status $?"

echo "== written down"
tidemark ps --every 100ms --record history --name $NAME 2>said &
recorder=$!
until_true eval '[ "$(wc -l <history)" -ge 3 ]'
touch end
wait $program
until_true grep -q '"gone":\["'$program history
kill -TERM $recorder
wait $recorder
echo "status $?"
sed 's/^tidemark ps: [0-9]* looks/tidemark ps: N looks/' said
stat -c %a history
jq -s -c '[.[0].format, .[0].version, .[0].by, .[0].whole, (.[0].rows[0] | .name, (.pss_bytes >= 48 * 1048576)), .[1].whole]' history
# What did not change is not written again, and time goes on.
python3 - <<'PY'
import json
last, again = {}, 0
for line in open("history"):
    for row in json.loads(line)["rows"]:
        figures = [row[name] for name in ("pss_bytes", "uss_bytes", "rss_bytes", "swap_bytes")]
        again += last.get(row["key"]) == figures
        last[row["key"]] = figures
print(again, "rows again as they were")
PY
jq -s '[range(1; length) as $i | .[$i].time_unix_ns >= .[$i - 1].time_unix_ns] | all' history
# Another run adds to it; a line that was cut goes.
lines=$(wc -l <history)
printf '{"format":"tidemark-ps-his' >>history
tidemark ps --every 100ms --for 150ms --record history --name $NAME 2>/dev/null
[ "$(wc -l <history)" -gt "$lines" ] && jq -s --argjson lines "$lines" '.[$lines].whole' history
echo "not ours" >other
try tidemark ps --record other
sentence "no history of ps"
cat other

echo "== drawn"
tidemark plot history -t -w 90 --height 6 | grep -c "known $NAME"
tidemark plot history --processes 1 -o history.svg 2>&1
grep -o '<title>[^<]*' history.svg | sed "s/$NAME/NAME/; s/($program)/(PID)/"
tidemark plot history --stacked --figure uss -o stacked.svg 2>/dev/null && grep -c 'all others' stacked.svg
try tidemark plot history --stacked --figure rss
sentence "the RSS of each"
try tidemark plot history history
sentence "drawn alone"
try tidemark plot history --sizes
sentence "has processes, and no more"
printf '1 2\n2 3\n' >samples
try tidemark plot samples --processes 3
sentence "not written by .tidemark ps"

echo "== one answer as bars"
cat >answer.json <<'PY'
{
  "format": "tidemark-ps",
  "version": 1,
  "by": "name",
  "rows": [
    {"name": "half", "processes": 1, "pss_bytes": 4194304, "uss_bytes": 2097152, "rss_bytes": 8388608, "swap_bytes": 0},
    {"name": "all its own, with a name that is far too long for the place that there is <&>", "processes": 1, "pss_bytes": 8388608, "uss_bytes": 8388608, "rss_bytes": 8388608, "swap_bytes": 0},
    {"name": "nothing", "processes": 1, "pss_bytes": 0, "uss_bytes": 0, "rss_bytes": 0, "swap_bytes": 0},
    {"name": "unknown", "processes": 1, "pss_bytes": null, "uss_bytes": null, "rss_bytes": 8388608, "swap_bytes": 0}
  ],
  "total": {"processes": 4, "pss_bytes": 12582912},
  "machine": null
}
PY
tidemark plot answer.json -t -w 60
tidemark plot - --figure rss --processes 2 -t -w 60 <answer.json
LC_ALL=C tidemark plot answer.json --processes 1 -t -w 40
tidemark plot answer.json -o bars.svg 2>/dev/null
python3 -c 'import xml.dom.minidom; print(len(xml.dom.minidom.parse("bars.svg").getElementsByTagName("rect")))'
try tidemark plot answer.json --figure swap
sentence "no process has any swap"
if command -v gnuplot >/dev/null; then
    tidemark plot answer.json -o bars.png 2>/dev/null
    od -An -tx1 -N 4 bars.png
else
    echo " 89 50 4e 47"
fi
tidemark ps --json | tidemark plot - -t -w 80 | grep -c '^[█#] its own (USS)'

echo "== what does not go together"
for options in '--sort growth' '--for 1s' '--watch --root /proc' '--watch -j' '--every 1ms'; do
    try tidemark ps $options
    sentence 'goes with|not with|for programs there is|100ms at least'
done
