# Programs that run on BFM, and recordings of pages: what is held is right, the rest is unknown and said
# to be.
. "$HERE/lib.sh"

bench=$BIN/../bench/alloc/bench_alloc
[ -x "$bench" ] || skip "bench_alloc was not built"
shares=$HERE/../lib/shares.py

# netbuild, exact and by pages: what each call path holds at the peak. Two of five paths share a class
# with one that takes and frees blocks all the time.
try tidemark record --allocator=bfm -o e.tmk "$bench" netbuild:1/1 --shapes=60000
grep -c 'not seen' err # what BFM keeps at the end is BFM's, and nothing that was not seen
grep -o '"allocator": "[^"]*"' out | sed 's|"[^"]*/|"|'
try tidemark record --allocator=bfm --events=pages -o p.tmk "$bench" netbuild:1/1 --shapes=60000
grep -o '"allocator": "[^"]*"' out | sed 's|"[^"]*/|"|'
grep -Ec '^  sampled      blocks from 64.0 KiB on and one smaller block for each 8.00 KiB of them or more; [0-9,]* in all$' err
grep -c '^  allocations' err
for each in e p; do
    tidemark unpack "$each.tmk" "$each.db"
done
python3 "$shares" e.db p.db >table
grep -c 'need:98' table
tail -1 table
# The time line has 1,000 to 2,000 rows, as the clock wills: 33 to 48 KB. An hour may take 64 KB.
[ "$(stat -c %s p.tmk)" -lt 65536 ] && echo "small"
sqlite3 p.db "SELECT events < 20000, (SELECT value FROM meta WHERE key = 'pages'),
    (SELECT count(*) FROM distribution), (SELECT count(*) > 3 FROM curve) FROM program"

# What is not known: 0 nowhere.
tidemark report p.tmk >out
grep -E '^  (allocations|frees) ' out
grep -c 'all of .* sampled events are in this profile' out
tidemark report --json p.tmk >json
jq -c '.sampled | [.interval_bytes, .pages]' json
jq -c '.program | [.alloc_count, .alloc_bytes, .free_count, .temporary_count, .size_min, .lifetime_sum_ns, .peak_bytes > 8000000, .at_peak_bytes_error > 0]' json
jq -c '.threads[0] | [.alloc_count, .malloc_count, .live_bytes]' json
jq -c '.timeline.buckets[0] | [.alloc_count, .free_bytes]' json
tidemark report --show=threads,reallocs,sizes p.tmk | grep -c '18\.4 E\|16\.0 EiB'
tidemark insight p.tmk | grep -o 'Only large blocks and one smaller one for each 8.00 KiB or more'
for format in heaptrack dhat; do
    try tidemark export -t $format -o - p.tmk
    sentence "allocated in all"
done
for format in pprof speedscope callgrind massif perfetto chrome openmetrics jsonl; do
    tidemark export -t $format -o "x.$format" p.tmk 2>/dev/null || echo "no $format"
done
grep -l 18446744073709551615 x.*
printf '[program]\nallocations = 10\npeak = "1 GiB"\n' >limits.toml
tidemark check -j -b limits.toml p.tmk | jq -c '.verdicts[] | [.state, .metric]'
tidemark diff p.tmk p.tmk 2>&1 | grep -c '18446744\|18\.4 E\|16\.0 EiB'

# Two recordings are the same.
tidemark record -q --allocator=bfm --events=pages -o again.tmk "$bench" netbuild:1/1 --shapes=60000 >out
tidemark unpack again.tmk again.db
same="SELECT at_peak_bytes, at_peak_count, sample_count FROM site ORDER BY at_peak_bytes, sample_count"
[ "$(sqlite3 p.db "$same")" = "$(sqlite3 again.db "$same")" ] && echo "the same again"

# C++: a path begins where operator new was called, as in other recordings.
tidemark record -q --allocator=bfm --events=pages -o c.tmk "$VICTIMS/cxx_new" 1 >out
echo "status $?"
query c.tmk "SELECT count(*) FROM site JOIN path ON path.id = site.path JOIN location_name USING (location)
    WHERE function LIKE 'operator new%' OR function LIKE 'malloc%' OR module LIKE '%libtidemark%'"

# Constructors of other libraries run before the recorder's. What they keep is seen, from their first
# block on, and what their threads and children allocate.
cc -shared -fPIC -pthread -o libbefore.so -x c - <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static char *kept, *kept_too;
static void *touched(size_t bytes)
{
    return memset(malloc(bytes), 1, bytes);
}
static void *thread(void *unused)
{
    kept_too = touched(1 << 20);
    return unused;
}
__attribute__((constructor)) static void before(void)
{
    pthread_t other;
    kept = touched(3 << 20);
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, NULL);
    if (fork() == 0)
        _exit(((char *)touched(5 << 20))[1] - 1);
    wait(NULL);
}
int before_has(void)
{
    return kept[1] + kept_too[1];
}
END
echo 'int before_has(void); int main(void) { return before_has() - 2; }' |
    cc -g -o constructed -x c - -x none ./libbefore.so "-Wl,-rpath,$PWD"
