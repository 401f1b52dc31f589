#!/bin/bash
# Programs that run already, attached to and detached from again and again at random moments: what they
# put out is what they put out alone, and the accounts of the recordings balance.
. "$(dirname "$0")/lib.sh"

[ "$(uname -m)" = x86_64 ] || skip "attaching is written for x86-64"
sleep 60 &
for _ in $(seq 3000); do # a program whose C library is not loaded yet cannot be looked into either
    grep -q sleep "/proc/$!/comm" && grep -q 'libc\.so' "/proc/$!/maps" && break
    sleep 0.02
done
"$TIDEMARK" attach --detach $! 2>"$work/err" # reads its memory: is that allowed here?
kill $!
grep -q 'cannot be looked into\|the kernel' "$work/err" && skip "$(cat "$work/err")"

# Rounds until `pid` has ended, so many at most.
attach_rounds() { # NAME ROUNDS
    local round=0 attached seed=$RANDOM
    RANDOM=$seed
    while [ $round -lt "$2" ] && kill -0 "$pid" 2>/dev/null; do
        round=$((round + 1))
        rm -f attach.err
        "$TIDEMARK" attach -o "$work/$1.tmk" "$pid" 2>attach.err &
        attached=$!
        until grep -q 'being recorded' attach.err 2>/dev/null || ! kill -0 $attached 2>/dev/null; do
            sleep 0.02
        done
        sleep "0.$((RANDOM % 900 + 100))"
        "$TIDEMARK" attach --detach "$pid" 2>detach.err || kill -0 "$pid" 2>/dev/null &&
            grep -v 'there is no process\|has ended' detach.err && fail "$1: detaching failed (seed $seed)"
        wait $attached
        [ -f "$work/$1.tmk" ] || continue
        check_attached "$1"
    done
    [ $round -gt 0 ] || fail "$1: not attached once"
}

# What check_account says, where an account has no beginning: it balances with what is known.
check_attached() {
    profile_of "$1"
    local wrong
    wrong=$(value "$1" "
        SELECT 'events lost' FROM program WHERE lost_events > 0
        UNION ALL SELECT 'live is not allocated - freed' FROM program
            WHERE live_bytes <> alloc_bytes + realloc_bytes - free_bytes
        UNION ALL SELECT 'the call paths do not add up'
            WHERE (SELECT coalesce(sum(alloc_bytes), 0) FROM site) <> (SELECT alloc_bytes FROM program)
        UNION ALL SELECT 'not said to have been attached'
            WHERE NOT EXISTS (SELECT 1 FROM meta WHERE key = 'attached_after_ns')")
    [ -z "$wrong" ] || fail "$1: $wrong"
    rm -f "$work/$1.tmk"
}

cd "$work" || exit 1
cat >work.py <<'E2'
import hashlib, json, os, threading

def digest(count):
    table = {str(i): [i, {"x": i * 1.5}, "t%d" % i] for i in range(count)}
    return hashlib.sha1(json.dumps(table, sort_keys=True).encode()).hexdigest()

def work(number):
    for turn in range(40):
        lines.append("%d %d %s" % (number, turn, digest(1000 + 100 * number + turn)))
        pause.wait(0.02)

lines, pause = [], threading.Event()
threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
import decimal, sqlite3  # modules that come when a recording may be under way
base = sqlite3.connect(":memory:")
base.execute("create table t(a, b)")
base.executemany("insert into t values(?, ?)", [(i, str(i)) for i in range(5000)])
lines.append(str(base.execute("select sum(a), max(b) from t").fetchone()))
lines.append(str(decimal.Decimal(2).sqrt()))
print("\n".join(sorted(lines)))
E2
if command -v python3 >/dev/null; then
    python=$(python3 -c 'import sys; print(sys.executable)')
    "$python" work.py >bare.out 2>bare.err || fail "python3: the bare run failed"
    "$python" work.py >out 2>err &
    pid=$!
    attach_rounds python 6
    wait $pid || fail "python3: exit status $?"
    cmp bare.out out || fail "python3: standard output differs"
    cmp bare.err err || fail "python3: standard error differs: $(head -3 err)"
fi

server=$(command -v redis-server || command -v redis-check-rdb)
if [ -n "$server" ] && command -v redis-benchmark >/dev/null; then
    port=$("$(dirname "$0")/../free_port.sh")
    ln -s "$server" redis-server
    ./redis-server --port $port --bind 127.0.0.1 --save '' --appendonly no --io-threads 2 >out 2>err &
    pid=$!
    answers() { redis-cli -p $port ping 2>/dev/null | grep -q PONG; }
    until answers; do
        kill -0 $pid || { cat out err; fail "redis-server does not start"; exit 1; }
        sleep 0.1
    done
    (while [ ! -f enough ]; do
        redis-benchmark -p $port -q -n 2000 -c 10 -t set,get,lpush,hset -r 500 || echo failed
    done) >load 2>&1 &
    load=$!
    attach_rounds redis 4
    touch enough
    wait $load
    grep -i 'failed\|error' load && fail "the load failed"
    redis-cli -p $port mset a 1 b 2 c 3 >/dev/null
    [ "$(redis-cli -p $port mget a b c | tr '\n' ' ')" = "1 2 3 " ] || fail "keys are missing"
    kill -TERM $pid
    wait $pid || fail "redis-server: exit status $?"
fi
exit $failed
