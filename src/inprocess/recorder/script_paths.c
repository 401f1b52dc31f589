/* Merges native and interpreted frames (script_paths.h). Each thread has a cache from (native path,
 * hash of the interpreted frames) to the node, so that a path is merged once. A program that loads
 * code has a new path at every second event, of which most is as it was. So a merge looks up, in
 * caches of the thread:
 *
 *   the whole path     by the native one from its innermost frame on that is a call of the
 *                      interpreter or is shown: functions of the interpreter, which are not shown,
 *                      allocate in many ways for one line of a script
 *   the native path    its calls of the interpreter and its frames that are shown, a step each
 *   a script's frame   its function's number and its line
 *   the node           that of the last merged path, as far outside as both are the same
 *
 * Functions get numbers by two tables, under a lock. One is by address, which is forgotten when the
 * block there is freed. The other is by name, file and first line, so that a function that is made
 * again and again has one number. The lock costs two system calls, and a function has many lines.
 * So a thread keeps the numbers of functions that it has asked for, until one is freed. */
#include "recorder/script_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/ticks.h"
#include "interpose/real.h"
#include "recorder/hooks_lua.h"
#include "recorder/session.h"
#include "recorder/shared.h"
#include "recorder/thread.h"
#include "runtimes/lua.h"
#include "runtimes/perl.h"
#include "runtimes/php.h"
#include "runtimes/python.h"
#include "runtimes/ruby.h"
#include "runtimes/script_memory.h"
#include "unwind/paths.h"
#include "unwind/signal_lock.h"
#include "unwind/unwind_modules.h"

void (*script_paths_first_frames)(void);
_Atomic uint64_t *script_paths_filter;

#if defined(__x86_64__)

enum {
    FRAMES_MOST = 1024, /* of one path; frames further out are cut */
    CACHE_PATHS = 4096,
    CACHE_LINES = 4096,
    CACHE_FRAMES = 4096,
    CACHE_STEPS = 2048,
    CACHE_FUNCTIONS = 1024,
    PASSED_MOST = 256, /* frames that a path may have before the one that it is known by */
    FUNCTIONS_FEW = 1 << 10,
    FUNCTIONS_STEPS = 3, /* tables of 1, 4, 16 and 64 times as many places */
    FUNCTIONS_ALL = 85 * FUNCTIONS_FEW,
    NAME_BYTES = 256,
    FILE_BYTES = 1024,
};

struct cached_path {
    uint64_t key; /* 0: none */
    uint32_t node;
};

/* Does a native path lead through a call of the interpreter? */
struct cached_call {
    uint32_t native; /* 0: none */
    bool is;
};

/* The line of an instruction. An interpreter may look for it from its function's beginning on, and
 * a path that is new has mostly frames that are not. */
struct cached_line {
    uintptr_t instruction; /* 0: none */
    uint32_t function;     /* the place that its function had, of all that were ever taken */
    uint32_t line;
};

/* What stands for a script's frame in paths. */
struct cached_frame {
    uint64_t key; /* of the frame, and the epoch; 0: none */
    uintptr_t ip;
};

/* A function's number, and the place that it had, of all that were ever taken. */
struct cached_function {
    uint64_t key; /* of its identity, and the epoch; 0: none */
    uint32_t number, taken;
};

/* What is next on a native path, from a node on outwards: a call of the interpreter, a frame that
 * is shown, or the end. Frames of the interpreter that come before it are passed over. */
struct native_step {
    uint32_t node; /* 0: none */
    uint32_t next; /* the node behind it */
    uintptr_t ip;  /* at the end: the mark there, or 0 */
    uint16_t passed;
    bool is_end, is_call;
    bool is_inner; /* it is the interpreter's or the C library's */
};

/* The path that was merged last, outermost frame first. */
struct merged_path {
    uint64_t retired; /* paths_retired() when its nodes were found */
    uint32_t count;
    struct merged_frame {
        uintptr_t ip;
        uint64_t hash;
        uint32_t node;
    } frames[FRAMES_MOST + 1];
};

/* The caches of a thread, in the session's memory. A signal handler that leaves by longjmp finds
 * each of their entries whole or empty. */
struct script_thread {
    struct cached_path paths[CACHE_PATHS], merged[CACHE_PATHS];
    struct cached_call calls[CACHE_PATHS];
    struct cached_line lines[CACHE_LINES];
    struct cached_frame known[CACHE_FRAMES];
    struct native_step steps[CACHE_STEPS];
    struct cached_function functions[CACHE_FUNCTIONS];
    struct script_frame frames[FRAMES_MOST];
    uintptr_t native[FRAMES_MOST], mixed[FRAMES_MOST + 1];
    struct native_step way[FRAMES_MOST + 1]; /* the native path that is being merged */
    struct merged_path last;
    struct python_keys python;
};

struct function_place {
    uint64_t key; /* the runtime's identity of the function, or a hash of its text. 0: free, 1:
                   * removed */
    uint32_t number;
    uint32_t taken; /* the how manieth place by address this was to be taken */
};

/* Open addressing. A table that is three quarters full is laid out anew behind itself, with four
 * times the places, so that few functions touch few pages. The last one is cleared instead.
 *
 *   │ 1 │ 4       │ 16            …│ 64                    …│   × FUNCTIONS_FEW places */
