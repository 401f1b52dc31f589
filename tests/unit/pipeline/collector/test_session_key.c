/* Who knows a session's name and key may join it: the key is random, or there is no session. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>
#include "collector/collector.h"

static bool device_fails;

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
ssize_t __wrap_getrandom(void *bytes, size_t count, unsigned flags);
int __real_open(const char *path, int flags, int mode);
int __wrap_open(const char *path, int flags, int mode);

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (number != SYS_getrandom)
        return __real_syscall(number, a, b, c, d, e, f);
    errno = ENOSYS;
    return -1;
}

ssize_t __wrap_getrandom(void *bytes, size_t count, unsigned flags)
{
    (void)bytes, (void)count, (void)flags;
    errno = ENOSYS;
    return -1;
}

int __wrap_open(const char *path, int flags, int mode)
{
    if (!device_fails || strcmp(path, "/dev/urandom"))
        return __real_open(path, flags, mode);
    errno = ENOENT;
    return -1;
}

static void a_refused_call_makes_no_key_of_zeros(void **state)
{
    (void)state;
    struct collector_options options = COLLECTOR_OPTIONS_INIT;
    struct collector *collector = NULL;
    device_fails = false;
    assert_int_equal(collector_open(&collector, &options, NULL), 0);
    const char *key = strchr(collector_name(collector), ':');
    assert_non_null(key);
    assert_true(strspn(key + 1, "0") < strlen(key + 1));
    collector_close(collector);
}

static void without_a_source_there_is_no_session(void **state)
{
    (void)state;
    struct collector_options options = COLLECTOR_OPTIONS_INIT;
    struct collector *collector = NULL;
    device_fails = true;
    int error = collector_open(&collector, &options, NULL);
    assert_true(error < 0);
    assert_non_null(strstr(collector_open_error(error), "random"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_call_makes_no_key_of_zeros),
        cmocka_unit_test(without_a_source_there_is_no_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
