/* What all images of a collector share: descriptors and turns, of which none is ever given
 * twice. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>
#include "collector/quota.h"

enum { LIMIT = 200 };

static int limited(void **state)
{
    (void)state;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = LIMIT;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    quota_open();
    return 0;
}

static size_t keep_all(void)
{
    size_t kept = 0;
    while (quota_keep(1))
        kept++;
    return kept;
}

static size_t admit_all(void)
{
    size_t admitted = 0;
    while (quota_admit())
        admitted++;
    return admitted;
}

static void living_processes_leave_half_of_the_descriptors(void **state)
{
    (void)state;
    size_t kept = keep_all();
    assert_true(kept > LIMIT / 4 && kept <= LIMIT / 2);
    size_t admitted = admit_all();
    assert_true(admitted > 0);
    assert_true(kept + admitted * QUOTA_NEWCOMER < LIMIT * 3 / 4);
    quota_take(QUOTA_PROFILE); /* does not wait: the rest is for those who end */
    quota_give(QUOTA_PROFILE);
    while (admitted--)
        quota_give(QUOTA_NEWCOMER);
    quota_release(kept);
}

static void what_is_given_back_can_be_had_again(void **state)
{
    (void)state;
    size_t first = keep_all();
    quota_release(first);
    assert_int_equal(keep_all(), first);
    quota_release(first);
    first = admit_all();
    for (size_t i = 0; i < first; i++)
        quota_give(QUOTA_NEWCOMER);
    assert_int_equal(admit_all(), first);
    for (size_t i = 0; i < first; i++)
        quota_give(QUOTA_NEWCOMER);
}

static _Atomic size_t inside, most, served;

static void *taker(void *unused)
{
    (void)unused;
    quota_take(LIMIT / 3);
    size_t now = atomic_fetch_add(&inside, 1) + 1, seen = atomic_load(&most);
    while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now))
        ;
    usleep(1000);
    atomic_fetch_sub(&inside, 1);
    quota_give(LIMIT / 3);
    atomic_fetch_add(&served, 1);
    return NULL;
}

static void *completer(void *unused)
{
    (void)unused;
    quota_begin_completion();
    size_t now = atomic_fetch_add(&inside, 1) + 1, seen = atomic_load(&most);
    while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now))
        ;
    usleep(1000);
    atomic_fetch_sub(&inside, 1);
    quota_end_completion();
    atomic_fetch_add(&served, 1);
    return NULL;
}

static void run_many(void *(*work)(void *))
{
    enum { THREADS = 40 };
    pthread_t threads[THREADS];
    atomic_store(&most, 0);
    atomic_store(&served, 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&served), THREADS);
}

static void who_finds_too_few_waits_and_gets_them(void **state)
{
    (void)state;
    run_many(taker);
    assert_true(atomic_load(&most) <= 2);
}

static void few_complete_at_a_time_and_all_do(void **state)
{
    (void)state;
    run_many(completer);
    assert_true(atomic_load(&most) <= 8);
}

static void who_is_lent_some_does_not_wait(void **state)
{
    (void)state;
    atomic_bool lent = false;
    size_t kept = keep_all();
    assert_true(quota_take_unless(1, &lent));
    quota_lend(&lent);
    assert_false(quota_take_unless(LIMIT, &lent)); /* does not wait for what will never be there */
    quota_give(1);
    quota_release(kept);
    assert_int_equal(keep_all(), kept); /* nothing was taken */
    quota_release(kept);
}

static void more_than_there_is_goes_to_who_is_alone(void **state)
{
    (void)state;
    quota_take(10 * LIMIT);
    assert_false(quota_admit());
    quota_give(10 * LIMIT);
    assert_true(quota_admit());
    quota_give(QUOTA_NEWCOMER);
}

static void what_is_kept_keeps_no_newcomer_out_alone(void **state)
{
    (void)state;
    size_t kept = keep_all();
    while (quota_keep(1))
        kept++;
    assert_true(quota_admit());
    quota_give(QUOTA_NEWCOMER);
    quota_release(kept);
}

static void not_bounded_everybody_works_at_once(void **state)
{
    (void)state;
    enum { MANY = 100 };
    for (int i = 0; i < MANY; i++)
        assert_true(quota_try_work());
    for (int i = 0; i < MANY; i++)
        quota_end_work();
    quota_begin_life();
    assert_int_equal(quota_crowd(), 1);
    quota_end_life();
}

static void count_turn(void *waited)
{
    atomic_fetch_add((atomic_int *)waited, 1);
}

static void *urgent_worker(void *waited)
{
    quota_begin_work(count_turn, waited);
    atomic_fetch_add(&served, 1);
    quota_end_work();
    return NULL;
}

static void few_work_at_a_time_and_the_urgent_first(void **state)
{
    (void)state;
    atomic_int waited = 0;
    size_t turns = 0;
    pthread_t thread;
    quota_bound_work();
    while (quota_try_work())
        turns++;
    assert_true(turns >= 2 && turns <= 8);
    atomic_store(&served, 0);
    assert_int_equal(pthread_create(&thread, NULL, urgent_worker, &waited), 0);
    while (!atomic_load(&waited))
        usleep(1000);
    assert_int_equal(atomic_load(&served), 0);
    assert_false(quota_try_work());
    quota_end_work();
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&served), 1);
    assert_true(quota_try_work());
    while (turns--)
        quota_end_work();
}

static void a_crowd_is_counted_by_turns(void **state)
{
    (void)state;
    enum { IMAGES = 80 };
    quota_bound_work();
    for (int i = 0; i < IMAGES; i++)
        quota_begin_life();
    assert_true(quota_crowd() >= IMAGES / 8 && quota_crowd() <= IMAGES / 2);
    for (int i = 0; i < IMAGES; i++)
        quota_end_life();
    assert_int_equal(quota_crowd(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(living_processes_leave_half_of_the_descriptors),
        cmocka_unit_test(what_is_given_back_can_be_had_again),
        cmocka_unit_test(who_finds_too_few_waits_and_gets_them),
        cmocka_unit_test(few_complete_at_a_time_and_all_do),
        cmocka_unit_test(who_is_lent_some_does_not_wait),
        cmocka_unit_test(more_than_there_is_goes_to_who_is_alone),
        cmocka_unit_test(what_is_kept_keeps_no_newcomer_out_alone),
        cmocka_unit_test(not_bounded_everybody_works_at_once),
        cmocka_unit_test(few_work_at_a_time_and_the_urgent_first),
        cmocka_unit_test(a_crowd_is_counted_by_turns),
    };
    return cmocka_run_group_tests(tests, limited, NULL);
}
