/* Sizes of blocks by their headers: what malloc_usable_size() says, for blocks of every kind; and
 * never where it once said something else, or where malloc is not glibc's. */
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "interpose/real.h"
#include "recorder/thread.h"
#include "recorder/usable.h"

static bool is_glibc = true;
static unsigned plain_seen;
bool real_is_glibc(void)
{
    return is_glibc;
}
void thread_see_plain(void)
{
    plain_seen++;
}

/* The compiler knows where malloc's blocks begin, and that nothing is in front of them. */
static void *anywhere(void *block)
{
    __asm__("" : "+r"(block));
    return block;
}

static bool agrees(void *block)
{
    size_t said = usable_of_header(block);
    return said ? said == malloc_usable_size(block) : malloc_usable_size(block) > 100000;
}

/* Neighbours, blocks used again, aligned ones, mapped ones: of the arena of whoever calls. */
static void *all_kinds_agree(void *disagreements)
{
    enum { KEPT = 64 };
    void *kept[KEPT] = {NULL};
    unsigned wrong = 0;
    for (size_t i = 0; i < 20000; i++) {
        size_t size = i % 1000 == 999 ? 200000 + i * 50 : i * 7919 % 3000;
        void *block = i % 7 ? malloc(size) : memalign(16u << i % 5, size);
        wrong += !agrees(anywhere(block));
        free(kept[i * 31 % KEPT]);
        kept[i * 31 % KEPT] = block;
    }
    for (size_t i = 0; i < KEPT; i++)
        free(kept[i]);
    *(unsigned *)disagreements = wrong;
    return NULL;
}

static void headers_say_what_the_function_says(void **state)
{
    (void)state;
    unsigned here, there;
    pthread_t thread;
    all_kinds_agree(&here);
    assert_int_equal(pthread_create(&thread, NULL, all_kinds_agree, &there), 0);
    pthread_join(thread, NULL);
    assert_int_equal(here, 0);
    assert_int_equal(there, 0);
}

static void learn(unsigned blocks, size_t wrong_by)
{
    for (unsigned i = 0; i < blocks; i++) {
        void *block = anywhere(malloc(i));
        usable_learn(block, malloc_usable_size(block) + wrong_by);
        free(block);
    }
}

/* What is learned is learned for good: each in a process of its own. */
static bool in_child(bool (*check)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(check() ? 0 : 1);
    return waitpid(child, &status, 0) == child && status == 0;
}

static bool known_after_enough(void)
{
    learn(20, 0);
    bool early = usable_by_header;
    learn(200, 0);
    return !early && usable_by_header && plain_seen == 1;
}

static bool mapped_ones_teach_nothing(void)
{
    void *block = anywhere(malloc(8 << 20));
    for (unsigned i = 0; i < 200; i++)
        usable_learn(block, malloc_usable_size(block));
    return !usable_by_header;
}

static bool one_diff_is_enough(void)
{
    learn(20, 0);
    learn(1, 16);
    learn(2000, 0);
    return !usable_by_header && plain_seen == 0;
}

static bool others_are_asked(void)
{
    is_glibc = false;
    learn(2000, 0);
    return !usable_by_header && plain_seen == 0;
}

static void it_is_learned_and_refuted(void **state)
{
    (void)state;
    assert_true(in_child(known_after_enough));
    assert_true(in_child(mapped_ones_teach_nothing));
    assert_true(in_child(one_diff_is_enough));
    assert_true(in_child(others_are_asked));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_say_what_the_function_says),
        cmocka_unit_test(it_is_learned_and_refuted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
