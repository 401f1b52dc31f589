/* The call frame information of one module: finds the entry for a pc and interprets it up to the
 * row for that pc. A function over a buffer: it distrusts every length and pointer in it, so that
 * it can be fuzzed and cannot be led outside a module by a damaged file.
 *
 * Formats: LSB 5.0 core, "Exception Frames"; DWARF 5 section 6.4. */
#ifndef TIDEMARK_UNWIND_CFI_H
#define TIDEMARK_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* x86-64 register numbers of DWARF; aarch64 walks frame records and does not come here. */
enum { CFI_RBX = 3, CFI_RBP = 6, CFI_RSP = 7, CFI_RIP = 16, CFI_COLUMNS = 17 };

struct cfi_module {
    const uint8_t *lo, *hi; /* nothing outside is read */
    const uint8_t *header;  /* its .eh_frame_hdr; NULL: all is entries, from lo on */
};

enum cfi_how {
    CFI_SAME = 0,     /* has the value that it has in this frame */
    CFI_UNDEFINED,    /* of the return address: there is no caller */
    CFI_OFFSET,       /* saved at CFA + value */
    CFI_VALUE_OFFSET, /* is CFA + value */
    CFI_REGISTER,     /* is in register `value` */
    CFI_EXPRESSION,   /* saved where the expression says */
    CFI_VALUE_EXPRESSION,
};

/* How the caller's registers follow from this frame's. */
struct cfi_row {
    int64_t value[CFI_COLUMNS]; /* offset, register, or the address of an expression: its length in
                                   ULEB128, then its operations; already bounds-checked */
    uint8_t how[CFI_COLUMNS];   /* enum cfi_how */
    uint8_t cfa_register;
    bool cfa_is_expression;
    bool signal;       /* a signal frame: its caller was interrupted, not called */
    int64_t cfa_value; /* offset from the register, or the expression's address */
};

/* 0, -ENOENT: no entry covers pc, -EINVAL: damaged or beyond us. */
int cfi_find_row(const struct cfi_module *module, uintptr_t pc, struct cfi_row *row);

/* The code that the entry for pc covers. As above. */
int cfi_find_function(const struct cfi_module *module, uintptr_t pc, uintptr_t *lo, uintptr_t *hi);

/* Of entries without a header: the code from the lowest to the highest that they cover. As
 * above. */
int cfi_bounds(const struct cfi_module *module, uintptr_t *lo, uintptr_t *hi);

/* A place in a buffer that is never read beyond its end: reads past it give 0 and set `bad`. */
struct cfi_cursor {
    const uint8_t *at, *end;
    bool bad;
};
uint64_t cfi_fixed(struct cfi_cursor *cursor, size_t bytes); /* 1, 2, 4 or 8 bytes, little endian */
uint64_t cfi_uleb(struct cfi_cursor *cursor);
int64_t cfi_sleb(struct cfi_cursor *cursor);
/* The expression at an address that a row carries. */
struct cfi_cursor cfi_expression(int64_t address);

#endif
