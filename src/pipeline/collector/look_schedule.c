/* Decides when to look at a process and what a look is given (look_schedule.h). A look at a running
 * process works on copies and on a thread of its own. Its cost is estimated beforehand and compared
 * with a hundredth of the run. */
#include "collector/look_schedule.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/now.h"
#include "base/strbuf.h"
#include "collector/memory_bound.h"
#include "collector/quota.h"
#include "procfs/proc_file.h"
#include "procfs/process.h"

/* A peak is new when it is higher by a twentieth than the last one looked at. The part rises to a
 * tenth, a fifth and a third when a quarter, a half and three quarters of the budget for looks are
 * spent. Otherwise a program that grows all the time would have looks at its low levels only. */
static const unsigned look_schedule_growth_parts[] = {20, 10, 5, 3};

/* A level at which the process has stopped growing is a new peak too, when it is higher by a
 * hundredth and by so many bytes. It stands while readings differ by less than a 256th. */
#define STANDING_PART  100
#define STANDING_BYTES (1u << 20)
#define STANDING_NS    20000000u
#define STEADY_PART    256

/* Looks may take a hundredth of the run. Of a short run they may take a twentieth, but at most
 * BUDGET_SHORT_NS: otherwise a program of half a second would be looked at after its peak. */
#define BUDGET_PART       100
#define BUDGET_SHORT_PART 20
#define BUDGET_SHORT_NS   60000000u

/* On a node with more ranks than processors, looks at all ranks would take the processors from the
 * ranks. So a run counts only for the part in which its program got a processor when it wanted one,
 * and for an eighth at least. */
#define CROWDED_PART 8

/* A look at a level twice as high as the last one looked at is paid for by the allocations between
 * the two: from DOUBLE_NS on it is made while all looks stay below a tenth of the run. Otherwise a
 * program that grows by many small blocks a second, and is killed, would have been looked at in its
 * first moments only. */
#define DOUBLE_PART 10
#define DOUBLE_NS   1000000000u

/* The cost of a look, estimated rather too high: mappings, threads and control group; a block to
 * copy, sort and sweep (measured: 85 ns with ten million on a busy machine); a page of 4 KiB. */
#define LOOK_NS  1000000u
#define BLOCK_NS 100u
#define PAGE_NS  10u

/* The cost of a block in the tree of dominators. Holders are not found of programs with fewer
 * blocks than HELD_LEAST_BLOCKS. */
#define HELD_NS           300u
#define HELD_LEAST_BLOCKS 1000u
#define HELD_MOST_BLOCKS  2000000u

/* The cost of reading the parts of a control group, which are hundreds of files. A look at a peak
 * goes without them where that is more than looks may take. */
#define CONTAINER_NS 20000000u

/* The program waits for the last look: it takes no longer than this, and no more memory than for
 * these blocks (800 MB). */
#define LAST_LOOK_NS     5000000000u
#define LAST_LOOK_BLOCKS 20000000u
/* Of a block in the list that a look is given, and in what it counts. */
#define LIST_BYTES 48u

/* Programs that end before this age get the last look only. */
#define START_NS 10000000u

/* How many call paths are kept of a look at a peak. Of the last look all are kept, except for rows
 * of owners, each of which is a row of SQL. */
#define PEAK_ROWS  1024
#define OWNER_ROWS 16384

struct look_schedule {
    pid_t pid;
    uint64_t start_ns;
    struct look_gap gap;
    bool wants_content, wants_held, wants_types;
    struct heat *heat;
    struct area_memory allocators; /* of the look under way */
    struct wire_wish wish;         /* of the look that is asked for now */
    struct view *view;
    struct event_sink *sink;
    uint64_t peak_bytes; /* the highest resident set that was looked at, or that begins a look */
    uint64_t high_bytes, high_ns; /* the highest reading, and since when there is none above it */
    uint64_t spent_ns;
    uint64_t ran_ns, waited_ns; /* the main thread's, before the recording */
    uint32_t last_id;
    uint64_t tool_expected_bytes; /* by look_schedule_tool_estimate() when the look under way
                                   * began */
    int64_t tool_excess_bytes;    /* of that estimate over what the last look found */
    size_t named_count;           /* threads of the replay whose names were asked for */
    bool started;                 /* the look at the start is done */
    bool denied;                  /* the last look was denied: no further one before the end */
    char complaint[192];
    int graph_error; /* of the last look that was to make a graph */
    /* What is lost is found at the end, or in the look that begins now, or is known before the
     * end. */
    enum { LOST_AT_END, LOST_NOW, LOST_KNOWN } lost;

