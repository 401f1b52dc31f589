/* Packs pieces of arenas and unpacks them in a handler of SIGSEGV (cold_arenas.h). Both replace the
 * piece's mapping as a whole, so no thread sees a part of it. One thread packs at a time, because a
 * packer has half a megabyte of tables. */
#include "collector/cold_arenas.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>
#include "base/memory.h"
#include "base/now.h"
#include "blocks/arena.h"

enum {
    PIECE = 64 << 10,
    PAGE = 4 << 10,
    PAGES = PIECE / PAGE,
    WORTH_BYTES = PIECE / 2, /* what a piece is packed to at most */
    AT_ONCE = 8,             /* pieces of a call: the rank's records wait meanwhile */
    AT_ONCE_IDLE = 128,      /* there are none */
    PIECES_MOST = 20000,     /* packed ones: each may cost two of the 65,530 mappings */
    LEVEL = 1,
    COST_PART = 16,
    LONGEST = 6, /* REST_NS << LONGEST: 32 s */
};
#define HUGE_FROM ((size_t)4 << 20)
#define REST_NS   500000000ull
#define QUICK_NS  8000000000ull /* a piece that comes back sooner is given longer the next time */

struct cold_piece {
    void *packed; /* NULL: all of it is zero */
    uint32_t packed_bytes;
    uint16_t pages; /* those that are not all zero, a bit each */
    uint8_t rests;  /* for REST_NS << rests */
    bool is_packed;
    uint64_t since_ns; /* it is packed, or in use */
};

struct cold_range {
    struct cold_range *next;
    char *base;
    size_t count;
    bool is_cut; /* is several mappings */
    struct cold_piece pieces[];
};

/* The list of all, for faults of threads that have none of their own. */
static struct {
    pthread_mutex_t lock;
    struct cold_arenas *first;
    bool is_ready;
} cold = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    pthread_mutex_t lock;
    ZSTD_CCtx *zstd;
    char *scratch;
    size_t scratch_bytes;
    _Atomic uint64_t next_ns; /* packing goes on then */
} cold_packer = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic size_t cold_packed_pieces;
static __thread struct cold_arenas *cold_own;

/* ---- Unpacking ---- */

static void *cold_map(void)
{
    void *fresh = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED)
        memory_exhausted();
    return fresh;
}

/* Pages of zeros were not resident, or need not be. */
static void cold_drop_zeros(char *fresh, uint16_t pages)
{
    for (unsigned i = 0; i < PAGES; i++)
        if (!(pages >> i & 1))
            madvise(fresh + i * PAGE, PAGE, MADV_DONTNEED);
}

static void cold_fill(char *fresh, const struct cold_piece *piece)
{
    if (!piece->packed)
        return;
    if (ZSTD_decompress(fresh, PIECE, piece->packed, piece->packed_bytes) != PIECE)
        memory_exhausted(); /* for want of memory: what was packed here is whole */
    cold_drop_zeros(fresh, piece->pages);
}

static void cold_forget_packed(struct cold_arenas *arenas, struct cold_piece *piece)
{
    arenas->packed_bytes -= piece->packed_bytes;
    arenas->packed_pieces--;
    cold_packed_pieces--;
    free(piece->packed);
    piece->packed = NULL;
    piece->packed_bytes = 0;
    piece->is_packed = false;
}

