/* Perf-style maps of JIT code: lines of "START SIZE name", the numbers in hexadecimal, written by
 * the process itself to /tmp/perf-PID.map and growing while it runs. */
#ifndef TIDEMARK_SYMBOLS_JIT_H
#define TIDEMARK_SYMBOLS_JIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "symbols/jit_name.h"
#include "symbols/string_pool.h"
#include "symbols/range_map.h"

struct jit_map {
    int pid;
    dev_t device;
    ino_t inode;
    off_t read_bytes; /* whole lines only */
    char last[32];    /* the end of these; where they are fewer, 0 before them */
    unsigned begun;   /* times that a map was read from its beginning, or went on behind a cut;
                       * 0: there was none yet */
    bool is_cut;      /* its first reading ended in a line that was being written */
    struct range_map ranges;
    struct jit_code *codes; /* by the ranges' values */
    size_t code_count, code_capacity;
};

/* Opens what process `pid` says of its code. The file must be regular, no link, and root's, the
 * user's or the process's: another user's names would get into root's reports. -1: it is not. */
int jit_file_open(const char *path, int pid, struct stat *status);

void jit_map_release(struct jit_map *map);

/* Reads what is new in the map of map->pid, under `root` if that is not empty. */
void jit_map_update(struct jit_map *map, const char *root, struct pool *pool);

/* What is at `address`; all NULL: not known. */
struct jit_code jit_map_find(struct jit_map *map, uint64_t address);

#endif
