/* Makes a trace of as many events as wanted, always the same for a seed: to measure what is done
 * with large traces, where no recording is at hand. It behaves like a large program with eight
 * threads:
 *
 *   threads run loops over a few call paths, and go on to other ones; phases prefer other parts of
 *   the program; four of five blocks die at once, last in first out; the rest lives for thousands
 * to millions of events; some lists are built in a phase and taken down at its end; vectors grow by
 *   realloc; some blocks are never freed; addresses are used again as an allocator does it.
 *
 *   make_trace OUT.tmt [EVENTS [SEED]]          default: 100,000,000 events, seed 1
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/error.h"
#include "profile/profile.h"
#include "trace/trace.h"
#include "wire/wire.h"

enum {
    THREADS = 8,
    FUNCTIONS = 3000,
    PATHS = 120000,
    TREE_NODES = 500000,
    DEPTH_MAX = 40,
    TEMPORARY_MAX = 64,
    WHEEL_EVENTS = 256, /* events in one of its slots */
    SIZE_CLASSES = 4096,
    PHASES = 12,
    RISE = 6, /* this phase and the next one build what makes the peak */
    BATCH_RECORDS = 1 << 14,
    TICKS = 26,
};
#define CODE  0x555555000000ull
#define HEAP  0x7f0000000000ull
#define START 1000000000ull

static uint64_t random_state;

static uint64_t next(void)
{
    uint64_t z = random_state += 0x9E3779B97F4A7C15ull;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static uint64_t below(uint64_t limit)
{
    return (uint64_t)((unsigned __int128)next() * limit >> 64);
}

static void die(const char *what)
{
    fprintf(stderr, "make_trace: %s\n", what);
    exit(1);
}

static void must(int error)
{
    if (error)
        die(error_text());
}

static void *make(size_t count, size_t bytes)
{
    void *made = calloc(count, bytes);

    if (!made)
        die("out of memory");
    return made;
}

/* ---- The program: call paths --------------------------------------------------------------- */

/* A path is a node of the call tree. Traces know nodes by the order of their first use. */
static struct tree_node {
    uint32_t parent, number; /* number 0: not told yet */
    uint16_t function, depth;
    uint16_t call; /* which of the function's calls */
} tree[TREE_NODES];
static uint32_t path_nodes[PATHS];
static struct trace_node told[BATCH_RECORDS * DEPTH_MAX];
static uint32_t told_count, next_number = 1;

static void grow_tree(void)
{
    for (uint32_t i = 1; i < TREE_NODES; i++) {
        uint32_t parent = (uint32_t)below(i);
        if (i > 50 && below(100) < 60)
            parent = i - 1 - (uint32_t)below(20);
        if (tree[parent].depth >= DEPTH_MAX - 2)
            parent = tree[tree[parent].parent].parent;
        uint64_t function = (tree[parent].function * 31ull + below(12)) % FUNCTIONS;
        tree[i] = (struct tree_node){parent, 0, (uint16_t)function,
                                     (uint16_t)(tree[parent].depth + 1), (uint16_t)below(4)};
    }
    for (uint32_t i = 0; i < PATHS; i++)
        path_nodes[i] = 1 + (uint32_t)below(TREE_NODES - 1);
}

static uint64_t address_of(const struct tree_node *node)
{
    return 0x1000 + node->function * 512ull + 40 * node->call + 17;
}

static uint32_t tell_node(uint32_t index)
{
    struct tree_node *node = &tree[index];
    uint32_t parent;

    if (!index || node->number)
        return node->number;
    parent = tell_node(node->parent);
    node->number = next_number++;
    told[told_count++] = (struct trace_node){CODE + address_of(node), parent};
    return node->number;
}

static uint64_t size_of(uint32_t path)
{
    uint64_t kind = hash_u64(path * 7919ull + 1) % 100;

    if (kind < 70)
        return 8 + 8 * (hash_u64(path + 77) % 40); /* a struct */
    if (kind < 92)
        return 1 + below(16 << hash_u64(path + 5) % 6); /* strings */
    return 16ull << below(kind < 97 ? 8 : 13);          /* buffers */
}

/* ---- The allocator ------------------------------------------------------------------------- */

struct block {
    uint64_t address;
    uint32_t next; /* in a slot of the wheel, or in the free list of blocks */
    uint16_t size_class;
};
static struct block *blocks;
static uint32_t block_room, free_block; /* 0: none */
static struct free_list {
    uint64_t *addresses;
    uint32_t count, room;
} free_lists[SIZE_CLASSES];
static uint64_t heap_end = HEAP;

static uint64_t take_address(uint64_t size, uint16_t *size_class)
{
    uint64_t chunk = (size + 8 + 15) / 16 < 2 ? 2 : (size + 8 + 15) / 16, address;
    struct free_list *list;

    /* Large ones by powers of two. */
    while (chunk >= SIZE_CLASSES / 2 && chunk & (chunk - 1))
        chunk = (chunk | (chunk - 1)) + 1;
    *size_class = (uint16_t)(chunk < SIZE_CLASSES / 2
                                 ? chunk
                                 : (uint64_t)(SIZE_CLASSES / 2 + __builtin_ctzll(chunk)));
    list = &free_lists[*size_class];
    if (list->count)
        return list->addresses[--list->count];
    address = heap_end + 16;
    heap_end += 16 * chunk;
    return address;
}

static void give_address(uint64_t address, uint16_t size_class)
{
    struct free_list *list = &free_lists[size_class];

    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 64;
        list->addresses = realloc(list->addresses, list->room * sizeof *list->addresses);
        if (!list->addresses)
            die("out of memory");
    }
    list->addresses[list->count++] = address;
}