struct function_table {
    uint32_t steps; /* the table in use */
    uint32_t count; /* its places that are not free */
    struct function_place places[FUNCTIONS_ALL];
};

/* In the session's memory, which is empty in the child of a fork. */
static struct script_paths_functions {
    struct lock lock;
    uint32_t count; /* numbers given */
    uint32_t taken; /* places by address, ever */
    struct function_table by_address, by_text;
    _Atomic uint64_t epoch; /* grows when functions are freed */
    _Atomic uint64_t filter[SCRIPT_PATHS_FILTER_BITS / 64];
    char name[NAME_BYTES], file[FILE_BYTES], text[NAME_BYTES + FILE_BYTES + 1];
} * script_paths_table;

/* `hidden`: the interpreter's module, and the program if that is only the interpreter: paths of
 * scripts are without their frames. `libc`: the C library, where threads begin. */
static struct code_span script_paths_hidden[2], script_paths_libc;

static const struct runtime *script_paths_runtime; /* of the interpreter that was found */
static bool script_paths_is_for_ever; /* the interpreter is the program, so it is never unloaded */
static uint32_t script_paths_session; /* how often memory of a session was given back */

static bool script_paths_is_hidden(uintptr_t ip)
{
    return code_span_has(&script_paths_hidden[0], ip) || code_span_has(&script_paths_hidden[1], ip);
}

/* ---- Functions ---- */

static size_t script_paths_room(uint32_t steps)
{
    return (size_t)FUNCTIONS_FEW << 2 * steps;
}

static struct function_place *script_paths_places(struct function_table *table, uint32_t steps)
{
    return &table->places[(script_paths_room(steps) - FUNCTIONS_FEW) / 3];
}

static struct function_place *script_paths_place_in(struct function_table *table, uint32_t steps,
                                                    uint64_t key)
{
    struct function_place *places = script_paths_places(table, steps);
    size_t room = script_paths_room(steps), at = hash_u64(key) % room;
    uint64_t found;

    while ((found = __atomic_load_n(&places[at].key, __ATOMIC_RELAXED)) != 0 && found != key)
        at = (at + 1) % room;
    return &places[at];
}

/* The place that the key has or would have. Needs no lock: what was put before is found, because a
 * table is whole when it comes into use, and stays as it is when another has taken its place. */
static struct function_place *script_paths_place(struct function_table *table, uint64_t key)
{
    return script_paths_place_in(table, __atomic_load_n(&table->steps, __ATOMIC_ACQUIRE), key);
}

static void script_paths_put(struct function_table *table, uint32_t steps,
                             const struct function_place *function)
{
    struct function_place *place = script_paths_place_in(table, steps, function->key);

    place->number = function->number;
    place->taken = function->taken;
    __atomic_store_n(&place->key, function->key, __ATOMIC_RELAXED);
    table->count++;
}

static void script_paths_grow(struct function_table *table)
{
    const struct function_place *from = script_paths_places(table, table->steps);
    size_t room = script_paths_room(table->steps);

    table->count = 0;
    for (size_t i = 0; i < room; i++)
        if (from[i].key > 1)
            script_paths_put(table, table->steps + 1, &from[i]);
    __atomic_store_n(&table->steps, table->steps + 1, __ATOMIC_RELEASE);
}

/* Makes room for one more. False: the table is full for ever. */
static bool script_paths_make_room(struct function_table *table)
{
    if (table->count < script_paths_room(table->steps) / 4 * 3)
        return true;
    if (table->steps == FUNCTIONS_STEPS)
        return false;
    script_paths_grow(table);
    return true;
}

static void script_paths_empty(struct function_table *table)
{
    memset(script_paths_places(table, table->steps), 0,
           script_paths_room(table->steps) * sizeof *table->places);
    table->count = 0;
}

static void script_paths_forget_addresses(void)
{
    script_paths_empty(&script_paths_table->by_address);
    memset((void *)script_paths_table->filter, 0, sizeof script_paths_table->filter);
    atomic_fetch_add(&script_paths_table->epoch, 1);
}

static bool script_paths_log(uint32_t number)
{
    uint64_t start = wire_script_ip(number, 0);
    struct wire_module entry = {.born = atomic_load(&shared_header()->node_count),
                                .start = start,
                                .bias = start,
                                .end = start + (1u << WIRE_SCRIPT_LINE_BITS)};

    atomic_store(&entry.died, UINT32_MAX);
    return shared_log_module(&entry, script_paths_table->text);
}

/* "NAME\nFILE" of a frame's function; returns its length. */
static size_t script_paths_text(const struct script_frame *frame)
{
    char *to = script_paths_table->text;
    size_t name = script_paths_runtime->function_name(frame, script_paths_table->name, NAME_BYTES);
    size_t file = script_paths_runtime->file_name(frame, script_paths_table->file, FILE_BYTES);

    memcpy(to, name ? script_paths_table->name : "?", name ? name : 1);
    to += name ? name : 1;
    *to++ = '\n';
    memcpy(to, script_paths_table->file, file);
    to[file] = '\0';
    return (size_t)(to - script_paths_table->text) + file;
}

