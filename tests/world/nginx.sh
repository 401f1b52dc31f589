# nginx curl: workers that share memory, pools of its own, signals
port=$("$SOURCE/tests/free_port.sh")
mkdir -p html logs && numbers 100000 >html/n && chmod 755 "$work" html && chmod 644 html/n
cat >conf <<C
daemon off; master_process on; worker_processes 2; pid $work/pid; error_log $work/error; user root;
events { worker_connections 64; }
http { access_log off; gzip on; gzip_types text/plain; default_type text/plain; client_body_temp_path $work/a;
 proxy_temp_path $work/b; fastcgi_temp_path $work/c; uwsgi_temp_path $work/d; scgi_temp_path $work/e;
 server { listen 127.0.0.1:$port; root $work/html; } }
C
[ "$(id -u)" = 0 ] || sed -i 's/ user root;//' conf
"$TIDEMARK" record -q --separate -o 'nginx.%n.%p.tmk' nginx -c "$work/conf" -e "$work/error" 2>log &
recorder=$!
tries=0
until curl -s "http://127.0.0.1:$port/n" -o got; do
    tries=$((tries + 1)); [ $tries -lt 100 ] || { fail "nginx does not answer: $(tail -3 log error)"; break; }
    sleep 0.1
done
for i in $(seq 50); do curl -s --compressed "http://127.0.0.1:$port/n" -o got; cmp got html/n || fail "nginx: another answer"; done
kill -HUP "$(cat pid)"; sleep 0.5
kill -QUIT "$(cat pid)"
wait $recorder || fail "nginx: status $?: $(tail -3 log error)"
count=0
for profile in nginx.*.tmk; do
    cp "$profile" one.tmk && check_account one
    count=$((count + 1))
done
[ $count -ge 3 ] || fail "nginx: only $count profiles"
