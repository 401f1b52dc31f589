# Whose the resident pages are, page by page: every kind of range, and every way in which a part of it goes.
. "$HERE/lib.sh"

# Of each function: pages resident at the end; of its mappings: made, mapped, reserved.
owned() { # PROFILE LIKE
    rm -f "$1.db"
    "$BIN/tidemark" unpack "$1" "$1.db"
    sqlite3 -separator ' ' "$1.db" "SELECT function, sum(resident_bytes) / 4096.0 || ' of', kind FROM owners
        WHERE sample = (SELECT max(id) FROM sample) AND function LIKE '$2' AND kind <> 'allocator' GROUP BY function, kind;
        SELECT function.name, 'made', sum(alloc_count), 'live', sum(live_bytes) / 4096, 'reserved',
            sum(reserved_bytes) / 4096
        FROM mapped_site JOIN path ON path.id = mapped_site.path JOIN location_frame USING (location)
        JOIN function ON function.id = location_frame.function
        WHERE depth = 0 AND function.name LIKE '$2' GROUP BY function.name"
    sqlite3 "$1.db" "SELECT 'off by', sum(owner.resident_bytes) - sample.resident_bytes FROM sample
        JOIN owner ON owner.sample = sample.id GROUP BY sample.id ORDER BY sample.id DESC LIMIT 1"
}

echo "ranges:"
try tidemark record -q -o ranges.tmk "$VICTIMS/owned" ranges "$PWD/file"
cat out err
owned ranges.tmk 'own%'

echo "ranges by syscall():"
try tidemark record -q -o calls.tmk "$VICTIMS/owned_by_syscall" ranges "$PWD/file"
cat out err
owned ranges.tmk 'own%' >functions
owned calls.tmk 'own%' | diff functions - && echo "the same"

echo "storm:"
try tidemark record -q -o storm.tmk "$VICTIMS/owned" storm
owned storm.tmk 'own%'

# The child has what its parent has mapped, with the parent's call paths: 100 pages that it has read, 50
# that are left of 60, and 30 that were left of 40 before. It has called mmap once.
echo "fork:"
try tidemark record -q --separate --trace -o '%n.%p.tmk' "$VICTIMS/owned" fork
for profile in owned.*.tmk; do
    [ "$(query "$profile" "SELECT value FROM meta WHERE key = 'started_by'")" = fork ] && child=$profile
done
owned "$child" 'own%'
sqlite3 "$child.db" "SELECT 'calls', sum(map_count) FROM site"
sqlite3 "$child.db" "SELECT name, kind, sum(resident_bytes) / 4096 > 2000 FROM owners
    WHERE sample = (SELECT max(id) FROM sample) AND name = 'from the parent' GROUP BY name, kind"
parent=$(query "$child" "SELECT value FROM meta WHERE key = 'parent_pid'")
"$BIN/tidemark" report "$child" | tr -s '\n ' ' ' | grep -Eo "from the parent: blocks [a-z ,]*; the profile of process $parent, or of one before it, names their call paths" |
    sed "s/$parent/PID/" | uniq
"$BIN/tidemark" replay -o again.tmk "${child%.tmk}.tmt" >out 2>&1 || cat out
sqlite3 "$child.db" "SELECT alloc_count, alloc_bytes, live_bytes, peak_bytes FROM mapped_site ORDER BY path" >live
query again.tmk "SELECT alloc_count, alloc_bytes, live_bytes, peak_bytes FROM mapped_site ORDER BY path" | diff live -
"$BIN/tidemark" events -k mmap "${child%.tmk}.tmt" | grep -c ', inherited'

# What three generations have mapped, and reserved, by function.
echo "heirs:"
try tidemark record -q --separate -o 'heir.%p.tmk' "$VICTIMS/owned" heir "$PWD/file"
for profile in heir.*.tmk; do
    query "$profile" "SELECT function.name, sum(live_bytes), sum(reserved_bytes)
        FROM mapped_site JOIN path ON path.id = mapped_site.path JOIN location_frame USING (location)
        JOIN function ON function.id = location_frame.function
        WHERE depth = 0 AND (live_bytes OR reserved_bytes) GROUP BY function.name" >"$profile.mapped"
done
md5sum heir.*.mapped | cut -d' ' -f1 | uniq -c | awk '{ print $1, "alike" }'
wc -l heir.*.mapped | awk '/total/ { print $1, "lines" }'

# The highest moment was not looked at: by how much, and when it was.
echo "spike:"
# On a busy machine a look may come just then: in one of twenty runs none does.
for turn in $(seq 20); do
    "$BIN/tidemark" record -q -o spike.tmk "$VICTIMS/owned" spike
    "$BIN/tidemark" report spike.tmk | tr -s '\n ' ' ' >shown
    ! grep -q '3[0-9.]* MiB below the highest resident set' shown || break
done
<shown grep -Eo '3[0-9.]* MiB below the highest resident set of the run \(by the kernel.s count\), which was [0-9.]* [mµn]*s (earlier|later)' |
    sed 's/3[0-9.]* MiB/32 MiB/; s/was [0-9.]* [mµn]*s .*/was a moment apart/' | uniq -c

