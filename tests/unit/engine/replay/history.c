/* See history.h. */
#include "history.h"
#include "replay_numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static unsigned differences;

static void differ(const char *what, uint64_t index, uint64_t got, uint64_t wanted)
{
    if (got == wanted)
        return;
    print_error("%s %llu: is %llu, should be %llu\n", what, (unsigned long long)index,
                (unsigned long long)got, (unsigned long long)wanted);
    differences++;
}

void history_init(struct history *history)
{
    memset(history, 0, sizeof(*history));
}

void history_release(struct history *history)
{
    free(history->moments);
}

void history_note(struct history *history, const struct brute *brute)
{
    struct moment *moment;

    if (history->count == history->room) {
        history->room = history->room ? 2 * history->room : 1024;
        history->moments = realloc(history->moments, history->room * sizeof(*history->moments));
        assert_non_null(history->moments);
    }
    moment = &history->moments[history->count++];
    memset(moment, 0, sizeof(*moment));
    moment->now = brute->last;
    for (size_t i = 0; i < brute->block_count; i++) {
        const struct brute_block *block = &brute->blocks[i];
        if (block->life == BRUTE_OVER)
            continue;
        moment->total += block->size;
        moment->sites[block->node] += block->size;
        moment->threads[block->thread] += block->size;
    }
}

/* ---- Distributions ------------------------------------------------------------------------- */

/* The largest bound that is not above the value. */
static uint64_t fine(uint64_t value)
{
    if (value < 4)
        return value;
    for (uint64_t power = 4;; power *= 2)
        for (uint64_t quarter = 7; quarter >= 4; quarter--)
            if (value / 2 < power && value >= power / 4 * quarter)
                return power / 4 * quarter;
}

static uint64_t coarse(uint64_t value)
{
    uint64_t bound = 1;

    if (!value)
        return 0;
    while (value / 2 >= bound)
        bound *= 2;
    return bound;
}

/* One entry for each thing that is distributed. */
struct item {
    uint64_t x, y, bytes;
};

struct items {
    struct item all[BRUTE_EVENTS];
    size_t count;
};

static void put(struct items *items, uint64_t x, uint64_t y, uint64_t bytes)
{
    items->all[items->count++] = (struct item){x, y, bytes};
}

static void put_block(struct items *items, const struct brute *brute,
                      const struct brute_block *block, enum distribution_kind kind,
                      uint64_t interval_ticks)
{
    const struct brute_block *old = block->replaces < 0 ? NULL : &brute->blocks[block->replaces];
    bool over = block->life == BRUTE_OVER;

    if (kind == DISTRIBUTION_SIZE)
        put(items, fine(block->size), 0, block->size);
    else if (kind == DISTRIBUTION_SIZE_EXACT)
        put(items, block->size, 0, block->size);
    else if (kind == DISTRIBUTION_LIFETIME && over)
        put(items, fine(block->lifetime), 0, block->size);
    else if (kind == DISTRIBUTION_LIFETIME_SIZE && over)
        put(items, coarse(block->lifetime), coarse(block->size), block->size);
    else if (kind == DISTRIBUTION_TIME_SIZE)
        put(items, block->born - (block->born - brute->start) % interval_ticks, coarse(block->size),
            block->size);
    else if (kind == DISTRIBUTION_REALLOC && old)
        put(items, coarse(old->size), coarse(block->size), block->size);
    else if (kind == DISTRIBUTION_REALLOC_GROW && old && block->size >= old->size)
        put(items, block->size - old->size, 0, block->size - old->size);
    else if (kind == DISTRIBUTION_REALLOC_SHRINK && old && block->size < old->size)
        put(items, old->size - block->size, 0, old->size - block->size);
}

static int by_x_y(const void *a, const void *b)
{
    const struct item *i = a, *k = b;

    return i->x != k->x ? (i->x > k->x) - (i->x < k->x) : (i->y > k->y) - (i->y < k->y);
}

struct rows {
    struct distribution_row all[BRUTE_EVENTS];
    size_t count;
};