    struct look *done; /* looks that were not taken yet */
    size_t done_count, done_room;

    struct look now; /* under way if `is_busy` */
    bool is_busy;
    pthread_t thread;
    _Atomic bool is_over;
};

static void look_schedule_complain(struct look_schedule *looks, const char *what)
{
    snprintf(looks->complaint, sizeof looks->complaint, "%s", what);
}

struct look_schedule *look_schedule_new(pid_t pid, uint64_t start_ns, struct look_gap gap,
                                        struct view *view, struct event_sink *sink)
{
    struct look_schedule *looks = calloc(1, sizeof *looks);
    if (!looks)
        return NULL;
    *looks = (struct look_schedule){
        .pid = pid, .start_ns = start_ns, .gap = gap, .view = view, .sink = sink};
    if (process_main_thread_time(pid, &looks->ran_ns, &looks->waited_ns) < 0)
        looks->ran_ns = looks->waited_ns = 0;
    if (gap.sentence)
        look_schedule_complain(looks, gap.sentence);
    return looks;
}

void look_schedule_lose(struct look_schedule *looks, struct look_gap gap)
{
    looks->gap = gap;
    look_schedule_complain(looks, gap.sentence);
}

void look_schedule_want_content(struct look_schedule *looks)
{
    looks->wants_content = true;
}

void look_schedule_want_held(struct look_schedule *looks)
{
    looks->wants_held = true;
}

void look_schedule_want_types(struct look_schedule *looks)
{
    looks->wants_types = true;
}

void look_schedule_use_heat(struct look_schedule *looks, struct heat *heat)
{
    looks->heat = heat;
}

/* ---- What a look is given ------------------------------------------------------------------ */

struct look_copying {
    struct live_list *list;
    int error;
};

static void look_schedule_expect_blocks(void *context, const uint64_t *addresses, size_t count)
{
    struct look_copying *copying = context;
    if (!copying->error && !live_list_expect(copying->list, addresses, count))
        copying->error = -ENOMEM;
}

static void look_schedule_copy_block(void *context, const struct replay_block *block)
{
    struct look_copying *copying = context;
    live_list_put(copying->list, &(struct live_entry){.address = block->address,
                                                      .size_bytes = block->size_bytes,
                                                      .node = block->node,
                                                      .birth_ticks = block->birth_ticks});
}

static int look_schedule_copy_blocks(struct look_schedule *looks, struct look *look)
{
    struct look_copying copying = {.list = &look->blocks};
    if (!memory_bound_has_room(replay_live_count(looks->sink->replay) * LIST_BYTES))
        return -ENOMEM;
    replay_live_addresses(looks->sink->replay, look_schedule_expect_blocks, &copying);
    int error = copying.error ? copying.error : live_list_lay_out(&look->blocks);
    if (!error)
        replay_live_blocks(looks->sink->replay, look_schedule_copy_block, &copying);
    return error;
}

static void look_schedule_add_claim(struct look *look, uint64_t start, uint64_t bytes,
                                    enum area_owner owner)
{
    uint64_t end;
    if (!bytes || __builtin_add_overflow(start, bytes, &end))
        return;
    if (!array_make_bare_room(&look->claims, &look->claim_room, look->claim_count,
                              sizeof *look->claims))
        return;
    look->claims[look->claim_count++] =
        (struct area_claim){.start = start, .end = end, .owner = owner};
}

static void look_schedule_claim_mapped(void *context, const struct replay_mapping *mapping)
{
    struct look *look = context;
    size_t before = look->claim_count;
    look_schedule_add_claim(look, mapping->start, mapping->end - mapping->start,
                            mapping->is_allocators ? AREA_ALLOCATOR : AREA_MMAP);
    if (look->claim_count == before)
        return;
    look->claims[before].kind = mapping->kind;
    look->claims[before].path = mapping->node;
}

