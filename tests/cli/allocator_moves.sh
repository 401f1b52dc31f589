# An allocator that moves its memory with mremap, and unmaps what it had mapped before anybody attached: both are
# the allocator's, and neither is the program's.
. "$HERE/lib.sh"

# A block has a mapping of its own. The table is a page a block, without blocks in it, and is moved to grow.
cat >mover.c <<'M'
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
enum { PAGE = 4096 };
static char *table;
static size_t rows;
static void *map(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
/* Something lies behind the table, so that it has to move. */
static void grow(size_t to)
{
    table = table ? mremap(table, rows * PAGE, to * PAGE, MREMAP_MAYMOVE) : map(to * PAGE);
    memset(table, 1, to * PAGE);
    rows = to;
}
void *malloc(size_t bytes)
{
    size_t *block = map(bytes + 16);
    *block = bytes;
    if (bytes == 100000)
        grow(rows + 16);
    return block + 2;
}
void free(void *block)
{
    size_t *head = (size_t *)block - 2;
    if (block)
        munmap(head, *head + 16);
}
void *calloc(size_t count, size_t bytes)
{
    return malloc(count * bytes);
}
void *realloc(void *old, size_t bytes)
{
    size_t *head = (size_t *)old - 2;
    if (!old)
        return malloc(bytes);
    head = mremap(head, *head + 16, bytes + 16, MREMAP_MAYMOVE);
    *head = bytes;
    return head + 2;
}
int posix_memalign(void **block, size_t align, size_t bytes)
{
    (void)align;
    return (*block = malloc(bytes)) == NULL;
}
M
cat >told.c <<'M'
#include <stdlib.h>
#include <unistd.h>
enum { MANY = 64 };
int main(int argc, char **argv)
{
    void *kept[MANY];
    char what;
    (void)argv;
    for (int i = 0; i < MANY; i++)
        kept[i] = malloc(100000);
    for (int i = 0; i < MANY; i++)
        kept[i] = realloc(kept[i], 300000);
    while (argc > 1 && write(1, "ready\n", 6) == 6 && read(0, &what, 1) == 1)
        if (what == 'f')
            for (int i = 0; i < MANY; i++) {
                free(kept[i]);
                kept[i] = NULL;
            }
    return 0;
}
M
cc -O1 -fno-builtin -fPIC -shared -o mover.so mover.c
cc -O1 -fno-builtin -o told told.c

# 63 of the table's moves, and 64 of blocks; nothing of it is the program's.
echo "recorded:"
LD_PRELOAD=$PWD/mover.so "$BIN/tidemark" record -q --trace -o moved.tmk ./told
"$BIN/tidemark" events --json -k mmap,munmap moved.tmt | jq -r 'select(.size_bytes >= 65536) |
    [.kind, .moved // false, .allocator] | map(tostring) | join(" ")' | sort | uniq -c | sed 's/^ *//' >calls
awk '/mmap true true/ { made = $1 } END { print (made >= 127) }' calls
grep -v ' true$' calls
query moved.tmk "SELECT name, sum(resident_bytes) >= 1024 * 4096 FROM owners WHERE sample = (SELECT max(id) FROM sample)
    AND kind = 'allocator' AND name LIKE 'free pages%' GROUP BY name"
query moved.tmk "SELECT count(*), 'of the program' FROM mapped_site"

# What was there before is unmapped by who mapped it.
echo "attached:"
if [ "$(uname -m)" = x86_64 ]; then
    coproc TOLD { LD_PRELOAD=$PWD/mover.so exec ./told wait; }
    pid=$TOLD_PID to=${TOLD[1]} from=${TOLD[0]}
    read -r _ <&"$from"
    "$BIN/tidemark" attach --trace -o attached.tmk "$pid" 2>attach.err {to}>&- {from}<&- &
    until_true grep -q 'being recorded' attach.err
    printf f >&"$to"
    read -r _ <&"$from"
    "$BIN/tidemark" attach --detach "$pid"
    wait $!
    eval "exec $to>&-"
    wait "$pid"
    query attached.tmk "SELECT unmap_count, unmap_bytes FROM program"
    "$BIN/tidemark" events -k munmap attached.tmt | grep -c "the allocator's"
else # attaching is written for x86-64
    printf '0|0\n64\n'
fi
