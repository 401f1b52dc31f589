/* Sentences about what the kernel forbids, by Yama's policy: a file that the test writes, since few
 * machines have each of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "attach/attach.h"
#include "base/error.h"
#include "attach/permission.h"

static const char *refused(int error, const char *policy)
{
    static char path[] = "/tmp/tidemark-yama-XXXXXX";
    static int fd = -1;
    if (fd < 0)
        fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, policy, strlen(policy), 0), (ssize_t)strlen(policy));
    assert_int_equal(permission_refused(4711, error, path), error);
    return error_text();
}

static void yamas_policy_is_told_with_a_way_out(void **state)
{
    (void)state;
    assert_string_equal(refused(-EPERM, "1\n"),
                        "the kernel lets nobody but its parents trace process 4711 "
                        "(kernel.yama.ptrace_scope is 1): be root, or sudo sysctl "
                        "kernel.yama.ptrace_scope=0");
    assert_string_equal(refused(-EPERM, "2\n"),
                        "the kernel lets nobody but root trace process 4711 "
                        "(kernel.yama.ptrace_scope is 2): be root, or sudo sysctl "
                        "kernel.yama.ptrace_scope=0");
    assert_string_equal(
        refused(-EPERM, "3\n"),
        "the kernel lets nobody trace process 4711 (kernel.yama.ptrace_scope is 3): "
        "restart the machine with another setting, 3 is final; or start the program "
        "with tidemark record");
}

static void without_a_policy_it_is_the_users_rights(void **state)
{
    (void)state;
    static const char *const none[] = {"0\n", "", "none\n", "-1\n"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_non_null(
            strstr(refused(-EPERM, none[i]), "be its user or root, with CAP_SYS_PTRACE"));
    assert_int_equal(permission_refused(4711, -EPERM, "/nowhere/ptrace_scope"), -EPERM);
    assert_non_null(strstr(error_text(), "be its user or root"));
}

static void other_reasons_are_not_the_policys(void **state)
{
    (void)state;
    assert_string_equal(refused(-ESRCH, "1\n"), "process 4711 has ended");
    assert_non_null(strstr(refused(-EBUSY, "1\n"), "is being traced by another process"));
    assert_non_null(strstr(refused(-ETIMEDOUT, "1\n"), "waits in the kernel"));
    assert_non_null(strstr(refused(-EIO, "1\n"), strerror(EIO)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yamas_policy_is_told_with_a_way_out),
        cmocka_unit_test(without_a_policy_it_is_the_users_rights),
        cmocka_unit_test(other_reasons_are_not_the_policys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
