/* The kinds of memory that a program maps. Numbers stand in records and profiles and never
 * change. */
#ifndef TIDEMARK_MODEL_MAPPING_H
#define TIDEMARK_MODEL_MAPPING_H

enum mapping_kind {
    MAPPING_UNKNOWN = 0,
    MAPPING_ANONYMOUS,
    MAPPING_SHARED, /* anonymous shared */
    MAPPING_FILE,   /* private */
    MAPPING_FILE_SHARED,
    MAPPING_SYSV,
    MAPPING_BREAK, /* brk, sbrk */
    MAPPING_KINDS
};
const char *mapping_kind_name(enum mapping_kind kind);

#endif
