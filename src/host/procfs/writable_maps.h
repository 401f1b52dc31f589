/* The private mappings of a process that can be written, in the order of their addresses.
 *
 * Linux 6.11 answers for one mapping at a time, and skips those that cannot be written
 * (PROCMAP_QUERY): 0.2 us each. An older kernel writes all mappings as text, with their names,
 * which takes several times as long: a process has four mappings of each library, of which one can
 * be written. */
#ifndef TIDEMARK_PROCFS_WRITABLE_MAPS_H
#define TIDEMARK_PROCFS_WRITABLE_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "procfs/proc_file.h"

enum writable_maps_method { WRITABLE_MAPS_QUERY, WRITABLE_MAPS_TEXT };

struct writable_maps {
    int fd;
    enum writable_maps_method method;
    uint64_t at; /* all mappings below were passed */
    struct proc_lines lines;
    int error; /* why there were no more, if not because all were passed; or 0 */
};

/* 0 or -errno. */
int writable_maps_open(struct writable_maps *maps, pid_t pid);
/* The same by one method only. */
int writable_maps_open_with(struct writable_maps *maps, pid_t pid,
                            enum writable_maps_method method);
/* False: there are no more. */
bool writable_maps_next(struct writable_maps *maps, uint64_t *start, uint64_t *end);
void writable_maps_close(struct writable_maps *maps);

#endif