/* With the lock held. UINT32_MAX: there is no room. */
static uint32_t script_paths_number_new(const struct script_frame *frame)
{
    uint64_t key = hash_bytes(script_paths_table->text, script_paths_text(frame)) +
                   hash_u64(script_paths_runtime->first_line(frame)) + 2;
    struct function_table *table = &script_paths_table->by_text;
    const struct function_place *place = script_paths_place(table, key);

    if (place->key)
        return place->number;
    if (script_paths_table->count == WIRE_SCRIPT_FUNCTIONS ||
        !script_paths_log(script_paths_table->count))
        return UINT32_MAX;
    if (!script_paths_make_room(table))
        script_paths_empty(table);
    script_paths_put(table, table->steps,
                     &(struct function_place){.key = key, .number = script_paths_table->count});
    return script_paths_table->count++;
}

/* What is no function, as where a frame is being made, has an identity too: 0 and 1 are places of
 * the table that are free or were. */
static uint64_t script_paths_identity(const struct script_frame *frame)
{
    enum { NO_FUNCTION = 2 };
    uint64_t identity = script_paths_runtime->identity(frame);

    return likely(identity > 1) ? identity : NO_FUNCTION;
}

/* With the lock held. False: there is no room. */
static bool script_paths_find_locked(const struct script_frame *frame, uint64_t identity,
                                     struct cached_function *function)
{
    struct function_table *table = &script_paths_table->by_address;
    struct function_place place = *script_paths_place(table, identity);
    unsigned bit = script_paths_bit((uintptr_t)identity);

    if (!place.key) {
        uint32_t number = script_paths_number_new(frame);
        if (number == UINT32_MAX)
            return false;
        place = (struct function_place){identity, number, ++script_paths_table->taken};
        if (!script_paths_make_room(table))
            script_paths_forget_addresses();
        script_paths_put(table, table->steps, &place);
        atomic_fetch_or(&script_paths_table->filter[bit / 64], 1ull << bit % 64);
    }
    function->number = place.number;
    function->taken = place.taken;
    return true;
}

/* Most blocks whose bit is set are no functions; that is seen without the lock. A place that has a
 * key keeps one, so that a search passes it, until all are dropped at once. */
void script_paths_function_ends(uintptr_t block)
{
    if (!script_paths_table ||
        __atomic_load_n(&script_paths_place(&script_paths_table->by_address, block)->key,
                        __ATOMIC_RELAXED) != block)
        return;
    signal_lock_take(&script_paths_table->lock);
    struct function_place *place = script_paths_place(&script_paths_table->by_address, block);
    if (place->key) {
        place->key = 1;
        atomic_fetch_add(&script_paths_table->epoch, 1);
    }
    signal_lock_release(&script_paths_table->lock);
}

/* ---- Merging ---- */

/* A path under construction, innermost frame first. */
struct mixture {
    struct script_thread *thread;
    uint64_t epoch;               /* its hash */
    uint32_t frame, frame_count;  /* of thread->frames: the next one, all */
    uint32_t native_count, count; /* of thread->native; of thread->mixed */
    uintptr_t mark;               /* the mark at the end of the native path; 0: the path is whole */
    struct script_paths_functions *locked; /* NULL: no function was looked for yet */
};

static void script_paths_add(struct mixture *mixture, uintptr_t ip)
{
    if (mixture->count < FRAMES_MOST)
        mixture->thread->mixed[mixture->count++] = ip;
}

static uint32_t script_paths_line(struct script_thread *thread, const struct script_frame *frame,
                                  uint32_t function)
{
    struct cached_line *cached = &thread->lines[hash_u64(frame->instruction) % CACHE_LINES];

    if (!script_paths_runtime->lines_stay)
        return script_paths_runtime->line(frame);
    if (cached->instruction != frame->instruction || cached->function != function)
        *cached =
            (struct cached_line){frame->instruction, function, script_paths_runtime->line(frame)};
    return cached->line;
}

/* False: a signal handler has forked. The functions are another process's, and the caches are
 * empty. */
static bool script_paths_lock(struct mixture *mixture)
{
    struct script_paths_functions *table = script_paths_table;

    if (mixture->locked || !table)
        return mixture->locked;
    signal_lock_take(&table->lock);
    if (script_paths_table == table)
        mixture->locked = table;
    else
        signal_lock_release(&table->lock);
    return mixture->locked;
}

/* The number of the frame's function. False: there is no room. */
static bool script_paths_function(struct mixture *mixture, const struct script_frame *frame,
                                  struct cached_function *function)
{
    uint64_t identity = script_paths_identity(frame);
    uint64_t key = hash_u64(identity + mixture->epoch) | 1;
    struct cached_function *known = &mixture->thread->functions[key >> 32 & (CACHE_FUNCTIONS - 1)];

    *function = *known;
    if (function->key == key)
        return true;
    if (!script_paths_lock(mixture) || !script_paths_find_locked(frame, identity, function))
        return false;
    known->key = 0;
    atomic_signal_fence(memory_order_seq_cst);
    known->number = function->number;
    known->taken = function->taken;
    atomic_signal_fence(memory_order_seq_cst);
    known->key = key;
    return true;
}

