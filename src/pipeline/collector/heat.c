/* Scans a process for written pages, on a thread of its own (heat.h). Stamps lie in chunks of 2 MiB
 * of addresses, in the order of their numbers. So a block of any size, also one that a damaged
 * record tells of, takes no more steps than there are stamps.
 *
 * What a scan costs the program is a fault at the next write to each page that it protects (0.9
 * us). So chunks rest where the faults of all would be more than FAULTS_MOST an interval:
 *
 *   a new chunk      at first its pages are only found, and protected a scan or two later
 *   a chunk whose    is left out of 1 or 3 scans in a row; its pages stay protected until they
 *   pages are hot    are written, and are found at the chunk's next scan */
#include "collector/heat.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/array.h"
#include "base/now.h"
#include "base/search.h"
#include "procfs/proc_file.h"
#include "procfs/process.h"
#include "procfs/writable_maps.h"
#include "wire/write_watch.h"

enum { CHUNK_LOG2 = 21, CHUNK_PAGES = 512, REGIONS = 4096, LARGE = 1 << 20 };
enum { NEW_BYTES = 8 << CHUNK_LOG2 };
enum { SECOND_MS = 1000, TEN_SECONDS_MS = 10 * SECOND_MS };

/* Milliseconds since the beginning, + 1; 0: not found written yet. */
enum { LAST_STAMPS = 3 };

/* 5,500 faults are 5 ms: half a percent of a processor, if the interval is a second. */
enum { FAULTS_MOST = 5500, FAULTS_FEW = 16, PERIOD_MOST = 4 };

/* Numbers of scans. The chunk was protected in scan `from` (-1: before the first one), and is left
 * out of those between `from` and `due`. */
struct heat_rest {
    int64_t from, due;
};

enum heat_state { CHUNK_PROTECTED, CHUNK_FOUND, CHUNK_OPEN };
struct heat_chunk {
    uint64_t number;
    enum heat_state state;        /* found: by the scan under way, which leaves it open */
    bool has_rested;              /* ever */
    uint32_t period;              /* it is scanned at every n-th scan */
    uint32_t faults;              /* since its last scan */
    uint32_t rate;                /* faults in each interval, by its last scan */
    struct heat_rest now, before; /* `before`: the one that ended at now.from */
    uint32_t first[CHUNK_PAGES];  /* ever */
    uint32_t since[CHUNK_PAGES];  /* since the birth of a block */
    uint32_t last[LAST_STAMPS][CHUNK_PAGES]; /* the newest stands first */
    /* How many scans before the stamp's the page had been protected; 1: in the one before. */
    uint8_t since_scans[CHUNK_PAGES], last_scans[LAST_STAMPS][CHUNK_PAGES];
};

struct scan {
    uint32_t begin_ms, end_ms; /* all its stamps lie before its end */
};

/* One request to the kernel. The program writes meanwhile, and the moment within the request at
 * which a page was looked at is not known. */
struct heat_step {
    uint32_t from_ms, until_ms; /* until: the stamps of its pages */
};

/* Rising: mappings that are registered, or runs of pages. */
struct ranges {
    struct write_watch_region *items;
    size_t count, room;
};

struct heat {
    pid_t pid;
    int userfaultfd, pagemap;
    uint64_t interval_ns, begin_ns;
    uint64_t page_bytes;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool stops, gone;
    bool blind; /* the last scan failed: what was written since the one before is not known */
    struct heat_chunk **chunks;                 /* by number, rising */
    size_t chunk_count, chunk_room, last_chunk; /* last: found by the last search */
    struct write_watch_region *regions;
    struct ranges watched, seen; /* of the last pass over the mappings, and of this one */
    uint32_t asked_ms;  /* no later than the next request; the clock is read where pages were found,
                          and after requests that take time */
    bool peeks;         /* this pass protects nothing, and fills `fresh` */
    bool opens;         /* the request under way protects nothing, because its chunks are new */
    bool finds_new;     /* the request under way is for new chunks, */
    uint64_t new_pages; /* … of which the scan has found so many pages */
    bool takes_all;     /* in the next scan, or in this one, no chunk rests */
    uint64_t rate;      /* the sum of the chunks' */
    bool young;         /* of this look: nothing can be cold yet */
    struct ranges fresh; /* of the last peek: pages written since the last scan */
    size_t fresh_at;     /* where the last search in it ended */
    uint32_t look_ms;    /* when heat_lock() was called */
    struct scan *scans;  /* rising */
    size_t scan_count, scan_room;
    struct heat_step *steps; /* those that found pages and ended in a later millisecond than they
                           began; rising */
    size_t step_count, step_room;
    struct heat_write known_write;
    unsigned known_scans; /* of known_write */
    void (*before_scan)(void *context);
    void *context;
};

