/* The call paths of one run as steps from function to function, level by level. Inside the room.
 *
 *   path     main ─ parse ─ read ─ malloc        level 1: (nothing) calls main
 *                                                level 2: main calls parse, at its line
 *                                                level 3: parse calls read
 *                                                end:     read allocates
 *
 * All steps of a level lie together, so that a walk over a level and the one above it stays in the
 * processor's cache. Hidden frames are no steps, inlined ones are. */
#ifndef TIDEMARK_DIFF_DIFF_STEPS_H
#define TIDEMARK_DIFF_DIFF_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "diff/call_alignment.h"
#include "diff/diff.h"
#include "diff/identity.h"

struct diff_steps {
    struct step_level {
        struct step {
            /* The step's place in the level above; of the first level 0. Once the step is in the
             * tree of all runs: its node there. */
            uint32_t from;
            uint32_t call; /* by its number of calls_add() */
        } * steps;
        size_t count, room;
    } * levels; /* [0] is level 1 */
    size_t level_count, level_room;
    struct step_end {
        uint32_t level, step; /* the step that the path ends at; level 0: the path does not count */
        uint32_t call;        /* that allocates there */
    } * ends;                 /* by the profile's site */
};

/* Of the paths that count. Adds the calls on them to `calls`, before calls_align(). `callers_only`:
 * a path is its innermost frame, whatever that is. 0 or -ENOMEM; to be released in any case. */
int diff_steps_make(struct diff_steps *steps, struct calls *calls, const uint32_t *by_key,
                    const struct diff_run *run, const bool *hidden, bool callers_only);
void diff_steps_release(struct diff_steps *steps);

#endif
