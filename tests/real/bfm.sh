#!/bin/bash
# Real programs under libbfm.so: output and exit status are those without it, and the options change
# nothing. BFM names the library, SOURCE the repository.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
ran=0

under() { # OPTIONS COMMAND…
    BFM_OPTIONS=$1 LD_PRELOAD=$BFM "${@:2}"
}

# both NAME COMMAND…: standard output (and the file `result`, if it writes one) must be the same.
both() {
    local name=$1 bare status
    shift
    command -v "$1" >/dev/null || { echo "$name: $1 is not installed"; return; }
    ran=$((ran + 1))
    rm -f result
    "$@" </dev/null >bare.out 2>bare.err
    bare=$?
    [ ! -f result ] || mv result bare.result
    for options in '' check,canary,zero,random,decay=0; do
        [ -z "$options" ] || [ "$name" != "${name%+}" ] || continue
        rm -f result
        under "$options" "$@" </dev/null >out 2>err
        status=$?
        [ $status = $bare ] || fail "$name ($options): exit status $status, bare $bare: $(tail -3 err)"
        cmp bare.out out || fail "$name ($options): standard output differs"
        cmp bare.err err || fail "$name ($options): standard error differs: $(head -3 err)"
        [ ! -f bare.result ] || cmp bare.result result || fail "$name ($options): its result differs"
    done
    rm -f bare.result
}

both gxx g++ -std=c++17 -c "$SOURCE/examples/heavy.cpp" -o result
cat >work.py <<'PY'
import json, re, threading, zlib, collections, decimal
rows = [{"n": i, "s": str(i) * (i % 50), "l": list(range(i % 30))} for i in range(20000)]
text = json.dumps(rows)
print(len(text), zlib.crc32(text.encode()), len(re.findall(r"\d{5,}", text)))
assert json.loads(text) == rows
counts = collections.Counter()
def work(k):
    counts[k] += sum(len(str(i) * 3) for i in range(20000))
threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sorted(counts.items()), sum(decimal.Decimal(i) / 7 for i in range(1, 3000)))
PY
both python+ python3 work.py
# Of Python's own tests, where they are installed, those that use memory in the oddest ways.
for module in test_list test_array; do
    python3 -c "import test.$module" 2>/dev/null || { echo "python3 has no test.$module"; continue; }
    under '' python3 -m "test.$module" >out 2>&1 || python3 -m "test.$module" >bare.out 2>&1 &&
        continue
    python3 -m "test.$module" >/dev/null 2>&1 && fail "test.$module fails: $(tail -5 out)"
done
both perl+ perl -e 'my %h; $h{$_ * 7 % 100003} = "x" x ($_ % 200) for 1 .. 100000; my $s = 0; $s += length for values %h; print "$s\n"; my @a = sort { $a <=> $b } keys %h; print "$#a $a[77]\n"; fork or exit 0; wait; print "$?\n"'
cat >page.ps <<'PS'
/Times-Roman findfont 12 scalefont setfont
1 1 40 { 72 exch 18 mul moveto (The quick brown fox) show } for
showpage
PS
both gs gs -q -dNOPAUSE -dBATCH -dSAFER -sDEVICE=ppmraw -r72 -sOutputFile=result page.ps
both sqlite sqlite3 :memory: "create table t(a primary key, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 60000) insert into t select x, hex(x * 7919) from c; create index i on t(b); select sum(a), max(b), count(distinct substr(b, 1, 3)) from t; select group_concat(a) from (select a from t order by b limit 50)"
both node+ node -e 'let m = new Map(); for (let i = 0; i < 200000; i++) m.set("k" + i * 7 % 10007, { i, s: "v".repeat(i % 60) }); let n = 0; for (let v of m.values()) n += v.s.length; console.log(m.size, n); console.log(require("zlib").gzipSync("a".repeat(1e6)).length)'
if command -v git >/dev/null; then
    mkdir repository && (cd repository && git init -q . && git config user.email a@b && git config user.name a &&
        for i in $(seq 12); do seq "$i" $((i * 50)) >file$((i % 7)); git add . && git commit -qm "$i"; done) ||
        fail "git: no repository"
    both git+ git -C repository log --stat -p
    both git-fsck git -C repository fsck --full --strict
fi

# A server under load, on its own.
server=$(command -v redis-server || command -v redis-check-rdb)
if [ -n "$server" ] && command -v redis-benchmark >/dev/null; then
    ran=$((ran + 1))
    ln -s "$server" redis-server
    port=$("$(dirname "$0")/../free_port.sh")
    LD_PRELOAD=$BFM ./redis-server --port $port --bind 127.0.0.1 --save '' --appendonly no >redis.out 2>&1 &
    redis=$!
    for tries in $(seq 1200); do
        redis-cli -p $port ping 2>/dev/null | grep -q PONG && break
        sleep 0.1
    done
    redis-benchmark -p $port -q -n 10000 -c 20 -t set,get,lpush,sadd,hset,zadd -r 5000 >load 2>&1 || fail "redis: the load failed"
    redis-cli -p $port mset a 1 b 2 c 3 >/dev/null
    [ "$(redis-cli -p $port mget a b c | tr '\n' ' ')" = "1 2 3 " ] || fail "redis: keys are missing"
    kill -TERM $redis
    wait $redis || fail "redis: exit status $? after SIGTERM"
fi

# An MPI program: the sum over its ranks.
if command -v mpicc >/dev/null && command -v mpirun >/dev/null; then
    cat >sum.c <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double mine = 0, all = 0;
    for (int i = 1; i < 20000; i++) {
        double *block = malloc((size_t)(i % 700 + 1) * sizeof(double));
        block[i % 700] = i * (rank + 1);
        mine += block[i % 700];
        free(block);
    }
    MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!rank)
        printf("%.0f\n", all);
    MPI_Finalize();
    return 0;
}
C
    ran=$((ran + 1))
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    if mpicc sum.c -o sum 2>mpi.err && mpirun -n 2 ./sum >bare.out 2>mpi.err; then
        mpirun -n 2 env LD_PRELOAD="$BFM" ./sum >out 2>mpi.err || fail "MPI: exit status $?: $(tail -3 mpi.err)"
        cmp bare.out out || fail "MPI: the sum differs"
    else
        echo "MPI: no program runs here without us either: $(tail -1 mpi.err)"
    fi
fi
[ $ran -gt 0 ] || skip "none of the programs is installed"
exit $failed
