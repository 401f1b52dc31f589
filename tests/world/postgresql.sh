# postgresql: a cluster made, its server under load: processes, shared memory, signals
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
[ -x "$bin/initdb" ] || skip "no initdb"
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi; }
chmod 777 "$work"
as "$bin/initdb" -D "$work/data" -U t -A trust --no-sync >/dev/null 2>initdb.err || skip "initdb cannot run here: $(tail -1 initdb.err)"
as test -x "$TIDEMARK" || skip "another user cannot reach the build"
as "$TIDEMARK" record -q --separate -o "$work/pg.%p.tmk" "$bin/postgres" -D "$work/data" -k "$work" -h '' -F >server 2>&1 &
recorder=$!
tries=0
until "$bin/psql" -h "$work" -U t -c 'SELECT 1' postgres >/dev/null 2>&1; do
    tries=$((tries + 1)); [ $tries -lt 600 ] || { fail "postgres does not answer: $(tail -3 server)"; break; }
    sleep 0.1
done
sum=$("$bin/psql" -h "$work" -U t -Atc 'CREATE TABLE t AS SELECT i, md5(i::text) AS m FROM generate_series(1, 50000) i; CREATE INDEX ON t(m); SELECT sum(length(m)) FROM t WHERE m > $$8$$' postgres | tail -1)
[ "$sum" -gt 0 ] || fail "postgres: $sum"
"$bin/pgbench" -h "$work" -U t -i -q postgres >/dev/null 2>&1 && "$bin/pgbench" -h "$work" -U t -c 4 -t 50 postgres >bench 2>&1 || fail "pgbench: $(tail -2 bench)"
kill -INT "$(head -1 "$work/data/postmaster.pid")"
wait $recorder
status=$?
[ $status = 0 ] || fail "postgres: status $status: $(tail -3 server)"
count=0
for profile in pg.*.tmk; do
    cp "$profile" one.tmk && check_account one
    count=$((count + 1))
done
[ $count -ge 4 ] || fail "postgres: only $count profiles"