/* 0: there is no room. */
static uintptr_t __attribute__((noinline))
script_paths_frame_new(struct mixture *mixture, const struct script_frame *frame)
{
    struct cached_function function;

    return script_paths_function(mixture, frame, &function)
               ? wire_script_ip(function.number,
                                script_paths_line(mixture->thread, frame, function.taken))
               : 0;
}

static void script_paths_add_frame(struct mixture *mixture)
{
    const struct script_frame *frame = &mixture->thread->frames[mixture->frame++];
    uint64_t key = hash_u64(script_paths_runtime->frame_key(frame) + mixture->epoch) | 1;
    struct cached_frame *known = &mixture->thread->known[key >> 32 & (CACHE_FRAMES - 1)];
    uintptr_t ip = known->ip;

    if (unlikely(known->key != key)) {
        ip = script_paths_frame_new(mixture, frame);
        known->key = 0;
        atomic_signal_fence(memory_order_seq_cst);
        known->ip = ip;
        atomic_signal_fence(memory_order_seq_cst);
        known->key = ip ? key : 0;
    }
    if (ip)
        script_paths_add(mixture, ip);
}

/* Adds the frames of one call of the interpreter. */
static void script_paths_add_call(struct mixture *mixture)
{
    bool ended = false;

    while (mixture->frame < mixture->frame_count && !ended) {
        ended = mixture->thread->frames[mixture->frame].ends;
        script_paths_add_frame(mixture);
    }
}

static uint32_t script_paths_count_ends(const struct mixture *mixture)
{
    uint32_t ends = 0;

    for (uint32_t i = 0; i < mixture->frame_count; i++)
        ends += mixture->thread->frames[i].ends;
    return ends;
}

/* ---- Merging with all native frames: long paths, and calls that do not match the frames ---- */

/* Has the native path as many calls of the interpreter as the frames? */
static bool script_paths_match(const struct mixture *mixture)
{
    uint32_t calls = 0;

    for (uint32_t i = 0; i < mixture->native_count; i++)
        calls += script_paths_runtime->is_call(mixture->thread->native[i]);
    return calls == script_paths_count_ends(mixture);
}

static bool script_paths_is_inner(uintptr_t ip)
{
    return script_paths_is_hidden(ip) || code_span_has(&script_paths_libc, ip);
}

/* Are all native frames from `from` on outwards the interpreter's or the C library's? Then the path
 * begins with the script. */
static bool script_paths_is_beginning(const struct mixture *mixture, uint32_t from)
{
    for (uint32_t i = from; i < mixture->native_count; i++)
        if (!script_paths_is_inner(mixture->thread->native[i]))
            return false;
    return true;
}

static void script_paths_mix(struct mixture *mixture)
{
    bool whole = script_paths_match(mixture);
    bool is_native = shared_header()->flags & WIRE_FLAG_NATIVE;
    uint32_t i = 0;

    for (; i < mixture->native_count; i++) {
        uintptr_t ip = mixture->thread->native[i];
        if (mixture->frame == mixture->frame_count && script_paths_is_beginning(mixture, i))
            break;
        if (script_paths_runtime->is_call(ip) && whole)
            script_paths_add_call(mixture);
        else if (!script_paths_is_hidden(ip) &&
                 (whole || is_native || !script_paths_runtime->is_call(ip)))
            script_paths_add(mixture, ip);
        else if (!whole)
            break;
    }
    while (mixture->frame < mixture->frame_count)
        script_paths_add_frame(mixture);
    if (mixture->mark && whole && i == mixture->native_count)
        script_paths_add(mixture, mixture->mark);
}

static void script_paths_mix_all(struct mixture *mixture, uint32_t native)
{
    struct script_thread *thread = mixture->thread;

    mixture->native_count = (uint32_t)paths_ips(native, thread->native, FRAMES_MOST);
    if (mixture->native_count && thread->native[mixture->native_count - 1] < WIRE_MARK_LIMIT)
        mixture->mark = thread->native[--mixture->native_count];
    script_paths_mix(mixture);
}

/* ---- Merging by steps ---- */

static struct native_step script_paths_step_from(uint32_t node)
{
    struct native_step step = {.node = node, .next = node, .is_end = true, .is_inner = true};

    while (step.next && step.passed < FRAMES_MOST) {
        step.next = paths_step(step.next, &step.ip);
        if (step.ip < WIRE_MARK_LIMIT)
            return step;
        step.is_call = script_paths_runtime->is_call(step.ip);
        step.is_end = !step.is_call && script_paths_is_hidden(step.ip);
        if (!step.is_end) {
            step.is_inner = script_paths_is_inner(step.ip);
            return step;
        }
        step.passed++;
    }
    step.ip = 0;
    return step;
}

static const struct native_step *script_paths_step(struct script_thread *thread, uint32_t node)
{
    struct native_step *cached = &thread->steps[node % CACHE_STEPS];

    if (unlikely(cached->node != node || !node)) {
        struct native_step step = script_paths_step_from(node);
        cached->node = 0;
        atomic_signal_fence(memory_order_seq_cst);
        cached->next = step.next;
        cached->ip = step.ip;
        cached->passed = step.passed;
        cached->is_end = step.is_end;
        cached->is_call = step.is_call;
        cached->is_inner = step.is_inner;
        atomic_signal_fence(memory_order_seq_cst);
        cached->node = node;
    }
    return cached;
}

