/* The calls in each function, of both groups, put in line: a number for each place that calls, or
 * that allocates. Inside the room. */
#ifndef TIDEMARK_DIFF_CALL_ALIGNMENT_H
#define TIDEMARK_DIFF_CALL_ALIGNMENT_H

#include <stddef.h>
#include <stdint.h>
#include "base/map.h"

struct call_site {
    uint32_t function; /* identity; 0: where a path begins */
    uint32_t callee;   /* identity; 0: it allocates */
    uint32_t line[2];  /* by group; 0: not there, or not known */
};

struct calls {
    struct call_site *sites; /* after aligning */
    size_t count;
    /* private */
    struct seen {
        uint32_t function, callee, line;
        uint32_t group, site, number; /* number: in the order of calls_add() */
    } * seen;
    size_t seen_count, seen_capacity;
    struct map map;    /* of seen; empty after aligning */
    uint32_t *site_of; /* by number */
};

/* In this order: calls_add() for all calls, calls_align() once, then calls_site() of the numbers
 * that calls_add() gave, which returns an index of `sites`. The others return 0 or -ENOMEM. */
int calls_add(struct calls *sites, int group, uint32_t function, uint32_t callee, uint32_t line,
              uint32_t *number);
int calls_align(struct calls *sites);
static inline uint32_t calls_site(const struct calls *sites, uint32_t number)
{
    return sites->site_of[number];
}
void calls_release(struct calls *sites);

#endif
