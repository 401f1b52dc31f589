/* Does a stack show that functions of our own module have not ended yet? The frames are walked,
 * also those beyond the one that the kernel makes for a signal's handler. Nothing is remembered. */
#include "unwind/unwind.h"

#include "unwind/unwind_modules.h"
#include "unwind/walk.h"

enum { INSIDE_MOST_FRAMES = 2000 };

enum unwind_answer unwind_is_inside(const struct unwind_start *start, bool by_signal)
{
    struct walk walk = {.ip = start->ip, .sp = start->sp, .bp = start->bp};
    enum walk_outcome outcome = WALK_ON;
    bool beyond = false;
    uintptr_t lo, hi;
    if (!module_find_bounds((uintptr_t)unwind_is_inside, &lo, &hi)) {
        return UNWIND_NOT_KNOWN;
    }
    walk_place(&walk);
    for (int i = 0; i < INSIDE_MOST_FRAMES && outcome <= WALK_BARRIER && walk.ip; i++) {
        outcome = walk_step(&walk);
        bool ours = walk.ip - !walk.exact - lo < hi - lo;
        beyond |= by_signal ? walk.exact : !ours;
        if (beyond && ours && outcome <= WALK_BARRIER) {
            return UNWIND_YES;
        }
    }
    /* by frame pointers, a handler's frame leads past the interrupted function */
    return rules_follow_tables() && (outcome == WALK_END || !walk.ip) ? UNWIND_NO
                                                                      : UNWIND_NOT_KNOWN;
}
