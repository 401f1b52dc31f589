# truth: healthy
# what: haproxy stands before a file server
# needs: haproxy python3 curl
port=$(free_port) behind=$(free_port)
python3 -m http.server -b 127.0.0.1 $behind >/dev/null 2>&1 & srv=$!
printf 'global\n pidfile %s/pid\ndefaults\n mode http\n timeout connect 2s\n timeout client 2s\n timeout server 2s\nfrontend f\n bind 127.0.0.1:%s\n default_backend b\nbackend b\n server s 127.0.0.1:%s\n' "$PWD" $port $behind >h.cfg
record haproxy -f h.cfg -db & h=$!
sleep 1.5
for i in $(seq 200); do curl -s -o /dev/null http://127.0.0.1:$port/; done
for p in $(pgrep -P $h); do for q in $p $(pgrep -P $p); do kill -USR1 $q; done; done 2>/dev/null
kill $srv; wait
