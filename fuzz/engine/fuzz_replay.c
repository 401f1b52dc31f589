/* Any bytes as the records of up to four threads. What must hold whatever they say: no crash, no
 * endless loop, and the sums add up. Once without and once with the paths of frees.
 *
 * The input is cut into runs: one byte thread (and what is asked in between), one byte length in
 * units of 8 bytes, the records. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include "replay/replay.h"
#include "fuzz.h"

#define THREADS 4

static uint64_t known(struct figure figure)
{
    must(figure_known(figure));
    return figure_or(figure, 0);
}

static void add_up(void *context, uint32_t first, struct replay_site *sites, size_t count)
{
    uint64_t *visits = context;
    must(count >= 1 && count <= REPLAY_BLOCK_SITES && first % REPLAY_BLOCK_SITES == 0);
    for (size_t i = 0; i < count; i++) {
        const struct call_metrics *metrics = &sites[i].metrics;
        must(known(metrics->live_count) ==
             known(call_metrics_blocks(metrics)) - known(metrics->free_count));
    }
    ++*visits;
}

static void add_row(void *context, const struct distribution_row *row)
{
    uint64_t *counts = context;

    must(row->kind < DISTRIBUTION_KINDS && row->count > 0);
    counts[row->kind] += row->count;
}

static void check_curve(void *context, const struct curve *curve)
{
    (void)context;
    must(curve->count >= 1 && curve->count <= CURVE_POINTS);
    for (uint32_t i = 1; i < curve->count; i++)
        must(curve->points[i - 1].ticks <= curve->points[i].ticks);
}

static void add_exchange(void *context, const struct exchange *exchange)
{
    *(uint64_t *)context += exchange->count;
}

static void add_block(void *context, const struct replay_block *block)
{
    must(block->address != 0);
    ++*(uint64_t *)context;
}

static void check_distributions(const struct replay *replay, const struct call_metrics *total)
{
    uint64_t counts[DISTRIBUTION_KINDS] = {0};

    replay_distributions(replay, add_row, counts);
    must(counts[DISTRIBUTION_SIZE] == known(call_metrics_blocks(total)));
    must(counts[DISTRIBUTION_TIME_SIZE] == counts[DISTRIBUTION_SIZE]);
    must(counts[DISTRIBUTION_LIFETIME] == known(total->free_count));
    must(counts[DISTRIBUTION_LIFETIME_SIZE] == known(total->free_count));
    must(counts[DISTRIBUTION_REALLOC] <= known(total->realloc_count));
}

static void check_peaks(struct replay *replay, const struct call_metrics *total)
{
    struct peak peaks[PEAKS_MAX];
    size_t count = replay_peaks(replay, peaks);
    uint64_t highest = 0;

    must(count <= PEAKS_MAX);
    for (size_t i = 0; i < count; i++) {
        uint64_t sum = peaks[i].rest_bytes;
        for (size_t k = 0; k < peaks[i].share_count; k++)
            sum += peaks[i].shares[k].bytes;
        must(sum == peaks[i].bytes && known(peaks[i].valley_bytes) <= peaks[i].bytes);
        highest = peaks[i].bytes > highest ? peaks[i].bytes : highest;
    }
    must(highest == known(total->peak_bytes));
}

static void check_threads(const struct replay *replay, const struct call_metrics *total)
{
    uint64_t live = 0, elsewhere = 0, exchanged = 0, blocks = 0;

    for (size_t i = 0; i < replay_thread_count(replay); i++) {
        live += known(replay_thread(replay, i).live_bytes);
        elsewhere += known(replay_thread(replay, i).freed_elsewhere_count);
    }
    replay_exchanges(replay, add_exchange, &exchanged);
    replay_live_blocks(replay, add_block, &blocks);
    must(live == known(total->live_bytes) && elsewhere == exchanged &&
         blocks == known(total->live_count));
}

static void check(struct replay *replay)
{
    struct program_metrics program;
    uint64_t visits = 0, width;
    size_t count, changed;

    changed = replay_changed_blocks(replay, add_up, &visits);
    must(changed == visits);
    must(replay_changed_blocks(replay, add_up, &visits) == 0);
    replay_program(replay, &program);
    must(known(program.total.at_peak_bytes) == known(program.total.peak_bytes));
    must(known(program.live_peak_count) >= known(program.total.live_count));
    must(!call_metrics_know_frees(&program.total) ||
         (known(program.total.freed_count) <= known(program.total.free_count) &&
          known(program.total.freed_elsewhere_count) <= known(program.total.freed_count)));
    replay_timeline(replay, &count, &width);
    must(count >= 1 && count <= REPLAY_TIMELINE_BUCKETS && width);
    must(replay_memory_bytes(replay) > 0);
    check_distributions(replay, &program.total);
    check_peaks(replay, &program.total);
    check_threads(replay, &program.total);
    replay_changed_curves(replay, check_curve, NULL);
}

static void replay_input(const uint8_t *data, size_t size, bool know_frees)
{
    struct replay *replay = replay_new(1000, 1.0);

    if (know_frees)
        replay_know_frees(replay);
    for (uint32_t i = 0; i < THREADS; i++)
        replay_thread_begin(replay, i + 1, 1000);
    while (size >= 2) {
        size_t bytes = (size_t)data[1] * 8;
        unsigned what = data[0];
        data += 2;
        size -= 2;
        if (bytes > size)
            bytes = size;
        replay_records(replay, what % THREADS, data, bytes);
        if (what & 0x80)
            check(replay);
        if (what & 0x40)
            replay_memory_sample(replay, 1000ull << (what >> 2 & 15), what, what, what);
        data += bytes;
        size -= bytes;
    }
    check(replay);
    replay_free(replay);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    replay_input(data, size, false);
    replay_input(data, size, true);
    return 0;
}
