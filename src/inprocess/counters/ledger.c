/* Maps the leaves of the ledger when an address of theirs is first met (ledger.h). Two threads
 * may map the same leaf: one wins, the other unmaps its own. It runs inside other programs: it
 * uses neither malloc nor stdio. */
#include "counters/ledger.h"

#include <errno.h>
#include <sys/mman.h>

unsigned char *ledger_root[LEDGER_LEAVES];

enum { LEAF_BYTES = (1 << LEDGER_LEAF_SHIFT) / 8 + LEDGER_GUARD };

/* Huge pages would make 2 MiB resident for the first small block. */
static unsigned char *ledger_map_leaf(void)
{
    void *leaf = mmap(NULL, LEAF_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (leaf == MAP_FAILED)
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
    }
    errno = saved_errno;
    return mine;
}