static void count_items(struct items *items, enum distribution_kind kind, struct rows *rows)
{
    rows->count = 0;
    qsort(items->all, items->count, sizeof(*items->all), by_x_y);
    for (size_t i = 0; i < items->count; i++) {
        const struct item *item = &items->all[i];
        struct distribution_row *row = &rows->all[rows->count - (i > 0)];
        if (!i || row->x != item->x || row->y != item->y) {
            row = &rows->all[rows->count++];
            *row = (struct distribution_row){kind, item->x, item->y, 0, 0};
        }
        row->count++;
        row->bytes += item->bytes;
    }
}

/* Leaves the commonest; of equally common values the smaller. */
static void cut(struct rows *rows)
{
    while (rows->count > DISTRIBUTION_COMMONEST) {
        size_t rarest = 0;
        for (size_t i = 0; i < rows->count; i++)
            if (rows->all[i].count <= rows->all[rarest].count)
                rarest = i;
        rows->count--;
        memmove(&rows->all[rarest], &rows->all[rarest + 1],
                (rows->count - rarest) * sizeof(*rows->all));
    }
}

static bool lists_commonest(enum distribution_kind kind)
{
    return kind == DISTRIBUTION_SIZE_EXACT || kind == DISTRIBUTION_REALLOC_GROW ||
           kind == DISTRIBUTION_REALLOC_SHRINK;
}

static void note_row(void *context, const struct distribution_row *row)
{
    struct rows *rows = context;

    assert_true(rows->count < COUNT(rows->all));
    rows->all[rows->count++] = *row;
}

static void same_row(const struct distribution_row *got, const struct distribution_row *wanted)
{
    differ("kind of a row of kind", wanted->kind, got->kind, wanted->kind);
    differ("x of a row of kind", wanted->kind, got->x, wanted->x);
    differ("y of a row of kind", wanted->kind, got->y, wanted->y);
    differ("count of a row of kind", wanted->kind, got->count, wanted->count);
    differ("bytes of a row of kind", wanted->kind, got->bytes, wanted->bytes);
}

static void same_distributions(const struct brute *brute, const struct replay *replay)
{
    static struct items items;
    static struct rows got, wanted;
    size_t buckets, at = 0;
    uint64_t bucket_ticks;

    numbers_timeline(replay, &buckets, &bucket_ticks);
    got.count = 0;
    replay_distributions(replay, note_row, &got);
    for (unsigned kind = 0; kind < DISTRIBUTION_KINDS; kind++) {
        items.count = 0;
        for (size_t i = 0; i < brute->block_count; i++)
            put_block(&items, brute, &brute->blocks[i], kind, 8 * bucket_ticks);
        count_items(&items, kind, &wanted);
        if (lists_commonest(kind))
            cut(&wanted);
        for (size_t i = 0; i < wanted.count && at < got.count; i++, at++)
            same_row(&got.all[at], &wanted.all[i]);
    }
    differ("rows of distributions up to kind", DISTRIBUTION_KINDS, got.count, at);
}

/* ---- Peaks --------------------------------------------------------------------------------- */

static bool has_fallen(uint64_t from, uint64_t to)
{
    return to < from && from - to >= (from + PEAK_FALL - 1) / PEAK_FALL;
}

/* By definition: the first of the highest levels between two falls of an eighth, one on each side;
 * the beginning (nothing lives) is one, the end another. */
static bool is_peak(const struct history *history, size_t at)
{
    uint64_t level = history->moments[at].total;

    if (!level)
        return false;
    for (size_t i = at; i-- > 0 && !has_fallen(level, history->moments[i].total);)
        if (history->moments[i].total >= level)
            return false;
    for (size_t i = at + 1; i < history->count && !has_fallen(level, history->moments[i].total);
         i++)
        if (history->moments[i].total > level)
            return false;
    return true;
}

/* The moments of the highest ones, in the order of time. */
static size_t find_peaks(const struct history *history, size_t peaks[PEAKS_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < history->count; i++) {
        size_t lowest = 0;
        if (!is_peak(history, i))
            continue;
        if (count < PEAKS_MAX) {
            peaks[count++] = i;
            continue;
        }
        for (size_t k = 1; k < count; k++)
            if (history->moments[peaks[k]].total <= history->moments[peaks[lowest]].total)
                lowest = k;
        if (history->moments[i].total <= history->moments[peaks[lowest]].total)
            continue;
        memmove(&peaks[lowest], &peaks[lowest + 1], (count - 1 - lowest) * sizeof(*peaks));
        peaks[count - 1] = i;
    }
    return count;
}

