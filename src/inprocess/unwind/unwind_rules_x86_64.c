/* Makes rules for x86-64 from a module's call frame information. The row for an address becomes a
 * rule if it describes the frame by offsets. A few known expressions (realigned stacks, lazy
 * binding stubs) are recognised by their bytes. Code without a row has a rule only where a signal
 * returns, or if the host knows its frame. */
#if defined(__x86_64__)
#include "unwind/unwind_rules.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include "unwind/unwind_modules.h"

/* ---- Rows that compilers and linkers write as expressions ---- */

enum { OP_BREG_RBP = 0x76, OP_DEREF = 0x06 };

static bool unwind_rules_x86_64_expression_is(int64_t address, const uint8_t *bytes, size_t count)
{
    struct cfi_cursor expression = cfi_expression(address);
    return (size_t)(expression.end - expression.at) == count &&
           memcmp(expression.at, bytes, count) == 0;
}

/* A function that realigns its stack keeps the address of its CFA at bp - 8k: the CFA is
 * "breg6 -8k; deref", the caller's bp "breg6 0". */
static rule unwind_rules_x86_64_realigned(const struct cfi_row *row)
{
    static const uint8_t bp_itself[] = {OP_BREG_RBP, 0};
    struct cfi_cursor cfa = cfi_expression(row->cfa_value);
    int64_t offset;
    if (cfi_fixed(&cfa, 1) != OP_BREG_RBP) {
        return RULE_RARE;
    }
    offset = cfi_sleb(&cfa);
    if (cfi_fixed(&cfa, 1) != OP_DEREF || cfa.bad || cfa.at != cfa.end || offset >= 0 ||
        offset % 8 || offset < -8 * (RULE_REALIGNED_END - RULE_REALIGNED - 1)) {
        return RULE_RARE;
    }
    if (row->how[CFI_RBP] != CFI_EXPRESSION ||
        !unwind_rules_x86_64_expression_is(row->value[CFI_RBP], bp_itself, sizeof bp_itself)) {
        return RULE_RARE;
    }
    return (rule)(RULE_REALIGNED - offset / 8);
}

/* breg7 8; breg16 0; lit15; and; lit10 or lit11; ge; lit3; shl; plus */
static rule unwind_rules_x86_64_lazy_stub(const struct cfi_row *row)
{
    static const uint8_t ten[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22};
    static const uint8_t eleven[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    if (unwind_rules_x86_64_expression_is(row->cfa_value, ten, sizeof ten)) {
        return RULE_PLT10;
    }
    return unwind_rules_x86_64_expression_is(row->cfa_value, eleven, sizeof eleven) ? RULE_PLT11
                                                                                    : RULE_RARE;
}

static rule unwind_rules_x86_64_of_expression(const struct cfi_row *row)
{
    rule what = unwind_rules_x86_64_realigned(row);
    return what == RULE_RARE ? unwind_rules_x86_64_lazy_stub(row) : what;
}

/* ---- Rows of a register and an offset ---- */

static bool unwind_rules_x86_64_return_address_below_cfa(const struct cfi_row *row)
{
    return row->how[CFI_RIP] == CFI_OFFSET && row->value[CFI_RIP] == -8 &&
           row->how[CFI_RSP] == CFI_SAME;
}

/* A plain rule reads only at or above its register, so that the walk needs no second check of
 * bounds. */
static bool unwind_rules_x86_64_is_plain(const struct big_rule *big)
{
    int64_t slot = big->bp_offset;
    bool cfa_fits = big->cfa_offset >= 8 && big->cfa_offset < 2048 * 8 && big->cfa_offset % 8 == 0;
    bool slot_fits =
        slot <= -16 && slot >= -8 - 8 * 14 && slot % 8 == 0 && big->cfa_offset + slot >= 0;
    return cfa_fits && (!big->bp_saved || slot_fits);
}

static rule unwind_rules_x86_64_of_big(const struct big_rule *big)
{
    if (!unwind_rules_x86_64_is_plain(big)) {
        return rules_intern_big(big);
    }
    return (rule)(big->from_bp | big->cfa_offset / 8 << 1 |
                  (big->bp_saved ? -big->bp_offset / 8 - 1 : 0) << 12);
}

static rule unwind_rules_x86_64_of_offsets(const struct cfi_row *row)
{
    bool kept = row->how[CFI_RBP] == CFI_SAME || row->how[CFI_RBP] == CFI_UNDEFINED;
    struct big_rule big = {row->cfa_value, 0, row->cfa_register == CFI_RBP, !kept};
    if ((row->cfa_register != CFI_RSP && row->cfa_register != CFI_RBP) ||
        (!kept && row->how[CFI_RBP] != CFI_OFFSET)) {
        return RULE_RARE;
    }
    if (!kept) {
        big.bp_offset = row->value[CFI_RBP];
    }
    return unwind_rules_x86_64_of_big(&big);
}

static rule unwind_rules_x86_64_of_row(const struct cfi_row *row)
{
    if (row->how[CFI_RIP] == CFI_UNDEFINED) {
        return RULE_END;
    }
    if (row->signal) {
        return RULE_SIGNAL;
    }
    if (!unwind_rules_x86_64_return_address_below_cfa(row)) {
        return RULE_RARE;
    }
    return row->cfa_is_expression ? unwind_rules_x86_64_of_expression(row)
                                  : unwind_rules_x86_64_of_offsets(row);
}

static rule unwind_rules_x86_64_of_code(uintptr_t ip)
{
    struct unwind_frame frame;
    if (!rules_frame_of_code(ip, &frame)) {
        return RULE_NO_ENTRY;
    }
    struct big_rule big = {frame.cfa_offset, frame.bp_offset, frame.from_bp, frame.bp_saved};
    return frame.ends ? (rule)RULE_END : unwind_rules_x86_64_of_big(&big);
}

/* No entry covers the instruction before ip. If an entry begins at ip itself, ip was not pushed by
 * a call, but was stored there, as makecontext() does for the return of a fiber's first
 * function. */
static rule unwind_rules_x86_64_without_entry(uintptr_t ip, bool exact)
{
    struct cfi_row row;
    if (!exact && module_find_row(ip, true, &row) == 0 && !row.signal) {
        return RULE_END;
    }
    return module_is_signal_return(ip) ? RULE_SIGNAL : unwind_rules_x86_64_of_code(ip);
}

rule rule_compute(uintptr_t ip, bool exact)
{
    struct cfi_row row;
    int error = module_find_row(ip, exact, &row);
    if (error == -ENOENT) {
        return unwind_rules_x86_64_without_entry(ip, exact);
    }
    return error ? (rule)RULE_RARE : unwind_rules_x86_64_of_row(&row);
}

#endif
