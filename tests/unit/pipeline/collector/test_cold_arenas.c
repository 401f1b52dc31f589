/* What rests is packed, and whoever reads it reads what was written: by one thread or several, when
 * the arena grows, and when it goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "blocks/arena.h"
#include "collector/cold_arenas.h"

enum { WORDS = (1 << 20) / sizeof(uint32_t), PIECES = 16 };

/* The library of the tests sets handlers of its own before each. */
static void begin(struct cold_arenas *cold)
{
    assert_int_equal(cold_arenas_prepare(), 0);
    cold_arenas_begin(cold);
}

static uint32_t word_of(size_t index)
{
    return (uint32_t)index / 7 * 3;
}

static void fill(struct arena *arena)
{
    arena_grow(arena, WORDS * sizeof(uint32_t));
    uint32_t *words = arena->base;
    for (size_t i = 0; i < WORDS; i++)
        words[i] = word_of(i);
}

static size_t wrong_words(const struct arena *arena)
{
    const uint32_t *words = arena->base;
    size_t wrong = 0;
    for (size_t i = 0; i < WORDS; i++)
        wrong += words[i] != word_of(i);
    return wrong;
}

static size_t resident_pages(const struct arena *arena)
{
    static unsigned char pages[(8 << 20) / 4096];
    size_t count = 0;
    assert_int_equal(mincore(arena->base, arena->bytes, pages), 0);
    for (size_t i = 0; i < arena->bytes / 4096; i++)
        count += pages[i] & 1;
    return count;
}

static void what_was_packed_takes_less_and_reads_the_same(void **state)
{
    (void)state;
    struct cold_arenas cold;
    struct arena arena = {0};
    begin(&cold);
    fill(&arena);
    assert_int_equal(resident_pages(&arena), 256);
    cold_arenas_pack_all();
    assert_int_equal(cold.packed_pieces, PIECES);
    assert_int_equal(resident_pages(&arena), 0);
    assert_true(cold.packed_bytes > 0 && cold.packed_bytes < arena.bytes / 4);
    assert_int_equal(((uint32_t *)arena.base)[5], word_of(5));
    assert_int_equal(cold.packed_pieces, PIECES - 1); /* one came back */
    assert_int_equal(wrong_words(&arena), 0);
    assert_int_equal(cold.packed_pieces, 0);
    assert_int_equal(cold.packed_bytes, 0);
    arena_release(&arena);
    cold_arenas_end(&cold);
}

static void it_can_be_written_and_packed_again(void **state)
{
    (void)state;
    struct cold_arenas cold;
    struct arena arena = {0};
    begin(&cold);
    fill(&arena);
    for (uint32_t round = 1; round < 5; round++) {
        uint32_t *words = arena.base;
        cold_arenas_pack_all();
        words[100000] = round; /* the first access is a write */
        cold_arenas_pack_all();
        assert_int_equal(words[100000], round);
        words[100000] = word_of(100000);
    }
    assert_int_equal(wrong_words(&arena), 0);
    arena_release(&arena);
    cold_arenas_end(&cold);
}

static void what_was_never_written_stays_without_memory(void **state)
{
    (void)state;
    struct cold_arenas cold;
    struct arena arena = {0};
    begin(&cold);
    arena_grow(&arena, 1 << 20);
    char *bytes = arena.base;
    for (size_t i = 0; i < 3 * 4096; i++)
        bytes[i] = 1;
    cold_arenas_pack_all();
    assert_int_equal(bytes[0] + bytes[3 * 4096], 1);
    assert_int_equal(bytes[1 << 19], 0);
    assert_int_equal(resident_pages(&arena), 3 + 2); /* pages that were read count */
    arena_release(&arena);
    cold_arenas_end(&cold);
}

/* mremap() takes one mapping; packing has made many of it. */
static void it_grows_while_it_is_packed(void **state)
{
    (void)state;
    struct cold_arenas cold;
    struct arena arena = {0};
    begin(&cold);
    fill(&arena);
    cold_arenas_pack_all();
    assert_int_equal(((uint32_t *)arena.base)[200000], word_of(200000));
    arena_grow(&arena, 2 << 20);
    assert_int_equal(arena.bytes, 2 << 20);
    assert_int_equal(cold.packed_pieces, 0);
    assert_int_equal(wrong_words(&arena), 0);
    cold_arenas_pack_all();
    assert_int_equal(cold.packed_pieces, 2 * PIECES);
    assert_int_equal(wrong_words(&arena), 0);
    arena_release(&arena);
    assert_int_equal(cold.packed_bytes, 0);
    cold_arenas_end(&cold);
}

/* A small one is cleared and kept for the next replay, which must find zeros that it can write. */
static void a_packed_one_that_is_kept_is_all_zero(void **state)
{
    (void)state;
    struct cold_arenas cold;
    struct arena arena = {0};
    begin(&cold);
    arena_grow(&arena, 1 << 17);
    void *base = arena.base;
    memset(arena.base, 7, 1 << 17);
    cold_arenas_pack_all();
    arena_release(&arena);
    cold_arenas_end(&cold);
    arena_grow(&arena, 1 << 17);
    assert_ptr_equal(arena.base, base);
    for (size_t i = 0; i < 1 << 17; i++)
        assert_int_equal(((char *)arena.base)[i], 0);
    memset(arena.base, 1, 1 << 17);
    arena_release(&arena);
}