static void work_out_peak(const struct history *history, size_t at, size_t next, struct peak *out)
{
    const struct moment *moment = &history->moments[at];
    bool taken[BRUTE_NODES] = {false};

    *out = (struct peak){.ticks = moment->now,
                         .bytes = moment->total,
                         .valley_bytes = figure_of(moment->total),
                         .rest_bytes = moment->total};
    for (size_t i = at; i < next; i++)
        out->valley_bytes = figure_min(out->valley_bytes, figure_of(history->moments[i].total));
    while (out->share_count < PEAK_SHARES_MAX) {
        uint32_t largest = 0;
        for (uint32_t node = 1; node < BRUTE_NODES; node++)
            if (!taken[node] && (taken[largest] || moment->sites[node] > moment->sites[largest]))
                largest = node;
        if (taken[largest] || !moment->sites[largest])
            break;
        taken[largest] = true;
        out->shares[out->share_count++] = (struct peak_share){largest, moment->sites[largest]};
        out->rest_bytes -= moment->sites[largest];
    }
}

static void same_peak(size_t i, const struct peak *got, const struct peak *wanted)
{
    differ("ticks of peak", i, got->ticks, wanted->ticks);
    differ("bytes of peak", i, got->bytes, wanted->bytes);
    differ("valley after peak", i, number_of(got->valley_bytes), number_of(wanted->valley_bytes));
    differ("rest of peak", i, got->rest_bytes, wanted->rest_bytes);
    differ("number of shares of peak", i, got->share_count, wanted->share_count);
    for (size_t k = 0; k < got->share_count && k < wanted->share_count; k++) {
        differ("call path of a share of peak", i, got->shares[k].node, wanted->shares[k].node);
        differ("bytes of a share of peak", i, got->shares[k].bytes, wanted->shares[k].bytes);
    }
}

static void same_peaks(struct history *history, struct replay *replay)
{
    struct peak got[PEAKS_MAX], wanted;
    size_t at[PEAKS_MAX + 1], count = find_peaks(history, at);
    size_t got_count = replay_peaks(replay, got);

    differ("number of peaks", 0, got_count, count);
    at[count] = history->count;
    for (size_t i = 0; i < count && i < got_count; i++) {
        work_out_peak(history, at[i], at[i + 1], &wanted);
        same_peak(i, &got[i], &wanted);
    }
    if (count > history->peaks_seen)
        history->peaks_seen = count;
}

/* ---- Curves -------------------------------------------------------------------------------- */

static void note_curve(void *context, const struct curve *curve)
{
    struct history *history = context;

    if (curve->level != MEMORY_HEAP)
        return;
    assert_in_range(curve->node, 0, BRUTE_NODES - 1);
    assert_in_range(curve->count, 1, CURVE_POINTS);
    history->curves[curve->node] = *curve;
    memcpy(history->points[curve->node], curve->points, curve->count * sizeof(*curve->points));
    if (number_of(curve->threshold_bytes) > CURVE_THRESHOLD_BYTES)
        history->thinned++;
    history->stretched += curve->stretch_ticks != 0;
}

struct levels {
    uint64_t low, high;
};

static struct levels levels_with(struct levels levels, uint64_t bytes)
{
    return (struct levels){bytes < levels.low ? bytes : levels.low,
                           bytes > levels.high ? bytes : levels.high};
}

/* Between what a curve says of a moment: its level then, or those of the whole stretch and what it
 * began with. `*is_last` of a stretch, or there are none: then `*level` is what it says. */
static struct levels levels_at(const struct curve *curve, const struct curve_point *points,
                               uint64_t now, uint64_t next, uint64_t *level, bool *is_last)
{
    uint64_t length = curve->stretch_ticks ? curve->stretch_ticks : 1;
    struct levels levels;
    uint64_t before = 0;
    size_t i = 0;

    for (*level = 0; i < curve->count && points[i].ticks <= now; i++) {
        before = points[i].ticks / length < now / length ? points[i].bytes : before;
        *level = points[i].bytes;
    }
    *is_last = length == 1 || next / length > now / length;
    if (length == 1)
        return (struct levels){*level, *level};
    levels = (struct levels){before, before};
    for (i = 0; i < curve->count; i++)
        if (points[i].ticks / length == now / length)
            levels = levels_with(levels, points[i].bytes);
    return levels;
}

