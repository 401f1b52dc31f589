/* A write that finds the disk full gives the reserve back first, then waits as long as its owner is
 * patient. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "profile/reserve.h"

static unsigned asked;

static bool patient_twice(void *context)
{
    (void)context;
    return asked++ < 2;
}

static void a_full_disk_is_no_help_without_a_reserve(void **state)
{
    (void)state;
    assert_false(reserve_helps(ENOSPC));
}

static void the_reserve_goes_before_anybody_waits(void **state)
{
    struct reserve reserve;
    (void)state;
    asked = 0;
    reserve_init(&reserve);
    reserve.patience = patient_twice;
    reserve_hold(&reserve, "/tmp/none.tmk", 1);
    bool held = reserve.fd >= 0; /* not on every file system */
    reserve_begin(&reserve);
    assert_true(reserve_helps(ENOSPC));
    assert_int_equal(reserve.fd, -1);
    assert_int_equal(asked, held ? 0 : 1);
    reserve_end();
}

static void a_write_waits_as_long_as_its_owner_is_patient(void **state)
{
    struct reserve reserve;
    unsigned waits = 0;
    (void)state;
    asked = 0;
    reserve_init(&reserve);
    reserve.patience = patient_twice;
    reserve_begin(&reserve);
    while (reserve_helps(ENOSPC))
        waits++;
    assert_int_equal(waits, 2);
    reserve_end();
}

static void a_device_is_asked_a_few_times(void **state)
{
    struct reserve reserve;
    unsigned tries = 0;
    (void)state;
    reserve_init(&reserve);
    reserve_begin(&reserve);
    while (reserve_helps(EIO))
        tries++;
    assert_in_range(tries, 1, 10);
    assert_false(reserve_helps(EBADF));
    reserve_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_is_no_help_without_a_reserve),
        cmocka_unit_test(the_reserve_goes_before_anybody_waits),
        cmocka_unit_test(a_write_waits_as_long_as_its_owner_is_patient),
        cmocka_unit_test(a_device_is_asked_a_few_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