/* With the lock. */
static void cold_unpack(struct cold_arenas *arenas, struct cold_range *range, size_t index)
{
    struct cold_piece *piece = &range->pieces[index];
    char *place = range->base + index * PIECE, *fresh = cold_map();
    uint64_t now_ns = now_monotonic_ns();
    cold_fill(fresh, piece);
    if (mremap(fresh, PIECE, PIECE, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED)
        memory_exhausted();
    if (now_ns - piece->since_ns >= QUICK_NS)
        piece->rests = 0;
    else if (piece->rests < LONGEST)
        piece->rests++;
    piece->since_ns = now_ns;
    cold_forget_packed(arenas, piece);
}

/* Whether `address` is of one of the ranges. Its piece can be read and written then. */
static bool cold_bring_back_of(struct cold_arenas *arenas, const char *address)
{
    bool is_ours = false;
    pthread_mutex_lock(&arenas->lock);
    for (struct cold_range *range = arenas->ranges; range && !is_ours; range = range->next) {
        is_ours = address >= range->base && address < range->base + range->count * PIECE;
        size_t index = is_ours ? (size_t)(address - range->base) / PIECE : 0;
        if (is_ours && range->pieces[index].is_packed)
            cold_unpack(arenas, range, index);
    }
    pthread_mutex_unlock(&arenas->lock);
    return is_ours;
}

static bool cold_bring_back(const char *address)
{
    if (cold_own && cold_bring_back_of(cold_own, address))
        return true;
    bool is_ours = false;
    pthread_mutex_lock(&cold.lock);
    for (struct cold_arenas *arenas = cold.first; arenas && !is_ours; arenas = arenas->next)
        is_ours = arenas != cold_own && cold_bring_back_of(arenas, address);
    pthread_mutex_unlock(&cold.lock);
    return is_ours;
}

/* A fault comes from an access to memory, and no code that holds one of our locks, or malloc's,
 * touches a packed piece. So the handler may take them. Any other fault ends the process, as it
 * does without a handler. */
static void cold_on_fault(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    int error = errno;
    bool is_sent = info->si_code <= 0; /* by kill() */
    if (is_sent || !cold_bring_back(info->si_addr))
        signal(signal_number, SIG_DFL);
    if (is_sent)
        raise(signal_number);
    errno = error;
}

/* ---- Packing ---- */

static bool cold_is_zero(const char *page)
{
    return page[0] == 0 && memcmp(page, page + 1, PAGE - 1) == 0;
}

static uint16_t cold_pages_of(const char *place)
{
    unsigned pages = 0;
    for (unsigned i = 0; i < PAGES; i++)
        pages |= (unsigned)!cold_is_zero(place + i * PAGE) << i;
    return (uint16_t)pages;
}

/* Into piece->packed. False: it is not worth it, or there is no memory. */
static bool cold_compress(const char *place, struct cold_piece *piece)
{
    piece->pages = cold_pages_of(place);
    piece->packed = NULL;
    piece->packed_bytes = 0;
    if (!piece->pages)
        return true;
    size_t bytes = ZSTD_compressCCtx(cold_packer.zstd, cold_packer.scratch,
                                     cold_packer.scratch_bytes, place, PIECE, LEVEL);
    if (ZSTD_isError(bytes) || bytes > WORTH_BYTES ||
        bytes > (size_t)__builtin_popcount(piece->pages) * PAGE * 3 / 4)
        return false;
    piece->packed = malloc(bytes);
    if (!piece->packed)
        return false;
    memcpy(piece->packed, cold_packer.scratch, bytes);
    piece->packed_bytes = (uint32_t)bytes;
    return true;
}

static bool cold_take_away(char *place)
{
    return mmap(place, PIECE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
                -1, 0) == place;
}

/* With the locks of the arenas and of the packer. Other threads may read meanwhile, and those that
 * write wait for the lock. */
static void cold_pack_piece(struct cold_arenas *arenas, struct cold_range *range, size_t index,
                            uint64_t now_ns)
{
    struct cold_piece *piece = &range->pieces[index];
    char *place = range->base + index * PIECE;
    piece->since_ns = now_ns;
    if (mprotect(place, PIECE, PROT_READ) < 0)
        return;
    range->is_cut = true;
    if (cold_compress(place, piece) && cold_take_away(place)) {
        piece->is_packed = true;
        arenas->packed_bytes += piece->packed_bytes;
        arenas->packed_pieces++;
        cold_packed_pieces++;
        return;
    }
    free(piece->packed);
    piece->packed = NULL;
    piece->packed_bytes = 0;
    piece->rests = LONGEST;
    if (mprotect(place, PIECE, PROT_READ | PROT_WRITE) < 0)
        memory_exhausted();
}

static bool cold_prepare_packer(void)
{
    if (!cold_packer.zstd)
        cold_packer.zstd = ZSTD_createCCtx();
    if (!cold_packer.scratch) {
        cold_packer.scratch_bytes = ZSTD_compressBound(PIECE);
        cold_packer.scratch = malloc(cold_packer.scratch_bytes);
    }
    return cold_packer.zstd && cold_packer.scratch;
}

static bool cold_is_due(const struct cold_piece *piece, uint64_t now_ns)
{
    return !piece->is_packed && now_ns >= piece->since_ns + (REST_NS << piece->rests);
}

/* With the packer's lock: up to `most` pieces. */
static void cold_pack_some(struct cold_arenas *arenas, uint64_t now_ns, bool at_once, size_t most)
{
    pthread_mutex_lock(&arenas->lock);
    for (struct cold_range *range = arenas->ranges; range; range = range->next)
        for (size_t i = 0; i < range->count && most && cold_packed_pieces < PIECES_MOST; i++)
            if (at_once ? !range->pieces[i].is_packed : cold_is_due(&range->pieces[i], now_ns)) {
                cold_pack_piece(arenas, range, i, now_ns);
                most--;
            }
    pthread_mutex_unlock(&arenas->lock);
}

static unsigned cold_processors(void)
{
    static _Atomic unsigned known;
    if (!known) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        known = processors > 1 ? (unsigned)processors : 1;
    }
    return known;
}