/* From the 49th day on all is at one moment, so no stamp is before an older one: 32 bits would
 * begin again. */
uint32_t heat_ms_at(const struct heat *heat, uint64_t monotonic_ns)
{
    enum { MS_NS = 1000000 };
    uint64_t ms = monotonic_ns > heat->begin_ns ? (monotonic_ns - heat->begin_ns) / MS_NS + 1 : 0;

    return ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX - 1;
}

static uint32_t heat_now_ms(const struct heat *heat)
{
    uint32_t ms = heat_ms_at(heat, now_monotonic_ns());
    return ms ? ms : 1;
}

/* ---- Stamps ---------------------------------------------------------------------------------- */

/* The index of the first chunk with that number or a higher one. Pages are mostly asked for in
 * order, so the chunk of the last search is tried first. */
static size_t heat_first_chunk(struct heat *heat, uint64_t number)
{
    size_t first = heat->last_chunk;
    if (first < heat->chunk_count && heat->chunks[first]->number == number)
        return first;
    first = 0;
    SEARCH_FIRST(first, heat->chunk_count, at, heat->chunks[at]->number < number);
    return heat->last_chunk = first;
}

static struct heat_chunk *heat_find_chunk(struct heat *heat, uint64_t number)
{
    size_t at = heat_first_chunk(heat, number);
    return at < heat->chunk_count && heat->chunks[at]->number == number ? heat->chunks[at] : NULL;
}

/* NULL: no memory. */
static struct heat_chunk *heat_chunk(struct heat *heat, uint64_t number)
{
    size_t at = heat_first_chunk(heat, number);
    if (at < heat->chunk_count && heat->chunks[at]->number == number)
        return heat->chunks[at];
    if (!array_make_room(&heat->chunks, &heat->chunk_room, heat->chunk_count, sizeof *heat->chunks))
        return NULL;
    struct heat_chunk *chunk = calloc(1, sizeof *chunk);
    if (!chunk)
        return NULL;
    chunk->number = number;
    chunk->period = 1;
    chunk->state = heat->opens ? CHUNK_FOUND : CHUNK_PROTECTED;
    chunk->now = (struct heat_rest){(int64_t)heat->scan_count - 1, (int64_t)heat->scan_count};
    chunk->before = chunk->now;
    memmove(&heat->chunks[at + 1], &heat->chunks[at],
            (heat->chunk_count - at) * sizeof *heat->chunks);
    heat->chunks[at] = chunk;
    heat->chunk_count++;
    return chunk;
}

uint64_t heat_next_written(struct heat *heat, uint64_t page, uint64_t end)
{
    size_t at = heat_first_chunk(heat, page >> CHUNK_LOG2);
    uint64_t start = at < heat->chunk_count ? heat->chunks[at]->number << CHUNK_LOG2 : end;
    return start > end ? end : start > page ? start : page;
}

static size_t heat_place(const struct heat *heat, uint64_t address)
{
    return (size_t)(address & ((1u << CHUNK_LOG2) - 1)) / heat->page_bytes;
}

static uint8_t heat_scans_since(const struct heat *heat, const struct heat_chunk *chunk)
{
    int64_t scans = (int64_t)heat->scan_count - chunk->now.from;
    return (uint8_t)(scans < 1 ? 1 : scans < UINT8_MAX ? scans : UINT8_MAX);
}

