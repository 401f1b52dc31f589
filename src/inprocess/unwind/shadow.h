/* Shadow stacks: the hooks of -finstrument-functions keep a copy of the program's stack of
 * functions. So a call path is known without unwinding, and the size of the stack is known at every
 * entry.
 *
 *   program's stack                     shadow (struct shadow)
 *   hi ┌───────────────┐
 *      │ libc's start  │
 *      ├───────────────┤
 *      │ main          │◄── sp ──────── 1  main   site in libc
 *      ├───────────────┤
 *      │ f (inlined: g)│◄── sp ─┬────── 2  f      site in main
 *      ├───────────────┤        └────── 3  g      site of f, SHADOW_INLINED
 *      │ h             │◄── sp ──────── 4  h      site in f         ◄ count
 *      └───────────────┘
 *
 * Invariants
 *   frames[0].sp >= frames[1].sp >= … >= frames[count].sp    frame 0 is a sentinel above all stacks
 *   frames[i].sp < sp of the running code  =>  frame i is dead
 *
 * Dead frames are left behind by longjmp, by an exception through C code, or by exit hooks that
 * were never called. The next hook or capture above them drops them.
 *
 * Each stack has its own shadow. The shadow of a thread's stack belongs to the thread. The shadows
 * of fibers and of alternate signal stacks ("foreign" stacks) belong to all threads, because one
 * thread can suspend a fiber and another one resume it. A foreign stack is found by the place of
 * its outermost frame: an address is on the stack whose outermost frame is the nearest one above.
 * Fibers with adjacent memory are distinguished by the return address of the code that starts them,
 * which is kept.
 *
 * Runs inside the profiled program: no malloc, no locks, errno untouched. A signal handler may
 * interrupt any of it, call hooks, and leave by longjmp. */
#ifndef TIDEMARK_UNWIND_SHADOW_H
#define TIDEMARK_UNWIND_SHADOW_H

#include "unwind/stack_bounds.h"
#include "unwind/unwind.h"

/* Bits of shadow_frame.sp: a stack pointer at a call is a multiple of 16. */
#define SHADOW_INLINED 1u /* the function has no frame of its own: it is inlined in the one below */
#define SHADOW_UNTOLD  2u /* valid below `hashed`: unwind tables lack this function or one below */
#define SHADOW_BITS    3u

struct shadow_frame {
    uintptr_t function; /* the hook's argument */
    uintptr_t site;     /* where the frame will return to */
    uintptr_t sp;       /* at the entry hook, and SHADOW_… */
    uintptr_t at;       /* return address of the entry hook */
    uint64_t hash;      /* below `hashed`: of the path that ends in `site` */
};

/* A function on the stack when that was deepest; sp may have SHADOW_INLINED. */
struct shadow_layer {
    uintptr_t function, sp;
};

enum shadow_kind { SHADOW_OWN = 0, SHADOW_FIBER, SHADOW_ALTERNATE };

struct shadow {
    struct stack stack; /* that of a foreign shadow covers nothing, so that its stack is searched
                         * each time */
    uint32_t count;     /* frames; the innermost is frames[count] */
    uint32_t low;       /* the lowest value of count since `hashed` and `layers_good` were last
                         * lowered */
    uint32_t capacity;
    struct shadow_frame *frames;
    uintptr_t deepest; /* lowest sp of any entry so far; 0: sizes of this stack are not measured */
    uint32_t peak;     /* the frame that is deepest; 0: it has returned, and left_deepest() was
                        * called. Of a foreign stack: 1 */
    enum shadow_kind kind;
    uint32_t hashed;      /* frames whose hash is valid, if not above `low` */
    struct stack extent;  /* of a foreign stack: proven to be mapped, up to its outermost frame */
    struct shadow *below; /* of an alternate stack: the stack that was interrupted */
    /* odd while the layers are written, because another thread may read them. These are the frames
     * 1 … layer_count at the deepest point that was left last */
    _Atomic uint32_t version;
    uint32_t layer_count, layer_capacity, layers_good;
    struct shadow_layer *layers;
};

/* Once for each process image, before all other functions here; again in the child of a fork, which
 * has its parent's shadows. `max_depth`: as for unwind_init(). `left_deepest` is called when a
 * stack that went deeper than ever before is about to leave that point; frames 1 … peak are its
 * frames there. */
