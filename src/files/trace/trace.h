/* A trace (.tmt): every event of a process image on disk, exactly as the replay was fed with it
 * (doc/FORMAT-trace.md). Replaying what is read gives what the recording gave.
 *
 * Writing: one thread at a time. Every function returns 0 or -errno with a sentence in
 * error_text(); after the first failure of a writer all others of it fail in the same way.
 * Reading: an open trace may be used by several threads, each with structs of its own. Out of
 * memory in the tables of live blocks ends the process, as in the replay; elsewhere it is
 * -ENOMEM. */
#ifndef TIDEMARK_TRACE_TRACE_H
#define TIDEMARK_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "replay/replay.h"

enum trace_compression { TRACE_STORED = 0, TRACE_ZSTD = 1, TRACE_LZ4 = 2 };

enum trace_flags {
    TRACE_FREE_STACKS = 1, /* replay_know_frees() */
    TRACE_TIMED = 2,       /* replay_know_times() */
};

struct trace_options {
    enum trace_compression compression;
    int level; /* of zstd: 1 to 22; 0: 3 */
    uint32_t flags;
    uint64_t start_ticks;  /* as replay_new() got it */
    uint64_t sample_bytes; /* as replay_sample() got it */
};

/* What reaches a replay besides records. Numbers that are not named for a kind are 0. */
enum trace_note_kind {
    TRACE_STREAM_BEGUN = 1,  /* stream (from 0, one after the other), tid, ticks */
    TRACE_STREAM_ENDED = 2,  /* stream, ticks */
    TRACE_STREAM_WAITED = 3, /* stream, waits, ticks: how long */
    TRACE_LOST = 4,          /* events */
    TRACE_SAMPLE = 5,        /* ticks, physical, virtual, tool bytes */
    TRACE_THREAD_NAMED = 6,  /* tid, name */
    TRACE_THREAD_STACK = 7,  /* tid, deepest, touched bytes, node */
    /* Here the recording wrote a profile of what the replay knew: ticks, nanoseconds a tick (the
     * bits of a double). A replay is not changed by it. */
    TRACE_SNAPSHOT = 8,
};
enum { TRACE_NOTE_VALUES = 4, TRACE_NAME_BYTES = 64 };

struct trace_note {
    uint32_t kind; /* enum trace_note_kind; of a newer version: others, to be ignored */
    uint64_t values[TRACE_NOTE_VALUES];
    char name[TRACE_NAME_BYTES]; /* cut to fit; NUL-ended */
};

struct trace_node {
    uint64_t ip;
    uint32_t parent;
};

/* As in wire.h. A module that is told of again (by its number) replaces what was told before: its
 * `died` has become known. */
struct trace_module {
    uint32_t number;
    uint32_t born, died;
    uint64_t bias, start, end;
    uint8_t build_id_bytes;
    uint8_t build_id[27];
    const char *path;
};

/* ---- Writing ---- */

struct trace_writer;

/* Creates the file, which must not be there yet, for its owner alone; with its name comes its
 * header. While the writer lives, it can be seen to (base/alive.h). When the disk is full the file
 * ends with the last block that was whole. */
int trace_writer_open(struct trace_writer **writer, const char *path,
                      const struct trace_options *options);

/* Takes exactly what replay_runs() takes. Any bytes survive, records or not. */
int trace_writer_events(struct trace_writer *writer, const struct replay_run *runs, size_t count,
                        const void *records);

/* Comes back before the records that follow, after those before. */
int trace_writer_note(struct trace_writer *writer, const struct trace_note *note);
int trace_writer_sample(struct trace_writer *writer, uint64_t ticks, uint64_t physical_bytes,
                        uint64_t virtual_bytes, uint64_t tool_bytes);

/* The nodes from number `first` on, which is where the last call ended (the first one's is 0).
 * Events should not be written long before the nodes that they name: a file that is cut off has
 * either. */
int trace_writer_nodes(struct trace_writer *writer, uint32_t first, const struct trace_node *nodes,
                       size_t count);
int trace_writer_module(struct trace_writer *writer, const struct trace_module *module);

/* A fact about the process. A key that is told again replaces what it said. These are known to
 * whoever replays; the profile's own (PROFILE_META_…) go under the same names with TRACE_FACT_META
 * before them, as early as they are known, for traces that end without a supplement. */