/* A page that was left open is found again, whether it was written again or not. */
static void heat_stamp_page(struct heat *heat, struct heat_chunk *chunk, size_t at, uint32_t now_ms)
{
    bool again = chunk->state != CHUNK_PROTECTED && chunk->first[at] == chunk->last[0][at];
    for (size_t i = LAST_STAMPS - 1; i > 0; i--) {
        chunk->last[i][at] = chunk->last[i - 1][at];
        chunk->last_scans[i][at] = chunk->last_scans[i - 1][at];
    }
    chunk->last[0][at] = now_ms;
    chunk->last_scans[0][at] = heat_scans_since(heat, chunk);
    if (!chunk->first[at] || again)
        chunk->first[at] = now_ms;
    if (!chunk->since[at]) {
        chunk->since[at] = now_ms;
        chunk->since_scans[at] = chunk->last_scans[0][at];
    }
    chunk->faults += chunk->state == CHUNK_PROTECTED && chunk->last[1][at];
}

static void heat_stamp(struct heat *heat, uint64_t start, uint64_t end, uint32_t now_ms)
{
    for (uint64_t page = start; page < end; page += heat->page_bytes) {
        struct heat_chunk *chunk = heat_chunk(heat, page >> CHUNK_LOG2);
        if (!chunk)
            return;
        heat_stamp_page(heat, chunk, heat_place(heat, page), now_ms);
    }
}

/* Whether the peek has found the page written. Pages are asked for in order. */
static bool heat_is_fresh(struct heat *heat, uint64_t address)
{
    const struct ranges *fresh = &heat->fresh;
    size_t at = heat->fresh_at;
    if (at && fresh->items[at - 1].end > address)
        at = 0;
    while (at < fresh->count && fresh->items[at].end <= address)
        at++;
    heat->fresh_at = at;
    return at < fresh->count && fresh->items[at].start <= address;
}

unsigned heat_of(struct heat *heat, uint64_t address)
{
    const struct heat_chunk *chunk = heat_find_chunk(heat, address >> CHUNK_LOG2);
    size_t at = heat_place(heat, address);
    if (heat->young)
        return HEAT_KNOWN;
    if (heat->blind)
        return 0;
    if (heat_is_fresh(heat, address))
        return HEAT_KNOWN;
    if (!chunk || !chunk->last[0][at])
        return 0;
    uint32_t age_ms = heat->look_ms > chunk->last[0][at] ? heat->look_ms - chunk->last[0][at] : 0;
    bool is_cold = age_ms >= SECOND_MS;
    return HEAT_KNOWN | (is_cold ? HEAT_COLD_1S : 0) |
           (age_ms >= TEN_SECONDS_MS ? HEAT_COLD_10S : 0) |
           (is_cold && chunk->first[at] == chunk->last[0][at] ? HEAT_FILLED : 0);
}

/* ---- Scanning -------------------------------------------------------------------------------- */

/* A mapping that is registered with a userfaultfd of the program's own stays without stamps. */
static bool heat_register(const struct heat *heat, uint64_t start, uint64_t end)
{
    struct write_watch_register range = {start, end - start, WRITE_WATCH_PROTECT, 0};
    return ioctl(heat->userfaultfd, WRITE_WATCH_REGISTER, &range) == 0;
}

static void heat_note_step(struct heat *heat, uint32_t from_ms, uint32_t until_ms)
{
    struct heat_step *last = heat->step_count ? &heat->steps[heat->step_count - 1] : NULL;
    if (from_ms == until_ms || (last && last->until_ms == until_ms))
        return; /* of requests that end in one millisecond the first is kept, which began
                   earliest */
    if (array_make_room(&heat->steps, &heat->step_room, heat->step_count, sizeof *heat->steps))
        heat->steps[heat->step_count++] = (struct heat_step){from_ms, until_ms};
}

/* False: no memory. */
static bool heat_keep_range(struct ranges *ranges, const struct write_watch_region *range)
{
    if (!array_make_room(&ranges->items, &ranges->room, ranges->count, sizeof *ranges->items))
        return false;
    ranges->items[ranges->count++] = *range;
    return true;
}

static void heat_found(struct heat *heat, const struct write_watch_region *written)
{
    if (heat->finds_new)
        heat->new_pages += (written->end - written->start) / heat->page_bytes;
    if (!heat->peeks)
        heat_stamp(heat, written->start, written->end, heat->asked_ms);
    else if (!heat_keep_range(&heat->fresh, written))
        heat->blind = true;
}

/* How many runs of pages there can be. For each request the kernel makes room for that many, up to
 * 512 (12 KiB). */
