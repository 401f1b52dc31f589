/* Rules: what a walk does at a return address, in 16 bits. All threads share a cache of them.
 *
 *   bit  0        the CFA is counted from 0: the stack pointer, 1: the frame pointer
 *   bits 1…11     CFA offset / 8
 *   bits 12…15    the caller's frame pointer: 0 unchanged, n saved at CFA - 8 - 8n (1…14);
 *                 15: one of the special rules below
 *
 * Nearly every row of nearly every module is a plain rule: the return address is at CFA - 8, and
 * the caller's stack pointer is the CFA. */
#ifndef TIDEMARK_UNWIND_UNWIND_RULES_H
#define TIDEMARK_UNWIND_UNWIND_RULES_H

#include <stdatomic.h>
#include "unwind/arch.h"
#include "unwind/unwind.h"

typedef uint16_t rule;

enum {
    RULE_SPECIAL = 0xf000,   /* rules from this one on are special */
    RULE_END = 0xf000,       /* the return address is undefined: a thread's first frame */
    RULE_SIGNAL = 0xf001,    /* the stack pointer points to a ucontext */
    RULE_RARE = 0xf002,      /* evaluate the row in full (rare.h) */
    RULE_NO_ENTRY = 0xf003,  /* code without call frame information: walk by frame pointer */
    RULE_BAD = 0xf004,       /* not an address of code */
    RULE_PLT10 = 0xf005,     /* the linker's lazy-binding stubs: CFA = sp + 8, + 8 when the low
                              * four */
    RULE_PLT11 = 0xf006,     /* bits of ip are at least 10 or 11 */
    RULE_REALIGNED = 0xf010, /* + k: CFA = *(bp - 8k), caller's bp = *bp (k = 1…127) */
    RULE_REALIGNED_END = 0xf090,
    RULE_BIG = 0xf100, /* + index into the table of big rules */
    RULE_FRAME_POINTER = 1 << 12 | 2 << 1 | 1,
};

/* A rule whose numbers do not fit into a plain rule. */
struct big_rule {
    int64_t cfa_offset;
    int64_t bp_offset; /* from the CFA */
    bool from_bp, bp_saved;
};

/* Uses saw_code(), which is called before an address gets into the cache, and frame_of_code() of
 * the host. */
void rules_init(enum unwind_mode mode, const struct unwind_host *host);
/* The host's frame_of_code(); false: it does not know, or there is none. */
bool rules_frame_of_code(uintptr_t ip, struct unwind_frame *frame);
/* Do rules come from call frame information, instead of being guesses? */
bool rules_follow_tables(void);
const struct big_rule *rules_big(rule big);
/* Drops the rules of code in [lo, hi). */
void rules_forget(uintptr_t lo, uintptr_t hi);
/* A module may have been loaded where code had no entry before. True: the address has an entry now,
 * and the old rule was dropped from the cache. */
bool rules_entry_appeared(uintptr_t ip);

/* ---- Per processor (unwind_rules_x86_64.c, unwind_rules_aarch64.c) ---- */
rule rule_compute(uintptr_t ip, bool exact);
rule rules_intern_big(const struct big_rule *big); /* RULE_RARE when the table is full */

/* ---- The cache ----
 * One word per address: address << 16 | rule; 0 is empty. The two ways to look at an address, as a
 * return address (the call is before it) or as an exact pc, are told apart by bit 47, which no user
 * address has. Neighbouring addresses share cache lines and pages: a program touches about as many
 * pages of this table as it needs. */
#define RULES_BITS  17
#define RULES_MASK  ((1u << RULES_BITS) - 1)
#define RULES_PROBE 8
#define RULES_EXACT ((uintptr_t)1 << 47)

extern _Atomic uint64_t rules_cache[1u << RULES_BITS];
rule rules_find_slow(uintptr_t ip, bool exact);

static inline uint32_t rules_slot(uintptr_t key)
{
    return (uint32_t)(key >> 3 ^ key >> 17) & RULES_MASK;
}

/* The rule at the return address ip. */
static inline rule rules_find(uintptr_t ip)
{
    uint32_t slot = rules_slot(ip);
    uint64_t entry = atomic_load_explicit(&rules_cache[slot], memory_order_relaxed);
    if (likely(entry >> 16 == ip)) {
        return (rule)entry;
    }
    entry = atomic_load_explicit(&rules_cache[(slot + 1) & RULES_MASK], memory_order_relaxed);
    if (likely(entry >> 16 == ip)) {
        return (rule)entry;
    }
    return rules_find_slow(ip, false);
}

static inline bool rule_is_realigned(rule what)
{
    return what > RULE_REALIGNED && what < RULE_REALIGNED_END;
}

#endif