static void what_is_left_at_the_end_is_unpacked(void **state)
{
    (void)state;
    struct cold_arenas cold;
    struct arena arena = {0};
    begin(&cold);
    fill(&arena);
    cold_arenas_pack_all();
    cold_arenas_end(&cold);
    assert_int_equal(wrong_words(&arena), 0);
    arena_release(&arena);
}

static void only_what_has_rested_is_packed(void **state)
{
    (void)state;
    const uint64_t s = 1000000000;
    struct cold_arenas cold;
    struct arena arena = {0};
    struct timespec now;
    begin(&cold);
    fill(&arena);
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * s + (uint64_t)now.tv_nsec;
    cold_arenas_pack(now_ns, false);
    assert_int_equal(cold.packed_pieces, 0);
    cold_arenas_pack(now_ns + s, false);
    size_t at_once = cold.packed_pieces;
    assert_in_range(at_once, 1, PIECES - 1);
    cold_arenas_pack(now_ns + s,
                     false); /* the others' turn: their share of the processors is used up */
    assert_int_equal(cold.packed_pieces, at_once);
    for (uint64_t i = 2; i < 100; i++)
        cold_arenas_pack(now_ns + i * s, false);
    assert_int_equal(cold.packed_pieces, PIECES);
    assert_int_equal(wrong_words(&arena), 0);
    cold_arenas_pack(now_ns + 200 * s, true); /* who has nothing else to do packs all */
    assert_int_equal(cold.packed_pieces, PIECES);
    arena_release(&arena);
    cold_arenas_end(&cold);
}

/* ---- Several threads ---- */

struct shared {
    struct arena arena;
    atomic_bool over;
    atomic_size_t wrong, rounds;
};

static void *read_again_and_again(void *context)
{
    struct shared *shared = context;
    while (!shared->over) {
        shared->wrong += wrong_words(&shared->arena);
        shared->rounds++;
    }
    return NULL;
}

static void others_read_while_it_is_packed(void **state)
{
    (void)state;
    struct cold_arenas cold;
    struct shared shared = {0};
    pthread_t readers[2];
    begin(&cold);
    fill(&shared.arena);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_again_and_again, &shared), 0);
    for (int round = 0; round < 40 || shared.rounds < 20; round++)
        cold_arenas_pack_all();
    shared.over = true;
    for (int i = 0; i < 2; i++)
        pthread_join(readers[i], NULL);
    assert_int_equal(shared.wrong, 0);
    arena_release(&shared.arena);
    cold_arenas_end(&cold);
}

static void *count_up(void *context)
{
    struct shared *shared = context;
    _Atomic uint32_t *words = shared->arena.base;
    for (uint32_t i = 0; i < 100; i++)
        for (size_t at = 0; at < WORDS; at += 1000)
            words[at]++;
    shared->over = true;
    return NULL;
}

static void nothing_is_lost_that_others_write_meanwhile(void **state)
{
    (void)state;
    struct cold_arenas cold;
    struct shared shared = {0};
    pthread_t writer;
    begin(&cold);
    fill(&shared.arena);
    assert_int_equal(pthread_create(&writer, NULL, count_up, &shared), 0);
    while (!shared.over)
        cold_arenas_pack_all();
    pthread_join(writer, NULL);
    uint32_t *words = shared.arena.base;
    for (size_t at = 0; at < WORDS; at += 1000)
        words[at] -= 100;
    assert_int_equal(wrong_words(&shared.arena), 0);
    arena_release(&shared.arena);
    cold_arenas_end(&cold);
}

/* ---- Faults that are not ours ---- */

static void end_by(bool by_kill)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (by_kill)
        kill(getpid(), SIGSEGV);
    else
        *(volatile char *)mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
    _exit(0);
}

static void another_fault_ends_the_process(void **state)
{
    (void)state;
    assert_int_equal(cold_arenas_prepare(), 0);
    for (int by_kill = 0; by_kill < 2; by_kill++) {
        int status;
        pid_t child = fork();
        if (child == 0)
            end_by(by_kill);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_packed_takes_less_and_reads_the_same),
        cmocka_unit_test(it_can_be_written_and_packed_again),
        cmocka_unit_test(what_was_never_written_stays_without_memory),
        cmocka_unit_test(it_grows_while_it_is_packed),
        cmocka_unit_test(a_packed_one_that_is_kept_is_all_zero),
        cmocka_unit_test(what_is_left_at_the_end_is_unpacked),
        cmocka_unit_test(only_what_has_rested_is_packed),
        cmocka_unit_test(others_read_while_it_is_packed),
        cmocka_unit_test(nothing_is_lost_that_others_write_meanwhile),
        cmocka_unit_test(another_fault_ends_the_process),
    };
    if (sysconf(_SC_PAGESIZE) != 4096)
        return 77; /* then nothing is packed */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