static uint64_t heat_regions_of(const struct heat *heat, uint64_t start, uint64_t end)
{
    uint64_t most = (end - start) / heat->page_bytes / 2 + 1;
    return most < REGIONS ? most : REGIONS;
}

/* False: the range is not registered, because it was just mapped anew. */
static bool heat_scan_range(struct heat *heat, uint64_t start, uint64_t end)
{
    uint64_t protects = heat->peeks || heat->opens ? 0 : WRITE_WATCH_PROTECT_MATCHING;
    struct write_watch_scan scan = {.size_bytes = sizeof scan,
                                    .flags = protects | WRITE_WATCH_CHECK_ASYNC,
                                    .start = start,
                                    .end = end,
                                    .regions = (uintptr_t)heat->regions,
                                    .region_count = heat_regions_of(heat, start, end),
                                    .category_mask = WRITE_WATCH_WRITTEN | WRITE_WATCH_PRESENT,
                                    .return_mask = WRITE_WATCH_WRITTEN};
    while (scan.start < end) {
        uint32_t from_ms = heat->asked_ms;
        int found = ioctl(heat->pagemap, WRITE_WATCH_SCAN, &scan);
        if (found > 0 || end - start >= LARGE)
            heat->asked_ms = heat_now_ms(heat);
        if (found < 0 && errno == EPERM)
            return false;
        if (found < 0 && errno != ESRCH) /* ESRCH: the process is gone */
            heat->blind = true;
        if (found < 0 || scan.walk_end <= scan.start)
            return true;
        if (found > 0 && !heat->peeks)
            heat_note_step(heat, from_ms, heat->asked_ms);
        for (int i = 0; i < found; i++)
            heat_found(heat, &heat->regions[i]);
        scan.start = scan.walk_end;
    }
    return true;
}

/* ---- Which chunks a scan takes ---- */

enum heat_fate { FATE_NEW, FATE_TAKEN, FATE_OPEN, FATE_RESTS };

/* `at`: where the chunk with that number stands, if there is one. */
static enum heat_fate heat_fate_of(const struct heat *heat, size_t at, uint64_t number)
{
    const struct heat_chunk *chunk = at < heat->chunk_count ? heat->chunks[at] : NULL;
    if (!chunk || chunk->number != number)
        return FATE_NEW;
    if (heat->takes_all)
        return FATE_TAKEN;
    if (chunk->state == CHUNK_FOUND) /* by way of another mapping */
        return FATE_OPEN;
    return (int64_t)heat->scan_count >= chunk->now.due ? FATE_TAKEN : FATE_RESTS;
}

/* The end of the chunks from `start` on that have the same fate. */
static uint64_t heat_part(struct heat *heat, uint64_t start, uint64_t end, enum heat_fate *fate)
{
    size_t at = heat_first_chunk(heat, start >> CHUNK_LOG2);
    uint64_t number = start >> CHUNK_LOG2, past = (end - 1) >> CHUNK_LOG2;
    *fate = heat_fate_of(heat, at, number);
    do
        number = *fate != FATE_NEW        ? number + 1
                 : at < heat->chunk_count ? heat->chunks[at]->number
                                          : past + 1;
    while (number <= past && *fate != FATE_NEW && heat_fate_of(heat, ++at, number) == *fate);
    return number > past ? end : number << CHUNK_LOG2;
}

/* Chunks of which no page was found so far. As long as none is, requests get longer, because there
 * are large mappings that are hardly used. */
static bool heat_scan_new(struct heat *heat, uint64_t start, uint64_t end)
{
    bool watched = true;
    heat->finds_new = true;
    for (uint64_t bytes = NEW_BYTES, to; watched && start < end; start = to) {
        uint64_t before = heat->new_pages;
        to = (start & ~(uint64_t)(NEW_BYTES - 1)) + bytes;
        to = to < end && to > start ? to : end;
        heat->opens = !heat->takes_all && before > FAULTS_MOST;
        watched = heat_scan_range(heat, start, to);
        bytes = heat->new_pages == before ? 2 * bytes : NEW_BYTES;
    }
    heat->finds_new = heat->opens = false;
    return watched;
}