void shadow_init(const struct unwind_host *host, uint32_t max_depth,
                 void (*left_deepest)(struct shadow *shadow));

/* Makes the calling thread's shadow. `old`: that of a thread that has ended, to be used again, or
 * NULL. NULL: no memory. */
struct shadow *shadow_begin_thread(struct shadow *old);
/* Begins anew with the deepest point, in the child of a fork. */
void shadow_forget_deepest(struct shadow *shadow);

/* The thread's own shadow, and the one of the stack that its last hook ran on. NULL before
 * shadow_begin_thread(). */
extern __thread struct shadow *shadow_own, *shadow_current;

/* The shadow of the stack that sp is on, if that is not shadow_current's. If there is none, it is
 * made for an entry hook, whose `site` is given; site 0: NULL. */
struct shadow *shadow_find(uintptr_t sp, uintptr_t site);

void shadow_enter_slowly(struct shadow *shadow, const struct shadow_frame *frame);
void shadow_exit_slowly(struct shadow *shadow, uintptr_t function, uintptr_t sp);

/* The node of the call path that starts at `start`, which is on the shadow's stack. 0: there is no
 * instrumented function, or no memory for a node. */
uint32_t shadow_capture(struct shadow *shadow, const struct unwind_start *start);
/* Do unwind tables lack a function that is on the stack at `start`? */
bool shadow_is_untold(struct shadow *shadow, const struct unwind_start *start);
/* To be called in left_deepest(): the node of the deepest function, with its path. */
uint32_t shadow_deepest_node(struct shadow *shadow);
/* The node of a function alone. */
uint32_t shadow_function_node(uintptr_t function);

/* To be called in left_deepest(): copies those of frames 1 … peak that changed to the layers. */
void shadow_keep_layers(struct shadow *shadow);
/* Calls left_deepest(), if the stack is at its deepest now. */
void shadow_settle(struct shadow *shadow);
/* The program is about to continue at sp, as by longjmp(), on any stack. */
void shadow_jump(uintptr_t sp);

#define SHADOW_BARRIER() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* The entry hook: `sp` is the stack pointer of the function that calls it, `at` its return address.
 * (With the exit, and all that the hooks themselves do, 95 instructions.) */
static inline __attribute__((always_inline)) void
shadow_enter(struct shadow *shadow, uintptr_t function, uintptr_t site, uintptr_t at, uintptr_t sp)
{
    uint32_t count = shadow->count;
    struct shadow_frame *frame = &shadow->frames[count];
    if (unlikely((frame->sp & ~(uintptr_t)SHADOW_BITS) <= sp || frame->site == site ||
                 count + 2 > shadow->capacity)) {
        shadow_enter_slowly(shadow, &(struct shadow_frame){function, site, sp, at, 0});
        return;
    }
    frame++;
    frame->function = function;
    frame->site = site;
    frame->sp = sp;
    frame->at = at;
    SHADOW_BARRIER();
    *(volatile uint32_t *)&shadow->count = count + 1;
    SHADOW_BARRIER();
    /* A signal handler may have used this place, and moved the frames, before it was counted. */
    if (unlikely(*(volatile uintptr_t *)&shadow->frames[count + 1].sp != sp)) {
        shadow_enter_slowly(shadow, &(struct shadow_frame){function, site, sp, at, 0});
        return;
    }
    if (unlikely(sp < shadow->deepest)) {
        shadow->deepest = sp;
        shadow->peak = count + 1;
    }
}

static inline __attribute__((always_inline)) void shadow_exit(struct shadow *shadow,
                                                              uintptr_t function, uintptr_t sp)
{
    uint32_t count = shadow->count;
    const struct shadow_frame *frame = &shadow->frames[count];
    if (unlikely(frame->function != function || (frame->sp & ~(uintptr_t)SHADOW_BITS) != sp ||
                 shadow->peak == count)) {
        shadow_exit_slowly(shadow, function, sp);
        return;
    }
    *(volatile uint32_t *)&shadow->count = count - 1;
    SHADOW_BARRIER();
    if (shadow->low >= count) {
        shadow->low = count - 1;
    }
}

#endif
