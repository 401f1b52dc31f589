/* Arenas that were released serve again: whatever was written into one, the next reads as zero. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "blocks/arena.h"

static bool is_zero(const char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (memory[i])
            return false;
    return true;
}

static void what_was_released_reads_as_zero_again(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 65536, 65537, 200000, 1 << 20, 3 << 20};
    for (size_t round = 0; round < 200; round++) {
        size_t bytes = sizes[round % 6], used = round % 3 ? bytes : bytes / 7;
        struct arena arena = {0};
        arena_grow(&arena, bytes);
        assert_true(arena.bytes >= bytes);
        assert_true(is_zero(arena.base, arena.bytes));
        memset(arena.base, 1, used);
        if (round % 2)
            arena_release_used(&arena, used);
        else
            arena_release(&arena);
        assert_null(arena.base);
    }
}

static void a_small_one_is_used_again(void **state)
{
    (void)state;
    struct arena arena = {0};
    arena_grow(&arena, 1);
    void *base = arena.base;
    arena_release(&arena);
    arena_grow(&arena, 1);
    assert_ptr_equal(arena.base, base);
    arena_release(&arena);
}

static void many_at_once_are_apart(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    static struct arena arenas[COUNT];
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            arena_grow(&arenas[i], 100);
            *(size_t *)arenas[i].base = i + 1;
        }
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(*(size_t *)arenas[i].base, i + 1);
            arena_release(&arenas[i]);
        }
    }
}

/* Sites count one rare record more than they have: full, an arena has no room for it. What lies
 * behind is somebody else's. */
static void nothing_behind_it_is_cleared(void **state)
{
    (void)state;
    enum { BYTES = 1 << 16, PAGE = 4096 };
    char *place =
        mmap(NULL, BYTES + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(place, MAP_FAILED);
    memset(place, 1, BYTES + PAGE);
    struct arena arena = {.base = place, .bytes = BYTES};
    arena_release_used(&arena, BYTES + 24);
    assert_int_equal(place[BYTES], 1);
    assert_int_equal(place[BYTES + 23], 1);
    munmap(place + BYTES, PAGE);
}

static atomic_bool forks_are_over;

static void *grow_and_release(void *unused)
{
    while (!atomic_load(&forks_are_over)) {
        struct arena arena = {0};
        arena_grow(&arena, 1);
        arena_release_used(&arena, 0);
    }
    return unused;
}

/* A child has a copy of the lock that a thread of the parent holds. */
static void the_child_of_a_fork_does_not_wait(void **state)
{
    (void)state;
    enum { FORKS = 400 };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, grow_and_release, NULL), 0);
    int failed = 0;
    for (int i = 0; i < FORKS && !failed; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct arena arena = {0};
            alarm(60);
            arena_grow(&arena, 1);
            arena_release_used(&arena, 0);
            _exit(0);
        }
        int status = -1;
        failed = child < 0 || waitpid(child, &status, 0) != child || status != 0;
    }
    atomic_store(&forks_are_over, true);
    pthread_join(thread, NULL);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_released_reads_as_zero_again),
        cmocka_unit_test(a_small_one_is_used_again),
        cmocka_unit_test(many_at_once_are_apart),
        cmocka_unit_test(nothing_behind_it_is_cleared),
        cmocka_unit_test(the_child_of_a_fork_does_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