#define TRACE_FACT_FIRST_TICK_NS "first_tick_ns" /* "%a", ns per tick as replay_new() got it */
#define TRACE_FACT_TICK_NS       "tick_ns"       /* "%a", as the last snapshot took it */
#define TRACE_FACT_END_TICKS     "end_ticks"     /* ticks at the last snapshot, decimal */
#define TRACE_FACT_META          "meta."
/* "marks.0", "marks.1" …: lines "TICKS NAME" of the marks with names, in order, those of so many
 * marks in each; and "names.0" …: lines "NUMBER NAME" of the names of marks and regions, by
 * number. */
#define TRACE_FACT_MARKS "marks."
#define TRACE_FACT_NAMES "names."
enum { TRACE_FACT_LINES = 1024 };
int trace_writer_fact(struct trace_writer *writer, const char *key, const char *value);

/* What a profile has that does not come out of events (profile_supplement()), as bytes that the
 * trace does not look into. Told again, it replaces what was told. */
int trace_writer_supplement(struct trace_writer *writer, const void *bytes, size_t size);

/* Writes what is held back: what was told so far will be read whatever happens to the process. */
int trace_writer_flush(struct trace_writer *writer);

/* Gives the descriptor back until something is written again. The file goes on to be seen as one
 * that is written. False: it could not (a file system without mappings). If the file has another
 * name by then, writing fails. */
bool trace_writer_rest(struct trace_writer *writer);

/* Writes the rest and the index, closes, and frees the writer, whatever it returns. */
int trace_writer_finish(struct trace_writer *writer);

/* Leaves the file as it is, without what is held back, and frees the writer. */
void trace_writer_abandon(struct trace_writer *writer);

/* ---- Reading ---- */

struct trace;

/* A file that is damaged or cut off opens if its first 64 bytes are whole. */
int trace_open(struct trace **trace, const char *path);
void trace_close(struct trace *trace);

void trace_options(const struct trace *trace, struct trace_options *options);

/* What is missing. All zero: nothing. */
struct trace_damage {
    bool cut_off;         /* the file does not end as a finished one does */
    uint64_t blocks;      /* not to be read; found out when opened, or by trace_events() and the
                           * like */
    uint64_t lost_blocks; /* of these, blocks of which nothing is left but a gap in the numbers */
    uint64_t events;      /* at least so many were in them */
};
/* As far as opening could tell: bodies are checked when they are read. `sentence` (may be NULL)
 * gets one, "" if nothing is missing. */
void trace_damage(const struct trace *trace, struct trace_damage *damage, char *sentence,
                  size_t sentence_bytes);

/* Blocks of events, in the order of the file. */
struct trace_block {
    uint64_t first_event;
    uint32_t events;                  /* records */
    uint64_t first_ticks, last_ticks; /* lowest and highest time in a record of it */
    uint64_t start_ticks;             /* the newest time before it */
    uint32_t alloc_count, free_count; /* lives that began and ended */
    /* Alive at its start, and what it changes (two's complement). Bytes as requested; of a sampled
     * recording estimated as by the replay, and counts in 1024ths */
    uint64_t live_bytes, live_count;
    uint64_t net_bytes, net_count;
    uint64_t max_bytes, max_ticks; /* the first highest level, the one at its start included */
    uint64_t file_bytes;           /* what it takes in the file */
    uint32_t threads; /* streams begun and not ended at its start; UINT32_MAX: not known */
};
size_t trace_block_count(const struct trace *trace);
const struct trace_block *trace_block(const struct trace *trace, size_t index);

/* What a block changes of each call path's live memory, by node, ascending. */
struct trace_net_delta {
    uint32_t node;
    uint64_t bytes, count; /* two's complement; as in trace_block */
};
/* *deltas: the caller frees it. -EBADMSG: damaged. */
int trace_block_net_deltas(const struct trace *trace, size_t index, struct trace_net_delta **deltas,
                           size_t *count);

/* The block in which the time comes to be: the last one that starts before it. O(log n). */
size_t trace_block_at(const struct trace *trace, uint64_t ticks);
size_t trace_block_of_event(const struct trace *trace, uint64_t event);
/* The block that holds the first highest level. 0 if there is none. */
size_t trace_block_of_peak(const struct trace *trace);

