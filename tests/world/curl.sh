# curl: fetches from a server of ours, in parallel, and fails
numbers 100000 >numbers
python3 -m http.server 0 --bind 127.0.0.1 >server 2>&1 &
server=$!
until grep -q port server; do sleep 0.05; kill -0 $server || break; done
port=$(sed -n 's/.* port \([0-9]*\).*/\1/p' server)
same get curl -s "http://127.0.0.1:$port/numbers"
same parallel curl -s --no-progress-meter -Z -o a -o b "http://127.0.0.1:$port/numbers" "http://127.0.0.1:$port/numbers"
same missing curl -sf "http://127.0.0.1:$port/none"
kill $server
