/* What the writer and the reader of a session file share: the bytes of records and rows. All
 * numbers are little-endian. Inside the room. */
#ifndef TIDEMARK_SESSION_SESSION_FORMAT_H
#define TIDEMARK_SESSION_SESSION_FORMAT_H

#include <stdint.h>
#include "base/own_file.h"

/* Of the file. A reader refuses another version (the last character) and flags that it does not
 * know. */
struct session_header {
    char magic[8];
    uint32_t flags, unused;
};

enum {
    SESSION_RECORD_ROW = 0x1e574f52,    /* "ROW\x1e" */
    SESSION_RECORD_LAYOUT = 0x1e59414c, /* "LAY\x1e" */
    SESSION_RECORD_BYTES_MAX = 64 << 20,
};

struct session_record {
    uint32_t kind;
    uint32_t bytes; /* of the content */
    uint64_t hash;  /* XXH64 of the content, seed 0 */
};

/* The content of a row begins with this; program, command and body follow. A later version may
 * make it longer: the texts are found by head_bytes. UINT64_MAX: the figure is not known. */
struct session_row_head {
    uint32_t head_bytes; /* of this struct */
    uint32_t flags;      /* SESSION_ROW_… */
    uint32_t pid, parent;
    uint32_t end, end_status;
    uint32_t program_bytes, command_bytes;
    uint64_t layout;
    uint64_t start_unix_ns, duration_ns;
    uint64_t peak_bytes, resident_bytes, alloc_count, alloc_bytes;
};

enum { SESSION_ROW_LOSSY = 1 };

_Static_assert(sizeof(struct session_header) == 16 && sizeof(struct session_record) == 16 &&
                   sizeof(struct session_row_head) == 88,
               "no padding in the file");

#endif
