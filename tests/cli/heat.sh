# How long ago memory was written, of a victim with a known pattern and of its child; and where the kernel
# cannot tell.
. "$HERE/lib.sh"

if ! tidemark record -q --heat=1s -o try.tmk true 2>err; then
    echo "skip: $(cat err)"
    exit 77
fi

# A page that is half full when it is looked at is written again.
rows() { # FILE: in KiB, of the last look
    query "$1" "SELECT function, (resident_bytes + 512) / 1024, (unwritten_1s_bytes + 32768) / 65536 * 64,
        unwritten_10s_bytes, (filled_bytes + 32768) / 65536 * 64 FROM owners
        WHERE kind = 'blocks' AND function LIKE 'victim_%' AND sample = (SELECT max(id) FROM sample) ORDER BY function"
}

echo "== memory that is written once, again, and half of it all the time"
for _ in 1 2 3; do # on a busy machine the last look may come a second after the last write
    tidemark record -q --heat=100ms -o run.tmk "$VICTIMS/warm"
    rows run.tmk >found
    ! grep -q 'half|4096|2048' found || break
done
cat found
echo "== a child has a watch of its own"
tidemark record -q --heat=100ms --separate -o both.tmk "$VICTIMS/warm" fork
for file in both*.tmk; do
    rows "$file" | cut -d'|' -f1,5
done
echo "== watches count as descriptors: none of many processes is lost for them"
(ulimit -n 128 && tidemark record --heat=100ms -o many.tmk sh -c 'i=0
    while [ $i -lt 40 ]; do perl -e "select undef, undef, undef, 1.5" & i=$((i + 1)); done; wait' 2>said)
grep 'not recorded' said
tidemark report --json . | jq '[.profiles[] | select(.program == "perl")] | length'
rm -f many*
echo "== text"
tidemark report --show=heat -n 3 -w 80 run.tmk | sed -n '/not 1 s/,/ more /p' | cut -c1-49 | sed 's/ *$//; s/[0-9.]* MiB/N MiB/g' | tr -s ' '
tidemark report --json run.tmk | jq '[.owners[] | select(.kind == "blocks") | .unwritten_1s_bytes != null] | unique'
echo "== at the look at which most was cold, which is said: with the most resident memory, nothing was"
cc -o early -x c - <<'EOF'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
    enum { KEPT = 8 << 20, GONE = 24 << 20 };
    char *volatile kept = memset(malloc(KEPT), 1, KEPT), *volatile gone = memset(malloc(GONE), 1, GONE);
    usleep(300000);
    free(gone);
    return usleep(2000000) | !kept;
}
EOF
tidemark record -q --heat=100ms -o early.tmk ./early
tidemark report --show=heat -w 200 early.tmk | sed -n 's/^Heat  after [0-9.]* s (end); of 8[.0-9]* MiB, 8[.0-9]* MiB not written for 1 s, 0 B for 10 s,.*/that of the end/p'
tidemark job -o job.tmk early.tmk early.tmk >/dev/null
tidemark report --show=heat -w 200 job.tmk | sed -n 's/^Heat  \(.*\); of .* not written for 1 s, .*/\1/p'
echo "== of shared memory and files it is not known"
tidemark report --json run.tmk | jq -c '[.owners[] | select(.kind == "file") | .unwritten_1s_bytes] | unique'
echo "== nobody asked"
try tidemark record -q -o none.tmk "$VICTIMS/basic" 1
tidemark report --show=heat none.tmk | grep -c 'is not known'
echo "== what was never written has no lag, and none is said to be known"
cc -o idle -x c - <<'EOF'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    char *volatile kept = malloc(100000);
    return usleep(500000) | !kept;
}
EOF
tidemark record -q --heat=50ms -o idle.tmk ./idle
tidemark report --show=heat idle.tmk | grep -o 'whole pages only.*' | cut -d' ' -f1-4
echo "== lag and drag are what the program measures, to the error that they come with"
tidemark record -q --heat=50ms --trace -o lags.tmk "$VICTIMS/lags" >measured
query lags.tmk "SELECT function, bytes / 4096, unwritten_bytes / 4096, life_kib_ms, lag_kib_ms, drag_kib_ms,
        lag_error_kib_ms, drag_error_kib_ms FROM page_uses WHERE count = 1 AND function LIKE 'victim_%'" | tr '|' ' ' >found
