/* A recording of pages (`--events=pages`) that is days long, in seconds: records as the tracer
 * writes them, with simulated ticks, go through the replay into a profile, as the collector does
 * it.
 *
 *   bench_days size  PATTERN HOURS [RECORDS [MOST_KB]]
 *                                              KB of profile, while it is written and in the end;
 *                                              memory of the replay after half of the run and after
 *                                              all of it; fails if the profile is larger
 *   bench_days check PATTERN HOURS [RECORDS]   the timeline and each call path's curve beside
 *                                              brute force over the same records; fails if one is
 *                                              wrong
 *
 *   steady   blocks come and go about one level       wave    the level follows the hour of the day
 *   leak     one path holds more and more             burst   four times as much, a minute each hour
 *   paths    5,000 call paths                         threads a new thread for each few records
 *
 * The same records for the same arguments. Readings of the resident set come between them. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "profile_build/profile_build.h"
#include "profile_build/snapshot.h"
#include "replay/replay.h"
#include "wire/wire.h"

enum {
    RECORDS = 1000000,
    FEW_PATHS = 200,
    MANY_PATHS = 5000,
    LEVEL = 20000, /* blocks about which the level moves */
    BLOCKS_MAX = 1 << 20,
    FLUSHES = 400,
    READINGS = 8192,
    LEAKING = 7, /* a path */
};
#define TICK_NS 0.5
#define START   ((uint64_t)1 << 45) /* a machine that has run for hours */
#define HOUR_S  3600.0

struct block {
    uint64_t size, slack;
    uint32_t path;
    unsigned level;
};

/* What brute force needs of a record: the levels after it. */
struct moment {
    uint64_t ticks, requested, blocks, path_bytes, bytes;
    uint32_t path;
    bool is_birth;
};

struct run {
    const char *pattern;
    double hours;
    uint64_t records, ticks, random;
    uint32_t paths, tid;
    struct replay *replay;
    struct writer *writer;
    char path[64];
    struct block *blocks;  /* block i lives at address_of(i) */
    uint32_t *live, *dead; /* numbers of blocks */
    size_t live_count, dead_count;
    /* levels, by brute force: blocks in 1024ths */
    uint64_t requested, count, *path_bytes;
    struct moment *moments;
    size_t moment_count;
    off_t largest;
    size_t half_bytes;
};

static void days_die(const char *what)
{
    fprintf(stderr, "bench_days: %s\n", what);
    exit(1);
}

static void *days_make(size_t count, size_t bytes)
{
    void *made = calloc(count, bytes);
    if (!made)
        days_die("out of memory");
    return made;
}

