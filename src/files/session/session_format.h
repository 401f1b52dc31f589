/* What the writer and the reader of a session file share: the bytes of records and rows. All
 * numbers are little-endian. Inside the room. */
#ifndef TIDEMARK_SESSION_SESSION_FORMAT_H
#define TIDEMARK_SESSION_SESSION_FORMAT_H

#include <stdint.h>
#include "base/own_file.h"
#include "session/session_file.h"

/* Of the file. A reader refuses another version (the last character) and flags that it does not
 * know. */
struct session_header {
    char magic[8];
    uint32_t flags, unused;
};

enum {
    SESSION_RECORD_ROW = 0x1e574f52,    /* "ROW\x1e" */
    SESSION_RECORD_LAYOUT = 0x1e59414c, /* "LAY\x1e" */
    SESSION_RECORD_WHOLE = 0x1e4c4857,  /* "WHL\x1e" */
    SESSION_RECORD_BYTES_MAX = 64 << 20,
};

struct session_record {
    uint32_t kind;
    uint32_t bytes; /* of the content */
    uint64_t hash;  /* XXH64 of the content, seed 0; of a whole profile: of what is before it */
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

/* The content of a record with a whole profile begins with this, and head_bytes counts all of it.
 * The entry of a job stands behind the command, and then the profile's file as it was. */
struct session_whole_head {
    struct session_row_head row; /* its layout is 0 */
    uint32_t entry_bytes;
    uint32_t profile_bytes; /* the rest: a wrong length of the record shows */
};

/* Behind that head, and counted by its head_bytes, where the profile is packed against the profile
 * of an earlier row: where in the file that one begins. */
struct session_whole_model {
    uint64_t at;
};

/* What comes before the profile. */
enum { SESSION_WHOLE_BEGINNING_MAX = 1 << 20 };

_Static_assert(sizeof(struct session_header) == 16 && sizeof(struct session_record) == 16 &&
                   sizeof(struct session_row_head) == 88 && sizeof(struct session_whole_head) == 96,
               "no padding in the file");

struct session_row_head session_format_head(const struct session_row *row, size_t head_bytes,
                                            uint64_t layout);

#endif