static bool is_close(struct levels levels, uint64_t truth, uint64_t threshold)
{
    uint64_t part = levels.high / CURVE_PART;
    uint64_t error = part > threshold ? part : threshold;

    return truth + error >= levels.low && truth <= levels.high + error;
}

/* At every moment: the last one of those that bear the same time. */
static void curve_is_close(const struct history *history, uint32_t node)
{
    const struct curve *curve = &history->curves[node];
    const struct curve_point *points = history->points[node];
    uint64_t threshold = curve->count ? number_of(curve->threshold_bytes) : CURVE_THRESHOLD_BYTES;
    uint64_t level = 0, highest = 0, most = 0;
    bool is_last;

    for (size_t i = 0; i < curve->count; i++)
        highest = points[i].bytes > highest ? points[i].bytes : highest;
    for (size_t i = 0; i < history->count; i++) {
        const struct moment *moment = &history->moments[i];
        uint64_t next = i + 1 < history->count ? history->moments[i + 1].now : UINT64_MAX;
        uint64_t truth = moment->sites[node];
        if (truth > most)
            most = truth;
        if (next == moment->now)
            continue;
        struct levels levels = levels_at(curve, points, moment->now, next, &level, &is_last);
        if (!is_close(levels, truth, threshold))
            differ("the curve is too far off; call path", node, level, truth);
        if (is_last && !is_close((struct levels){level, level}, truth, threshold))
            differ("the curve is too far off at a stretch's end; call path", node, level, truth);
    }
    if (curve->count && points[curve->count - 1].ticks > history->moments[history->count - 1].now)
        differ("points of a curve in the future; call path", node, 1, 0);
    if (most > highest + threshold && most > highest + highest / CURVE_PART)
        differ("the curve's maximum is too low; call path", node, highest, most);
    if (most > CURVE_THRESHOLD_BYTES && !curve->count)
        differ("a curve is missing; call path", node, 0, 1);
}

static void curves_are_close(struct history *history, struct replay *replay)
{
    replay_changed_curves(replay, note_curve, history);
    for (uint32_t node = 0; node < BRUTE_NODES; node++)
        curve_is_close(history, node);
}

/* ---- Threads ------------------------------------------------------------------------------- */

struct matrix {
    uint64_t count[BRUTE_THREADS][BRUTE_THREADS], bytes[BRUTE_THREADS][BRUTE_THREADS];
};

static void note_exchange(void *context, const struct exchange *exchange)
{
    struct matrix *matrix = context;

    assert_in_range(exchange->owner, 0, BRUTE_THREADS - 1);
    assert_in_range(exchange->freer, 0, BRUTE_THREADS - 1);
    matrix->count[exchange->owner][exchange->freer] += exchange->count;
    matrix->bytes[exchange->owner][exchange->freer] += exchange->bytes;
}

static void same_exchanges(const struct brute *brute, const struct replay *replay)
{
    static struct matrix got, wanted;

    memset(&got, 0, sizeof(got));
    memset(&wanted, 0, sizeof(wanted));
    for (size_t i = 0; i < brute->block_count; i++) {
        const struct brute_block *block = &brute->blocks[i];
        if (block->freer < 0 || (size_t)block->freer == block->thread)
            continue;
        wanted.count[block->thread][block->freer]++;
        wanted.bytes[block->thread][block->freer] += block->size;
    }
    replay_exchanges(replay, note_exchange, &got);
    differ("exchanges", 0, (uint64_t)memcmp(&got, &wanted, sizeof(got)), 0);
}

static void recount_thread(const struct history *history, const struct brute *brute, size_t thread,
                           struct thread_numbers *out)
{
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < brute->block_count; i++) {
        const struct brute_block *block = &brute->blocks[i];
        bool elsewhere = block->freer >= 0 && (size_t)block->freer != thread;
        if (block->thread != thread)
            continue;
        out->malloc_count += block->kind == WIRE_MALLOC;
        out->calloc_count += block->kind == WIRE_CALLOC;
        out->aligned_count += block->kind == WIRE_ALIGNED;
        out->new_count += block->kind == WIRE_NEW || block->kind == WIRE_NEW_ARRAY;
        out->realloc_count += block->kind == WIRE_REALLOC_END;
        out->freed_elsewhere_count += elsewhere;
        out->freed_elsewhere_bytes += elsewhere ? block->size : 0;
    }
    for (size_t i = 0; i < history->count; i++) {
        out->live_bytes = history->moments[i].threads[thread];
        if (out->live_bytes > out->peak_bytes) {
            out->peak_bytes = out->live_bytes;
            out->peak_ticks = history->moments[i].now;
        }
    }
}