static uint32_t new_block(void)
{
    uint32_t block = free_block;

    if (block) {
        free_block = blocks[block].next;
        return block;
    }
    if (++block_room % (1 << 20) == 1) {
        blocks = realloc(blocks, (block_room + (1 << 20)) * sizeof *blocks);
        if (!blocks)
            die("out of memory");
    }
    return block_room;
}

/* ---- Events -------------------------------------------------------------------------------- */

static struct replay_thread {
    uint32_t script, length, at, rounds;
    uint32_t temporaries[TEMPORARY_MAX];
    uint32_t temporary_count;
} threads[THREADS];

static struct trace_writer *writer;
static unsigned char records[BATCH_RECORDS * 32];
static struct replay_run runs[BATCH_RECORDS];
static size_t run_count, record_bytes, batch_records;
static uint64_t events, event_limit, ticks = START;
static uint32_t *wheel; /* by event / WHEEL_EVENTS: blocks that die then */
static uint64_t wheel_slots, wheel_at;

static void flush(void)
{
    must(trace_writer_nodes(writer, next_number - told_count, told, told_count));
    must(trace_writer_events(writer, runs, run_count, records));
    told_count = 0;
    run_count = record_bytes = batch_records = 0;
}

static void put(unsigned thread, const struct wire_record *record)
{
    size_t bytes = wire_record_bytes(record->kind_address);

    if (!run_count || runs[run_count - 1].thread != thread)
        runs[run_count++] = (struct replay_run){thread, 0};
    memcpy(records + record_bytes, record, bytes);
    runs[run_count - 1].bytes += (uint32_t)bytes;
    record_bytes += bytes;
    events++;
    if (++batch_records == BATCH_RECORDS)
        flush();
}

static uint64_t tick(void)
{
    return ticks += TICKS * (1 + below(12) * (below(4) == 0));
}

static void put_free(unsigned thread, unsigned kind, uint32_t block)
{
    struct wire_record record = {(uint64_t)kind << 56 | blocks[block].address, tick(), 0, 0};

    give_address(blocks[block].address, blocks[block].size_class);
    blocks[block].next = free_block;
    free_block = block;
    put(thread, &record);
}

static uint32_t put_birth(unsigned thread, unsigned kind, uint32_t path, uint64_t size)
{
    uint32_t block = new_block();
    uint64_t slack = size < 24 ? 24 - size : (0 - size - 8) & 15;
    struct wire_record record = {0, 0, size, wire_detail(tell_node(path_nodes[path]), slack, 0)};

    blocks[block].address = take_address(size, &blocks[block].size_class);
    record.kind_address = (uint64_t)kind << 56 | blocks[block].address;
    record.ticks = tick();
    put(thread, &record);
    return block;
}

