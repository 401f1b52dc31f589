# redis-tools: the server under every kind of load, a background save (fork), a restart
server=$(command -v redis-server || command -v redis-check-rdb) || skip "no redis-server"
ln -s "$server" redis-server
start() {
    "$TIDEMARK" record -q -o "$1.tmk" ./redis-server --port 0 --unixsocket "$work/socket" --dir "$work" --save '' >server 2>&1 &
    recorder=$!
    tries=0
    until redis-cli -s "$work/socket" ping 2>/dev/null | grep -q PONG; do
        tries=$((tries + 1)); [ $tries -lt 600 ] || { fail "redis does not answer: $(tail -3 server)"; return; }
        sleep 0.05
    done
}
start redis
redis-benchmark -s "$work/socket" -q -n 5000 -c 10 >/dev/null 2>&1 || fail "redis-benchmark failed"
redis-cli -s "$work/socket" eval 'for i=1,20000 do redis.call("set", "k"..i, string.rep("v", i % 100)) end return 1' 0 >/dev/null
redis-cli -s "$work/socket" bgsave >/dev/null
until [ -s dump.rdb ]; do sleep 0.05; done
redis-cli -s "$work/socket" shutdown save 2>/dev/null
wait $recorder || fail "redis: status $?"
check_account redis
start again
[ "$(redis-cli -s "$work/socket" strlen k1599)" = 99 ] || fail "redis: keys are not there again"
redis-cli -s "$work/socket" shutdown nosave 2>/dev/null
wait $recorder || fail "redis: status $? after the restart"
check_account again
