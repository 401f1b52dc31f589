/* How many events per second one core replays. The stream is that of a large C++ program: call
 * paths of very unequal activity, small blocks and a few large ones, most of them short-lived, a
 * million that stay; four threads whose records come in runs, as the collector's merge delivers
 * them.
 *
 *   bench_replay [million events] [live blocks] [call paths] [records per run] [bytes a block]
 *   bench_replay FILE.tmt         that trace: what decoding and what replaying takes
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "replay/replay.h"
#include "base/error.h"
#include "trace/trace.h"

#define THREADS        4
#define LARGE          256 /* one block in so many has 4 to 68 KiB */
#define RECENT         64  /* a free takes one of the last RECENT blocks of its thread … */
#define RECENT_PERCENT 60  /* … this often, else any block */

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static uint64_t random_below(uint64_t limit)
{
    return random_u64() % limit;
}

struct run {
    size_t offset, bytes;
    uint32_t thread;
};

struct stream {
    uint64_t *words;
    size_t used, room, events;
    struct run *runs;
    size_t run_count;
    uint64_t ticks;
};

/* The blocks of the program: a slot is an address. */
struct heap {
    uint64_t *live, *spare;
    size_t live_count, spare_count;
};

static void heap_init(struct heap *heap, size_t blocks, size_t step)
{
    heap->live = malloc(blocks * sizeof(uint64_t));
    heap->spare = malloc(blocks * sizeof(uint64_t));
    heap->live_count = 0;
    heap->spare_count = blocks;
    for (size_t i = 0; i < blocks; i++) /* lowest addresses are used first */
        heap->spare[blocks - 1 - i] = 0x555555a00000 + i * step;
}

static void put(struct stream *stream, unsigned kind, uint64_t address, uint64_t size,
                uint32_t node)
{
    uint64_t *at = stream->words + stream->used;

    stream->ticks += 20 + random_below(200);
    at[0] = (uint64_t)kind << 56 | address;
    at[1] = stream->ticks;
    if (kind & WIRE_LONG) {
        at[2] = size;
        at[3] = wire_detail(node, 8, 0);
    }
    stream->used += kind & WIRE_LONG ? 4 : 2;
    stream->events++;
}

/* Three quarters of the events come from paths of very unequal activity, the rest from all alike.
 * One node in three is a call path that allocates. */
static uint32_t some_path(uint32_t paths)
{
    double u = (double)(random_u64() >> 11) * 0x1p-53;
    uint32_t rank =
        random_u64() % 4 ? (uint32_t)(pow((double)paths, u) - 1) : (uint32_t)random_below(paths);

    return 3 * rank + 1;
}

static uint64_t some_size(void)
{
    return random_below(LARGE) ? 16 + random_below(241) : 4096 + 16 * random_below(4096);
}

static void put_allocation(struct stream *stream, struct heap *heap, uint32_t paths)
{
    uint64_t address = heap->spare[--heap->spare_count];

    heap->live[heap->live_count++] = address;
    put(stream, random_below(2) ? WIRE_MALLOC : WIRE_NEW, address, some_size(), some_path(paths));
}

static void put_free(struct stream *stream, struct heap *heap)
{
    size_t recent = heap->live_count < RECENT ? heap->live_count : RECENT;
    size_t i = random_below(100) < RECENT_PERCENT ? heap->live_count - 1 - random_below(recent)
                                                  : random_below(heap->live_count);
    uint64_t address = heap->live[i];

    heap->live[i] = heap->live[--heap->live_count];
    heap->spare[heap->spare_count++] = address;
    put(stream, WIRE_FREE, address, 0, 0);
}

static void put_realloc(struct stream *stream, struct heap *heap, uint32_t paths)
{
    uint64_t address = heap->live[random_below(heap->live_count)];

    put(stream, WIRE_REALLOC_BEGIN, address, 0, 0);
    put(stream, WIRE_REALLOC_END, address, some_size(), some_path(paths));
}

