/* The options of `tidemark record`, which a library preloaded by hand takes from
 * TIDEMARK_OPTIONS. */
#ifndef TIDEMARK_COMMANDS_RECORD_OPTIONS_H
#define TIDEMARK_COMMANDS_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/options.h"
#include "collector/collector.h"

struct record_options {
    const struct options_command *command; /* the command that they were given to, for sentences */
    const char *output;
    const char *job, *job_id; /* NULL: not given */
    int collector;            /* RECORD_COLLECTOR_… */
    const char *ranks;        /* the ranks to record (jobdir/rank_choice.h); NULL: all */
    bool quiet;
    bool waits; /* waits for daemons too */
    bool force; /* whatever stands at `output` is kept as .old */
    bool follow;
    const char *only;                /* NULL: not given */
    const char *allocator_functions; /* NULL: not given */
    bool looks;
    bool page_content, held, types;
    uint64_t heat_ns;
    bool pack;
    bool separate;
    bool trace;
    const char *compress;
    int on_full; /* 0 wait, 1 drop */
    int stacks;  /* enum wire_stacks */
    bool free_stacks;
    bool native;
    bool devices;
    bool timed;
    bool embed_sources;
    uint64_t max_depth;
    uint64_t ring_bytes;
    uint64_t exit_wait_ns;
    uint64_t sample_bytes;        /* 0: not sampled */
    int allocator;                /* 0: the program's own, 1: BFM */
    int events;                   /* 0: every call, 1: pages (wire.h) */
    uint64_t budget_millionths;   /* of a processor; 0: no limit */
    uint64_t memory_bytes;        /* of the collector; 0: found out (collector/memory_bound.h) */
    const char *start_on, *until; /* marks; NULL */
    uint64_t for_ns;              /* RECORD_UNLIMITED: not given */
    int snapshot_signal;          /* 0: none */
    struct trigger triggers[TRIGGERS_MAX];
    size_t trigger_count;
};

/* For each rank of a job, or for all ranks of a node. */
enum { RECORD_COLLECTOR_RANK, RECORD_COLLECTOR_NODE };

#define RECORD_UNLIMITED UINT64_MAX /* of an option: it was not given */

extern const struct options_command record_command;

struct record_options record_options_default(void);
/* Checks what the table cannot. 0 or OPTIONS_EXIT_FAILURE with a sentence on stderr. */
int record_options_check(const struct record_options *options);
/* Checks before a long run that the profile can be written. 0, or OPTIONS_EXIT_FAILURE after a
 * sentence by `command`. */
int record_options_check_output(const struct record_options *options, const char *command);
/* The usual options, changed by the words of TIDEMARK_OPTIONS. If anything is wrong there, a
 * sentence on stderr and the usual options. The strings live as long as the process. */
void record_options_from_environment(struct record_options *options);
/* Says which functions of --allocator-functions no program had. */
void record_say_missing_functions(void);
struct collector_options record_collector_options(const struct record_options *options);

#endif
