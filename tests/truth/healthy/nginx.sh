# truth: healthy
# what: nginx serves sixty requests in two workers
# needs: nginx curl python3
port=$(free_port)
mkdir -p html && numbers 20000 >html/n && chmod 755 . .. html && chmod 644 html/n
cat >conf <<C
daemon off; master_process on; worker_processes 2; pid $PWD/pid; error_log $PWD/error; user root;
events { worker_connections 64; }
http { access_log off; gzip on; gzip_types text/plain; default_type text/plain; client_body_temp_path $PWD/a;
 proxy_temp_path $PWD/b; fastcgi_temp_path $PWD/c; uwsgi_temp_path $PWD/d; scgi_temp_path $PWD/e;
 server { listen 127.0.0.1:$port; root $PWD/html; } }
C
[ "$(id -u)" = 0 ] || sed -i 's/ user root;//' conf
record nginx -c "$PWD/conf" -e "$PWD/error" 2>log &
for i in $(seq 100); do curl -s "http://127.0.0.1:$port/n" -o got && break; sleep 0.1; done
for i in $(seq 60); do curl -s --compressed "http://127.0.0.1:$port/n" -o got; done
kill -QUIT "$(cat pid)"
wait
