/* What the recorder asks an interpreter that it can read (script_paths.h): which native frames run
 * scripts, which frames of scripts these are, and how one of them is called. An interpreter is a
 * `struct runtime`; python.h, perl.h, php.h, ruby.h and lua.h have one each. Another one: a file
 * here that finds it by its exports, its row in script_paths.c, and a test by a counter in the
 * script.
 *
 *   stack_key()    a hash of the thread's frames, at each event: a few loads a frame
 *   stack()        the frames themselves, where the hash is new
 *   reads_all()    may stack() read all frames now?
 *   function_name(), file_name(), line()   of a frame on a stack that was just read
 *
 * All of it runs inside the profiled program: no malloc, no stdio, errno kept; nothing of the
 * interpreter is called but what only reads. A thread reads its own frames only. */
#ifndef TIDEMARK_RUNTIMES_RUNTIME_H
#define TIDEMARK_RUNTIMES_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct script_frame {
    uintptr_t code;        /* what is run, as the interpreter has it; 0: no function */
    uintptr_t instruction; /* where it is */
    uintptr_t caller;      /* the interpreter's own affair */
    unsigned kind;         /* the same */
    bool ends;             /* the outermost frame of a native call of the interpreter */
};

/* Native code. */
struct code_span {
    uintptr_t lo, hi;
};

static inline bool code_span_has(const struct code_span *span, uintptr_t return_address)
{
    return return_address - 1 - span->lo < span->hi - span->lo;
}

struct runtime {
    const char *program;              /* "/perl": such a program is nothing but the interpreter */
    struct code_span (*module)(void); /* {0, 0}: no interpreter was seen */
    void (*forget)(void);             /* its module has gone: another one may be seen */
    /* Does this native frame run frames of scripts? */
    bool (*is_call)(uintptr_t return_address);
    /* It runs scripts in code that it makes, too, which has no table: native paths may end there.
     * One thread at a time runs scripts. */
    bool compiles;
    /* An instruction of one identity has one line. */
    bool lines_stay;
    /* The frames, innermost first, `max` at most; returns how many there are up to that. */
    uint32_t (*stack)(struct script_frame *frames, uint32_t max);
    /* False: stack() leaves frames out that it finds on the same stack at other moments, as while
     * memory is collected. NULL: there is no such moment. */
    bool (*reads_all)(void);
    /* What function and line are remembered by. Python: an address that is forgotten with the block
     * there (script_paths_block_ends()); 0 and 1 are none. */
    uint64_t (*identity)(const struct script_frame *frame);
    /* What tells a frame that was just read from all that have another function or line, as
     * stack_key() does: which these are is looked up once for each. */
    uint64_t (*frame_key)(const struct script_frame *frame);
    uint32_t (*line)(const struct script_frame *frame); /* 0: not known */
    uint32_t (*first_line)(const struct script_frame *frame);
    /* UTF-8, cut where a character ends, without control characters; return the length, 0: it is
     * no text. `room` counts the NUL. */
    size_t (*function_name)(const struct script_frame *frame, char *to, size_t room);
    size_t (*file_name)(const struct script_frame *frame, char *to, size_t room);
};

#endif
