/* Where the variables of a module end, by its program headers. The kernel joins a module's .bss
 * with private memory directly behind it, so smaps does not show the end. The headers are checked,
 * and a file that is no longer the mapped one (by inode) is not read. */
#ifndef TIDEMARK_PROCFS_MODULE_END_H
#define TIDEMARK_PROCFS_MODULE_END_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "procfs/smaps.h"

/* The end of the writable segment of which `data` is a part, rounded up to a page; 0: not known. */
uint64_t module_end_fd(int fd, const struct smaps_mapping *data);

/* Sets bss_end of the mappings of the kind SMAPS_BSS that are longer than that. `is_steady`:
 * whether the module's file does not change while we run, so that it is read once for all
 * processes; NULL: no module's is. */
void module_ends_find(struct smaps *smaps, pid_t pid, uint64_t longer_than_bytes,
                      bool (*is_steady)(const char *path));

#endif