static void generate(struct stream *stream, size_t events, size_t blocks, uint32_t paths,
                     size_t run_records, size_t step)
{
    struct heap heap;

    heap_init(&heap, blocks + blocks / 8, step);
    stream->words = malloc((events + 2 * run_records + 2) * 32);
    stream->runs = malloc((events / run_records + 2) * sizeof(*stream->runs));
    while (stream->events < events) {
        struct run *run = &stream->runs[stream->run_count++];
        size_t first = stream->events;
        run->offset = stream->used;
        run->thread = (uint32_t)random_below(THREADS);
        while (stream->events - first < run_records) {
            unsigned dice = (unsigned)random_below(100);
            if (heap.live_count < RECENT || (heap.live_count < blocks && dice < 70))
                put_allocation(stream, &heap, paths);
            else if (dice < 4)
                put_realloc(stream, &heap, paths);
            else if (dice % 2 && heap.spare_count)
                put_allocation(stream, &heap, paths);
            else
                put_free(stream, &heap);
        }
        run->bytes = (stream->used - run->offset) * 8;
    }
    free(heap.live);
    free(heap.spare);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void count_block(void *context, uint32_t first, struct replay_site *sites, size_t count)
{
    (void)first, (void)sites;
    *(size_t *)context += count;
}

static void count_row(void *context, const struct distribution_row *row)
{
    (void)row;
    ++*(size_t *)context;
}

static void count_points(void *context, const struct curve *curve)
{
    *(size_t *)context += curve->count;
}

/* What a snapshot asks for beyond the sites, and what that takes. */
static void show_details(struct replay *replay)
{
    double start = seconds(), listed, followed, end;
    size_t rows = 0, points = 0, peak_count;
    struct peak peaks[PEAKS_MAX];

    replay_distributions(replay, count_row, &rows);
    listed = seconds();
    replay_changed_curves(replay, count_points, &points);
    followed = seconds();
    peak_count = replay_peaks(replay, peaks);
    end = seconds();
    printf("%zu rows of distributions in %.1f ms, %zu points of curves in %.1f ms, %zu peaks in "
           "%.1f ms\n",
           rows, (listed - start) * 1e3, points, (followed - listed) * 1e3, peak_count,
           (end - followed) * 1e3);
}

static size_t argument(int argc, char **argv, int index, size_t otherwise)
{
    size_t value = argc > index ? strtoull(argv[index], NULL, 10) : otherwise;

    return value ? value : otherwise;
}

/* ---- A trace ------------------------------------------------------------------------------- */

static void must(int error)
{
    if (!error)
        return;
    fprintf(stderr, "bench_replay: %s\n", error_text());
    exit(1);
}

static struct replay *replay_for(const struct trace *trace)
{
    struct trace_options options;
    struct replay *replay;

    trace_options(trace, &options);
    replay = replay_new(options.start_ticks, 0.3);
    if (options.flags & TRACE_FREE_STACKS)
        replay_know_frees(replay);
    if (options.flags & TRACE_TIMED)
        replay_know_times(replay);
    replay_sample(replay, options.sample_bytes);
    return replay;
}

static int replay_trace(const char *path)
{
    struct trace *trace;
    struct trace_events events = {0};
    struct replay *replay;
    double decoding = 0, replaying = 0, count;
    uint32_t streams = 0;

    must(trace_open(&trace, path));
    replay = replay_for(trace);
    for (size_t block = 0; block < trace_block_count(trace); block++) {
        double start = seconds(), decoded;
        must(trace_events(trace, block, &events));
        decoded = seconds();
        must(trace_replay(&events, replay, &streams));
        decoding += decoded - start;
        replaying += seconds() - decoded;
    }
    count = (double)replay_event_count(replay);
    printf("%.1f M events: decoding %.1f ns an event, replaying %.1f; %.1f M a second of CPU\n",
           count / 1e6, decoding / count * 1e9, replaying / count * 1e9,
           count / (decoding + replaying) / 1e6);
    printf("%zu live blocks at the end, %.1f MB held by the replay\n", replay_live_count(replay),
           (double)replay_memory_bytes(replay) / 1e6);
    replay_free(replay);
    trace_events_release(&events);
    trace_close(trace);
    return 0;
}

/* ---- A made-up stream ---------------------------------------------------------------------- */

static int replay_made(int argc, char **argv)
{
    size_t events = argument(argc, argv, 1, 8) * 1000000;
    size_t blocks = argument(argc, argv, 2, 1000000);
    size_t paths = argument(argc, argv, 3, 200000);
    size_t run_records = argument(argc, argv, 4, 500);
    struct stream stream = {0};
    struct replay *replay = replay_new(0, 0.3);
    struct program_metrics program;
    size_t sites = 0, half, events_of_half = 0;
    double start, middle, end, visited;

    for (uint32_t i = 0; i < THREADS; i++)
        replay_thread_begin(replay, 100 + i, 0);
    generate(&stream, events, blocks, (uint32_t)paths, run_records,
             argument(argc, argv, 5, 112) & ~(size_t)15);
    half = stream.run_count / 2;
    start = middle = seconds();
    for (size_t i = 0; i < stream.run_count; i++) {
        const struct run *run = &stream.runs[i];
        if (i == half) {
            middle = seconds();
            replay_program(replay, &program);
            events_of_half = program.events;
            start += seconds() - middle;
            middle = seconds();
        }
        replay_records(replay, run->thread, stream.words + run->offset, run->bytes);
    }
    end = seconds();
    replay_changed_blocks(replay, count_block, &sites);
    visited = seconds();
    replay_program(replay, &program);
    printf("%.1f M events/s (filling %.1f, steady %.1f); %zu events, %zu sites, %zu live blocks\n",
           (double)stream.events / (end - start) / 1e6,
           (double)events_of_half / (middle - start) / 1e6,
           (double)(stream.events - events_of_half) / (end - middle) / 1e6, stream.events, sites,
           (size_t)figure_or(program.total.live_count, 0));
    printf("%.1f MB held by the replay; all sites visited in %.1f ms\n",
           (double)replay_memory_bytes(replay) / 1e6, (visited - end) * 1e3);
    show_details(replay);
    replay_free(replay);
    free(stream.words);
    free(stream.runs);
    return 0;
}

int main(int argc, char **argv)
{
    return argc == 2 && strstr(argv[1], ".tmt") ? replay_trace(argv[1]) : replay_made(argc, argv);
}
