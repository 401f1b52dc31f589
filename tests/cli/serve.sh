# A server on a profile: who may ask, what it answers, how it ends (serve.py asks).
. "$HERE/lib.sh"
command -v python3 >/dev/null || skip "no python3"

begin() {
    rm -f url # what the last one said is not meant
    env -u DISPLAY -u WAYLAND_DISPLAY tidemark serve "$@" >url 2>err &
    server=$!
    until_true grep -q http url
}
end() {
    kill -"$1" $server
    wait $server
    echo "ended by $1: $?"
}

tidemark record -q -o run.tmk "$VICTIMS/manythreads" >/dev/null 2>&1
begin run.tmk
grep -cE '^http://127\.0\.0\.1:[0-9]+/#token=[0-9a-f]{32}$' url
grep -c 'ssh -L' err
python3 "$HERE/serve.py" "$(cat url)" run.tmk
echo "it writes nothing: $(ls)"

# Replaced by another, it is read anew; removed, what was read is still there.
generation() { curl -s -H "Authorization: Bearer ${1##*=}" "${1%%#*}api/v1/profiles" | jq -c '.profiles[0] | [.generation, .error]'; }
url=$(cat url)
tidemark record -q -o other.tmk "$VICTIMS/basic" >/dev/null 2>&1
sleep 1.1
mv other.tmk run.tmk
generation "$url"
rm run.tmk
generation "$url"
curl -s -o /dev/null -w '%{http_code}\n' -H "Authorization: Bearer ${url##*=}" "${url%%#*}api/v1/p/0/summary"
end INT

# Without a token, for the loopback only; a port that is taken; a bad file.
tidemark record -q -o run.tmk "$VICTIMS/basic" >/dev/null 2>&1
begin --no-token run.tmk
curl -s "$(cat url)api/v1/profiles" | jq -r '.profiles[0].state'
curl -s -o /dev/null -w '%{http_code}\n' -H 'Host: evil.example' "$(cat url)"
port=$(sed 's/.*://; s,/,,' url)
try tidemark serve --port "$port" run.tmk
sentence 'cannot listen at 127.0.0.1'
end TERM
try tidemark serve --no-token --bind 0.0.0.0 run.tmk
sentence 'loopback only'
try tidemark serve --bind example.org run.tmk
sentence 'is no address'
try tidemark serve --port 70000 run.tmk
sentence 'no port 70000'
try tidemark serve nothing.tmk
sentence 'nothing.tmk'
try tidemark serve "$HERE/serve.sh"
sentence 'no tidemark profile'
try tidemark serve
sentence 'no profile given'