/* False: the range is not registered, because it was just mapped anew. */
static bool heat_scan_parts(struct heat *heat, uint64_t start, uint64_t end)
{
    bool watched = true;
    if (heat->peeks)
        return heat_scan_range(heat, start, end);
    for (uint64_t to; watched && start < end; start = to) {
        enum heat_fate fate;
        to = heat_part(heat, start, end, &fate);
        heat->opens = fate == FATE_OPEN;
        if (fate == FATE_NEW)
            watched = heat_scan_new(heat, start, to);
        else if (fate != FATE_RESTS)
            watched = heat_scan_range(heat, start, to);
    }
    heat->opens = false;
    return watched;
}

/* How long the chunk rests: longer while the faults of all are too many, and again shorter when
 * they are few. */
static uint32_t heat_period_of(const struct heat *heat, const struct heat_chunk *chunk)
{
    uint32_t period = chunk->period;
    uint64_t others = heat->rate - chunk->rate;
    if (chunk->faults >= FAULTS_FEW && others + chunk->faults / period > FAULTS_MOST)
        return 2 * period < PERIOD_MOST ? 2 * period : PERIOD_MOST;
    if (period > 1 && others + chunk->faults / (period / 2) <= FAULTS_MOST / 2)
        return period / 2;
    return period;
}

/* After the scan with the number `scan`. */
static void heat_pace_chunk(struct heat *heat, struct heat_chunk *chunk, int64_t scan)
{
    if (chunk->state == CHUNK_FOUND && !heat->takes_all) {
        chunk->state = CHUNK_OPEN;
        chunk->has_rested = true;
        chunk->period = 2;
        chunk->now.due = scan + (heat->new_pages > 4 * FAULTS_MOST ? 2 : 1);
        return;
    }
    if (!heat->takes_all && scan < chunk->now.due)
        return;
    uint32_t period = heat_period_of(heat, chunk);
    heat->rate -= chunk->rate;
    chunk->rate = chunk->faults / period;
    heat->rate += chunk->rate;
    chunk->period = period;
    chunk->has_rested |= period > 1;
    chunk->faults = 0;
    chunk->state = CHUNK_PROTECTED;
    chunk->before = chunk->now;
    chunk->now = (struct heat_rest){scan, scan + period};
}

/* Whether the range was registered in the last pass. Called in the order of addresses; `passed`
 * counts the ranges below. */
static bool heat_was_watched(const struct heat *heat, const struct write_watch_region *range,
                             size_t *passed)
{
    const struct ranges *watched = &heat->watched;
    while (*passed < watched->count && watched->items[*passed].start < range->start)
        ++*passed;
    return *passed < watched->count && watched->items[*passed].start == range->start &&
           watched->items[*passed].end == range->end;
}

/* Registers the range if it is new, and scans it. False: it is not ours to watch. */
static bool heat_watch(struct heat *heat, const struct write_watch_region *range, size_t *passed)
{
    if (!heat_was_watched(heat, range, passed) && !heat_register(heat, range->start, range->end))
        return false;
    if (!heat_scan_parts(heat, range->start, range->end) &&
        !(heat_register(heat, range->start, range->end) &&
          heat_scan_parts(heat, range->start, range->end)))
        return false;
    heat_keep_range(&heat->seen, range);
    return true;
}

/* False: the process has ended, or has executed another program, before all was scanned. Such a
 * process shows by a range that cannot be registered any more. */
static bool heat_scan_mappings(struct heat *heat, struct writable_maps *maps)
{
    struct write_watch_region range = {0};
    size_t passed = 0;
    heat->seen.count = 0;
    while (writable_maps_next(maps, &range.start, &range.end))
        heat_watch(heat, &range, &passed);
    if (maps->error && maps->error != -ESRCH)
        heat->blind = true;
    struct ranges last = heat->watched;
    heat->watched = heat->seen;
    heat->seen = last;
    const struct ranges *now = &heat->watched;
    const struct write_watch_region *ends = now->items;
    return now->count &&
           (heat_register(heat, ends[now->count - 1].start, ends[now->count - 1].end) ||
            heat_register(heat, ends[0].start, ends[0].end));
}

