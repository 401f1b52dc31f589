/* The mappings of one process by kind and, within a kind, by file.
 *
 *     kinds ┌ text ┬ first ─▶ files ┌ libc.so.6 ┬ first ─▶ order ┌ mapping
 *           │      └ count          │           └ count          │ …
 *           └ heap …                └ a.out …                    └
 *
 * All three are sorted alike; Σ files of a kind = the kind, Σ kinds = total. Functions return 0 or
 * -errno: -ESRCH for a process that is gone or has no memory, -EACCES for one that is another's. */
#ifndef TIDEMARK_SYSTEM_MEMORY_PROCESS_MAPS_H
#define TIDEMARK_SYSTEM_MEMORY_PROCESS_MAPS_H

#include "system_memory/processes.h"

enum maps_order { MAPS_PSS, MAPS_USS, MAPS_RSS, MAPS_SWAP, MAPS_SIZE, MAPS_NAME, MAPS_ADDRESS };
#define MAPS_ORDER_CHOICE "pss|uss|rss|swap|size|name|address"

struct maps_group {
    const char *name; /* the kind's, or the file's as the kernel says it, "" for none */
    enum smaps_kind kind;
    bool deleted; /* files: it has no name any more */
    bool guessed; /* for some of it the kind is likely, not certain */
    size_t first, count;
    uint64_t mappings;
    struct smaps_bytes bytes;
};

struct maps {
    struct system_memory_status status;
    char *command;
    struct smaps smaps;
    struct maps_group *kinds, *files, total;
    size_t kind_count, file_count;
    /* Of the mappings; in order of address: all, and the groups do not point to it. */
    uint32_t *order;
    enum maps_order sorted_by;
    bool lists_all; /* each mapping is shown */
};

int maps_take(struct maps *maps, pid_t pid, enum maps_order order, bool all);
/* The same of a table that was read, which is taken over; status and command are left alone. */
int maps_group(struct maps *maps, enum maps_order order, bool all);
void maps_release(struct maps *maps);

#endif
