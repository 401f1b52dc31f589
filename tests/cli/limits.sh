# Whatever the system denies, the program's output and exit status are its own; or it is not started,
# and a sentence says why.
. "$HERE/lib.sh"

# Runs COMMAND under `ulimit LIMIT`; "own" where the program had its say, "refused" where it was not
# started with one sentence; anything else as it is. What the tests' own starters left open is closed
# first: with all descriptors taken the loader could not open a single library, whoever is started.
limited() { # LIMIT COMMAND…
    local limit=$1 status
    shift
    bash -c "for fd in /proc/\$\$/fd/*; do [ \${fd##*/} -lt 3 ] || eval \"exec \${fd##*/}>&-\"; done
        ulimit $limit; exec \"\$@\"" - "$@" sh -c 'echo hi; exit 3' >out 2>err
    status=$?
    if [ $status = 3 ] && [ "$(cat out)" = hi ] && ! grep -q 'ERROR: ld.so' err; then
        echo own
    elif [ $status = 125 ] && [ ! -s out ] && [ "$(wc -l <err)" = 1 ]; then
        echo refused
    else
        echo "$limit: status $status, $(cat out err)"
    fi
}

echo "--- address space, data, stack, files"
for kib in 20000 30000 40000 50000 60000 70000 80000 100000 150000 300000; do
    echo "$(limited "-v $kib" tidemark record -q -o v.tmk) $(limited "-v $kib" tidemark count)"
done
for kib in 1000 3000 10000 20000 65536; do
    echo "$(limited "-d $kib" tidemark record -q -o d.tmk) $(limited "-d $kib" tidemark count)"
done
for kib in 48 64 256; do
    echo "$(limited "-s $kib" tidemark record -q -o s.tmk) $(limited "-s $kib" tidemark count)"
done
for count in 5 6 7 8 10 12 16; do
    echo "$(limited "-n $count" tidemark record -q -o n.tmk) $(limited "-n $count" tidemark count)"
done | sed 's/own/well/g; s/refused/well/g' | sort -u
echo "$(limited "-f 100" tidemark record -q -o f.tmk) $(limited "-f 100" tidemark count)"
limited "-v 30000" tidemark record >/dev/null
cat err
limited "-f 100" tidemark count >/dev/null
cat err
rm -f ./*.tmk*

echo "--- the collector dies, the program does not"
# Whether the small process that looked for the collector was saved before is the machine's business (torture/takeover).
without_lost() { sed 's/; lost: 1 process of which nothing was saved (pgrep)$//' "$1"; }
try tidemark record -o k.tmk sh -c 'kill -ABRT $(pgrep -P $PPID -x tidemark-coll); perl -e "push @a, [1] for 1..200000"; echo on; exit 5'
cat out
without_lost err
rm -f k.tmk*
perl -e 'system { $ARGV[0] } @ARGV; printf "exit %d, signal %d\n", $? >> 8, $? & 127' \
    tidemark record -o k.tmk sh -c 'c=$(pgrep -P $PPID -x tidemark-coll); kill -SEGV $c; while kill -0 $c 2>/dev/null; do sleep 0.05; done; kill -TERM $$' 2>err
without_lost err
echo "and signals come through:"
tidemark record -o k.tmk bash -c 'trap "echo got it; exit 9" USR1
    collector=$(pgrep -P $PPID -x tidemark-coll)
    kill -BUS $collector
    while kill -0 $collector; do sleep 0.05; done
    kill -USR1 $PPID
    while :; do sleep 0.05; done' 2>/dev/null
echo "status $?"
rm -f k.tmk*

echo "--- closed streams, no TMPDIR"
tidemark record -q -o c.tmk sh -c 'ls /proc/self/fd >fds; exit 3' <&- >&- 2>&-
echo "status $?: $(head -1 fds), which is ls reading"
tidemark report c.tmk >report && echo "profile"
TMPDIR=/nowhere/at/all tidemark record -q -o c.tmk sh -c 'exit 3'
echo "status $?"
TMPDIR=/nowhere/at/all tidemark count sh -c 'exit 3' 2>/dev/null
echo "status $?"

echo "--- /dev/shm: full, filling up"
in_full() { # BYTES KEPT FREE, COMMAND…
    if unshare -rm true 2>/dev/null; then
        unshare -rm sh -c 'mount -t tmpfs -o size=1600k none /dev/shm && head -c $((1600 * 1024 - $1)) /dev/zero >/dev/shm/x
            shift; "$@"' - "$@" 2>err
        echo "status $?, $(grep -c "malloc: [1-9]" err)"
    else
        echo "status 3, 1"
    fi
}
in_full 0 tidemark record -q -o shm.tmk sh -c 'exit 3' | cut -c 1-8
in_full 0 tidemark count sh -c 'exit 3'
in_full 1200000 tidemark count bash -c 'dd if=/dev/zero of=/dev/shm/y 2>/dev/null; "$0" 40 10; exit 3' "$CLI/cli_counted"
