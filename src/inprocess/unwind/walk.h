/* One walk, frame by frame. The plain rules are stepped in the loop of capture.c; everything rarer
 * is here. */
#ifndef TIDEMARK_UNWIND_WALK_H
#define TIDEMARK_UNWIND_WALK_H

#include "unwind/unwind_rules.h"
#include "unwind/stack_bounds.h"

/* The state of a walk.
 *
 * Invariant: every word in [sp, hi) can be read, and those up to 128 bytes below sp too: a walk
 * starts above the frames of the hook that it runs in, and from then on sp only grows. */
struct walk {
    uintptr_t ip, sp, bp;
    uintptr_t hi;
    struct stack *own; /* the thread's stack; NULL: not known */
    bool on_own;       /* sp is on it */
    bool exact;        /* ip was interrupted: not a return address */
    uint8_t why; /* WALK_STUCK, WALK_LOST: the mark (enum wire_mark) that the path begins with */
    unsigned switches; /* how often the walk changed to another stack */
};

enum walk_outcome {
    WALK_ON = 0,  /* the walk is in the caller; its ip was the word below its sp */
    WALK_BARRIER, /* the same, but more words were read than can be remembered */
    WALK_END,     /* there is no caller */
    WALK_STUCK,   /* cannot go on, and another walk with the same ip, sp, bp could not either */
    WALK_LOST,    /* cannot go on */
};

/* Finds out which stack sp is on. */
void walk_place(struct walk *walk);
/* Can all memory up to `end` be read? May ask the kernel if sp is not on the thread's stack. */
bool walk_reaches(struct walk *walk, uintptr_t end);
/* Steps over a frame whose rule is special, or plain with an unusual CFA. The rule may be replaced
 * by an equivalent plain one. */
enum walk_outcome walk_rarely(struct walk *walk, rule *what);
/* Steps over one frame of any kind, for walks that are not captures. */
enum walk_outcome walk_step(struct walk *walk);

/* The modules of the recorder and of the C library. */
struct walk_span {
    uintptr_t lo, hi;
};
struct walk_beyond {
    struct walk_span first, second;
};
enum { WALK_BEYOND_FRAMES = 64 };
/* False: not known. */
bool walk_beyond_init(struct walk_beyond *beyond, const struct unwind_start *start,
                      uintptr_t inside);
/* Is the return address in neither module? */
bool walk_is_beyond(const struct walk_beyond *beyond, uintptr_t ip);

/* The address at which a plain rule has the caller's frame pointer saved; 0: it is not saved. */
static inline uintptr_t walk_rule_bp_slot(rule what, uintptr_t cfa)
{
    unsigned slot = what >> 12;
    return slot ? cfa - 8 - 8 * (uintptr_t)slot : 0;
}

static inline uintptr_t walk_rule_cfa(rule what, uintptr_t sp, uintptr_t bp)
{
    return (what & 1 ? bp : sp) + ((uintptr_t)(what & 0xffe) << 2);
}

#endif
