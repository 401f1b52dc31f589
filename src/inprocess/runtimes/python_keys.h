/* A hash of a thread's frames of Python, that of the last time taken for what has not changed.
 *
 *   known   outermost ─▶ … ─▶ frame: where it was, instruction, hash up to here
 *   now                        └ same frame, same instruction, same caller ─ … ─▶ innermost
 *
 * Frames that were not known are hashed. Known ones are compared one by one from the innermost on,
 * because a frame that has returned may have been followed by another one at its address. That
 * takes no frame's address from the frame before it, so the processor compares several at a time.
 *
 * Runs inside the profiled program: no malloc, no stdio, errno kept. */
#ifndef TIDEMARK_RUNTIMES_PYTHON_KEYS_H
#define TIDEMARK_RUNTIMES_PYTHON_KEYS_H

#include <stdint.h>

enum {
    PYTHON_KEYS_MOST = 2048 + 2, /* a path has 1024 frames, with as many of native calls between */
    PYTHON_KEYS_PLACES = 1 << 12,
};

/* Where a frame has its caller and its instruction, in bytes. */
struct python_frame_words {
    uint16_t previous, instruction;
};

/* Of one thread; zeroed: nothing is known. */
struct python_keys {
    uint32_t count; /* of `known` */
    struct python_known {
        uintptr_t frame, instruction;
        uint64_t key;                    /* of the frames up to here; 0 is none */
    } known[PYTHON_KEYS_MOST];           /* outermost first */
    uint16_t places[PYTHON_KEYS_PLACES]; /* by address: where in `known` a frame may be */
    uintptr_t fresh[PYTHON_KEYS_MOST];   /* frames that are not known, innermost first */
};

/* The hash of the frames from `innermost` on outwards; 0: it is 0. If there are more than
 * PYTHON_KEYS_MOST, that of as many. */
uint64_t python_keys_of(struct python_keys *keys, uintptr_t innermost,
                        struct python_frame_words words);

#endif