/* Lists the steps of a native path in thread->way, each `is_inner` if all outside of it is, too.
 * False: the path is too long, or has other calls than the frames have. */
static bool script_paths_find_way(struct mixture *mixture, uint32_t native)
{
    struct native_step *way = mixture->thread->way;
    uint32_t frames = 0, calls = 0, count = 0;

    do {
        way[count] = *script_paths_step(mixture->thread, native);
        frames += way[count].passed + 1u;
        calls += way[count].is_call;
        native = way[count].next;
        if (frames > FRAMES_MOST)
            return false;
    } while (!way[count++].is_end);
    for (uint32_t i = count - 1; i--;)
        way[i].is_inner &= way[i + 1].is_inner;
    mixture->native_count = frames;
    return calls == script_paths_count_ends(mixture);
}

/* As script_paths_mix(). */
static void script_paths_mix_steps(struct mixture *mixture)
{
    const struct native_step *step = mixture->thread->way;

    for (; !step->is_end; step++) {
        if (mixture->frame == mixture->frame_count && step->is_inner)
            break;
        if (step->is_call)
            script_paths_add_call(mixture);
        else
            script_paths_add(mixture, step->ip);
    }
    bool begins = mixture->frame == mixture->frame_count && (!step->is_end || step->passed);
    while (mixture->frame < mixture->frame_count)
        script_paths_add_frame(mixture);
    if (!begins && step->ip)
        script_paths_add(mixture, step->ip);
}

/* ---- The node ---- */

/* Keeps the innermost `most` frames. */
static void script_paths_cut(struct mixture *mixture, uint32_t most)
{
    if (!most || mixture->count <= most)
        return;
    mixture->count = most;
    mixture->thread->mixed[mixture->count++] = WIRE_MARK_MAX_DEPTH;
}

/* How many frames, from the outermost on, are those of the last path. */
static uint32_t script_paths_same(const struct mixture *mixture)
{
    const struct merged_path *last = &mixture->thread->last;
    const uintptr_t *outermost = &mixture->thread->mixed[mixture->count];
    uint32_t most = last->count < mixture->count ? last->count : mixture->count, same = 0;

    while (same < most && last->frames[same].ip == *--outermost)
        same++;
    return same;
}

static uint32_t script_paths_node(const struct mixture *mixture)
{
    struct merged_path *last = &mixture->thread->last;
    uint64_t retired = paths_retired();
    uint32_t same = last->retired == retired ? script_paths_same(mixture) : 0;
    struct merged_frame at = same ? last->frames[same - 1] : (struct merged_frame){0};

    last->count = 0;
    atomic_signal_fence(memory_order_seq_cst);
    last->retired = retired;
    for (uint32_t i = same; i < mixture->count; i++) {
        at.ip = mixture->thread->mixed[mixture->count - 1 - i];
        at.hash = path_hash(at.hash, at.ip);
        at.node = paths_child(at.node, at.hash, at.ip);
        if (!at.node)
            return 0;
        last->frames[i] = at;
    }
    atomic_signal_fence(memory_order_seq_cst);
    last->count = mixture->count;
    return at.node;
}

/* The lock is taken only where a function is new, because it costs two system calls.
 * *by_step: any native path that has the same step first, and passes over PASSED_MOST frames at
 * most before it, is merged to the same. */
static uint32_t script_paths_merge(struct script_thread *thread, uint32_t native, uint64_t epoch,
                                   bool *by_step)
{
    struct mixture mixture = {.thread = thread, .epoch = hash_u64(epoch)};

    mixture.frame_count = script_paths_runtime->stack(thread->frames, FRAMES_MOST);
    *by_step = script_paths_find_way(&mixture, native);
    if (*by_step)
        script_paths_mix_steps(&mixture);
    else
        script_paths_mix_all(&mixture, native);
    *by_step &= mixture.native_count - thread->way[0].passed + PASSED_MOST <= FRAMES_MOST;
    if (mixture.locked)
        signal_lock_release(&mixture.locked->lock);
    script_paths_cut(&mixture, shared_header()->max_depth);
    return script_paths_node(&mixture);
}

static void script_paths_keep(struct cached_path *cached, uint64_t key, uint32_t node)
{
    cached->key = 0;
    atomic_signal_fence(memory_order_seq_cst);
    cached->node = node;
    atomic_signal_fence(memory_order_seq_cst);
    cached->key = node ? key : 0;
}

/* The place of a path in thread->merged, and its key there. */
static struct cached_path *script_paths_merged(struct script_thread *thread, uint64_t hash,
                                               uint64_t *key)
{
    *key = hash_u64(hash) | 1;
    return &thread->merged[*key >> 32 & (CACHE_PATHS - 1)];
}

/* `frames_key`: the hash of the interpreted frames. *is_whole: frames may be left out of the path
 * that are on the same stack at another moment. Such a path has a key of its own, so that it does
 * not stand for the whole one later. */