# Half of the pages are what the half-written block's figures are of. Beside the error: 2 %, and 2 ms for cut times.
awk 'function near(what, is, least, most, error) {
        if (is < least * 0.98 - error - 2 || is > most * 1.02 + error + 2)
            print $1 ": " what " " is " is not " least " to " most ", error " error
    }
    # What is alive is known up to the last scan.
    NR == FNR { for (i = 2; i <= 7; i++) said[$1, i] = $i - ($1 == "victim_is_kept" && i % 2 == 0 && i > 2 ? 500 : 0)
                programs++ }
    NR != FNR { kib = ($2 - $3) * 4; near("life", $4 / ($2 * 4), said[$1, 6], said[$1, 7], 0)
      near("lag", $5 / kib, said[$1, 2], said[$1, 3], $7 / kib)
      near("drag", $6 / kib, said[$1, 4], said[$1, 5], $8 / kib)
      error += $7 / kib + $8 / kib
      seen++ }
    END { print seen, "of", programs
          if (error > seen * 200) print "known to", error / seen }' measured found
echo "== half of a block was never written"
awk '{ print $1, int(($3 * 16 + $2 / 2) / $2) "/16" }' found | sort
echo "== a realloc tells nothing, and small blocks have no pages of their own"
query lags.tmk "SELECT function, min(count), max(unseen_count) FROM page_uses
        WHERE function IN ('victim_reallocs', 'victim_is_small') GROUP BY 1"
query lags.tmk "SELECT function, alive_count FROM page_uses WHERE alive_count > 0"
tidemark report --json lags.tmk | jq -c '[.page_uses[] | select(.function == "victim_waits") | keys | join(" ")]'
tidemark report --show=heat -w 250 lags.tmk | sed -n '/^Lag and drag/,$p' | sed 's/[0-9.]* *%/N %/g; s/[0-9.]* m\?s\b/N s/g; s/[0-9.]* MiB/N MiB/g; s/of [0-9]* more blocks\?/of N more blocks/; s| [^ ]*/lags.c:[0-9]*||; s/ *$//' |
    grep -v victim_reallocs | tr -s ' ' | sort
tidemark report --json none.tmk | jq .page_uses
echo "== a trace has it, but not of a part of the run"
tidemark replay -q -o again.tmk lags.tmt
tidemark replay -q --from=10% -o part.tmk lags.tmt
for file in lags again part; do
    tidemark report --json $file.tmk | jq -c .page_uses >$file.uses
done
cmp lags.uses again.uses && cat part.uses
echo "== too often"
try tidemark record --heat=1ms true
sentence "10ms"
echo "== in a sandbox the program is left alone"
try tidemark record -q --heat=100ms -o sand.tmk "$CLI/cli_sandboxed" "$VICTIMS/basic" 1
query sand.tmk "SELECT count(unwritten_1s_bytes) FROM owner WHERE resident_bytes > 0"
try "$CLI/cli_sandboxed" tidemark record --heat=1s true
sentence "heat: .*(Linux 6.7|not permitted)"

echo "== a program that goes on with large blocks after the recording"
cat >on.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[8];
static void *work(void *place)
{
    for (int i = 0; i < 100000; i++) {
        *(void *volatile *)place = malloc(8000);
        free(*(void *volatile *)place);
        if (!i)
            usleep(700000);
    }
    return place;
}
int main(void)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, work, (void *)&kept[i]);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    return puts("done") < 0;
}
C
cc -O1 -fno-builtin -pthread -o on on.c
tidemark record -q --heat=100ms --for=200ms -o on.tmk ./on
echo "status $?"
