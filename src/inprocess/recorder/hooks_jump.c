/* Hooks of longjmp and its variants. Frames that such a jump leaves call no exit hooks, so the
 * shadow stack is cut first (instrument_jump()). In programs without entry hooks this has no
 * effect. */
#include "recorder/hooks.h"

#include <setjmp.h>
#include <stdlib.h>
#include "recorder/instrument.h"

#define JUMP_HOOK(name)                                                                            \
    void name(struct __jmp_buf_tag environment[1], int value) __attribute__((noreturn));           \
    HOOK void name(struct __jmp_buf_tag environment[1], int value)                                 \
    {                                                                                              \
        instrument_jump(environment);                                                              \
        REAL(name)(environment, value);                                                            \
        __builtin_unreachable();                                                                   \
    }                                                                                              \
    HOOKED(name)

JUMP_HOOK(longjmp)
JUMP_HOOK(_longjmp)
JUMP_HOOK(siglongjmp)
JUMP_HOOK(__longjmp_chk) /* of -D_FORTIFY_SOURCE */