/* The live memory of each call path at a moment: what the digests before it add up to, and a part
 * of one block. It costs that block and some dozen sums, however long the trace is. */
enum trace_when {
    TRACE_AT_EVENT, /* behind so many records */
    TRACE_AT_TICKS, /* behind all records before the first one that is later than that */
    TRACE_AT_PEAK,  /* when the highest level was first reached */
};
struct trace_state {
    uint64_t event;                  /* records before it */
    uint64_t ticks;                  /* the newest time in them */
    uint64_t live_bytes, live_count; /* as in trace_block */
    uint32_t threads;                /* likewise, at the moment */
    struct trace_net_delta *paths;   /* with live memory, by node, ascending */
    size_t path_count;
    size_t block; /* the block of events that it lies in, for trace_nodes(); 0 if there is none */
    /* Blocks of events that cannot be read: the paths lack what these changed. If `is_rough`, the
     * one in which the moment lies is among them (or says too little, as the first version's
     * writers did), and this is the state at its beginning. */
    uint64_t missing_blocks;
    bool is_rough;
};
/* What is beyond the end is the end. -ENOMEM. */
int trace_state_at(const struct trace *trace, enum trace_when when, uint64_t value,
                   struct trace_state *state);
void trace_state_release(struct trace_state *state);

/* The level behind each record of a block, in their order: the newest time so far, and what is
 * alive. -EBADMSG: damaged, and what was told before
 * that does not count. */
int trace_block_levels(const struct trace *trace, size_t index,
                       void (*visit)(void *context, uint64_t ticks, uint64_t live_bytes),
                       void *context);

/* The records of a block. Begin with all zero; may be decoded into again and again. */
struct trace_events {
    const struct replay_run *runs;
    size_t run_count;
    const unsigned char *records;
    size_t bytes;
    uint64_t event_count;
    const struct trace_placed_note {
        size_t before_run; /* comes before this run: run_count if after all */
        struct trace_note note;
    } * notes;
    size_t note_count;
    struct trace_scratch *scratch;
};
/* -EBADMSG: damaged, nothing of it can be had. */
int trace_events(const struct trace *trace, size_t index, struct trace_events *events);
void trace_events_release(struct trace_events *events);

/* Feeds the replay with a block, notes and all, as the writer got them. `*streams` counts the
 * streams that have begun: 0 before the first block. Records of a stream that has not begun (the
 * block that told of it is missing) are -EBADMSG; what came before them has been replayed. */
int trace_replay(const struct trace_events *events, struct replay *replay, uint32_t *streams);

/* The same for who wants more. */
struct trace_player {
    struct replay *replay;
    uint32_t streams; /* that have begun */
    bool lenient;     /* streams that nothing told of begin by themselves, with thread id 0 */
    /* NULL, or asked of each note: false leaves it out. */
    bool (*is_wanted)(void *context, const struct trace_note *note);
    /* NULL, or called for each TRACE_SNAPSHOT. 0 or an error that ends the playing. */
    int (*snapshot)(void *context, uint64_t ticks, double tick_ns);
    void *context;
};
int trace_play(const struct trace_events *events, struct trace_player *player);

/* The path nodes that stand before block `index` of events in the file (SIZE_MAX: all): those that
 * it can name and more. Nodes that are missing have ip and parent 0. *nodes: the caller frees it;
 * NULL if there are none. */
int trace_nodes(const struct trace *trace, size_t index, struct trace_node **nodes, size_t *count);

/* The last that is told of each module; paths live as long as *modules, which the caller frees. */
int trace_modules(const struct trace *trace, size_t index, struct trace_module **modules,
                  size_t *count);

/* The value of a fact, or NULL. Lives as long as the trace. */
const char *trace_fact(const struct trace *trace, const char *key);
size_t trace_fact_count(const struct trace *trace);
void trace_fact_at(const struct trace *trace, size_t index, const char **key, const char **value);

/* What trace_writer_supplement() was given last; *bytes: the caller frees it. NULL and 0: there is
 * none, or (trace_damage() counts it) it cannot be read whole. -ENOMEM. */
int trace_supplement(const struct trace *trace, void **bytes, size_t *size);

#endif