static uint64_t days_random(struct run *run)
{
    uint64_t z = run->random += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static uint64_t days_below(struct run *run, uint64_t limit)
{
    return (uint64_t)((unsigned __int128)days_random(run) * limit >> 64);
}

/* ---- The program --------------------------------------------------------------------------- */

static bool days_is(const struct run *run, const char *pattern)
{
    return strcmp(run->pattern, pattern) == 0;
}

/* How many recorded blocks the program holds at that time. */
static size_t days_wanted(const struct run *run, double seconds)
{
    double level = LEVEL;
    if (days_is(run, "wave"))
        level *= 1 + 0.6 * sin(2 * M_PI * seconds / (24 * HOUR_S));
    if (days_is(run, "burst") && fmod(seconds, HOUR_S) > HOUR_S - 60)
        level *= 4;
    if (days_is(run, "leak"))
        level += 10 * LEVEL * seconds / (run->hours * HOUR_S);
    return (size_t)level;
}

/* A tree in which each path has a code address of its own. */
static struct origins_node days_node(void *context, uint32_t number)
{
    (void)context;
    return (struct origins_node){0x555500000000u + 64ull * number, number / 3};
}

static uint32_t days_nodes(void *context)
{
    return ((struct run *)context)->paths + 1;
}

static void days_leave(void *context, uint32_t count)
{
    (void)context, (void)count;
}

static void days_modules(void *context, size_t *cursor,
                         void (*visit)(void *visitor, const struct origins_module *module),
                         void *visitor)
{
    (void)context, (void)cursor, (void)visit, (void)visitor;
}

static uint64_t days_address(uint32_t block)
{
    return 0x7f0000000000u + 0x20000ull * block;
}

/* Few paths have most of the blocks, and each path its own sizes. */
static struct block days_draw(struct run *run)
{
    static const uint64_t sizes[] = {16, 48, 200, 512, 600, 1500, 4000, 16000, 65536, 200000};
    uint64_t skew = days_below(run, run->paths) * days_below(run, run->paths) / run->paths;
    struct block block = {.path = 1 + (uint32_t)skew};
    if (days_is(run, "leak") && days_below(run, 4) == 0)
        block.path = LEAKING;
    uint64_t usable = sizes[(block.path + days_below(run, 2)) % 10];
    block.slack = usable % 8 ? 0 : usable / 8 * days_below(run, 2);
    block.size = usable - block.slack;
    if (usable > WIRE_PAGE_BLOCK && usable < WIRE_PAGE_SURE)
        block.level = (unsigned)days_below(run, WIRE_PAGE_LEVELS);
    return block;
}

/* ---- Brute force ----------------------------------------------------------------------------- */

struct days_weight {
    uint64_t bytes, count;
};

/* doc/METRICS.md, "Pages", once more. */
static struct days_weight days_weigh(const struct block *block)
{
    double usable = (double)(block->size + block->slack), chance;
    if (usable >= WIRE_PAGE_SURE)
        return (struct days_weight){block->size, 1024};
    if (usable <= WIRE_PAGE_BLOCK) {
        uint64_t stands_for = WIRE_PAGE_BYTES / (uint64_t)usable;
        return (struct days_weight){block->size * stands_for, 1024 * stands_for};
    }
    chance = -expm1(-usable / (double)(WIRE_PAGE_BYTES << block->level));
    return (struct days_weight){(uint64_t)((double)block->size / chance + 0.5),
                                (uint64_t)(1024 / chance + 0.5)};
}

static void days_note(struct run *run, const struct block *block, bool is_birth)
{
    struct days_weight weight = days_weigh(block);
    uint64_t *path_bytes = &run->path_bytes[block->path];
    run->requested += is_birth ? weight.bytes : -weight.bytes;
    run->count += is_birth ? weight.count : -weight.count;
    *path_bytes += is_birth ? weight.bytes : -weight.bytes;
    if (run->moments)
        run->moments[run->moment_count++] = (struct moment){
            run->ticks,  run->requested, (run->count + 512) >> 10, *path_bytes, weight.bytes,
            block->path, is_birth};
}

static unsigned days_wrong; /* differences so far */

static void days_compare(const char *what, size_t at, uint64_t is, uint64_t should)
{
    if (is == should || ++days_wrong > 20)
        return;
    fprintf(stderr, "bench_days: %s %zu: %" PRIu64 ", not %" PRIu64 "\n", what, at, is, should);
}

static void days_compare_bucket(size_t at, const struct timeline_bucket *bucket,
                                const struct timeline_bucket *brute)
{
    days_compare("requested min of bucket", at, figure_or(bucket->requested.min, 0),
                 figure_or(brute->requested.min, 0));
    days_compare("requested max of bucket", at, figure_or(bucket->requested.max, 0),
                 figure_or(brute->requested.max, 0));
    days_compare("blocks min of bucket", at, figure_or(bucket->blocks.min, 0),
                 figure_or(brute->blocks.min, 0));
    days_compare("blocks max of bucket", at, figure_or(bucket->blocks.max, 0),
                 figure_or(brute->blocks.max, 0));
}

static void days_see(struct timeline_level *level, uint64_t value)
{
    if (value < figure_or(level->min, 0))
        level->min = figure_of(value);
    if (value > figure_or(level->max, 0))
        level->max = figure_of(value);
}

static struct timeline_level days_level(uint64_t value)
{
    return (struct timeline_level){figure_of(value), figure_of(value)};
}

static void days_check_timeline(struct run *run)
{
    uint64_t width, requested = 0, blocks = 0;
    size_t count, next = 0;
    const struct timeline_bucket *buckets = replay_timeline(run->replay, &count, &width);
    for (size_t i = 0; i < count; i++) {
        struct timeline_bucket brute = {.requested = days_level(requested),
                                        .blocks = days_level(blocks)};
        for (; next < run->moment_count && run->moments[next].ticks - START < (i + 1) * width;
             next++) {
            requested = run->moments[next].requested;
            blocks = run->moments[next].blocks;
            days_see(&brute.requested, requested);
            days_see(&brute.blocks, blocks);
        }
        days_compare_bucket(i, &buckets[i], &brute);
    }
    days_compare("records behind the timeline", count, next, run->moment_count);
    printf("timeline  %zu intervals of %.1f s\n", count, (double)width * TICK_NS / 1e9);
}

/* The range in which the level lay at `ticks`, by the curve: at its last point, and with stretches
 * between the points of the stretch. */
struct days_band {
    uint64_t low, high;
};

static void days_widen(struct days_band *band, uint64_t bytes)
{
    band->low = bytes < band->low ? bytes : band->low;
    band->high = bytes > band->high ? bytes : band->high;
}

/* `next`: the first point after `ticks`. */
static struct days_band days_band_at(const struct curve *curve, size_t next, uint64_t ticks)
{
    uint64_t before = next ? curve->points[next - 1].bytes : 0, width = curve->stretch_ticks;
    uint64_t threshold = figure_or(curve->threshold_bytes, 0);
    struct days_band band = {before, before};
    if (width) {
        size_t first = next, end = next;
        while (first && curve->points[first - 1].ticks / width == ticks / width)
            days_widen(&band, curve->points[--first].bytes);
        while (end < curve->count && curve->points[end].ticks / width == ticks / width)
            days_widen(&band, curve->points[end++].bytes);
        days_widen(&band, first ? curve->points[first - 1].bytes : 0);
    }
    uint64_t error = band.high / CURVE_PART > threshold ? band.high / CURVE_PART : threshold;
    return (struct days_band){band.low > error ? band.low - error : 0, band.high + error};
}

static size_t days_curves, days_points, days_stretched;

static void days_check_curve(void *context, const struct curve *curve)
{
    const struct run *run = context;
    size_t next = 0;
    uint64_t highest = 0, told = 0;
    for (size_t i = 0; i < run->moment_count; i++) {
        const struct moment *moment = &run->moments[i];
        if (moment->path != curve->node)
            continue;
        while (next < curve->count && curve->points[next].ticks <= moment->ticks)
            next++;
        struct days_band band = days_band_at(curve, next, moment->ticks);
        if (moment->path_bytes < band.low || moment->path_bytes > band.high)
            days_compare("level outside of the curve of path", curve->node, moment->path_bytes,
                         curve->points[next ? next - 1 : 0].bytes);
        highest = moment->path_bytes > highest ? moment->path_bytes : highest;
    }
    for (size_t i = 0; i < curve->count; i++)
        told = curve->points[i].bytes > told ? curve->points[i].bytes : told;
    if (told > highest || told + told / CURVE_PART + CURVE_COARSE_BYTES < highest)
        days_compare("highest point of path", curve->node, told, highest);
    days_curves++;
    days_points += curve->count;
    days_stretched += curve->stretch_ticks != 0;
}

static void days_check(struct run *run)
{
    days_check_timeline(run);
    replay_changed_curves(run->replay, days_check_curve, run);
    printf("curves    %zu with %zu points, %zu of them by stretches\n", days_curves, days_points,
           days_stretched);
    printf("wrong     %u\n", days_wrong);
}

/* ---- Records --------------------------------------------------------------------------------- */

static void days_feed(struct run *run, struct wire_record record)
{
    char bytes[32];
    size_t length = wire_record_bytes(record.kind_address);
    memcpy(bytes, &record, length);
    replay_records(run->replay, 0, bytes, length);
}

static void days_take(struct run *run)
{
    uint32_t number = run->dead[--run->dead_count];
    struct block *block = &run->blocks[number];
    *block = days_draw(run);
    run->live[run->live_count++] = number;
    days_note(run, block, true);
    days_feed(run, (struct wire_record){
                       (uint64_t)WIRE_MALLOC << 56 | days_address(number), run->ticks, block->size,
                       wire_detail(block->path, block->slack, wire_level_align(0, block->level))});
}

static void days_give(struct run *run)
{
    size_t at = days_below(run, run->live_count);
    uint32_t number = run->live[at];
    if (days_is(run, "leak") && run->blocks[number].path == LEAKING)
        return;
    run->live[at] = run->live[--run->live_count];
    run->dead[run->dead_count++] = number;
    days_note(run, &run->blocks[number], false);
    days_feed(run, (struct wire_record){(uint64_t)WIRE_FREE << 56 | days_address(number),
                                        run->ticks, 0, 0});
}

static void days_new_thread(struct run *run)
{
    run->tid++;
    days_feed(run,
              (struct wire_record){(uint64_t)WIRE_THREAD_START << 56 | run->tid, run->ticks, 0, 0});
}

static void days_step(struct run *run, double seconds)
{
    size_t wanted = days_wanted(run, seconds);
    bool takes = run->live_count < wanted + days_below(run, 200) - 100;
    if (days_is(run, "threads") && days_below(run, 8) == 0)
        days_new_thread(run);
    if (run->live_count < LEVEL / 4 || (takes && run->dead_count))
        days_take(run);
    else
        days_give(run);
}

/* ---- The profile ----------------------------------------------------------------------------- */

static off_t days_file_bytes(const char *path)
{
    struct stat stat_of;
    return stat(path, &stat_of) ? 0 : stat_of.st_size;
}

static void days_flush(struct run *run)
{
    struct origins origins = {run, days_nodes, days_node, days_leave, days_modules};
    struct snapshot_moment moment = {
        .scale = {START, TICK_NS}, .now_ticks = run->ticks, .node_count = run->paths + 1};
    struct snapshot snapshot;
    char log[80];
    if (snapshot_take(&snapshot, run->replay, &moment) ||
        profile_build_write(run->writer, &origins, &snapshot))
        days_die(error_text());
    snapshot_release(&snapshot);
    snprintf(log, sizeof log, "%s-wal", run->path);
    off_t bytes = days_file_bytes(run->path) + days_file_bytes(log);
    run->largest = bytes > run->largest ? bytes : run->largest;
}

static void days_reading(struct run *run)
{
    uint64_t resident = run->requested + run->requested / 20 + (days_below(run, 64) << 12);
    replay_memory_sample(run->replay, run->ticks, resident, resident * 2, 4u << 20);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static void days_begin(struct run *run)
{
    run->paths = days_is(run, "paths") ? MANY_PATHS : FEW_PATHS;
    run->ticks = START;
    run->tid = 1;
    run->blocks = days_make(BLOCKS_MAX, sizeof *run->blocks);
    run->live = days_make(BLOCKS_MAX, sizeof *run->live);
    run->dead = days_make(BLOCKS_MAX, sizeof *run->dead);
    run->path_bytes = days_make(run->paths + 1, sizeof *run->path_bytes);
    while (run->dead_count < BLOCKS_MAX)
        run->dead[run->dead_count] = BLOCKS_MAX - 1 - (uint32_t)run->dead_count, run->dead_count++;
    run->replay = replay_new(START, TICK_NS);
    replay_pages(run->replay);
    replay_thread_begin(run->replay, run->tid, START);
    days_new_thread(run);
}

static void days_go(struct run *run)
{
    uint64_t span = (uint64_t)(run->hours * HOUR_S * 1e9 / TICK_NS);
    for (uint64_t i = 0; i < run->records; i++) {
        run->ticks = START + 1 + (uint64_t)((double)i / (double)run->records * (double)span);
        days_step(run, (double)(run->ticks - START) * TICK_NS / 1e9);
        if (i % (run->records / READINGS + 1) == 0)
            days_reading(run);
        if (run->writer && i % (run->records / FLUSHES + 1) == 0)
            days_flush(run);
        if (i == run->records / 2)
            run->half_bytes = replay_memory_bytes(run->replay);
    }
}

static double days_size(struct run *run)
{
    snprintf(run->path, sizeof run->path, "/tmp/bench-days-%d.tmk", (int)getpid());
    if (profile_build_open(&run->writer, run->path, getpid(), "/nowhere/program"))
        days_die(error_text());
    days_go(run);
    days_flush(run);
    if (profile_build_finish(run->writer, true))
        days_die(error_text());
    double kb = (double)days_file_bytes(run->path) / 1000;
    printf("%-8s %6.1f h  profile %8.1f KB, %8.1f an hour, at most %8.1f while written; replay "
           "%7zu KB at half, %7zu in the end, %zu threads\n",
           run->pattern, run->hours, kb, kb / run->hours, (double)run->largest / 1000,
           run->half_bytes / 1000, replay_memory_bytes(run->replay) / 1000,
           replay_thread_count(run->replay));
    if (!getenv("KEEP"))
        unlink(run->path);
    return kb;
}

int main(int argc, char **argv)
{
    struct run run = {.records = argc > 4 ? strtoull(argv[4], NULL, 10) : RECORDS};
    if (argc < 4 || (strcmp(argv[1], "size") != 0 && strcmp(argv[1], "check") != 0))
        days_die("give size or check, a pattern, and hours");
    run.pattern = argv[2];
    run.hours = strtod(argv[3], NULL);
    days_begin(&run);
    if (strcmp(argv[1], "size") == 0)
        return days_size(&run) > (argc > 5 ? strtod(argv[5], NULL) : HUGE_VAL);
    run.moments = days_make(run.records, sizeof *run.moments);
    days_go(&run);
    days_check(&run);
    return days_wrong != 0;
}
