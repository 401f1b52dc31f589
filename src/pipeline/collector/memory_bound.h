/* How much memory the collector may have beside the program, and whether it has it. The bound is
 * what `--collector-memory` says; else an eighth of the control group that limits both and cannot
 * be left (own_group.h); else there is one only while less than an eighth of the machine's memory
 * is available, and it is a sixteenth of the machine's.
 *
 * Looks for which there is no room are left out first: they say so themselves. When the bound is
 * met, the recordings go on by samples (thinning.h): live blocks and new call paths then take next
 * to nothing. The memory that the collector already has stays. Its own memory is its resident set
 * without what it shares with the programs.
 *
 * For any thread. */
#ifndef TIDEMARK_COLLECTOR_MEMORY_BOUND_H
#define TIDEMARK_COLLECTOR_MEMORY_BOUND_H

#include <stdbool.h>
#include <stdint.h>

/* With less nothing could be recorded. */
#define MEMORY_BOUND_LEAST (16u << 20)

/* What sets the bound. */
enum memory_bound_kind { BOUND_NONE, BOUND_BY_OPTION, BOUND_BY_GROUP, BOUND_BY_MACHINE };

struct memory_bound {
    enum memory_bound_kind kind;
    uint64_t bytes; /* it may have */
    uint64_t has_bytes;
};

/* The option's bound, before the first program comes; 0: not given. */
void memory_bound_set(uint64_t option_bytes);

/* `needs_bytes`: the memory that a recording takes until it is written, as far as that is known;
 * `growth_bytes`: what it is about to take in addition. False: there is no bound, or it is not
 * reached. */
bool memory_bound_is_met(uint64_t needs_bytes, uint64_t growth_bytes, struct memory_bound *met);

/* Whether there is room, within the bound and in the group, for so many bytes of something
 * optional: a look, debug information. */
bool memory_bound_has_room(uint64_t bytes);

/* The same of readings: of a group's limit (0: none), and of the machine. */
struct memory_bound_readings {
    uint64_t option_bytes, group_limit_bytes;
    uint64_t machine_bytes; /* 0: it is not known, or what is available is not */
    uint64_t available_bytes;
    uint64_t has_bytes;
};
bool memory_bound_is_met_by(const struct memory_bound_readings *readings, uint64_t growth_bytes,
                            struct memory_bound *met);

#endif
