/* The replay once more, as plainly as it can be written: every block that ever was in one array,
 * every search a scan from its start, every new peak a copy of all call paths, the timeline worked
 * out at the end from the list of all levels. Shares nothing with src/engine/replay but the structs
 * of metrics.h and wire.h; the rules are those of replay.h and metrics.h. */
#ifndef TIDEMARK_TESTS_REPLAY_BRUTE_H
#define TIDEMARK_TESTS_REPLAY_BRUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../../model/numbers.h"
#include "wire/wire.h"

#define BRUTE_NODES   256
#define BRUTE_EVENTS  20000
#define BRUTE_THREADS 64
#define BRUTE_STREAMS 8

enum brute_life { BRUTE_LIVE, BRUTE_IN_REALLOC, BRUTE_OVER };

struct brute_block {
    uint64_t address, size, slack, birth;
    uint32_t node;
    size_t thread;
    uint64_t serial; /* how many blocks its thread had allocated with it */
    enum brute_life life;
    unsigned kind;     /* of the record that made it */
    uint64_t born;     /* the time of the newest record then */
    long replaces;     /* the block that it is a reallocation of; -1: none that is known */
    uint64_t lifetime; /* once it is over */
    long freer;        /* the thread that ended it; -1: none */
};

/* What the last call of a thread was: time spent is told of it. */
struct brute_call {
    enum { BRUTE_NO_CALL, BRUTE_ALLOC, BRUTE_FREE } what;
    long node; /* -1: none */
};

struct brute_realloc {
    bool null;
    uint64_t address;
    long block; /* -1: unknown */
};

struct brute_level {
    uint64_t now, requested, blocks;
};

struct brute_flow {
    uint64_t now, size;
    bool alloc;
};

struct brute_debt {
    uint64_t address, count, until;
};

struct brute {
    uint64_t start, last;
    bool know_frees; /* frees are counted where they are made */
    struct brute_block blocks[BRUTE_EVENTS];
    size_t block_count;
    struct call_numbers sites[BRUTE_NODES];
    bool site_seen[BRUTE_NODES];
    struct program_numbers program;
    struct thread_numbers threads[BRUTE_THREADS];
    uint64_t serials[BRUTE_THREADS];
    bool announced[BRUTE_THREADS];
    struct brute_realloc pending[BRUTE_THREADS][256];
    size_t pending_count[BRUTE_THREADS];
    struct brute_call calls[BRUTE_THREADS];
    bool timed;
    size_t thread_count;
    size_t streams[BRUTE_STREAMS]; /* whose thread */
    size_t stream_count;
    struct brute_level levels[BRUTE_EVENTS + 1];
    size_t level_count;
    struct brute_flow flows[2 * BRUTE_EVENTS];
    size_t flow_count;
    struct brute_debt debts[BRUTE_EVENTS];
    size_t debt_count;
};

void brute_init(struct brute *brute, uint64_t start, bool know_frees);
/* Calls are timed; before threads begin. */
void brute_know_times(struct brute *brute);
void brute_thread_begin(struct brute *brute, uint32_t tid, uint64_t ticks);
void brute_record(struct brute *brute, size_t stream, const struct wire_record *record);
void brute_program(const struct brute *brute, struct program_numbers *out);
/* The bucket that covers [from, to]. */
void brute_bucket(const struct brute *brute, uint64_t from, uint64_t to,
                  struct bucket_numbers *out);

#endif
