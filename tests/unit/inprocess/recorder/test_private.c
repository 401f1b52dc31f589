/* Private memory of the recorder: what a session took is the next one's, and what two sessions do
 * not want is unmapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "recorder/shared.h"

enum { BYTES = 3 * 4096, MANY = 3000 }; /* more than the collector is told of one by one */

static bool is_mapped(void *memory)
{
    unsigned char there;
    return mincore(memory, 4096, &there) == 0;
}

static void forget_all(void)
{
    shared_renew();
    shared_renew();
}

static void test_the_next_session_takes_it_again(void **state)
{
    (void)state;
    forget_all();
    char *first = private_map(BYTES);
    memset(first, 'x', BYTES);
    shared_renew();
    char *second = private_map(BYTES);
    assert_ptr_equal(first, second);
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(second[i], 0);
    assert_ptr_not_equal(private_map(BYTES), second); /* once only */
}

/* mlockall() of the program's: such memory cannot be emptied, and is not given out as if it
 * were. */
static void test_what_is_locked_is_not_taken_again(void **state)
{
    (void)state;
    forget_all();
    char *memory = private_map(BYTES);
    memset(memory, 'x', BYTES);
    if (mlock(memory, BYTES) < 0)
        skip();
    shared_renew();
    char *next = private_map(BYTES);
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(next[i], 0);
}

static void test_what_nobody_wants_is_unmapped(void **state)
{
    (void)state;
    forget_all();
    void *memory = private_map(BYTES);
    shared_renew();
    assert_true(is_mapped(memory));
    shared_renew();
    assert_false(is_mapped(memory));
}

static void test_what_lasts_stays(void **state)
{
    (void)state;
    char *lasting = private_map_lasting(BYTES), *kept = private_map_kept(BYTES);
    lasting[0] = kept[0] = 'x';
    forget_all();
    assert_int_equal(lasting[0], 'x');
    assert_int_equal(kept[0], 'x');
    assert_ptr_not_equal(private_map(BYTES), lasting);
}

static void test_a_child_has_spare_memory_that_is_wiped(void **state)
{
    int status;
    (void)state;
    forget_all();
    char *memory = private_map(BYTES);
    shared_renew();
    assert_ptr_equal(private_map(BYTES), memory);
    memory[0] = 'x';
    pid_t child = fork();
    if (child == 0)
        _exit(memory[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(memory[0], 'x');
}

static void test_any_number_is_remembered(void **state)
{
    static void *memory[MANY];
    (void)state;
    for (size_t i = 0; i < MANY; i++)
        assert_non_null(memory[i] = private_map(4096));
    forget_all();
    for (size_t i = 0; i < MANY; i++)
        assert_false(is_mapped(memory[i]));
}

/* Each mapping costs a short process system calls, and the collector a text of the kernel's. */
static void test_first_pieces_share_a_mapping(void **state)
{
    (void)state;
    forget_all();
    char *first = private_map(4096), *second = private_map(BYTES);
    assert_ptr_equal(second, first + 4096);
    char *kept = private_map_kept(4096);
    assert_ptr_equal(private_map_kept(4096), kept + 4096);
    char *large = private_map(1 << 20); /* has no room there */
    memset(large, 'x', 1 << 20);
    assert_ptr_equal(private_map(4096), second + BYTES);
    forget_all();
    assert_false(is_mapped(large));
    assert_false(is_mapped(first));
    assert_true(is_mapped(kept));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_next_session_takes_it_again),
        cmocka_unit_test(test_what_is_locked_is_not_taken_again),
        cmocka_unit_test(test_what_nobody_wants_is_unmapped),
        cmocka_unit_test(test_what_lasts_stays),
        cmocka_unit_test(test_a_child_has_spare_memory_that_is_wiped),
        cmocka_unit_test(test_any_number_is_remembered),
        cmocka_unit_test(test_first_pieces_share_a_mapping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
