#include "stress.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "block.h"
#include "memory.h"

enum { PIECES = 400, SHARED = 512, LIVES = 8, CHILD_CALLS = 2000, CHILD_PATIENCE_S = 120 };

const char *const stress_deviation_names[STRESS_DEVIATIONS] = {
    [STRESS_ALIGNMENT] = "alignment", [STRESS_ALIGNED] = "aligned",     [STRESS_ERRNO] = "errno",
    [STRESS_OVERFLOW] = "overflow",   [STRESS_ARGUMENTS] = "arguments",
};

/* A block and what it holds; empty if `block` is NULL. Lives in the harness's memory. */
struct piece {
    void *block;
    size_t bytes, alignment;
    uint64_t key;
};

/* Where pieces change hands. */
struct shared {
    atomic_flag busy;
    struct piece piece;
};

/* One thread at a time sits in a seat; its successor finds the pieces that it left. */
struct seat {
    uint64_t random, calls_left, calls, passed;
    uint64_t deviations[STRESS_DEVIATIONS];
    struct shared *shared;
    struct piece pieces[PIECES];
    char pad[64];
};

static uint64_t stress_seed;
static pthread_key_t late_key;

#define damaged(format, ...)                                                                       \
    memory_die(format "; --seed=%llu", __VA_ARGS__, (unsigned long long)stress_seed)

/* --- contents --------------------------------------------------------------------------------- */

/* All of a block up to 16 KiB; of larger ones the first word of every 4 KiB, and the end. */
static size_t stress_content_step(size_t bytes)
{
    return bytes <= 16 << 10 ? 8 : 4096;
}

static uint64_t stress_word_at(uint64_t key, size_t offset)
{
    return (key + offset) * 0x9E3779B97F4A7C15u;
}

static void stress_content_write(const struct piece *piece)
{
    unsigned char *block = piece->block;
    size_t at = 0, step = stress_content_step(piece->bytes);
    for (; at + 8 <= piece->bytes; at += step) {
        uint64_t word = stress_word_at(piece->key, at);
        memcpy(block + at, &word, 8);
    }
    for (at = piece->bytes & ~(size_t)7; at < piece->bytes; at++)
        block[at] = (unsigned char)stress_word_at(piece->key, at);
}

/* Of the first `bytes` bytes, which were written as those of a block of piece->bytes. */
static void stress_content_verify(const struct piece *piece, size_t bytes, const char *when)
{
    const unsigned char *block = piece->block;
    size_t at = 0, step = stress_content_step(piece->bytes);
    for (; at + 8 <= bytes; at += step) {
        uint64_t word = stress_word_at(piece->key, at);
        if (memcmp(block + at, &word, 8) != 0)
            damaged("a block of %zu bytes at %p lost its contents at byte %zu, seen %s",
                    piece->bytes, piece->block, at, when);
    }
    if (bytes < piece->bytes)
        return;
    for (at = bytes & ~(size_t)7; at < bytes; at++) {
        if (block[at] != (unsigned char)stress_word_at(piece->key, at))
            damaged("a block of %zu bytes at %p lost its last bytes, seen %s", bytes, piece->block,
                    when);
    }
}

static void stress_zero_verify(const struct piece *piece)
{
    const unsigned char *block = piece->block;
    for (size_t at = 0; at < piece->bytes; at++) {
        if (block[at])
            damaged("calloc of %zu bytes at %p is not zero at byte %zu", piece->bytes, piece->block,
                    at);
    }
}

/* --- making and ending pieces ----------------------------------------------------------------- */

/* Most are small; one in a thousand is up to 4 MiB. */
static size_t stress_random_bytes(uint64_t *random)
{
    uint64_t kind = block_below(random, 1000);
    if (kind < 20)
        return block_below(random, 17);
    if (kind < 800)
        return 1 + block_below(random, 512);
    if (kind < 950)
        return 1 + block_below(random, 8 << 10);
    if (kind < 998)
        return 1 + block_below(random, 128 << 10);
    return 1 + block_below(random, 4 << 20);
}

static void stress_deviate(struct seat *seat, enum stress_deviation kind)
{
    seat->deviations[kind]++;
}

static void stress_piece_begun(struct seat *seat, struct piece *piece, size_t alignment)
{
    uintptr_t address = (uintptr_t)piece->block;
    size_t usable = malloc_usable_size(piece->block);
    if (!piece->block)
        damaged("a request of %zu bytes aligned to %zu was refused (%s)", piece->bytes, alignment,
                strerror(errno));
    if (alignment > 16 && address % alignment)
        stress_deviate(seat, STRESS_ALIGNED);
    if (address % 16)
        stress_deviate(seat, STRESS_ALIGNMENT);
    if (usable < piece->bytes)
        damaged("a block of %zu bytes at %p has only %zu usable", piece->bytes, piece->block,
                usable);
    piece->alignment = alignment;
    piece->key = block_random(&seat->random);
    if (block_below(&seat->random, 8) == 0 && usable < piece->bytes + 4096)
        piece->bytes = usable; /* all of it is ours */
    stress_content_write(piece);
}