void cold_arenas_pack(uint64_t now_ns, bool is_idle)
{
    if (!cold_own || now_ns < cold_packer.next_ns || pthread_mutex_trylock(&cold_packer.lock) != 0)
        return;
    uint64_t since_ns = now_thread_cpu_ns();
    if (cold_prepare_packer())
        cold_pack_some(cold_own, now_ns, false, is_idle ? AT_ONCE_IDLE : AT_ONCE);
    cold_packer.next_ns = now_ns + (now_thread_cpu_ns() - since_ns) * COST_PART / cold_processors();
    pthread_mutex_unlock(&cold_packer.lock);
}

void cold_arenas_pack_all(void)
{
    if (!cold_own)
        return;
    pthread_mutex_lock(&cold_packer.lock);
    if (cold_prepare_packer())
        cold_pack_some(cold_own, now_monotonic_ns(), true, SIZE_MAX);
    pthread_mutex_unlock(&cold_packer.lock);
}

/* ---- Arenas come and go ---- */

static void cold_on_arena(void *base, size_t bytes)
{
    size_t count = bytes / PIECE;
    if (!cold_own || bytes % PIECE || bytes >= HUGE_FROM)
        return;
    struct cold_range *range = calloc(1, sizeof *range + count * sizeof *range->pieces);
    if (!range)
        return; /* it stays as it is */
    range->base = base;
    range->count = count;
    uint64_t now_ns = now_monotonic_ns();
    for (size_t i = 0; i < count; i++)
        range->pieces[i].since_ns = now_ns;
    pthread_mutex_lock(&cold_own->lock);
    range->next = cold_own->ranges;
    cold_own->ranges = range;
    pthread_mutex_unlock(&cold_own->lock);
}

/* Makes one mapping of it again, because mremap() moves only one. */
static void cold_mend(struct cold_range *range)
{
    size_t bytes = range->count * PIECE;
    char *whole = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (whole == MAP_FAILED)
        memory_exhausted();
    for (size_t i = 0; i < range->count; i++) {
        const struct cold_piece *piece = &range->pieces[i];
        const char *place = range->base + i * PIECE;
        if (piece->is_packed)
            cold_fill(whole + i * PIECE, piece);
        for (size_t at = 0; !piece->is_packed && at < PIECE; at += PAGE)
            if (!cold_is_zero(place + at))
                memcpy(whole + i * PIECE + at, place + at, PAGE);
    }
    if (mremap(whole, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, range->base) == MAP_FAILED)
        memory_exhausted();
}

/* With the lock. */
static void cold_leave_range(struct cold_arenas *arenas, struct cold_range *range, bool is_needed)
{
    if (is_needed && range->is_cut)
        cold_mend(range);
    for (size_t i = 0; i < range->count; i++)
        if (range->pieces[i].is_packed)
            cold_forget_packed(arenas, &range->pieces[i]);
    free(range);
}

static void cold_on_leaving(void *base, bool is_needed)
{
    if (!cold_own)
        return;
    pthread_mutex_lock(&cold_own->lock);
    struct cold_range **link = &cold_own->ranges;
    while (*link && (*link)->base != base)
        link = &(*link)->next;
    struct cold_range *range = *link;
    if (range) {
        *link = range->next;
        cold_leave_range(cold_own, range, is_needed);
    }
    pthread_mutex_unlock(&cold_own->lock);
}

int cold_arenas_prepare(void)
{
    static const struct arena_watcher watcher = {cold_on_arena, cold_on_leaving};
    struct sigaction action = {.sa_sigaction = cold_on_fault, .sa_flags = SA_SIGINFO};
    if (sysconf(_SC_PAGESIZE) != PAGE)
        return -ENOTSUP;
    if (sigaction(SIGSEGV, &action, NULL) < 0)
        return -errno;
    cold.is_ready = true;
    arena_watch(&watcher);
    return 0;
}

void cold_arenas_begin(struct cold_arenas *arenas)
{
    *arenas = (struct cold_arenas){.lock = PTHREAD_MUTEX_INITIALIZER};
    if (!cold.is_ready)
        return;
    pthread_mutex_lock(&cold.lock);
    arenas->next = cold.first;
    if (cold.first)
        cold.first->previous = arenas;
    cold.first = arenas;
    pthread_mutex_unlock(&cold.lock);
    cold_own = arenas;
}

void cold_arenas_end(struct cold_arenas *arenas)
{
    if (cold_own != arenas)
        return;
    cold_own = NULL;
    pthread_mutex_lock(&cold.lock);
    if (arenas->next)
        arenas->next->previous = arenas->previous;
    if (arenas->previous)
        arenas->previous->next = arenas->next;
    else
        cold.first = arenas->next;
    pthread_mutex_unlock(&cold.lock);
    while (arenas->ranges) {
        struct cold_range *range = arenas->ranges;
        arenas->ranges = range->next;
        cold_leave_range(arenas, range, true);
    }
}
