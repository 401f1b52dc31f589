# truth: healthy
# what: a postgres makes a table, an index and answers
# needs: postgres setpriv
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
[ -x "$bin/initdb" ] || skip "no initdb"
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi; }
chmod 777 . "$PROFILES"; chmod 755 .. 2>/dev/null
as "$bin/initdb" -D "$PWD/data" -U t -A trust --no-sync >/dev/null 2>err || skip "initdb cannot run here"
as test -x "$TIDEMARK" || skip "another user cannot reach the build"
as timeout -k 5 600 "$TIDEMARK" record -q -o "$PROFILES/%p.tmk" "$bin/postgres" -D "$PWD/data" -k "$PWD" -h '' -F >server 2>&1 &
for i in $(seq 300); do "$bin/psql" -h "$PWD" -U t -c 'SELECT 1' postgres >/dev/null 2>&1 && break; sleep 0.1; done
"$bin/psql" -h "$PWD" -U t -Atc 'CREATE TABLE t AS SELECT i, md5(i::text) AS m FROM generate_series(1, 30000) i; CREATE INDEX ON t(m); SELECT count(*) FROM t a JOIN t b USING (m)' postgres >/dev/null
kill -INT "$(head -1 data/postmaster.pid)"
wait
