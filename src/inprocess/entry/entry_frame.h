/* Finds the caller's frame for x86-64 code without call frame information (musl's C library) by
 * reading the instructions. Each way from an address to a `ret` removes the frame. So the pops and
 * additions on that way add up to the distance to the return address. Nothing is executed or
 * written. */
#ifndef TIDEMARK_ENTRY_ENTRY_FRAME_H
#define TIDEMARK_ENTRY_ENTRY_FRAME_H

#include <stdbool.h>
#include <stdint.h>

/* Code, and functions in it that do not return (a 0 ends the list). */
enum { ENTRY_NO_RETURN_MOST = 16 };
struct entry_code {
    uintptr_t lo, hi;
    uintptr_t no_return[ENTRY_NO_RETURN_MOST];
};

struct entry_frame {
    bool ends;    /* no way from there returns: the frame is the outermost one */
    bool from_bp; /* the offset counts from the frame pointer, else from the stack pointer */
    /* The caller's frame pointer lies at the CFA + bp_offset; else it is unchanged. */
    bool bp_saved;
    int64_t cfa_offset, bp_offset;
};

/* `address`: the address at which the code goes on, such as a return address. False: no way to a
 * `ret` was understood. */
bool entry_frame_find(const struct entry_code *code, uintptr_t address, struct entry_frame *frame);

#endif