static size_t stress_random_alignment(uint64_t *random)
{
    return (size_t)8 << block_below(random, block_below(random, 50) ? 6 : 16);
}

static void stress_piece_make(struct seat *seat, struct piece *piece)
{
    uint64_t *random = &seat->random, kind = block_below(random, 100);
    size_t bytes = stress_random_bytes(random), alignment = 16;
    piece->bytes = bytes;
    seat->calls++;
    if (kind < 65) {
        piece->block = malloc(bytes);
    } else if (kind < 80) {
        size_t each = 1 + block_below(random, 16);
        piece->bytes = bytes / each * each;
        piece->block = calloc(bytes / each, each);
        if (piece->block)
            stress_zero_verify(piece);
    } else if (kind < 85) {
        piece->block = realloc(NULL, bytes);
    } else if (kind < 88) {
        piece->block = reallocarray(NULL, bytes, 1);
    } else if (kind < 92) {
        alignment = stress_random_alignment(random);
        piece->block = memalign(alignment, bytes);
    } else if (kind < 96) {
        alignment = stress_random_alignment(random);
        piece->bytes = bytes = (bytes + alignment - 1) / alignment * alignment;
        piece->block = aligned_alloc(alignment, bytes);
    } else {
        alignment = stress_random_alignment(random);
        if (posix_memalign(&piece->block, alignment, bytes) != 0)
            piece->block = NULL;
    }
    stress_piece_begun(seat, piece, alignment);
}

static void stress_piece_end(struct seat *seat, struct piece *piece)
{
    stress_content_verify(piece, piece->bytes, "at its free");
    errno = EDOM;
    free(piece->block);
    if (errno != EDOM)
        stress_deviate(seat, STRESS_ERRNO);
    piece->block = NULL;
    seat->calls++;
}

static void stress_piece_resize(struct seat *seat, struct piece *piece)
{
    uint64_t *random = &seat->random;
    size_t bytes = block_below(random, 2) ? stress_random_bytes(random)
                                          : piece->bytes + block_below(random, 64);
    bytes += bytes == 0; /* to 0 is a free in glibc */
    stress_content_verify(piece, piece->bytes, "before its realloc");
    void *moved = realloc(piece->block, bytes);
    if (!moved)
        damaged("a realloc from %zu to %zu bytes was refused", piece->bytes, bytes);
    piece->block = moved;
    seat->calls++;
    if (bytes < piece->bytes) {
        stress_content_verify(piece, bytes, "after its realloc to fewer bytes");
    } else {
        stress_content_verify(piece, piece->bytes, "after its realloc to more bytes");
    }
    piece->bytes = bytes;
    stress_piece_begun(seat, piece, 16);
}

/* --- what must be refused --------------------------------------------------------------------- */

static void stress_refuse(struct seat *seat, void *block)
{
    if (block) {
        stress_deviate(seat, STRESS_OVERFLOW);
        free(block);
    } else if (errno != ENOMEM) {
        stress_deviate(seat, STRESS_ERRNO);
    }
    errno = 0;
}

/* Sizes the compiler must not see through. */
static volatile size_t huge = SIZE_MAX - 64, half = SIZE_MAX / 2 + 2;

static void stress_ask_for_too_much(struct seat *seat)
{
    void *block = NULL;
    seat->calls += 7;
    errno = 0;
    stress_refuse(seat, malloc(huge));
    stress_refuse(seat, malloc(half));
    stress_refuse(seat, calloc(half, 2));
    stress_refuse(seat, reallocarray(NULL, half, 2));
    stress_refuse(seat, memalign(64, huge));
    errno = EDOM; /* posix_memalign returns its error and leaves errno */
    if (posix_memalign(&block, 64, huge) != ENOMEM || errno != EDOM)
        stress_deviate(seat, block ? STRESS_OVERFLOW : STRESS_ERRNO);
    if (posix_memalign(&block, 24, 100) != EINVAL)
        stress_deviate(seat, STRESS_ARGUMENTS);
}

/* --- one thread's life ------------------------------------------------------------------------ */

static void stress_exchange(struct seat *seat, struct piece *piece)
{
    struct shared *shared = &seat->shared[block_below(&seat->random, SHARED)];
    if (atomic_flag_test_and_set_explicit(&shared->busy, memory_order_acquire))
        return;
    struct piece swap = shared->piece;
    shared->piece = *piece;
    *piece = swap;
    atomic_flag_clear_explicit(&shared->busy, memory_order_release);
    seat->passed += swap.block != NULL;
}

