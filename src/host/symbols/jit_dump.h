/* jitdump files: what perf calls the record that a run-time writes of its code, with times and
 * lines (tools/perf/Documentation/jitdump-specification.txt of Linux). Node writes it with
 * --perf-prof, OpenJDK through perf's agent, and LLVM, .NET, wasmtime and Ruby's YJIT can.
 *
 *     header │ record │ record │ …     each record: id, bytes, time; then what its id says
 *
 *     LOAD        code of a name is at an address now, and what was there before is gone
 *     MOVE        the code of an earlier LOAD is at another address
 *     DEBUG_INFO  file and line by address, of the code that the next LOAD of this address names
 *     CLOSE       nothing follows
 *
 * Records follow each other in time, so the last one that covers an address is what is there. */
#ifndef TIDEMARK_SYMBOLS_JIT_DUMP_H
#define TIDEMARK_SYMBOLS_JIT_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbols/jit_name.h"
#include "symbols/number_map.h"
#include "symbols/range_map.h"
#include "symbols/string_pool.h"

/* The code from `offset` on, up to the next line's offset. */
struct jit_line {
    uint64_t offset;
    const char *file;
    uint32_t line;
};

/* Code at one address. Moved code is one more of these, with the same lines. */
struct jit_dump_code {
    struct jit_code name;
    uint64_t start;
    uint32_t first_line, line_count; /* in the dump's lines */
};

struct jit_dump {
    char *path;
    int pid; /* as the dump's header must have it: own_pid or this */
    int own_pid;
    dev_t device;
    ino_t inode;
    uint64_t read_bytes;    /* whole records only; 0: no header yet */
    bool is_over;           /* closed, or a length is damaged: the rest is not read */
    uint64_t damaged_count; /* records */
    unsigned begun;         /* times that it was read from its beginning */
    struct range_map ranges;
    struct jit_dump_code *codes; /* by the ranges' values */
    size_t code_count, code_capacity;
    struct jit_line *lines;
    size_t line_count, line_capacity;
    struct number_map by_index; /* a LOAD's number + 1 → its code */
    uint64_t pending_start;     /* of lines without their LOAD */
    uint32_t pending_line, pending_count;
};

void jit_dump_release(struct jit_dump *dump);

/* Reads what is new in the file. */
void jit_dump_update(struct jit_dump *dump, struct pool *pool);

/* What is at `address`; all NULL: not known. */
struct jit_code jit_dump_find(struct jit_dump *dump, uint64_t address);

#endif
