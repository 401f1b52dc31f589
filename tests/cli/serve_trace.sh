# A trace in the browser: its profile, who held memory at a moment, and windows of it.
. "$HERE/lib.sh"
. "$HERE/serving.sh"

tidemark record -q --trace -o m.tmk "$VICTIMS/basic" 1 >/dev/null
begin m.tmt
stat -c %a tmp/tidemark-* tmp/tidemark-*/*
get profiles | sed 's/^200 //' | jq -c '.profiles[] | [.name, .file, .kind, .state]'
python3 "$HERE/serve_trace.py" "$url" m.tmt
ls tmp/tidemark-*
end

echo "--- one with threads, larger; a client that waits when it ends"
"$VICTIMS/../make_trace" made.tmt 400000 7
begin made.tmt
python3 "$HERE/serve_trace.py" "$url" made.tmt >larger
grep -c False larger
end
begin made.tmt
python3 - "$url" $server <<'EOF'
import http.client, os, sys, signal, time
sys.path.insert(0, os.environ["HERE"])
from served import Server
server = Server(sys.argv[1])
waiting = [server.connect(f"p/0/window/{number}-999999999999/summary") for number in range(3)]
server.json("profiles")
os.kill(int(sys.argv[2]), signal.SIGTERM)
for connection in waiting:
    try:
        status = connection.getresponse().status
    except (http.client.HTTPException, OSError):
        status = "closed"
    print(status in (200, 503, "closed") or status)
EOF
wait $server
echo "ended: $?, left behind: $(ls tmp)"

echo "--- of a profile alone"
begin m.tmk
get p/0/at/peak
get p/0/window/0-1/summary
end

echo "--- cut off"
head -c $(($(stat -c %s m.tmt) * 2 / 3)) m.tmt >cut.tmt
begin cut.tmt
grep -c 'cut off' err
get p/0/summary | sed 's/^200 //' | jq -r '.warnings[]' | grep -c 'cut off'
get p/0/at/peak | grep -c '^200'
end

echo "--- one file"
tidemark html -q m.tmt 2>/dev/null || tidemark html m.tmt 2>/dev/null
grep -o 'data-name="p/0/summary" data-type="json">[^<]*' m.html | sed 's/.*>//' | base64 -d | gunzip | jq -c '[.resources[] | select(. == "at" or . == "window")]'

echo "--- still being written"
tidemark record -q --trace -o live.tmk "$VICTIMS/killed" 1 counters 2>/dev/null &
recorder=$!
until_true test -s live.tmt
try tidemark serve live.tmt
sentence 'live.tmt is still being written'
until_true test -s counters
kill -TERM $recorder
wait $recorder

echo "--- ended while it replays"
"$VICTIMS/../make_trace" long.tmt 3000000 7
env -u DISPLAY tidemark serve long.tmt >/dev/null 2>&1 &
server=$!
has_directory() { ls -d tmp/tidemark-* >/dev/null; }
until_true has_directory
kill -TERM $server
wait $server
ls tmp
echo "--- no place for it"
TMPDIR=$PWD/nowhere try tidemark serve m.tmt
sentence 'nowhere/tidemark'
