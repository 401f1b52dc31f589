/* The order of two threads by their time stamps (base/ticks.h): who passes something on takes a
 * stamp before, who receives it takes one afterwards, and the second is not below the first. The
 * receiver looks seldom and at random moments, so that it often waits for the cache line while its
 * processor goes on by guess: where it looks all the time, missing fences hardly show.
 *
 * What stamps without fences do is printed and not judged: no processor has to get them wrong. */
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "base/now.h"
#include "base/ticks.h"

enum { GIVER_WORK = 10, RECEIVER_WORK = 40, LOOK_EVERY = 400, HOLD_FOR = 200 };
#define MOST_HAND_OVERS 100000
#define MOST_NS         2000000000u

/* Each in a cache line of its own. */
struct line {
    _Alignas(128) _Atomic uint64_t value;
};

struct hand_over {
    struct line passed, taken; /* passed: twice the number, odd while it is being made */
    _Alignas(128) uint64_t given_ticks;
    bool fenced_giver, fenced_receiver;
    uint64_t count, inversions, worst_ticks;
};

static void work(uint64_t rounds)
{
    while (rounds--)
        __asm__ volatile("" ::: "memory");
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static uint64_t stamp(bool fenced)
{
    return fenced ? ticks_now() : ticks_unfenced();
}

static cpu_set_t allowed; /* to the test, before its threads stay anywhere */

/* On the n-th processor; false: there is none. */
static bool stay_on(int n)
{
    cpu_set_t one;

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || n--)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        return !pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    }
    return false;
}

static void *give(void *argument)
{
    struct hand_over *over = argument;
    uint64_t state = 88172645463325252ull, i = 0, looks = 0, before;

    stay_on(1);
    while ((before = atomic_load_explicit(&over->taken.value, memory_order_acquire)) !=
           UINT64_MAX) {
        if (before != i) {
            if (++looks % 65536 == 0)
                sched_yield();
            continue;
        }
        atomic_store(&over->passed.value, i++ << 1 | 1); /* the line is in this processor now */
        work(next_random(&state) % HOLD_FOR);
        uint64_t ticks = stamp(over->fenced_giver);
        work(GIVER_WORK);
        over->given_ticks = ticks;
        atomic_store_explicit(&over->passed.value, i << 1, memory_order_release);
    }
    return NULL;
}

static void receive(struct hand_over *over, uint64_t *state)
{
    uint64_t ticks, looks = 0;

    do {
        work(next_random(state) % LOOK_EVERY);
        if (++looks % 4096 == 0)
            sched_yield(); /* a processor that both share, on a busy machine */
    } while (atomic_load_explicit(&over->passed.value, memory_order_acquire) != (over->count + 1)
                                                                                    << 1);
    work(RECEIVER_WORK);
    ticks = stamp(over->fenced_receiver);
    if (ticks < over->given_ticks) {
        over->inversions++;
        if (over->given_ticks - ticks > over->worst_ticks)
            over->worst_ticks = over->given_ticks - ticks;
    }
    atomic_store_explicit(&over->taken.value, ++over->count, memory_order_release);
}

static struct hand_over hand_over(bool fenced_giver, bool fenced_receiver)
{
    static struct hand_over over;
    uint64_t state = 2463534242;
    uint64_t end_ns = now_monotonic_ns() + MOST_NS;
    pthread_t giver;

    over = (struct hand_over){.fenced_giver = fenced_giver, .fenced_receiver = fenced_receiver};
    assert_int_equal(pthread_create(&giver, NULL, give, &over), 0);
    while (over.count < MOST_HAND_OVERS && (over.count % 1024 || now_monotonic_ns() < end_ns))
        receive(&over, &state);
    atomic_store(&over.taken.value, UINT64_MAX);
    pthread_join(giver, NULL);
    print_message(
        "%s giver, %s receiver: %llu of %llu hand-overs the wrong way, by %llu ticks at most\n",
        fenced_giver ? "fenced" : "plain", fenced_receiver ? "fenced" : "plain",
        (unsigned long long)over.inversions, (unsigned long long)over.count,
        (unsigned long long)over.worst_ticks);
    return over;
}

static void test_fenced_stamps_have_the_order_of_a_hand_over(void **state)
{
    struct hand_over over;

    (void)state;
    if (sched_getaffinity(0, sizeof allowed, &allowed) || CPU_COUNT(&allowed) < 2)
        skip(); /* one processor */
    assert_true(stay_on(0));
    for (int plain = 0; plain < 3; plain++)
        hand_over(plain == 1, plain == 2);
    over = hand_over(true, true);
    assert_true(over.count > 0);
    assert_int_equal(over.inversions, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fenced_stamps_have_the_order_of_a_hand_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