static void same_threads(const struct history *history, const struct brute *brute,
                         const struct replay *replay)
{
    for (size_t i = 0; i < brute->thread_count; i++) {
        struct thread_numbers thread = numbers_thread(replay, i), *got = &thread;
        struct thread_numbers wanted;
        recount_thread(history, brute, i, &wanted);
        differ("malloc_count of thread", i, got->malloc_count, wanted.malloc_count);
        differ("calloc_count of thread", i, got->calloc_count, wanted.calloc_count);
        differ("aligned_count of thread", i, got->aligned_count, wanted.aligned_count);
        differ("new_count of thread", i, got->new_count, wanted.new_count);
        differ("realloc_count of thread", i, got->realloc_count, wanted.realloc_count);
        differ("live_bytes of thread", i, got->live_bytes, wanted.live_bytes);
        differ("peak_bytes of thread", i, got->peak_bytes, wanted.peak_bytes);
        differ("peak_ticks of thread", i, got->peak_ticks, wanted.peak_ticks);
        differ("freed_elsewhere_count of thread", i, got->freed_elsewhere_count,
               wanted.freed_elsewhere_count);
        differ("freed_elsewhere_bytes of thread", i, got->freed_elsewhere_bytes,
               wanted.freed_elsewhere_bytes);
        differ("all calls of thread", i, got->alloc_count,
               got->malloc_count + got->calloc_count + got->aligned_count + got->new_count +
                   got->realloc_count);
    }
}

/* ---- Live blocks --------------------------------------------------------------------------- */

/* Each block that the replay says is alive must be one of ours, and none twice. */
struct checking {
    const struct brute *brute;
    bool seen[BRUTE_EVENTS];
    size_t count, unknown;
    uint64_t addresses[BRUTE_EVENTS]; /* in the replay's order */
    size_t asked, elsewhere;          /* addresses alone, and those that differ */
};

static void note_block(void *context, const struct replay_block *got)
{
    struct checking *checking = context;

    if (checking->count < BRUTE_EVENTS)
        checking->addresses[checking->count] = got->address;
    checking->count++;
    for (size_t i = 0; i < checking->brute->block_count; i++) {
        const struct brute_block *block = &checking->brute->blocks[i];
        if (block->life == BRUTE_OVER || checking->seen[i] || block->address != got->address ||
            block->size != got->size_bytes || block->birth != got->birth_ticks ||
            block->node != got->node || block->thread != got->owner)
            continue;
        checking->seen[i] = true;
        return;
    }
    checking->unknown++;
}

static void note_addresses(void *context, const uint64_t *addresses, size_t count)
{
    struct checking *checking = context;

    for (size_t i = 0; i < count; i++, checking->asked++)
        checking->elsewhere += checking->asked >= checking->count ||
                               checking->addresses[checking->asked] != addresses[i];
}

static void same_live_blocks(const struct brute *brute, const struct replay *replay)
{
    static struct checking checking;

    memset(&checking, 0, sizeof(checking));
    checking.brute = brute;
    replay_live_blocks(replay, note_block, &checking);
    differ("live blocks that nobody knows", 0, checking.unknown, 0);
    differ("live blocks", 0, checking.count, brute->program.total.live_count);
    differ("live blocks", 1, replay_live_count(replay), checking.count);
    replay_live_addresses(replay, note_addresses, &checking);
    differ("addresses of live blocks", 0, checking.asked, checking.count);
    differ("addresses of live blocks", 1, checking.elsewhere, 0);
}

unsigned history_compare(struct history *history, const struct brute *brute, struct replay *replay)
{
    differences = 0;
    same_distributions(brute, replay);
    same_peaks(history, replay);
    curves_are_close(history, replay);
    same_exchanges(brute, replay);
    same_threads(history, brute, replay);
    same_live_blocks(brute, replay);
    return differences;
}