/* ---- What the program does ----------------------------------------------------------------- */

static unsigned phase(void)
{
    return (unsigned)(events * PHASES / event_limit);
}

/* Few paths are busy; which ones they are is another matter in each phase. */
static uint32_t path_at(const struct replay_thread *thread)
{
    uint64_t hash = hash_u64(thread->script * 1000003ull + thread->at % thread->length);
    double u = (double)(hash >> 11) * 0x1p-53;

    return (uint32_t)((uint64_t)(u * u * u * PATHS) + phase() * (PATHS / PHASES)) % PATHS;
}

static void next_script(struct replay_thread *thread)
{
    if (++thread->at < thread->length * thread->rounds)
        return;
    thread->script = (uint32_t)below(4000);
    thread->length = 1 + (uint32_t)(hash_u64(thread->script) % 60);
    thread->rounds = 1 + (uint32_t)below(1u << below(8));
    thread->at = 0;
}

static void die_later(uint32_t block)
{
    bool builds = phase() == RISE || phase() == RISE + 1;
    uint64_t phase_end = (builds ? RISE + 2 : phase() + 1) * (event_limit / PHASES);
    uint64_t kind = below(100), when;

    if (builds)
        kind = kind / 2 + 45; /* longer lives */
    if (kind < 40)
        when = events + below(1 << 14);
    else if (kind < 75)
        when = events + below(1 << 20);
    else if (kind < 95)
        when = phase_end + below(event_limit / PHASES / 8 + 1);
    else if (kind < 99)
        when = events + below(event_limit / 2);
    else
        return; /* never */
    when = when / WHEEL_EVENTS + 1;
    if (when >= wheel_slots)
        return;
    blocks[block].next = wheel[when];
    wheel[when] = block;
}

static bool free_one_that_is_due(unsigned thread)
{
    uint32_t block;

    while (wheel_at < events / WHEEL_EVENTS && !wheel[wheel_at])
        wheel_at++;
    block = wheel[wheel_at];
    if (!block || wheel_at >= events / WHEEL_EVENTS)
        return false;
    wheel[wheel_at] = blocks[block].next;
    put_free(thread, WIRE_FREE, block);
    return true;
}

/* A vector that grows: old block, new block. */
static void grow(unsigned number, uint32_t path)
{
    struct replay_thread *thread = &threads[number];
    uint32_t old = thread->temporaries[--thread->temporary_count];
    uint32_t grown;
    uint64_t size = 32ull << below(8);

    put_free(number, WIRE_REALLOC_BEGIN, old);
    grown = put_birth(number, WIRE_REALLOC_END, path, size);
    thread->temporaries[thread->temporary_count++] = grown;
}

static void step(unsigned number)
{
    struct replay_thread *thread = &threads[number];
    uint64_t what = below(1000);
    uint32_t path, block;

    if (what < 300 && free_one_that_is_due(number))
        return;
    if (thread->temporary_count && (what % 2 || thread->temporary_count == TEMPORARY_MAX)) {
        put_free(number, WIRE_FREE, thread->temporaries[--thread->temporary_count]);
        return;
    }
    path = path_at(thread);
    next_script(thread);
    if (thread->temporary_count && what >= 980) {
        grow(number, path);
        return;
    }
    block = put_birth(number, hash_u64(path) % 3 ? WIRE_MALLOC : WIRE_NEW, path, size_of(path));
    if (hash_u64(path + 3) % 100 < 80)
        thread->temporaries[thread->temporary_count++] = block;
    else
        die_later(block);
}

static void play(void)
{
    while (events < event_limit) {
        unsigned thread = (unsigned)below(THREADS);
        for (uint64_t turn = 1 + below(300); turn && events < event_limit; turn--)
            step(thread);
    }
    flush();
}

/* ---- Names --------------------------------------------------------------------------------- */

