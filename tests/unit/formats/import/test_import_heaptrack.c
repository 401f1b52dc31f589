/* heaptrack's events against a plain account of random ones: blocks kept in a list, sums made anew
 * at each peak. Prints its seed; SEED=n repeats it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "import/gather.h"
#include "import/import.h"

enum { INFOS = 12, TRACES = 5, EVENTS = 4000 };

struct account {
    uint64_t size[INFOS], trace[INFOS], live[INFOS]; /* live: blocks */
    uint64_t born[TRACES + 1], live_bytes[TRACES + 1], at_peak[TRACES + 1], temporary[TRACES + 1];
    uint64_t level, peak;
    int last;
};

static void write_names(struct strbuf *file, struct account *account)
{
    strbuf_add_string(file, "v 10400 3\nX ./p\nI 1000 10\ns 1 f\n");
    for (int i = 1; i <= TRACES; i++)
        strbuf_addf(file, "i %x 0 1 0 %x\nt %x %x\n", 0x100 + i, i, i, i / 2);
    strbuf_add_string(file, "a 0 0\n"); /* the number of no last allocation */
    for (int i = 1; i < INFOS; i++) {
        account->size[i] = (uint64_t)rand() % 3000;
        account->trace[i] = 1 + (uint64_t)rand() % TRACES;
        strbuf_addf(file, "a %llx %llx\n", (unsigned long long)account->size[i],
                    (unsigned long long)account->trace[i]);
    }
}

static void add_event(struct strbuf *file, struct account *account)
{
    int info = 1 + rand() % (INFOS - 1);
    uint64_t trace = account->trace[info];
    if (rand() % 100 < 52 || !account->live[info]) {
        strbuf_addf(file, "+ %x\n", info);
        account->live[info]++;
        account->born[trace]++;
        account->live_bytes[trace] += account->size[info];
        account->level += account->size[info];
        account->last = info;
        if (account->level > account->peak) {
            account->peak = account->level;
            memcpy(account->at_peak, account->live_bytes, sizeof account->at_peak);
        }
    } else {
        strbuf_addf(file, "- %x\n", info);
        account->live[info]--;
        account->live_bytes[trace] -= account->size[info];
        account->level -= account->size[info];
        account->temporary[trace] += account->last == info;
        account->last = 0;
    }
}

/* Traces are paths in the order of their making: trace n is path n. */
static void compare(struct gather *gather, const struct account *account)
{
    uint64_t born = 0;
    for (uint32_t path = 1; path <= TRACES; path++) {
        const struct call_metrics *metrics = &gather_site(gather, path)->metrics;
        assert_int_equal(figure_or(metrics->alloc_count, UINT64_MAX), account->born[path]);
        assert_int_equal(figure_or(metrics->live_bytes, UINT64_MAX), account->live_bytes[path]);
        assert_int_equal(figure_or(metrics->at_peak_bytes, UINT64_MAX), account->at_peak[path]);
        assert_int_equal(figure_or(metrics->temporary_count, UINT64_MAX), account->temporary[path]);
        assert_false(figure_known(metrics->slack_bytes));
        born += account->born[path];
    }
    assert_int_equal(figure_or(gather->program.total.alloc_count, UINT64_MAX), born);
    assert_int_equal(figure_or(gather->program.total.peak_bytes, UINT64_MAX), account->peak);
    assert_int_equal(figure_or(gather->program.total.at_peak_bytes, UINT64_MAX), account->peak);
}

static void random_events(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct account account = {0};
        struct strbuf file = STRBUF_INIT, why = STRBUF_INIT;
        struct gather *gather;
        write_names(&file, &account);
        for (int i = 0; i < EVENTS; i++)
            add_event(&file, &account);
        assert_int_equal(
            import_bytes(&gather, file.data, file.length, import_format_find("heaptrack"), &why),
            0);
        compare(gather, &account);
        gather_free(gather);
        strbuf_release(&file);
        strbuf_release(&why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_events)};
    unsigned seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : (unsigned)time(NULL);
    printf("seed %u\n", seed);
    srand(seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