/* False: no memory. */
static bool heat_note_scan(struct heat *heat, uint32_t begin_ms)
{
    heat->known_write = (struct heat_write){0};
    if (!array_make_room(&heat->scans, &heat->scan_room, heat->scan_count, sizeof *heat->scans))
        return false;
    for (size_t i = 0; i < heat->chunk_count; i++)
        heat_pace_chunk(heat, heat->chunks[i], (int64_t)heat->scan_count);
    heat->scans[heat->scan_count++] = (struct scan){begin_ms, heat_now_ms(heat) + 1};
    return true;
}

/* Goes over all mappings, with the lock. False: the process was not there to the end. */
static bool heat_pass(struct heat *heat, bool peeks)
{
    struct writable_maps maps;
    int error = writable_maps_open(&maps, heat->pid);
    heat->peeks = peeks;
    heat->asked_ms = heat_now_ms(heat);
    heat->fresh.count = heat->fresh_at = 0;
    heat->new_pages = 0;
    heat->gone = error == -ESRCH;
    heat->blind = error && !heat->gone; /* descriptors or memory are short */
    bool watched = !error && heat_scan_mappings(heat, &maps);
    if (!error)
        writable_maps_close(&maps);
    return watched;
}

/* With the lock. */
static void heat_scan(struct heat *heat)
{
    if (heat->before_scan)
        heat->before_scan(heat->context);
    uint32_t begin_ms = heat_now_ms(heat);
    heat->takes_all = !(heat_pass(heat, false) && !heat->blind && heat_note_scan(heat, begin_ms));
}

static void *heat_thread(void *context)
{
    struct heat *heat = context;
    pthread_mutex_lock(&heat->lock);
    while (!heat->stops && !heat->gone) {
        uint64_t due_ns = now_monotonic_ns() + heat->interval_ns;
        struct timespec due = {(time_t)(due_ns / 1000000000u), (long)(due_ns % 1000000000u)};
        while (!heat->stops && pthread_cond_timedwait(&heat->woken, &heat->lock, &due) == 0)
            ;
        if (!heat->stops && !heat->gone)
            heat_scan(heat);
    }
    pthread_mutex_unlock(&heat->lock);
    return NULL;
}

void heat_lock(struct heat *heat, enum heat_look how)
{
    pthread_mutex_lock(&heat->lock);
    heat->young = how != HEAT_SCAN && !heat->scan_count && heat_now_ms(heat) <= SECOND_MS;
    if (!heat->gone && how == HEAT_PEEK && !heat->young)
        heat_pass(heat, true);
    if (!heat->gone && how != HEAT_PEEK && !heat->young) {
        heat->takes_all = true;
        heat_scan(heat);
    }
    heat->look_ms = heat_now_ms(heat);
}

void heat_unlock(struct heat *heat)
{
    pthread_mutex_unlock(&heat->lock);
}

void heat_hold(struct heat *heat)
{
    pthread_mutex_lock(&heat->lock);
}

