# wget: fetches from a server of ours
numbers 100000 >numbers
python3 -m http.server 0 --bind 127.0.0.1 >server 2>&1 &
server=$!
until grep -q port server; do sleep 0.05; kill -0 $server || break; done
port=$(sed -n 's/.* port \([0-9]*\).*/\1/p' server)
same get wget -q -O - "http://127.0.0.1:$port/numbers"
same missing wget -q -O - "http://127.0.0.1:$port/none"
kill $server
