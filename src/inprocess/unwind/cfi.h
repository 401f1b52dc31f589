/* The call frame information of one module: finds the entry for a pc and interprets it up to the
 * row for that pc. This is a function over a buffer. It checks every length and pointer there, so
 * that it can be fuzzed, and a damaged file makes it read nothing outside of the module.
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
    const uint8_t *lo, *hi; /* only [lo, hi) is read */
    const uint8_t *header;  /* the module's .eh_frame_hdr; NULL: there is none, and entries begin at
                             * lo */
};

enum cfi_how {
    CFI_SAME = 0,     /* the register has the same value as in this frame */
    CFI_UNDEFINED,    /* not known; of the return address: there is no caller */
    CFI_OFFSET,       /* saved at CFA + value */
    CFI_VALUE_OFFSET, /* is CFA + value */
    CFI_REGISTER,     /* is in register `value` */
    CFI_EXPRESSION,   /* saved at the address that the expression computes */
    CFI_VALUE_EXPRESSION,
};

/* How the caller's registers are computed from this frame's. */
struct cfi_row {
    int64_t value[CFI_COLUMNS]; /* offset, register, or the address of an expression: its length in
                                   ULEB128, then its operations; already bounds-checked */
    uint8_t how[CFI_COLUMNS];   /* enum cfi_how */
    uint8_t cfa_register;
    bool cfa_is_expression;
    bool signal;       /* a signal frame: its caller was interrupted, not called */
    int64_t cfa_value; /* offset from the register, or the expression's address */
};

/* 0; -ENOENT: no entry covers pc; -EINVAL: damaged, or not understood. */
int cfi_find_row(const struct cfi_module *module, uintptr_t pc, struct cfi_row *row);

/* The code that the entry for pc covers, [*lo, *hi). Returns as above. */
int cfi_find_function(const struct cfi_module *module, uintptr_t pc, uintptr_t *lo, uintptr_t *hi);

/* For entries without a header: the range from the lowest to the highest address that they cover,
 * with gaps. Returns as above. */
int cfi_bounds(const struct cfi_module *module, uintptr_t *lo, uintptr_t *hi);

/* A position in a buffer. A read past its end gives 0 and sets `bad`. */
struct cfi_cursor {
    const uint8_t *at, *end;
    bool bad;
};
uint64_t cfi_fixed(struct cfi_cursor *cursor, size_t bytes); /* 1, 2, 4 or 8 bytes, little endian */
uint64_t cfi_uleb(struct cfi_cursor *cursor);
int64_t cfi_sleb(struct cfi_cursor *cursor);
/* The expression at an address from a row. */
struct cfi_cursor cfi_expression(int64_t address);

#endif