void heat_before_scans(struct heat *heat, void (*call)(void *context), void *context)
{
    pthread_mutex_lock(&heat->lock);
    heat->before_scan = call;
    heat->context = context;
    pthread_mutex_unlock(&heat->lock);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* The number of the newest scan that had ended by `ms`; -1: there is none. */
static int64_t heat_scan_ended(const struct heat *heat, uint32_t ms)
{
    size_t first = 0;
    SEARCH_FIRST(first, heat->scan_count, at, heat->scans[at].end_ms <= ms);
    return (int64_t)first - 1;
}

/* The newest scan up to `scan` that has protected the chunk; -1: none has, or it is not known any
 * more. */
static int64_t heat_scan_of_chunk(const struct heat_chunk *chunk, int64_t scan)
{
    if (scan >= chunk->now.from)
        return scan < chunk->now.due ? chunk->now.from : scan;
    if (scan >= chunk->before.from)
        return scan < chunk->before.due ? chunk->before.from : scan;
    return chunk->has_rested ? -1 : scan;
}

/* The same for all chunks of a range: up to which scan it is known what was written there. */
static int64_t heat_scan_of(struct heat *heat, uint64_t start, uint64_t end, int64_t scan)
{
    int64_t least = scan;
    for (size_t at = heat_first_chunk(heat, start >> CHUNK_LOG2);
         at < heat->chunk_count && heat->chunks[at]->number << CHUNK_LOG2 < end; at++) {
        int64_t of_chunk = heat_scan_of_chunk(heat->chunks[at], scan);
        least = of_chunk < least ? of_chunk : least;
    }
    return least;
}

uint32_t heat_scan_before(struct heat *heat, uint64_t start, uint64_t end, uint32_t ms)
{
    int64_t scan = heat_scan_of(heat, start, end, heat_scan_ended(heat, ms));
    return scan < 0 ? 0 : heat->scans[scan].begin_ms;
}

uint32_t heat_scan_around(struct heat *heat, uint64_t start, uint64_t end, uint32_t ms)
{
    size_t first = 0;
    SEARCH_FIRST(first, heat->scan_count, at, heat->scans[at].begin_ms < ms);
    int64_t newest = (int64_t)(first < heat->scan_count ? first + 1 : heat->scan_count) - 1;
    int64_t scan = heat_scan_of(heat, start, end, newest);
    return scan < 0 ? 0 : heat->scans[scan].end_ms;
}

/* When the request began that has stamped a page. */
static uint32_t heat_step_from(const struct heat *heat, uint32_t stamp_ms)
{
    size_t first = 0;
    SEARCH_FIRST(first, heat->step_count, at, heat->steps[at].until_ms < stamp_ms);
    bool took = first < heat->step_count && heat->steps[first].until_ms == stamp_ms;
    return took ? heat->steps[first].from_ms : stamp_ms;
}

/* The write that a scan has stamped came after the beginning of the scan before that had protected
 * the page, `scans` earlier. Pages that lie beside each other were mostly written between the same
 * scans. */
static struct heat_write heat_write_of(struct heat *heat, uint32_t stamp_ms, unsigned scans)
{
    if (heat->known_write.until == stamp_ms && heat->known_scans == scans)
        return heat->known_write;
    int64_t before = heat_scan_ended(heat, stamp_ms) - (int64_t)(scans - 1);
    heat->known_scans = scans;
    heat->known_write = (struct heat_write){.after = before < 0 ? 0 : heat->scans[before].begin_ms,
                                            .until = stamp_ms,
                                            .seen_from = heat_step_from(heat, stamp_ms)};
    return heat->known_write;
}

/* A stamp of the same millisecond counts: rather written than not. */
bool heat_pages_born(struct heat *heat, uint64_t start, uint64_t end, uint32_t birth_ms)
{
    bool known = true;
    for (uint64_t page = start; (page = heat_next_written(heat, page, end)) < end;
         page += heat->page_bytes) {
        struct heat_chunk *chunk = heat_find_chunk(heat, page >> CHUNK_LOG2);
        size_t at = heat_place(heat, page);
        chunk->since[at] = 0;
        for (size_t i = 0; i < LAST_STAMPS; i++)
            if (chunk->last[i][at] && chunk->last[i][at] >= birth_ms) {
                chunk->since[at] = chunk->last[i][at];
                chunk->since_scans[at] = chunk->last_scans[i][at];
            }
        known &= !chunk->last[LAST_STAMPS - 1][at] || chunk->last[LAST_STAMPS - 1][at] < birth_ms;
    }
    return known;
}

/* Was a write seen before `ms`? A scan may have begun before and have come to the page afterwards,
 * when another block lay there. */
enum heat_order { SEEN_BEFORE, SEEN_AROUND, SEEN_AFTER };
static enum heat_order heat_order_of(const struct heat_write *write, uint32_t ms)
{
    if (write->until < ms)
        return SEEN_BEFORE;
    return write->seen_from > ms ? SEEN_AFTER : SEEN_AROUND;
}

bool heat_writes_of(struct heat *heat, uint64_t page, uint32_t birth_ms, uint32_t ms,
                    struct heat_write *first, struct heat_write *last)
{
    const struct heat_chunk *chunk = heat_find_chunk(heat, page >> CHUNK_LOG2);
    size_t at = heat_place(heat, page);
    uint32_t until = 0; /* of a write that was seen around `ms` */
    *first = *last = (struct heat_write){0};
    if (!chunk || !chunk->since[at])
        return true;
    struct heat_write seen = heat_write_of(heat, chunk->since[at], chunk->since_scans[at]);
    if (heat_order_of(&seen, ms) == SEEN_AFTER)
        return true; /* the first that was seen is another block's */
    *first = *last = seen;
    for (size_t i = 0; i < LAST_STAMPS && chunk->last[i][at] >= birth_ms && chunk->last[i][at];
         i++) {
        seen = heat_write_of(heat, chunk->last[i][at], chunk->last_scans[i][at]);
        enum heat_order order = heat_order_of(&seen, ms);
        if (order == SEEN_AROUND)
            until = seen.until;
        if (order != SEEN_BEFORE)
            continue;
        *last = seen;
        last->until = until ? until : seen.until;
        return true;
    }
    last->until = until;
    return until != 0;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void heat_free(struct heat *heat)
{
    for (size_t i = 0; i < heat->chunk_count; i++)
        free(heat->chunks[i]);
    free(heat->chunks);
    free(heat->regions);
    free(heat->watched.items);
    free(heat->seen.items);
    free(heat->fresh.items);
    free(heat->scans);
    free(heat->steps);
    if (heat->pagemap >= 0)
        close(heat->pagemap);
    close(heat->userfaultfd);
    free(heat);
}

static int heat_start(struct heat *heat)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&heat->lock, NULL);
    pthread_cond_init(&heat->woken, &attributes);
    pthread_condattr_destroy(&attributes);
    return pthread_create(&heat->thread, NULL, heat_thread, heat);
}

