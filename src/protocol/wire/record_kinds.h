/* The rows of records.def as tables, for code that reads records. The recorder only writes records
 * and needs no more than enum wire_kind (wire.h). */
#ifndef TIDEMARK_WIRE_RECORD_KINDS_H
#define TIDEMARK_WIRE_RECORD_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/wire.h"

/* What a record does. The times of classes up to RECORD_SPENT are no times of events. Code that has
 * to treat every class has a switch without a default between RECORD_SWITCH_BEGIN and
 * RECORD_SWITCH_END. A new class then does not compile until it has a case there. */
enum record_class {
    RECORD_NONSENSE, /* a kind without a row; a flag that its row does not permit; an allocation at
                      * address 0 */
    RECORD_VOID,
    RECORD_SPENT,      /* the time that the call before it took */
    RECORD_FAILED,     /* a call that would have returned a block returned NULL */
    RECORD_BIRTH,      /* a block is allocated */
    RECORD_POOL_BIRTH, /* the same, by a pool of the program's own */
    RECORD_FREE,
    RECORD_POOL_FREE,
    RECORD_POOL_CHUNK, /* a block becomes memory of a pool */
    RECORD_REALLOC_BEGIN,
    RECORD_REALLOC_END,
    RECORD_REALLOC_FAILED,
    RECORD_THREAD_START,
    RECORD_THREAD_END,
    RECORD_LOST,
    RECORD_SAID,    /* the program says something about itself */
    RECORD_MAPPING, /* the program changes its address space */
    RECORD_STACK,   /* about a thread's stack */
    RECORD_DEVICE,  /* about memory of a device */
    RECORD_CLASSES
};

#define RECORD_SWITCH_BEGIN                                                                        \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic error \"-Wswitch\"")
#define RECORD_SWITCH_END _Pragma("GCC diagnostic pop")

enum record_flag { RECORD_FLAG_NONE, RECORD_FLAG_FAILED, RECORD_FLAG_NEWEST };

struct record_kind {
    unsigned char kind;  /* enum wire_kind */
    unsigned char class; /* enum record_class, of the record without its flag */
    unsigned char flag;  /* enum record_flag */
    bool is_there;       /* the number has a row */
    const char *shown, *filter;
};

/* By number. */
enum { RECORD_NUMBERS = WIRE_KIND_MASK + 1 };
extern const struct record_kind record_kinds[RECORD_NUMBERS];

/* The row of a record's first byte, with or without the flag; NULL: there is none. */
static inline const struct record_kind *record_kind_of(unsigned kind)
{
    const struct record_kind *row = &record_kinds[kind & WIRE_KIND_MASK];

    return row->is_there && row->kind == (kind & ~(unsigned)WIRE_FAILED) ? row : NULL;
}

/* enum record_class by a record's first byte, flag included; [0] of a recording of every
 * allocation, [1] of a sampled one. */
extern const unsigned char record_classes[2][256];

/* The same by a record's first word. */
static inline enum record_class record_class_of(bool sampled, uint64_t word0)
{
    enum record_class class = (enum record_class)record_classes[sampled][wire_kind(word0)];

    if ((class == RECORD_BIRTH || class == RECORD_POOL_BIRTH) && !(word0 & WIRE_ADDRESS_MASK))
        return RECORD_NONSENSE;
    return class;
}

/* Is the record's time that of an event, so that the replay's time advances to it? */
static inline bool record_moves_time(enum record_class class)
{
    return class > RECORD_SPENT;
}

#endif