try tidemark record -q --allocator=bfm --events=pages -o b.%n.tmk ./constructed
profiles_in b.*.tmk | while read -r each; do
    query "$each" "SELECT peak_bytes >> 20 FROM program"
    query "$each" "SELECT function, at_peak_bytes >> 20 FROM site
        JOIN path ON path.id = site.path JOIN location_name USING (location)
        WHERE at_peak_bytes >= 1 << 20 ORDER BY 2"
done

# On the smallest stack of a thread, and on one of 8 KiB.
cc -g -o small -pthread -x c - <<'END'
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
static ucontext_t first, second;
static void *take(void *unused)
{
    for (size_t i = 0; i < 50; i++) {
        void *block = malloc(i * 3000);
        free(realloc(block, i * 4000 + 1));
    }
    return unused;
}
static void begin(void)
{
    take(NULL);
}
int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
    pthread_create(&thread, &attributes, take, NULL);
    pthread_join(thread, NULL);
    char *stack = mmap(NULL, 12288, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(stack, 4096, PROT_NONE);
    getcontext(&second);
    second.uc_stack.ss_sp = stack + 4096;
    second.uc_stack.ss_size = 8192;
    second.uc_link = &first;
    makecontext(&second, begin, 0);
    return swapcontext(&first, &second);
}
END
try tidemark record -q --allocator=bfm --events=pages -o small.tmk ./small

# How the program ends is its own business.
tidemark record -q --allocator=bfm --events=pages -o s.tmk sh -c 'exit 9'
echo "status $?"
{
    tidemark record -q --allocator=bfm --events=pages -o k.tmk sh -c 'kill -TERM $$'
    echo "status $?"
} 2>/dev/null
query k.tmk "SELECT value FROM meta WHERE key = 'end'"
rm -f ./*.tmk ./*.db ./x.*

# Lines of scripts need the recorder's own hooks.
tidemark record -q --allocator=bfm --events=pages -o perl.tmk perl -e 'my @many = (1 .. 100000)'
tidemark report perl.tmk | tr -s ' \n' ' ' | grep -o "call paths have no functions of scripts: Perl's"
tidemark record -q -o exact.tmk perl -e 'my @many = (1 .. 1000)'
tidemark report exact.tmk | grep -c 'functions of scripts'
rm -f ./*.tmk

# Not to be had together.
while read -r options; do
    # shellcheck disable=SC2086 # options are words
    try tidemark record $options true
    sentence "$(echo "$options" | sed 's/.* --\([a-z-]*\).*/\1/')"
done <<'END'
--no-follow --events=pages
--allocator=bfm --events=pages --sample=1M
--allocator=bfm --events=pages --trace
--allocator=bfm --events=pages --timed
--allocator=bfm --events=pages --free-stacks
--quiet --allocator=malloc
--allocator=bfm --events=few
END

# Wherever it is installed; and where it is not whole.
mkdir -p else/where/bin else/where/lib
cp "$BIN/tidemark" else/where/bin
cp "$BIN"/../lib/libtidemark*.so "$BIN/../lib/libbfm.so.0" else/where/lib
else/where/bin/tidemark record -q --allocator=bfm --events=pages -o m.tmk "$VICTIMS/basic" 1 >out
query m.tmk "SELECT count(*) FROM meta WHERE key = 'pages'"
else/where/bin/tidemark record -q --allocator=bfm -o m.tmk true
echo "status $?"
rm else/where/lib/libbfm.so.0 else/where/lib/libtidemark-bfm.so
try else/where/bin/tidemark record --allocator=bfm true
sentence "libbfm.so.0 is not beside"
try else/where/bin/tidemark record --allocator=bfm --events=pages true
sentence "libtidemark-bfm.so is not beside"

# Preloaded by hand: which library it is says what is recorded.
TIDEMARK_OPTIONS="-q -o hand.tmk" LD_PRELOAD=$BIN/../lib/libtidemark-bfm.so "$VICTIMS/basic" 1
query hand.tmk "SELECT value FROM meta WHERE key = 'pages'"
TIDEMARK_OPTIONS="-q --trace --sample=4K -o hand.tmk" LD_PRELOAD=$BIN/../lib/libtidemark-bfm.so "$VICTIMS/basic" 1
query hand.tmk "SELECT value FROM meta WHERE key = 'sample_bytes'"
ls ./*.tmt 2>/dev/null
TIDEMARK_OPTIONS="--allocator=bfm" LD_PRELOAD=$BIN/../lib/libtidemark.so "$VICTIMS/basic" 1 2>&1 >out | grep -o 'cannot change the allocator'
