#!/bin/bash
# redis-server (jemalloc) under a loopback load, ended by SIGTERM; every key is there.
. "$(dirname "$0")/lib.sh"

# Debian's redis-tools has the server too, under another name, and starts no service.
server=$(command -v redis-server || command -v redis-check-rdb) || skip "redis-server is not installed"
need redis-cli
need redis-benchmark
port=$("$(dirname "$0")/../free_port.sh")
cd "$work" || exit 1
ln -s "$server" redis-server
"$TIDEMARK" record -q -o redis.tmk ./redis-server --port $port --bind 127.0.0.1 --save '' --appendonly no >out 2>err &
recorder=$!
answers() { redis-cli -p $port ping 2>/dev/null | grep -q PONG; }
tries=0
until answers; do
    tries=$((tries + 1))
    [ $tries -lt 1200 ] || { cat out err; echo "redis-server does not answer"; kill $recorder; exit 1; }
    sleep 0.1
done
redis-benchmark -p $port -q -n 20000 -c 20 -t set,get,lpush,sadd,hset,zadd -r 5000 >load 2>&1 || fail "the load failed"
redis-cli -p $port mset a 1 b 2 c 3 >/dev/null
[ "$(redis-cli -p $port mget a b c | tr '\n' ' ')" = "1 2 3 " ] || fail "keys are missing"
kill -TERM $recorder
wait $recorder
status=$?
[ $status = 0 ] || fail "exit status $status after SIGTERM; redis-server's own is 0"
check_account redis
[ "$(value redis 'SELECT alloc_count > 20000 FROM program')" = 1 ] || fail "too few allocations: $(value redis 'SELECT alloc_count FROM program')"
exit $failed