/* The descriptor comes from the program. On a device, a request meant for a userfaultfd may do
 * anything, so only a userfaultfd is accepted. */
static bool heat_is_watch(int fd)
{
    char path[32], target[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t bytes = readlink(path, target, sizeof target - 1);
    target[bytes > 0 ? bytes : 0] = 0;
    return strcmp(target, "anon_inode:[userfaultfd]") == 0;
}

struct heat *heat_begin(pid_t pid, int userfaultfd, uint64_t interval_ns)
{
    struct heat *heat = heat_is_watch(userfaultfd) ? calloc(1, sizeof *heat) : NULL;
    if (!heat) {
        close(userfaultfd);
        return NULL;
    }
    *heat = (struct heat){.pid = pid,
                          .userfaultfd = userfaultfd,
                          .pagemap = proc_open(pid, "pagemap"),
                          .interval_ns = interval_ns,
                          .begin_ns = now_monotonic_ns(),
                          .page_bytes = process_page_bytes(),
                          .regions = malloc(REGIONS * sizeof *heat->regions)};
    if (heat->pagemap >= 0 && heat->regions && heat_start(heat) == 0)
        return heat;
    heat_free(heat);
    return NULL;
}

void heat_end(struct heat *heat)
{
    if (!heat)
        return;
    pthread_mutex_lock(&heat->lock);
    heat->stops = true;
    pthread_cond_signal(&heat->woken);
    pthread_mutex_unlock(&heat->lock);
    pthread_join(heat->thread, NULL);
    pthread_mutex_destroy(&heat->lock);
    pthread_cond_destroy(&heat->woken);
    heat_free(heat);
}

const char *heat_missing(void)
{
    static char page[1];
    struct write_watch_region region;
    struct write_watch_scan scan = {.size_bytes = sizeof scan,
                                    .start =
                                        (uintptr_t)page & ~(uintptr_t)(process_page_bytes() - 1),
                                    .regions = (uintptr_t)&region,
                                    .region_count = 1,
                                    .category_mask = WRITE_WATCH_WRITTEN,
                                    .return_mask = WRITE_WATCH_WRITTEN};
    scan.end = scan.start + process_page_bytes();
    int watch = write_watch_open();
    int pagemap = proc_open(getpid(), "pagemap");
    bool scans = pagemap >= 0 && ioctl(pagemap, WRITE_WATCH_SCAN, &scan) >= 0;
    if (watch >= 0)
        close(watch);
    if (pagemap >= 0)
        close(pagemap);
    if (watch == -ENOSYS || watch == -EINVAL || (watch >= 0 && !scans))
        return "this kernel cannot tell which pages were written (userfaultfd with WP_ASYNC and "
               "PAGEMAP_SCAN: Linux 6.7)";
    return watch < 0 ? "userfaultfd is not permitted here" : NULL;
}