static void stress_one_call(struct seat *seat)
{
    struct piece *piece = &seat->pieces[block_below(&seat->random, PIECES)];
    uint64_t kind = block_below(&seat->random, 1000);
    if (kind == 0)
        stress_ask_for_too_much(seat);
    else if (kind < 250)
        stress_exchange(seat, piece);
    else if (!piece->block)
        stress_piece_make(seat, piece);
    else if (kind < 400)
        stress_piece_resize(seat, piece);
    else
        stress_piece_end(seat, piece);
}

/* Runs when the thread is nearly gone: frees what it left behind, and allocates once more. */
static void stress_end_late(void *value)
{
    char *kept = value;
    if (memcmp(kept, "kept until the end", 19) != 0)
        damaged("a block at %p lost its contents before a TLS destructor freed it", value);
    free(kept);
    char *late = malloc(300);
    if (!late)
        damaged("%s", "a TLS destructor was refused 300 bytes");
    memset(late, 0xA5, 300);
    free(late);
}

static void *stress_live(void *argument)
{
    struct seat *seat = argument;
    uint64_t calls = seat->calls_left / LIVES;
    char *kept = malloc(100);
    if (!kept)
        damaged("%s", "100 bytes were refused");
    memcpy(kept, "kept until the end", 19);
    pthread_setspecific(late_key, kept);
    for (uint64_t i = 0; i < calls; i++)
        stress_one_call(seat);
    return NULL;
}

/* A child of a fork in the midst of other threads' calls must be able to go on by itself. */
static void stress_fork_child(struct seat *seat)
{
    int status;
    pid_t child = fork();
    if (child < 0)
        damaged("fork failed: %s", strerror(errno));
    if (child == 0) {
        alarm(CHILD_PATIENCE_S); /* a deadlock ends as SIGALRM */
        for (unsigned i = 0; i < CHILD_CALLS; i++) {
            struct piece *piece = &seat->pieces[block_below(&seat->random, PIECES)];
            if (!piece->block)
                stress_piece_make(seat, piece);
            else
                stress_piece_end(seat, piece);
        }
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child)
        damaged("waitpid failed: %s", strerror(errno));
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        damaged("%s", "a child forked while other threads allocated hangs");
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        damaged("a child forked while other threads allocated ended with status %#x", status);
}

static void stress_empty(struct seat *seat, struct piece *piece)
{
    if (piece->block)
        stress_piece_end(seat, piece);
}

static void stress_sum_up(const struct seat *seat, struct stress_result *result)
{
    result->calls += seat->calls;
    result->passed += seat->passed;
    for (unsigned kind = 0; kind < STRESS_DEVIATIONS; kind++)
        result->deviations[kind] += seat->deviations[kind];
}

void stress_run(unsigned threads, uint64_t calls, uint64_t seed, struct stress_result *result)
{
    struct seat *seats = memory_map((threads + 1) * sizeof *seats), *own = &seats[threads];
    struct shared *shared = memory_map(SHARED * sizeof *shared);
    pthread_t *ids = memory_map(threads * sizeof *ids);
    *result = (struct stress_result){0};
    stress_seed = seed;
    pthread_key_create(&late_key, stress_end_late);
    for (unsigned i = 0; i <= threads; i++) {
        seats[i].random = (seed + i) * 0x9E3779B97F4A7C15u | 1;
        seats[i].calls_left = calls;
        seats[i].shared = shared;
    }
    for (unsigned life = 0; life < LIVES; life++) {
        for (unsigned i = 0; i < threads; i++) {
            if (pthread_create(&ids[i], NULL, stress_live, &seats[i]) != 0)
                damaged("%s", "no thread could be started");
            result->threads++;
        }
        stress_fork_child(own);
        result->forks++;
        for (uint64_t i = 0; i < calls / LIVES; i++)
            stress_one_call(own);
        for (unsigned i = 0; i < threads; i++)
            pthread_join(ids[i], NULL);
    }
    for (unsigned i = 0; i < SHARED; i++)
        stress_empty(own, &shared[i].piece);
    for (unsigned i = 0; i <= threads; i++) {
        for (unsigned k = 0; k < PIECES; k++)
            stress_empty(own, &seats[i].pieces[k]);
    }
    for (unsigned i = 0; i <= threads; i++)
        stress_sum_up(&seats[i], result);
    pthread_key_delete(late_key);
    memory_unmap(ids, threads * sizeof *ids);
    memory_unmap(shared, SHARED * sizeof *shared);
    memory_unmap(seats, (threads + 1) * sizeof *seats);
}