# Attached to, left, and attached to again: what went meanwhile is not mapped any more.
echo "again:"
told() {
    local answer
    echo "$1" >&"$to"
    read -r answer <&"$from"
    echo "$answer"
}
attached() { # PROFILE WHAT…
    local profile=$1
    shift
    rm -f attach.err # what the last one said is not meant
    "$BIN/tidemark" attach -o "$profile" "$pid" 2>attach.err {to}>&- {from}<&- &
    until_true grep -q 'being recorded' attach.err
    for what in "$@"; do told "$what"; done
    "$BIN/tidemark" attach --detach "$pid"
    wait $!
}
if [ "$(uname -m)" = x86_64 ]; then
    coproc VICTIM { exec "$VICTIMS/owned" told; }
    pid=$VICTIM_PID to=${VICTIM[1]} from=${VICTIM[0]}
    read -r _ <&"$from"
    attached first.tmk m >said
    told u >>said
    attached second.tmk n >>said
    eval "exec $to>&-"
    wait "$pid"
    tr '\n' ' ' <said >&2
    query first.tmk "SELECT 'first', sum(live_bytes) / 4096 FROM mapped_site"
    query second.tmk "SELECT 'second', sum(live_bytes) / 4096 FROM mapped_site"
else # attaching is written for x86-64
    printf 'm u n first|10\nsecond|3\n'
fi

# No call path leads through the program's code: its variables have names all the same.
echo "static:"
try tidemark record -q -o static.tmk "$VICTIMS/owned" static
query static.tmk "SELECT name, resident_bytes FROM owners WHERE sample = (SELECT max(id) FROM sample)
    AND kind = 'globals' ORDER BY resident_bytes DESC LIMIT 1"

# What jemalloc maps is its own: nobody else's but what the loader had before us, and its tables have a name.
echo "allocator's own:"
cat >cache.c <<'M'
#include <stdlib.h>
#include <string.h>
enum { MOST = 400000 };
static void *kept[MOST];
int main(void)
{
    for (int i = 0; i < MOST; i++)
        memset(kept[i] = malloc(200), 1, 200);
    for (int i = 0; i < MOST; i++)
        free(kept[i]);
    return 0;
}
M
cc -o cache cache.c
library=$(ldconfig -p | sed -n 's/.* => \(.*libjemalloc\.so\.2\)$/\1/p' | head -1)
if [ -n "$library" ]; then
    LD_PRELOAD=$library "$BIN/tidemark" record -q -o cache.tmk ./cache
    query cache.tmk "SELECT kind, name, sum(resident_bytes) > 1 << 18 FROM owners
        WHERE sample = (SELECT max(id) FROM sample) AND function IS NULL AND kind IN ('mapping', 'allocator')
        AND (kind = 'mapping' OR name LIKE 'free pages%') GROUP BY kind, name"
else # nothing to try it on
    printf 'allocator|free pages or its tables|1\nmapping|not seen when it was mapped|0\n'
fi

# While a child saves, the parent goes on: whose the pages are that one of the two has written, and are there twice.
echo "copies:"
cat >save.c <<'M'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
enum { MANY = 20000, MIB = 1 << 20 };
static char *key[MANY], *value[MANY];
static void keys(void)
{
    for (int i = 0; i < MANY; i++)
        memset(key[i] = malloc(1000), 1, 1000);
}
static void values(void)
{
    for (int i = 0; i < MANY; i++)
        memset(value[i] = malloc(2000), 1, 2000);
}
static char *table(void)
{
    char *made = mmap(NULL, 30 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memset(made, 1, 30 * MIB);
}
int main(int argc, char **argv)
{
    char byte, command[1000];
    int to_parent[2], to_child[2];
    if (argc < 2 || pipe(to_parent) || pipe(to_child))
        return 1;
    keys();
    values();
    char *mapped = table();
    if (fork() == 0) {
        for (int i = 0; i < MANY / 4; i++)
            key[i][3] = 2;
        _exit(write(to_parent[1], "k", 1) != 1 || read(to_child[0], &byte, 1) != 1);
    }
    for (int i = 0; i < MANY / 2; i++)
        value[i][0] = 2;
    memset(mapped, 2, 10 * MIB);
    snprintf(command, sizeof command, "%s %d >snapshot.out 2>&1", argv[1], getpid());
    if (read(to_parent[0], &byte, 1) != 1 || system(command) != 0 || write(to_child[1], "g", 1) != 1)
        return 1;
    return wait(NULL) == -1;
}
M
cc -g -O1 -o save save.c
try tidemark record -q --only=save -o save.tmk ./save "$BIN/tidemark snapshot"
"$BIN/tidemark" report save.snap-1.tmk | grep -m 1 -A 2 'shared since' | tr -s '\n ' ' ' |
    sed -E 's/\.[0-9]+ MiB/ MiB/g; s/^ *[0-9]+ MiB //; s/ (Held|Insights).*//; s/ *$/\n/'
