/* What a trace holds, for scenarios: read_trace FILE.tmt [--sites]
 *
 *   damage     the reader's sentence, or "none"
 *   calls      records of each kind
 *   births, failed, deaths, bytes    calls that returned a block or none, frees, bytes asked for
 *   end        the fact of that name
 *
 * --sites: replays it and prints a line for each call path as a query on the profile's tables
 * would:
 * path|alloc_count|alloc_bytes|freed in time|peak bytes|live bytes; and the program's peak. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "replay/replay.h"
#include "base/error.h"
#include "trace/trace.h"
#include "wire/wire.h"

static const struct {
    unsigned kind;
    const char *name;
} kinds[] = {{WIRE_MALLOC, "malloc"},   {WIRE_CALLOC, "calloc"},
             {WIRE_ALIGNED, "aligned"}, {WIRE_NEW, "new"},
             {WIRE_NEW_ARRAY, "new[]"}, {WIRE_REALLOC_END, "realloc"},
             {WIRE_FREE, "free"},       {WIRE_FREE_AT, "free with a path"},
             {WIRE_MMAP, "mmap"},       {WIRE_THREAD_START, "thread"}};

struct sums {
    uint64_t calls[256], births, failed, deaths, bytes, events;
};

static int fail(void)
{
    fprintf(stderr, "%s\n", error_text());
    return 1;
}

static void count_record(struct sums *sums, const struct wire_record *record)
{
    unsigned kind = wire_kind(record->kind_address);
    bool birth = kind >= WIRE_MALLOC && kind <= WIRE_REALLOC_END;
    bool failed = kind >= (WIRE_MALLOC | WIRE_FAILED) && kind <= (WIRE_REALLOC_END | WIRE_FAILED);

    sums->events++;
    sums->calls[kind]++;
    sums->births += birth;
    sums->failed += failed;
    sums->bytes += birth || failed ? record->size_bytes : 0;
    sums->deaths += kind == WIRE_FREE || kind == WIRE_FREE_AT;
}

static void count_events(struct sums *sums, const struct trace_events *events)
{
    struct wire_record record = {0};

    for (size_t at = 0; at + 16 <= events->bytes;) {
        memcpy(&record, events->records + at, 16);
        size_t bytes = wire_record_bytes(record.kind_address);
        if (at + bytes > events->bytes)
            break;
        memcpy(&record, events->records + at, bytes);
        count_record(sums, &record);
        at += bytes;
    }
}

/* What is unknown cannot be mistaken for a number. */
static uint64_t number_of(struct figure figure)
{
    return figure_or(figure, UINT64_MAX);
}

static void print_site(const struct replay_site *site)
{
    const struct call_metrics *metrics = &site->metrics;

    printf("%" PRIu32 "|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "\n", site->node,
           number_of(metrics->alloc_count), number_of(metrics->alloc_bytes),
           number_of(metrics->free_count), number_of(metrics->peak_bytes),
           number_of(metrics->live_bytes));
}

static void print_sites(void *context, uint32_t first, struct replay_site *sites, size_t count)
{
    (void)context, (void)first;
    for (size_t i = 0; i < count; i++)
        print_site(&sites[i]);
}

static struct replay *new_replay(const struct trace *trace)
{
    const char *tick_ns = trace_fact(trace, TRACE_FACT_FIRST_TICK_NS);
    struct trace_options options;
    struct replay *replay;

    trace_options(trace, &options);
    replay = replay_new(options.start_ticks, tick_ns ? strtod(tick_ns, NULL) : 1);
    if (options.flags & TRACE_FREE_STACKS)
        replay_know_frees(replay);
    if (options.flags & TRACE_TIMED)
        replay_know_times(replay);
    replay_sample(replay, options.sample_bytes);
    return replay;
}

static int read_blocks(const struct trace *trace, struct replay *replay, struct sums *sums)
{
    struct trace_events events = {0};
    uint32_t streams = 0;
    int failed = 0;

    for (size_t i = 0; i < trace_block_count(trace); i++) {
        if (trace_events(trace, i, &events) < 0)
            continue; /* counted as damage */
        count_events(sums, &events);
        failed |= trace_replay(&events, replay, &streams) < 0;
    }
    trace_events_release(&events);
    return failed;
}

static int count_unknown_nodes(const struct trace *trace, size_t *nodes, size_t *unknown)
{
    struct trace_node *all;

    if (trace_nodes(trace, SIZE_MAX, &all, nodes) < 0)
        return fail();
    *unknown = 0;
    for (size_t i = 1; i < *nodes; i++)
        *unknown += !all[i].ip;
    free(all);
    return 0;
}

static int print_sums(const struct trace *trace, const struct sums *sums)
{
    const char *end = trace_fact(trace, TRACE_FACT_META "end");
    struct trace_damage damage;
    size_t nodes, unknown;
    char sentence[512];

    if (count_unknown_nodes(trace, &nodes, &unknown))
        return 1;
    trace_damage(trace, &damage, sentence, sizeof sentence);
    printf("damage: %s\n", *sentence ? sentence : "none");
    printf("events: %" PRIu64 "\nunknown nodes: %zu\n", sums->events, unknown);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (sums->calls[kinds[i].kind])
            printf("%s: %" PRIu64 "\n", kinds[i].name, sums->calls[kinds[i].kind]);
    printf("births: %" PRIu64 "\nfailed: %" PRIu64 "\ndeaths: %" PRIu64 "\nbytes: %" PRIu64
           "\nend: %s\n",
           sums->births, sums->failed, sums->deaths, sums->bytes, end ? end : "not told");
    return 0;
}

int main(int argc, char **argv)
{
    struct program_metrics program;
    struct sums sums = {0};
    struct replay *replay;
    struct trace *trace;
    int failed;

    if (argc < 2)
        return 2;
    if (trace_open(&trace, argv[1]) < 0)
        return fail();
    replay = new_replay(trace);
    failed = read_blocks(trace, replay, &sums);
    if (argc > 2) {
        replay_changed_blocks(replay, print_sites, NULL);
        replay_program(replay, &program);
        printf("program|%" PRIu64 "\n", number_of(program.total.peak_bytes));
    } else {
        failed |= print_sums(trace, &sums);
    }
    replay_free(replay);
    trace_close(trace);
    return failed;
}
