/* Shadow stacks: what the hooks of -finstrument-functions say of the program's stack, kept beside
 * it. A call path is then known without unwinding, and so is the size of the stack at every entry.
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
#define SHADOW_UNTOLD  2u /* known below `hashed`: unwind tables lack this function or one below */
#define SHADOW_BITS    3u

struct shadow_frame {
    uintptr_t function; /* as the hook was told */
    uintptr_t site;     /* where the frame will return to */
    uintptr_t sp;       /* at the entry hook, and SHADOW_… */
    uintptr_t at;       /* return address of the entry hook */
    uint64_t hash;      /* below `hashed`: of the path that ends in `site` */
};

/* A function on the stack when that was deepest; sp may be SHADOW_INLINED. */
struct shadow_layer {
    uintptr_t function, sp;
};

enum shadow_kind { SHADOW_OWN = 0, SHADOW_FIBER, SHADOW_ALTERNATE };

struct shadow {
    struct stack stack; /* a foreign one's covers nothing: who is on it is looked for each time */
    uint32_t count;     /* frames; the innermost is frames[count] */
    uint32_t low;       /* the lowest that count has been since the marks below were looked at */
    uint32_t capacity;
    struct shadow_frame *frames;
    uintptr_t deepest; /* lowest sp of any entry so far; 0: sizes of this stack are not taken */
    uint32_t peak;     /* the frame that stands deepest; 0: left, and told. Of a foreign stack: 1 */
    enum shadow_kind kind;
    uint32_t hashed;      /* frames whose hash is good, `low` apart */
    struct stack extent;  /* of a foreign stack: proven to be mapped, up to its outermost frame */
    struct shadow *below; /* of an alternate stack: the stack that was interrupted */
    /* the layers at the deepest point that was left last, 1 … layer_count. Another thread may read
     * them; odd while they are written */
    _Atomic uint32_t version;
    uint32_t layer_count, layer_capacity, layers_good;
    struct shadow_layer *layers;
};

/* Once per process image, before anything else here; again in the child of a fork, where shadows
 * are as they were in the parent. `max_depth` as unwind_init() has it. `left_deepest` is called
 * when a stack that went deeper than ever before is about to leave that point: frames 1 … peak are
 * those that stood there. */
void shadow_init(const struct unwind_host *host, uint32_t max_depth,
                 void (*left_deepest)(struct shadow *shadow));

/* The calling thread's own; `old`: that of a thread that is gone, used again, or NULL. NULL: no
 * memory. */
struct shadow *shadow_begin_thread(struct shadow *old);
/* What is deepest is counted from here on anew: in the child of a fork. */
void shadow_forget_deepest(struct shadow *shadow);

/* The thread's own, and the one that its last hook was on: NULL before shadow_begin_thread(). */
extern __thread struct shadow *shadow_own, *shadow_current;

/* The shadow of the stack that sp is on, when that is not shadow_current's. `site`: of the entry
 * hook that asks, which makes one if there is none; 0: NULL then. */
struct shadow *shadow_find(uintptr_t sp, uintptr_t site);

void shadow_enter_slowly(struct shadow *shadow, const struct shadow_frame *frame);
void shadow_exit_slowly(struct shadow *shadow, uintptr_t function, uintptr_t sp);

/* The node of the call path that starts at `start`, which lies on the shadow's stack; 0: no
 * instrumented function is there, or no node could be had. */
uint32_t shadow_capture(struct shadow *shadow, const struct unwind_start *start);
/* Whether unwind tables lack a function that is on the stack of a call from `start`. */
bool shadow_is_untold(struct shadow *shadow, const struct unwind_start *start);
/* The node of the function that stands deepest, in left_deepest(): its path and itself. */
uint32_t shadow_deepest_node(struct shadow *shadow);
/* The node of a function alone. */
uint32_t shadow_function_node(uintptr_t function);

/* Copies the frames 1 … peak to the layers, those that changed: in left_deepest(). */
void shadow_keep_layers(struct shadow *shadow);
/* left_deepest(), if the stack is at its deepest right now. */
void shadow_settle(struct shadow *shadow);
/* The program is about to go on at sp, on whatever stack that is, as longjmp() makes it. */
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
