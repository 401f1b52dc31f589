/* How long a wait has lasted: by the kernel's clock, which a program may not forbid by PR_SET_TSC;
 * by the steps' length where a filter forbids to ask for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/now.h"
#include "recorder/step_wait.h"

enum { STEPS = 500, STEP_MS = 20 };

/* The word has changed already, so each step ends at once: by the steps' length, 10 s are over. */
static uint64_t waited_ms(void)
{
    _Atomic uint32_t word = 1;
    struct step_wait wait = step_wait_begin(STEP_MS);
    for (unsigned i = 0; i < STEPS; i++)
        step_wait_for(&wait, &word, 0);
    return step_wait_ms(&wait);
}

static void steps_that_end_early_are_timed(void **state)
{
    (void)state;
    uint64_t begun_ns = now_monotonic_ns(), waited = waited_ms();
    assert_true(waited <= (now_monotonic_ns() - begun_ns) / 1000000);
}

static void without_the_kernels_time_steps_count(void **state)
{
    (void)state;
    calls_forbidden = CALL_TIME;
    uint64_t waited = waited_ms();
    calls_forbidden = 0;
    assert_int_equal(waited, STEPS * STEP_MS);
}

/* In a child: what is forbidden here stays forbidden. Nobody may read the processor's clock, the C
 * library neither. */
static void a_program_without_the_processors_clock_is_timed(void **state)
{
    (void)state;
    pid_t child = fork();
    if (!child) {
        if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
            _exit(77);
        calls_forbidden = CALL_CLOCK; /* as the hook of prctl() says */
        uint64_t begun_ns = now_monotonic_ns(), waited = waited_ms();
        _exit(waited > (now_monotonic_ns() - begun_ns) / 1000000);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip(); /* other processors have no such switch */
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_that_end_early_are_timed),
        cmocka_unit_test(without_the_kernels_time_steps_count),
        cmocka_unit_test(a_program_without_the_processors_clock_is_timed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
