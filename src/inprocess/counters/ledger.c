/* Maps a leaf of the ledger at the first block there (ledger.h). If two threads map the same leaf
 * at once, one unmaps its own. Runs inside other programs: no malloc, no stdio. */
#include "counters/ledger.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

unsigned char *ledger_root[LEDGER_LEAVES];

/* The first leaves, so that the root need not be searched: as many as 4 GiB of heap take. */
enum { LEAVES_LISTED = 64 };
static unsigned char *ledger_leaves[LEAVES_LISTED];
static _Atomic uint32_t ledger_leaf_count;

enum { LEAF_BYTES = (1 << LEDGER_LEAF_SHIFT) / 8 + LEDGER_GUARD };

/* ---- Leaves that mlockall(MCL_FUTURE) does not lock: what mremap() makes longer keeps its flags
 * ---- */

enum { SEED_BYTES = 1 << 16 };
static _Atomic(char *) seed; /* NULL: there is none, or a thread is growing it */
static _Atomic bool ledger_unlocked;

static void *ledger_map_plain(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void ledger_keep_unlocked(void)
{
    if (atomic_exchange(&ledger_unlocked, true))
        return;
    void *made = ledger_map_plain(SEED_BYTES);
    if (made)
        munlock(made, SEED_BYTES);
    atomic_store(&seed, made);
}

/* The seed's beginning is the next seed. */
static void *ledger_map(size_t bytes)
{
    char *taken = atomic_load(&ledger_unlocked) ? atomic_exchange(&seed, NULL) : NULL;
    if (!taken)
        return ledger_map_plain(bytes);
    char *grown = mremap(taken, SEED_BYTES, SEED_BYTES + bytes, MREMAP_MAYMOVE);
    atomic_store(&seed, grown == MAP_FAILED ? taken : grown);
    return grown == MAP_FAILED ? NULL : grown + SEED_BYTES;
}

/* ---- Leaves ---- */

void ledger_each_leaf(void (*visit)(void *context, uintptr_t start, uint64_t bytes), void *context)
{
    uint32_t count = atomic_load(&ledger_leaf_count);
    for (uint32_t i = 0; i < count && i < LEAVES_LISTED; i++)
        if (ledger_leaves[i])
            visit(context, (uintptr_t)ledger_leaves[i], LEAF_BYTES);
}

/* No huge pages, which would make 2 MiB resident for the first small block. */
static unsigned char *ledger_map_leaf(void)
{
    void *leaf = ledger_map(LEAF_BYTES);
    if (!leaf)
        return NULL;
    madvise(leaf, LEAF_BYTES, MADV_NOHUGEPAGE);
    return leaf;
}

unsigned char *ledger_make_leaf(uintptr_t address)
{
    unsigned char **place = &ledger_root[address >> LEDGER_LEAF_SHIFT & (LEDGER_LEAVES - 1)];
    int saved_errno = errno;
    unsigned char *mine = ledger_map_leaf(), *theirs = NULL;
    if (mine && !__atomic_compare_exchange_n(place, &theirs, mine, false, __ATOMIC_ACQ_REL,
                                             __ATOMIC_ACQUIRE)) {
        munmap(mine, LEAF_BYTES); /* another thread was faster */
        mine = theirs;
    } else if (mine) {
        uint32_t index = atomic_fetch_add(&ledger_leaf_count, 1);
        if (index < LEAVES_LISTED)
            ledger_leaves[index] = mine;
    }
    errno = saved_errno;
    return mine;
}