static uint32_t __attribute__((noinline))
script_paths_find_merged(struct script_thread *thread, uint32_t native, uint64_t epoch,
                         uint64_t frames_key, bool *is_whole)
{
    const struct native_step *step = script_paths_step(thread, native);
    bool may_be_known = !step->is_end && step->passed <= PASSED_MOST, by_step;
    uint64_t hash = hash_u64(step->ip) + (step->next | (uint64_t)step->is_call << 32), key;

    hash = frames_key + hash_u64(hash_u64(hash) + (paths_retired() ^ epoch << 32));
    struct cached_path *cached = script_paths_merged(thread, hash, &key);
    *is_whole = true;
    if (may_be_known && cached->key == key)
        return cached->node;
    *is_whole = !script_paths_runtime->reads_all || script_paths_runtime->reads_all();
    if (!*is_whole)
        cached = script_paths_merged(thread, hash + 1, &key);
    if (may_be_known && cached->key == key)
        return cached->node;
    uint32_t node = script_paths_merge(thread, native, epoch, &by_step);
    if (may_be_known && by_step)
        script_paths_keep(cached, key, node);
    return node;
}

/* ---- Capturing ---- */

/* Notes interpreters whose frames cannot be read. */
static void script_paths_tell(uint32_t unread)
{
    if (!(shared_header()->flags & WIRE_FLAG_NATIVE))
        atomic_fetch_or(&shared_header()->native_scripts, unread);
}

/* Those of the ring's last thread, if there are: a program may begin and end threads all day. What
 * they know is true in every thread, but for frames. NULL: no memory. */
static struct script_thread *script_paths_caches(struct thread *thread)
{
    bool is_of_session = thread->script_session == script_paths_session;
    struct script_thread *used = is_of_session ? thread->used_script : NULL;

    thread->used_script = NULL;
    thread->script_session = script_paths_session;
    if (used)
        used->python.count = 0;
    return used ? used : private_map(sizeof *used);
}