static void name_function(char *name, size_t bytes, unsigned function)
{
    static const char *const nouns[] = {"mesh",  "solver", "parser", "cache",  "index",
                                        "scene", "token",  "matrix", "packet", "graph"};
    static const char *const verbs[] = {"build", "refine", "read",   "insert", "resize",
                                        "walk",  "merge",  "decode", "split",  "update"};

    snprintf(name, bytes, "%s::%s_%u", nouns[function % 10], verbs[function / 10 % 10],
             function / 100);
}

static void put_names(struct profile_writer *profile)
{
    const struct profile_module module = {.id = 1,
                                          .path = "/usr/bin/synthetic",
                                          .bias = CODE,
                                          .start = CODE,
                                          .end = CODE + (FUNCTIONS + 16) * 512ull};
    char name[64], file[64];

    profile_put_text(profile, PROFILE_META_PROGRAM, "synthetic");
    profile_put_text(profile, PROFILE_META_COMMAND, "synthetic");
    profile_put_module(profile, &module);
    for (unsigned i = 0; i < FUNCTIONS * 4; i++) {
        const struct tree_node node = {.function = (uint16_t)(i / 4), .call = i % 4};
        struct profile_frame frame = {name, NULL, file, 10 + i % 4 * 7};
        struct profile_location location = {i + 1, 1, address_of(&node), 0, &frame, 1};
        name_function(name, sizeof name, i / 4);
        snprintf(file, sizeof file, "/src/synthetic/%.*s.cpp", (int)strcspn(name, ":"), name);
        profile_put_location(profile, &location);
    }
}

static void put_supplement(const char *path)
{
    char profile_path[4096];
    struct profile_writer *profile;
    void *bytes;
    size_t size;

    snprintf(profile_path, sizeof profile_path, "%s.names", path);
    if (profile_writer_open(&profile, profile_path) || profile_writer_begin(profile))
        die(error_text());
    put_names(profile);
    if (profile_writer_commit(profile) || profile_writer_finish(profile, true) ||
        profile_supplement(profile_path, &bytes, &size))
        die(error_text());
    unlink(profile_path);
    must(trace_writer_supplement(writer, bytes, size));
    free(bytes);
}

static void begin_trace(const char *path)
{
    const struct trace_options options = {.compression = TRACE_ZSTD, .start_ticks = START};
    const struct trace_node root = {0};
    const struct trace_module module = {.died = UINT32_MAX,
                                        .bias = CODE,
                                        .start = CODE,
                                        .end = CODE + (FUNCTIONS + 16) * 512ull,
                                        .path = "/usr/bin/synthetic"};

    must(trace_writer_open(&writer, path, &options));
    must(trace_writer_fact(writer, TRACE_FACT_FIRST_TICK_NS, "0x1p-1"));
    must(trace_writer_fact(writer, TRACE_FACT_TICK_NS, "0x1p-1"));
    must(trace_writer_fact(writer, TRACE_FACT_META PROFILE_META_COMMAND, "synthetic"));
    must(trace_writer_module(writer, &module));
    must(trace_writer_nodes(writer, 0, &root, 1));
    for (uint32_t i = 0; i < THREADS; i++) {
        struct trace_note note = {TRACE_STREAM_BEGUN, {i, 1000 + i, START}, ""};
        must(trace_writer_note(writer, &note));
    }
}

int main(int argc, char **argv)
{
    char end[32];

    if (argc < 2)
        die("usage: make_trace OUT.tmt [EVENTS [SEED]]");
    event_limit = argc > 2 ? strtoull(argv[2], NULL, 10) : 100000000;
    random_state = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    if (event_limit < 1000)
        die("a thousand events at least");
    wheel_slots = event_limit / WHEEL_EVENTS + 2;
    wheel = make(wheel_slots, sizeof *wheel);
    for (int i = 0; i < THREADS; i++)
        threads[i] = (struct replay_thread){.length = 1, .rounds = 1};
    grow_tree();
    begin_trace(argv[1]);
    play();
    snprintf(end, sizeof end, "%llu", (unsigned long long)ticks);
    must(trace_writer_fact(writer, TRACE_FACT_END_TICKS, end));
    put_supplement(argv[1]);
    must(trace_writer_finish(writer));
    return 0;
}
