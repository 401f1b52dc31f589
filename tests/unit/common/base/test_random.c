/* Keys are random or there is none. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/random.h"

static bool call_fails, device_fails;

long __real_syscall(long number, void *bytes, size_t count, unsigned flags);
long __wrap_syscall(long number, void *bytes, size_t count, unsigned flags);
int __real_open(const char *path, int flags);
int __wrap_open(const char *path, int flags);

long __wrap_syscall(long number, void *bytes, size_t count, unsigned flags)
{
    if (number != SYS_getrandom || !call_fails)
        return __real_syscall(number, bytes, count, flags);
    errno = ENOSYS;
    return -1;
}

int __wrap_open(const char *path, int flags)
{
    if (!device_fails)
        return __real_open(path, flags);
    errno = ENOENT;
    return -1;
}

/* That 32 random bytes are all zero will not happen. */
static bool is_zero(const unsigned char bytes[32])
{
    static const unsigned char zeros[32];
    return !memcmp(bytes, zeros, sizeof zeros);
}

static void the_device_stands_in_for_the_call(void **state)
{
    (void)state;
    unsigned char bytes[32] = {0};
    assert_true(random_fill(bytes, sizeof bytes));
    assert_false(is_zero(bytes));
    memset(bytes, 0, sizeof bytes);
    call_fails = true;
    errno = 7;
    assert_true(random_fill(bytes, sizeof bytes));
    assert_false(is_zero(bytes));
    assert_int_equal(errno, 7);
}

static void without_either_it_fails(void **state)
{
    (void)state;
    unsigned char bytes[32] = {0};
    call_fails = device_fails = true;
    assert_false(random_fill(bytes, sizeof bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_device_stands_in_for_the_call),
        cmocka_unit_test(without_either_it_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