/* The program could overwrite the recorder's list. That would falsify only the ledger of its own
 * memory. */
static void look_schedule_copy_claims(struct look_schedule *looks, struct look *look)
{
    struct wire_header *header = looks->view->header;
    uint32_t count = atomic_load_explicit(&header->private_count, memory_order_acquire);
    for (uint32_t i = 0; i < count && i < WIRE_PRIVATE_RANGES; i++) {
        struct wire_range *range = wire_private_range(header, i);
        uint64_t bytes = atomic_load_explicit(&range->bytes, memory_order_acquire);
        look_schedule_add_claim(look, atomic_load_explicit(&range->start, memory_order_relaxed),
                                bytes, AREA_TOOL);
    }
    replay_mapped(looks->sink->replay, look_schedule_claim_mapped, look);
}

static int look_schedule_place_compare(const void *left, const void *right)
{
    const struct stacks_place *a = left, *b = right;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

/* The kernel does not tell where a running thread's stack is, but the recorder does. */
static void look_schedule_copy_places(struct look_schedule *looks, struct look *look)
{
    uint32_t count = shared_view_ring_count(looks->view);
    look->places = malloc((count + 1) * sizeof *look->places);
    for (uint32_t i = 0; look->places && i < count; i++) {
        struct wire_ring *ring = shared_view_ring(looks->view, i);
        if (atomic_load_explicit(&ring->state, memory_order_acquire) == WIRE_RING_ACTIVE)
            look->places[look->place_count++] = (struct stacks_place){
                (pid_t)atomic_load_explicit(&ring->tid, memory_order_relaxed),
                atomic_load_explicit(&ring->thread_pointer, memory_order_relaxed),
                atomic_load_explicit(&ring->signal_stack, memory_order_relaxed)};
    }
    if (look->places)
        qsort(look->places, look->place_count, sizeof *look->places, look_schedule_place_compare);
}

/* An estimate without reading the mappings. The recorder touches only part of the tables that it
 * maps, and its library has pages too. */
static uint64_t look_schedule_tool_estimate(const struct look_schedule *looks)
{
    return shared_view_touched_bytes(looks->view) +
           atomic_load(&looks->view->header->private_bytes);
}

/* A memory limit that we share with the program must leave room for the program. */
static bool look_schedule_has_room_for_graph(struct look_schedule *looks)
{
    enum { GRAPH_BYTES = 64 }; /* a block */
    bool has_room = memory_bound_has_room(replay_live_count(looks->sink->replay) * GRAPH_BYTES);
    looks->graph_error = has_room ? 0 : -ENOMEM;
    return has_room;
}

/* Holders are found after the program has gone on: always at a snapshot; at the end if they are
 * asked for, or if finding them takes no more time than looks may take. */
static bool look_schedule_affords_held(const struct look_schedule *looks, const struct look *look)
{
    enum { HELD_BYTES = 96 }; /* a block, with its graph */
    uint64_t blocks = look->blocks.count;
    if (!memory_bound_has_room(blocks * HELD_BYTES))
        return false;
    if (looks->wants_held || look->sample.why == PROFILE_SAMPLE_MARK)
        return true;
    return blocks >= HELD_LEAST_BLOCKS && blocks <= HELD_MOST_BLOCKS &&
           looks->spent_ns + blocks * HELD_NS <= look->sample.time_ns / BUDGET_PART;
}

static bool look_schedule_wants_graph(const struct look_schedule *looks,
                                      enum profile_sample_why why)
{
    if (why == PROFILE_SAMPLE_BEFORE_END)
        return looks->wants_held || looks->lost == LOST_NOW;
    return why == PROFILE_SAMPLE_MARK || (why == PROFILE_SAMPLE_END && looks->lost != LOST_KNOWN);
}

static void look_schedule_copy_exit(const struct look_schedule *looks, struct look *look)
{
    struct wire_header *header = looks->view->header;
    look->waits = atomic_load(&header->exit_waiting) != 0;
    look->exit_pointer = look->waits ? atomic_load(&header->exit_pointer) : 0;
    look->exit_stack = atomic_load(&header->exit_stack);
    for (size_t i = 0; look->exit_stack && i < WIRE_EXIT_REGISTERS; i++)
        look->exit_registers[i] = atomic_load(&header->exit_registers[i]);
}

static void look_schedule_prepare(struct look_schedule *looks, enum profile_sample_why why,
                                  bool over_pages, uint64_t now_ns)
{
    struct look *look = &looks->now;
    uint64_t begin_ns = now_thread_cpu_ns();
    struct replay_counters program;
    look_init(look, looks->pid);
    replay_counters(looks->sink->replay, 0, &program);
    look->sample.id = ++looks->last_id;
    look->sample.why = why;
    look->sample.time_ns = now_ns > looks->start_ns ? now_ns - looks->start_ns : 0;
    look->sample.requested_bytes = figure_of(program.current_bytes);
    look->sample.live_count = figure_of(program.live_count);
    look->over_pages = over_pages && look_schedule_copy_blocks(looks, look) == 0;
    look->wants_content = looks->wants_content || looks->wish.content;
    look->wants_types = looks->wants_types || why == PROFILE_SAMPLE_BEFORE_END;
    look->heat = looks->heat;
    look->allocators = &looks->allocators;
    look->view = looks->view;
    look->unknown = looks->gap.owner;
    look->is_sample = looks->gap.is_sample;
    look->knows_mappings = looks->gap.knows_mappings;
    look->is_last = look->at_threads = why == PROFILE_SAMPLE_END;
    if (why == PROFILE_SAMPLE_END)
        look_schedule_copy_exit(looks, look);
    look->over_graph =
        look_schedule_wants_graph(looks, why) && look_schedule_has_room_for_graph(looks);
    look->without_links = why == PROFILE_SAMPLE_BEFORE_END && looks->lost == LOST_AT_END;
    look->wants_held = look->over_graph && look_schedule_affords_held(looks, look);
    look->path_to = looks->wish.path_to;
    look->row_limit = why == PROFILE_SAMPLE_END ? 0 : PEAK_ROWS;
    look->owner_limit = why == PROFILE_SAMPLE_END ? OWNER_ROWS : PEAK_ROWS;
    look_schedule_copy_claims(looks, look);
    look_schedule_copy_places(looks, look);
    /* Short processes come in large numbers, so their last looks go without the parts of the
     * control group. */
    look->of_container =
        (why != PROFILE_SAMPLE_RESIDENT_PEAK && look->sample.time_ns >= START_NS) ||
        look_schedule_can_afford(look->blocks.count, looks->peak_bytes,
                                 looks->spent_ns + CONTAINER_NS, look->sample.time_ns);
    looks->tool_expected_bytes = look_schedule_tool_estimate(looks);
    look->cpu_ns = now_thread_cpu_ns() - begin_ns;
}

/* ---- What comes of it ---------------------------------------------------------------------- */

static void look_schedule_judge(struct look_schedule *looks, const struct look *look)
{
    looks->denied = look->error == -EACCES;
    if (look->error == -EACCES)
        look_schedule_complain(
            looks, "the kernel does not let us look into the process: it has changed its user "
                   "or group, or is not dumpable; what it has resident is not known");
    else if (look->error == -ENOMEM)
        look_schedule_complain(looks,
                               "the collector had no memory for a look at the process's pages");
    else if (!look->error && look->over_pages && !looks->gap.sentence)
        looks->complaint[0] = '\0';
    if (look->over_graph && look->over_pages && !look->is_sample)
        looks->graph_error = look->error ? look->error : look->graph_error;
}

static void look_schedule_tell_threads(struct look_schedule *looks, const struct look *look)
{
    for (size_t i = 0; i < look->thread_count; i++) {
        const struct look_thread *thread = &look->threads[i];
        uint64_t touched;
        event_sink_thread_named(looks->sink, (uint32_t)thread->tid, thread->name);
        if (figure_get(thread->stack_touched_bytes, &touched))
            event_sink_thread_stack(looks->sink, (uint32_t)thread->tid,
                                    figure_or(thread->stack_reach_bytes, 0), touched, 0);
    }
}

/* Names new threads now, because they may end before the next look. Names may still change, so
 * looks read them again. */
static void look_schedule_name_new_threads(struct look_schedule *looks)
{
    enum { AT_ONCE = 64 };
    size_t count = replay_thread_count(looks->sink->replay);
    struct strbuf name = STRBUF_INIT;
    for (unsigned asked = 0; looks->named_count < count && asked < AT_ONCE; asked++) {
        uint32_t tid = replay_thread(looks->sink->replay, looks->named_count++).tid;
        char file[40];
        snprintf(file, sizeof file, "task/%u/comm", tid);
        strbuf_reset(&name);
        if (proc_read(looks->pid, file, 64, &name) < 0 || !name.length)
            continue;
        name.data[name.length - 1] = '\0'; /* the newline */
        for (char *at = name.data; *at; at++)
            if ((unsigned char)*at < ' ' || *at == 0x7f)
                *at = '?'; /* as usage_threads() does */
        event_sink_thread_named(looks->sink, tid, name.data);
    }
    strbuf_release(&name);
}

/* The process may have grown between the reading that began a look and the look at the pages. */
static void look_schedule_raise_peak(struct look_schedule *looks, const struct look *look)
{
    uint64_t found;
    if (!look->error && look->over_pages && figure_get(look->sample.resident_bytes, &found) &&
        found > looks->peak_bytes)
        looks->peak_bytes = found;
}

/* A look at a process that is gone is dropped. */
static void look_schedule_keep(struct look_schedule *looks)
{
    struct look *look = &looks->now;
    looks->spent_ns += look->cpu_ns;
    look_schedule_judge(looks, look);
    look_schedule_raise_peak(looks, look);
    if (look->tool_rss_bytes)
        looks->tool_excess_bytes = (int64_t)(looks->tool_expected_bytes - look->tool_rss_bytes);
    look_schedule_tell_threads(looks, look);
    if (look->error == -ESRCH || !array_make_bare_room(&looks->done, &looks->done_room,
                                                       looks->done_count, sizeof *looks->done)) {
        look_release(look);
        return;
    }
    looks->done[looks->done_count++] = *look;
    look_init(look, looks->pid);
}

static void *look_schedule_thread(void *context)
{
    struct look_schedule *looks = context;
    look_take(&looks->now);
    quota_end_work();
    atomic_store(&looks->is_over, true);
    return NULL;
}

/* In a turn of quota_try_work(). */
static void look_schedule_begin(struct look_schedule *looks)
{
    atomic_store(&looks->is_over, false);
    looks->is_busy = pthread_create(&looks->thread, NULL, look_schedule_thread, looks) == 0;
    if (looks->is_busy)
        return;
    look_release(&looks->now);
    quota_end_work();
}

void look_schedule_settle(struct look_schedule *looks)
{
    if (!looks || !looks->is_busy)
        return;
    pthread_join(looks->thread, NULL);
    looks->is_busy = false;
    look_schedule_keep(looks);
}

/* ---- When ---------------------------------------------------------------------------------- */

static uint64_t look_schedule_cost_ns(uint64_t blocks, uint64_t resident_bytes)
{
    return LOOK_NS + blocks * BLOCK_NS + resident_bytes / 4096 * PAGE_NS;
}

static uint64_t look_schedule_budget_ns(uint64_t age_ns)
{
    uint64_t budget_ns = age_ns / BUDGET_SHORT_PART;
    if (budget_ns > BUDGET_SHORT_NS)
        budget_ns = BUDGET_SHORT_NS;
    return budget_ns > age_ns / BUDGET_PART ? budget_ns : age_ns / BUDGET_PART;
}

bool look_schedule_can_afford(uint64_t blocks, uint64_t resident_bytes, uint64_t spent_ns,
                              uint64_t age_ns)
{
    return spent_ns + look_schedule_cost_ns(blocks, resident_bytes) <=
           look_schedule_budget_ns(age_ns);
}

bool look_schedule_can_afford_double(uint64_t blocks, uint64_t resident_bytes, uint64_t spent_ns,
                                     uint64_t age_ns)
{
    return age_ns >= DOUBLE_NS &&
           spent_ns + look_schedule_cost_ns(blocks, resident_bytes) <= age_ns / DOUBLE_PART;
}

unsigned look_schedule_growth_part(uint64_t spent_ns, uint64_t age_ns)
{
    enum { PARTS = sizeof look_schedule_growth_parts / sizeof *look_schedule_growth_parts };
    uint64_t whole_ns = age_ns / BUDGET_PART;
    if (whole_ns < BUDGET_SHORT_NS)
        whole_ns = BUDGET_SHORT_NS;
    uint64_t spent = spent_ns / (whole_ns / PARTS);
    return look_schedule_growth_parts[spent < PARTS ? spent : PARTS - 1];
}

uint64_t look_schedule_served_ns(uint64_t age_ns, uint64_t ran_ns, uint64_t waited_ns)
{
    double wanted_ns = (double)ran_ns + (double)waited_ns;
    double part = wanted_ns > 0 ? (double)ran_ns / wanted_ns : 1;
    return part > 1.0 / CROWDED_PART ? (uint64_t)((double)age_ns * part) : age_ns / CROWDED_PART;
}

/* The main thread stands for the program. */
static uint64_t look_schedule_served_age_ns(const struct look_schedule *looks, uint64_t age_ns)
{
    uint64_t ran_ns, waited_ns;
    if (process_main_thread_time(looks->pid, &ran_ns, &waited_ns) < 0 || ran_ns < looks->ran_ns ||
        waited_ns < looks->waited_ns)
        return age_ns;
    return look_schedule_served_ns(age_ns, ran_ns - looks->ran_ns, waited_ns - looks->waited_ns);
}

static void look_schedule_at_start(struct look_schedule *looks, uint64_t now_ns)
{
    looks->started = true;
    look_schedule_prepare(looks, PROFILE_SAMPLE_START, false, now_ns);
    look_schedule_begin(looks);
}

/* Whether the process stands at a new peak, which it may be about to leave. */
static bool look_schedule_stands(struct look_schedule *looks, uint64_t resident_bytes,
                                 uint64_t now_ns)
{
    uint64_t least = looks->peak_bytes + looks->peak_bytes / STANDING_PART;
    if (resident_bytes > looks->high_bytes + looks->high_bytes / STEADY_PART) {
        looks->high_bytes = resident_bytes;
        looks->high_ns = now_ns;
    }
    return resident_bytes > least && resident_bytes - looks->peak_bytes > STANDING_BYTES &&
           resident_bytes + resident_bytes / STEADY_PART >= looks->high_bytes &&
           now_ns - looks->high_ns >= STANDING_NS;
}

static bool look_schedule_can_pay(const struct look_schedule *looks, uint64_t resident_bytes,
                                  uint64_t age_ns)
{
    uint64_t blocks = replay_live_count(looks->sink->replay);
    bool is_double = resident_bytes / 2 >= looks->peak_bytes;
    return look_schedule_can_afford(blocks, resident_bytes, looks->spent_ns, age_ns) ||
           (is_double &&
            look_schedule_can_afford_double(blocks, resident_bytes, looks->spent_ns, age_ns));
}

static bool look_schedule_wants(const struct look_schedule *looks, uint64_t resident_bytes,
                                bool stands, uint64_t age_ns)
{
    unsigned part = look_schedule_growth_part(looks->spent_ns, age_ns);
    bool has_grown = resident_bytes >= looks->peak_bytes + looks->peak_bytes / part;
    return (has_grown || stands) && look_schedule_can_pay(looks, resident_bytes, age_ns);
}

void look_schedule_see(struct look_schedule *looks, uint64_t resident_bytes, uint64_t now_ns)
{
    uint64_t age_ns = now_ns > looks->start_ns ? now_ns - looks->start_ns : 0;
    look_schedule_name_new_threads(looks);
    if (looks->is_busy && atomic_load(&looks->is_over))
        look_schedule_settle(looks); /* first, since it may raise the peak */
    bool stands = look_schedule_stands(looks, resident_bytes, now_ns);
    if (looks->is_busy || looks->denied || age_ns < START_NS)
        return;
    if (!looks->started) {
        if (quota_try_work())
            look_schedule_at_start(looks, now_ns);
        return;
    }
    /* A file of /proc is read only where a look is due on an idle machine. */
    if (!look_schedule_wants(looks, resident_bytes, stands, age_ns) ||
        !look_schedule_wants(looks, resident_bytes, stands,
                             look_schedule_served_age_ns(looks, age_ns)) ||
        !quota_try_work())
        return;
    looks->peak_bytes = resident_bytes;
    look_schedule_prepare(looks, PROFILE_SAMPLE_RESIDENT_PEAK, true, now_ns);
    look_schedule_begin(looks);
}

/* A look that the caller waits for. True: it went over the pages too. */
static bool look_schedule_at_once(struct look_schedule *looks, enum profile_sample_why why,
                                  uint64_t now_ns)
{
    look_schedule_settle(looks);
    uint64_t blocks = replay_live_count(looks->sink->replay);
    bool over_pages = blocks <= LAST_LOOK_BLOCKS &&
                      look_schedule_cost_ns(blocks, looks->peak_bytes) <= LAST_LOOK_NS;
    look_schedule_prepare(looks, why, over_pages, now_ns);
    over_pages = looks->now.over_pages;
    look_take(&looks->now);
    look_schedule_keep(looks);
    return over_pages;
}

void look_schedule_mark(struct look_schedule *looks, const struct wire_wish *wish, uint64_t now_ns)
{
    looks->wish = *wish;
    if (!looks->denied)
        look_schedule_at_once(looks, PROFILE_SAMPLE_MARK, now_ns);
    looks->wish = (struct wire_wish){0};
}

void look_schedule_before_end(struct look_schedule *looks, uint64_t now_ns, bool lost_now)
{
    looks->lost = lost_now ? LOST_NOW : LOST_AT_END;
    if (!looks->denied)
        look_schedule_at_once(looks, PROFILE_SAMPLE_BEFORE_END, now_ns);
    looks->lost = lost_now && !looks->denied && !looks->graph_error ? LOST_KNOWN : LOST_AT_END;
}

void look_schedule_finish(struct look_schedule *looks, uint64_t now_ns)
{
    bool over_pages = look_schedule_at_once(looks, PROFILE_SAMPLE_END, now_ns);
    if (!over_pages && !*looks->complaint)
        look_schedule_complain(
            looks, "the program ended with more live blocks than are looked at: their pages "
                   "are known as of the last peak looked at, if there was one");
}

uint64_t look_schedule_tool_bytes(const struct look_schedule *looks)
{
    int64_t bytes = (int64_t)look_schedule_tool_estimate(looks) - looks->tool_excess_bytes;
    return bytes > 0 ? (uint64_t)bytes : 0;
}

/* ---- For the profile ----------------------------------------------------------------------- */

struct look *look_schedule_take(struct look_schedule *looks, size_t *count)
{
    struct look *taken = looks->done;
    *count = looks->done_count;
    looks->done = NULL;
    looks->done_count = looks->done_room = 0;
    return taken;
}

const char *look_schedule_complaint(const struct look_schedule *looks)
{
    return *looks->complaint ? looks->complaint : NULL;
}

const char *look_schedule_graph_complaint(const struct look_schedule *looks)
{
    switch (looks->graph_error) {
    case 0:
        return NULL;
    case -EPERM:
    case -EACCES:
        return "the kernel does not let us read the process's memory or stop its threads: it is "
               "being traced (by a debugger, strace), or has changed its user";
    case -ENOMEM:
        return "the collector had no memory for the graph of the live blocks";
    case -ERANGE:
        return "more live blocks, or higher addresses, than a graph has room for";
    default:
        return "the process ended, or could not be stopped, while its memory was read";
    }
}

void look_schedule_free(struct look_schedule *looks)
{
    if (!looks)
        return;
    if (looks->is_busy) {
        pthread_join(looks->thread, NULL);
        look_release(&looks->now);
    }
    for (size_t i = 0; i < looks->done_count; i++)
        look_release(&looks->done[i]);
    free(looks->done);
    area_memory_release(&looks->allocators);
    free(looks);
}
