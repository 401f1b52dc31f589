/* Where the caller's frame is, for x86-64 code that has no call frame information (musl's C
 * library): said by the instructions themselves. Whatever way leads from an address to a `ret`, it
 * takes down the frame: what the pops and additions on that way add up to is the distance to the
 * return address. Nothing is run and nothing written. */
#ifndef TIDEMARK_ENTRY_ENTRY_FRAME_H
#define TIDEMARK_ENTRY_ENTRY_FRAME_H

#include <stdbool.h>
#include <stdint.h>

/* Code, and functions in it that do not return (0: no more). */
enum { ENTRY_NO_RETURN_MOST = 16 };
struct entry_code {
    uintptr_t lo, hi;
    uintptr_t no_return[ENTRY_NO_RETURN_MOST];
};

struct entry_frame {
    bool ends;    /* nothing returns from there: it has no caller */
    bool from_bp; /* the offset counts from the frame pointer, else from the stack pointer */
    /* The caller's frame pointer lies at the CFA + bp_offset; else it is unchanged. */
    bool bp_saved;
    int64_t cfa_offset, bp_offset;
};

/* `address`: where the code goes on, as a return address says. False: no way to a `ret` is
 * understood. */
bool entry_frame_find(const struct entry_code *code, uintptr_t address, struct entry_frame *frame);

#endif
