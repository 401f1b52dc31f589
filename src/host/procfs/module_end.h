/* Where the variables of a module end, as its program headers say. The kernel joins a module's .bss
 * with private memory that happens to lie right behind it, so smaps cannot tell. Trusts nothing:
 * the headers are checked, and a file that is not the mapped one any more (inode) is not asked. */
#ifndef TIDEMARK_PROCFS_MODULE_END_H
#define TIDEMARK_PROCFS_MODULE_END_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "procfs/smaps.h"

/* The end of the writable segment that `data` maps a part of, in whole pages; 0: not known. */
uint64_t module_end_fd(int fd, const struct smaps_mapping *data);

/* Sets bss_end of the mappings of the kind SMAPS_BSS that are longer than that. `is_steady`: the
 * module's file does not change while we run, so that it is read once for all processes; NULL:
 * none. */
void module_ends_find(struct smaps *smaps, pid_t pid, uint64_t longer_than_bytes,
                      bool (*is_steady)(const char *path));

#endif
