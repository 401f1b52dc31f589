# What a browser gets as its argument, which every user of the machine can read, lets one page of our own
# user in, once, and nobody else.
. "$HERE/lib.sh"
command -v python3 >/dev/null || skip "no python3"
export PYTHONDONTWRITEBYTECODE=1

mkdir bin
printf '#!/bin/sh\ngrep SigIgn /proc/self/status >ignored\nprintf "%%s\\n" "$@" >argv.part && mv argv.part argv\n' >bin/xdg-open
chmod +x bin/xdg-open
PATH=$PWD/bin:$PATH tidemark record -q -o run.tmk "$VICTIMS/basic" >/dev/null 2>&1
PATH=$PWD/bin:$PATH tidemark serve --open run.tmk >url 2>err &
server=$!
until_true grep -q http url
until_true test -s argv
url=$(cat url) token=${url##*=} opened=$(cat argv) ticket=${opened##*=}

echo "arguments: $(wc -l <argv), with the token: $(grep -c "$token" argv)"
echo "$opened" | sed 's/:[0-9][0-9]*\//:PORT\//; s/=[0-9a-f]\{32\}$/=TICKET/'
# SIGPIPE and SIGCHLD, which the server ignores.
echo "ignored in the browser: $((0x$(cut -f2 ignored) & 0x11000))"
cat >asks.py <<'EOF'
import json, socket, sys, urllib.parse
# change URL TICKET TOKEN [6]: what the ticket is changed for; by a socket for IPv6 that is connected by IPv4.
url, ticket, token = urllib.parse.urlsplit(sys.argv[1]), sys.argv[2], sys.argv[3]
client = socket.socket(socket.AF_INET6 if sys.argv[4:] else socket.AF_INET)
client.connect(("::ffff:" + url.hostname if sys.argv[4:] else url.hostname, url.port))
client.sendall(f"GET /api/v1/token HTTP/1.1\r\nHost: {url.netloc}\r\nAuthorization: Ticket {ticket}\r\nConnection: close\r\n\r\n".encode())
head, body = b"".join(iter(lambda: client.recv(4096), b"")).split(b"\r\n\r\n", 1)
status, said = head.split()[1].decode(), json.loads(body)
print(status, "the token" if said.get("token") == token else said)
EOF
python=$(PATH=/usr/bin:/bin command -v python3 || command -v python3)
change() { "$@" "$python" asks.py "${url%%#*}" "$ticket" "$token" $six; }
six=
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
chmod 755 . && chmod 644 asks.py
if [ "$(id -u)" = 0 ] && $nobody "$python" -c '' 2>/dev/null; then
    change $nobody
else # what root's test would see
    echo "401 {'type': 'about:blank', 'title': 'Unauthorized', 'status': 401, 'detail': \"a ticket lets one page in, once, and only our own user's: open the URL that \`tidemark serve\` printed\"}"
fi
six=6
change
change
six=
change
kill -TERM $server
wait $server
echo "ended: $?"

# A server for everyone needs none.
rm argv
PATH=$PWD/bin:$PATH tidemark serve --open --no-token run.tmk >url 2>err &
server=$!
until_true test -s argv
sed 's/:[0-9][0-9]*\//:PORT\//' argv
kill -TERM $server
wait $server
