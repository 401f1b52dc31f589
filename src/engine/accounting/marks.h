/* Marks and regions as a replay reports them. Times are ticks; the collector converts them to
 * ns. */
#ifndef TIDEMARK_ACCOUNTING_MARKS_H
#define TIDEMARK_ACCOUNTING_MARKS_H

#include <stddef.h>
#include <stdint.h>
#include "model/figure.h"

/* Names are numbers of the wire (replay_name()), below this limit. */
#define MARKS_NAMES (1u << 14)
#define MARKS_MAX   65536 /* the first ones are kept, the others counted */

struct replay_mark {
    uint64_t ticks;
    uint32_t name;
    uint32_t kind;                   /* enum wire_mark_kind */
    uint32_t thread;                 /* index */
    uint64_t live_bytes, live_count; /* of the program, then */
};

/* Of a region, what does not follow from its call paths. `live` and `own` are of the blocks that
 * were allocated in it, wherever they are freed. */
struct replay_region {
    uint32_t name;
    uint64_t entered_count; /* beginnings, those within itself too */
    uint64_t unended_count; /* of them, those without an end of their own: left by a longjmp, or
                               when their thread ended */
    uint64_t open_count;    /* threads that are in it now */
    uint64_t time_ticks;    /* spent in it, added up over threads */
    uint64_t first_ticks, last_ticks; /* its first beginning; its last end, or now */
    uint64_t live_bytes;
    uint64_t peak_bytes, peak_ticks; /* high-water mark of that */
    struct figure left_bytes;        /* live_bytes when a thread last left it; unknown: none has */
    uint64_t program_peak_bytes, program_peak_ticks; /* of all live bytes while it was open */
};

struct marks {
    struct replay_mark *all;
    size_t count, room;
    uint64_t lost;
    char **names; /* by number; NULL: none is known */
};

void marks_release(struct marks *marks);
void marks_add(struct marks *marks, const struct replay_mark *mark);
/* A window begins: forgets the marks and keeps the names. */
void marks_restart(struct marks *marks);
void marks_name(struct marks *marks, uint32_t number, const char *text);
/* "?" if the name is not known; "" for number 0, which stands for no name. */
const char *marks_name_of(const struct marks *marks, uint32_t number);

#endif