static struct script_thread *__attribute__((noinline))
script_paths_thread_new(struct thread *thread)
{
    if (!script_paths_table) {
        struct script_paths_functions *expected = NULL, *made = private_map(sizeof *made);
        if (made)
            __atomic_compare_exchange_n(&script_paths_table, &expected, made, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }
    script_paths_filter = script_paths_table ? script_paths_table->filter : NULL;
    thread->script = script_paths_table ? script_paths_caches(thread) : NULL;
    if (thread->script && script_paths_first_frames)
        script_paths_first_frames();
    return thread->script;
}

/* The node of the native path merged with the interpreted frames, whose hash is `key`. */
static inline __attribute__((always_inline)) uint32_t script_paths_of(struct script_thread *script,
                                                                      uint32_t native, uint64_t key)
{
    uint64_t epoch = atomic_load_explicit(&script_paths_table->epoch, memory_order_relaxed);

    uint64_t whole = hash_u64(key + hash_u64(native ^ epoch << 32)) | 1;
    struct cached_path *cached = &script->paths[whole >> 32 & (CACHE_PATHS - 1)];
    if (likely(cached->key == whole))
        return cached->node;
    bool is_whole;
    uint32_t node = script_paths_find_merged(script, native, epoch, key, &is_whole);
    if (is_whole)
        script_paths_keep(cached, whole, node);
    return node ? node : native;
}

/* A signal handler or a hook inside a hook (memory NULL) gets the native path, because the
 * interpreter may be changing its frames. */
static uint32_t script_paths_capture_python(struct unwind_memory *memory,
                                            const struct unwind_start *start)
{
    uint32_t native = unwind_capture(memory, start);
    struct thread *thread = thread_current;
    struct script_thread *script;

    if (!memory || !thread)
        return native;
    script = thread->script;
    if (unlikely(!script) && (!python_has_frames() || !(script = script_paths_thread_new(thread))))
        return native;
    uint64_t key = python_stack_key(&script->python);
    return key ? script_paths_of(script, native, key) : native;
}

/* Code that an interpreter compiles may end the walk, or make it go wrong. A frame of the
 * interpreter before that shows that the thread runs scripts, because no other thread enters the
 * interpreter. */
static bool script_paths_may_be_cut(const uintptr_t *ips, uint32_t count)
{
    bool is_hidden = false;

    for (uint32_t i = 0; script_paths_runtime->compiles && i < count && !is_hidden; i++)
        is_hidden = script_paths_is_hidden(ips[i]);
    return is_hidden;
}

static bool __attribute__((noinline))
script_paths_find_call(struct script_thread *script, uint32_t native)
{
    uint32_t count = (uint32_t)paths_ips(native, script->native, FRAMES_MOST);
    bool is = script_paths_may_be_cut(script->native, count);

    for (uint32_t i = 0; i < count && !is; i++)
        is = script_paths_runtime->is_call(script->native[i]);
    script->calls[native % CACHE_PATHS] = (struct cached_call){native, is};
    return is;
}

/* The hash of the interpreted frames, if the native path goes through the interpreter. 0: it does
 * not, or there are no frames. That test is needed because nothing tells when the interpreter
 * begins or ends, and because other threads have no frames. */
static inline __attribute__((always_inline)) uint64_t
script_paths_key(struct script_thread *script, uint32_t native, uint64_t (*stack_key)(void))
{
    struct cached_call call = script->calls[native % CACHE_PATHS];
    bool is_call = likely(call.native == native) ? call.is : script_paths_find_call(script, native);

    return is_call ? stack_key() : 0;
}

/* *key: the hash of the interpreted frames; 0: the path is the native one. */
static inline __attribute__((always_inline)) uint32_t
script_paths_capture_by(struct unwind_memory *memory, const struct unwind_start *start,
                        uint64_t (*stack_key)(void), uint64_t *key)
{
    uint32_t native = unwind_capture(memory, start);
    struct thread *thread = thread_current;

    *key = 0;
    if (!memory || !thread)
        return native;
    struct script_thread *script = thread->script;
    if (unlikely(!script) && !(script = script_paths_thread_new(thread)))
        return native;
    *key = script_paths_key(script, native, stack_key);
    return *key ? script_paths_of(script, native, *key) : native;
}

static uint32_t script_paths_capture_perl(struct unwind_memory *memory,
                                          const struct unwind_start *start)
{
    uint64_t key;

    return script_paths_capture_by(memory, start, perl_stack_key, &key);
}

static uint32_t script_paths_capture_php(struct unwind_memory *memory,
                                         const struct unwind_start *start)
{
    uint64_t key;
    uint32_t node = script_paths_capture_by(memory, start, php_stack_key, &key);

    if (unlikely(!key) && php_is_unknown())
        script_paths_tell(WIRE_SCRIPTS_PHP);
    return node;
}

static uint32_t script_paths_capture_ruby(struct unwind_memory *memory,
                                          const struct unwind_start *start)
{
    uint64_t key;

    return script_paths_capture_by(memory, start, ruby_stack_key, &key);
}

static uint32_t script_paths_capture_lua(struct unwind_memory *memory,
                                         const struct unwind_start *start)
{
    uint64_t key;

    return script_paths_capture_by(memory, start, lua_stack_key, &key);
}

/* ---- Finding the interpreter ---- */

/* Is the program itself the interpreter (python…, perl…)? Then its frames are hidden too. */
static bool script_paths_program_is_interpreter(void)
{
    char path[512];
    const char *name = session_program_name(path, sizeof path);

    return name &&
           strncmp(name, script_paths_runtime->program, strlen(script_paths_runtime->program)) == 0;
}

static int script_paths_first_module(struct dl_phdr_info *info, size_t size, void *context)
{
    struct code_span *span = context;

    (void)size;
    *span = script_segments(info);
    return 1;
}

static void script_paths_choose_hidden(bool is_program)
{
    bool is_interpreter = script_paths_program_is_interpreter();

    if (shared_header()->flags & WIRE_FLAG_NATIVE)
        return;
    if (!is_program || is_interpreter)
        script_paths_hidden[0] = script_paths_runtime->module();
    if (!is_program && is_interpreter)
        dl_iterate_phdr(script_paths_first_module, &script_paths_hidden[1]);
    module_find_bounds((uintptr_t)real._exit, &script_paths_libc.lo, &script_paths_libc.hi);
}

static void script_paths_tell_unread(const struct dl_phdr_info *info)
{
    uint32_t unread = (python_is_unread(info) ? WIRE_SCRIPTS_PYTHON : 0) |
                      (perl_is_unread(info) ? WIRE_SCRIPTS_PERL : 0) |
                      (php_is_unread(info) ? WIRE_SCRIPTS_PHP : 0) |
                      (ruby_is_unread(info) ? WIRE_SCRIPTS_RUBY : 0) |
                      (lua_is_unread(info) ? WIRE_SCRIPTS_LUA : 0);

    if (unread)
        script_paths_tell(unread);
}

/* A free-threaded interpreter's threads read its allocators while these would be changed. */
static bool script_paths_begin_python(const struct dl_phdr_info *info)
{
    return !real_is_late() || !python_is_free_threaded(info);
}

static const struct interpreter {
    const struct runtime *runtime;
    bool (*see_module)(const struct dl_phdr_info *info);
    __typeof__(thread_capture) capture;
    bool (*begin)(const struct dl_phdr_info *info); /* false: it cannot be read; NULL: it can */
} interpreters[] = {
    {&python_runtime, python_see_module, script_paths_capture_python, script_paths_begin_python},
    {&perl_runtime, perl_see_module, script_paths_capture_perl, NULL},
    {&php_runtime, php_see_module, script_paths_capture_php, NULL},
    {&ruby_runtime, ruby_see_module, script_paths_capture_ruby, NULL},
    {&lua_runtime, lua_see_module, script_paths_capture_lua, hooks_lua_begin},
};
enum { INTERPRETERS = sizeof interpreters / sizeof *interpreters };

bool script_paths_see_module(const struct dl_phdr_info *info, bool is_program)
{
    const struct interpreter *seen = interpreters;

    if (thread_capture != unwind_capture)
        return false;
    while (seen < interpreters + INTERPRETERS && !seen->see_module(info))
        seen++;
    bool is_seen = seen < interpreters + INTERPRETERS;
    if (is_seen && seen->begin && !seen->begin(info)) {
        seen->runtime->forget();
        is_seen = false;
    }
    if (!is_seen) {
        script_paths_tell_unread(info);
        return false;
    }
    script_paths_runtime = seen->runtime;
    script_paths_is_for_ever = is_program;
    script_paths_choose_hidden(is_program);
    thread_capture = seen->capture;
    return script_paths_runtime == &python_runtime;
}

/* ---- Losing it ---- */

typedef __typeof__(thread_capture) capture_function;

/* While a dlclose runs, captures do not ask the interpreter. `closers` counts calls of dlclose,
 * which nest because a destructor may close modules too. The loader is not asked with the lock
 * held, because a destructor's thread takes the lock with the loader's held. In the child of a fork
 * all of this is empty: an interpreter that was being closed is not asked there again, because it
 * may be gone. */
static struct closing {
    struct lock lock;
    uint32_t closers;
    capture_function before; /* the capture before the first dlclose; NULL: none to restore */
    bool is_gone;            /* one of them has found the interpreter unloaded */
} * script_paths_closing;

static bool script_paths_are_followed(void)
{
    capture_function now = __atomic_load_n(&thread_capture, __ATOMIC_RELAXED);

    for (size_t i = 0; i < INTERPRETERS; i++)
        if (now == interpreters[i].capture)
            return true;
    return false;
}

/* How long is waited, for all threads together: so many tries, and so much time, because one try
 * may last as long as other threads have the processor. */
struct patience {
    uint32_t tries;
    uint64_t since;
};

static bool script_paths_has_patience(struct patience *patience)
{
    enum { TICKS = 1 << 28 }; /* about 0.1 s */

    if (patience->tries == 0)
        return false;
    patience->tries--;
    return permitted_calls_is_forbidden(CALL_CLOCK) || ticks_now() - patience->since < TICKS;
}

/* Waits for a thread that is in a hook, because it may be asking the interpreter. The waiting has
 * an end, because a hook that a longjmp has left looks as if it were running. */
static void script_paths_wait_for(struct thread *thread, void *patience)
{
    const volatile uintptr_t *at_work = &thread->hook_frame;
    uintptr_t hook = *at_work;

    while (thread != thread_current && hook && *at_work == hook &&
           script_paths_has_patience(patience))
        signal_lock_let_others();
}

static void script_paths_wait(void)
{
    bool has_clock = !permitted_calls_is_forbidden(CALL_CLOCK);
    struct patience patience = {1 << 14, has_clock ? ticks_now() : 0};

    signal_lock_let_others(); /* so that stores of other threads are visible */
    thread_each(script_paths_wait_for, &patience);
}

static bool script_paths_may_close(void)
{
    struct closing *expected = NULL, *made;

    if (!script_paths_runtime || script_paths_is_for_ever || !session_is_on())
        return false;
    if (!__atomic_load_n(&script_paths_closing, __ATOMIC_ACQUIRE) &&
        (made = private_map_lasting(sizeof *made)) != NULL)
        __atomic_compare_exchange_n(&script_paths_closing, &expected, made, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE);
    return script_paths_closing;
}

bool script_paths_before_close(void)
{
    bool is_first = false;

    if (!script_paths_may_close())
        return false;
    signal_lock_take(&script_paths_closing->lock);
    script_paths_closing->closers++;
    if (script_paths_are_followed()) {
        script_paths_closing->before = thread_capture;
        script_paths_closing->is_gone = false;
        __atomic_store_n(&thread_capture, unwind_capture, __ATOMIC_SEQ_CST);
        is_first = true;
    }
    signal_lock_release(&script_paths_closing->lock);
    if (is_first)
        script_paths_wait();
    return true;
}

static int script_paths_is_interpreter(struct dl_phdr_info *info, size_t size, void *context)
{
    struct code_span span = script_segments(info), module = script_paths_runtime->module();

    (void)size, (void)context;
    return span.lo == module.lo && span.hi == module.hi;
}

/* The interpreter that comes may have other functions at the same addresses. */
static void script_paths_forget_functions(void)
{
    struct script_paths_functions *table = script_paths_table;

    if (!table)
        return;
    signal_lock_take(&table->lock);
    if (script_paths_table == table)
        script_paths_forget_addresses();
    signal_lock_release(&table->lock);
}

/* After the last dlclose: the interpreter is asked again, or if it is gone, another one may be
 * found. */
static void script_paths_closed(void)
{
    if (script_paths_closing->is_gone) {
        script_paths_runtime->forget();
        script_paths_hidden[0] = (struct code_span){0, 0};
        script_paths_forget_functions();
    } else if (thread_capture == unwind_capture) {
        __atomic_store_n(&thread_capture, script_paths_closing->before, __ATOMIC_RELEASE);
    }
    script_paths_closing->before = NULL;
}

void script_paths_after_close(void)
{
    bool is_there = dl_iterate_phdr(script_paths_is_interpreter, NULL) != 0;

    signal_lock_take(&script_paths_closing->lock);
    script_paths_closing->is_gone |= !is_there;
    if (script_paths_closing->closers && --script_paths_closing->closers == 0 &&
        script_paths_closing->before)
        script_paths_closed();
    signal_lock_release(&script_paths_closing->lock);
}

void script_paths_renew(void)
{
    script_paths_table = NULL;
    script_paths_filter = NULL;
    script_paths_session++;
}

#else

bool script_paths_see_module(const struct dl_phdr_info *info, bool is_program)
{
    (void)info, (void)is_program;
    return false;
}

bool script_paths_before_close(void)
{
    return false;
}

void script_paths_after_close(void)
{
}

void script_paths_renew(void)
{
}

void script_paths_function_ends(uintptr_t block)
{
    (void)block;
}

#endif
