/* The shared cache of rules: open addressing with one word for each entry, so it needs no lock. A
 * writer that loses a race would have written the same word. The child of a fork keeps the
 * cache. */
#include "unwind/unwind_rules.h"

#include "base/large_static.h"
#include "unwind/paths.h"
#include "unwind/signal_lock.h"

#define BIG_RULES 3840

LARGE_STATIC _Atomic uint64_t rules_cache[1u << RULES_BITS];

static struct {
    enum unwind_mode mode;
    void (*saw_code)(uintptr_t ip);
    bool (*frame_of_code)(uintptr_t ip, struct unwind_frame *frame);
    _Atomic uint32_t generation; /* grows when entries are dropped */
    struct lock lock;            /* of the big rules */
    _Atomic uint32_t big_count;
} rules;
LARGE_STATIC static struct big_rule unwind_rules_big_rules[BIG_RULES];

void rules_init(enum unwind_mode mode, const struct unwind_host *host)
{
    rules.mode = mode;
    rules.saw_code = host->saw_code;
    rules.frame_of_code = host->frame_of_code;
    rules.lock = (struct lock)LOCK_INIT; /* another thread of the parent may have held it at the
                                          * fork */
}

bool rules_frame_of_code(uintptr_t ip, struct unwind_frame *frame)
{
    return rules.frame_of_code && rules.frame_of_code(ip, frame);
}

bool rules_follow_tables(void)
{
    return rules.mode == UNWIND_CFI;
}

const struct big_rule *rules_big(rule big)
{
    return &unwind_rules_big_rules[big - RULE_BIG];
}

static bool rules_same_big(const struct big_rule *a, const struct big_rule *b)
{
    return a->cfa_offset == b->cfa_offset && a->bp_offset == b->bp_offset &&
           a->from_bp == b->from_bp && a->bp_saved == b->bp_saved;
}

rule rules_intern_big(const struct big_rule *big)
{
    uint32_t index = 0, count;
    signal_lock_take(&rules.lock);
    count = atomic_load_explicit(&rules.big_count, memory_order_relaxed);
    while (index < count && !rules_same_big(&unwind_rules_big_rules[index], big)) {
        index++;
    }
    if (index == count && count < BIG_RULES) {
        unwind_rules_big_rules[index] = *big;
        atomic_store_explicit(&rules.big_count, count + 1, memory_order_release);
    }
    signal_lock_release(&rules.lock);
    return index < BIG_RULES ? (rule)(RULE_BIG + index) : (rule)RULE_RARE;
}

/* The rule for walks by frame pointers. Only call frame information shows where a thread begins and
 * where a signal came in. */
static rule rules_by_frame_pointer(rule what)
{
    return what == RULE_END || what == RULE_SIGNAL ? what : (rule)RULE_FRAME_POINTER;
}

static rule rules_compute(uintptr_t ip, bool exact)
{
    switch (rules.mode) {
    case UNWIND_NONE:
        return RULE_END; /* a path of one frame */
    case UNWIND_FP:
        return rules_by_frame_pointer(rule_compute(ip, exact));
    default:
        return rule_compute(ip, exact);
    }
}

/* If all slots near the home are full, the first one is overwritten. Its rule is computed again
 * when it is needed. */
static void rules_insert(uintptr_t key, rule what)
{
    uint64_t entry = (uint64_t)key << 16 | what;
    uint32_t head = rules_slot(key);
    for (uint32_t i = 0; i < RULES_PROBE; i++) {
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&rules_cache[(head + i) & RULES_MASK], &found, entry) ||
            found >> 16 == key) {
            return;
        }
    }
    atomic_store(&rules_cache[head], entry);
}

static void rules_drop(uintptr_t key)
{
    uint32_t head = rules_slot(key);
    for (uint32_t i = 0; i < RULES_PROBE; i++) {
        uint64_t found = atomic_load(&rules_cache[(head + i) & RULES_MASK]);
        if (found >> 16 == key) {
            atomic_compare_exchange_strong(&rules_cache[(head + i) & RULES_MASK], &found, 0);
        }
    }
}

static bool rules_find_cached(uintptr_t key, rule *what)
{
    uint32_t head = rules_slot(key);
    for (uint32_t i = 0; i < RULES_PROBE; i++) {
        uint64_t entry =
            atomic_load_explicit(&rules_cache[(head + i) & RULES_MASK], memory_order_relaxed);
        if (entry >> 16 == key) {
            *what = (rule)entry;
            return true;
        }
    }
    return false;
}

/* saw_code and paths_code_seen() come first: as soon as the cache has the address, another thread
 * may make a node of it. The module log must not be younger than the node, and the node must not be
 * one of code that was here before. */
static rule rules_learn(uintptr_t ip, bool exact)
{
    uintptr_t key = exact ? ip | RULES_EXACT : ip;
    uint32_t generation = atomic_load(&rules.generation);
    rule what = rules_compute(ip, exact);
    paths_code_seen(ip);
    if (rules.saw_code) {
        rules.saw_code(ip);
    }
    rules_insert(key, what);
    if (atomic_load(&rules.generation) != generation) {
        rules_drop(key); /* rules_forget() ran meanwhile and may have missed this entry */
    }
    return what;
}

rule rules_find_slow(uintptr_t ip, bool exact)
{
    rule what;
    if (ip < PAGE_BYTES || ip >> 47) {
        return RULE_BAD;
    }
    return rules_find_cached(exact ? ip | RULES_EXACT : ip, &what) ? what : rules_learn(ip, exact);
}

/* hi itself too, because a call may be a module's last instruction. */
static void rules_forget_slots(uint32_t first, uint32_t count, uintptr_t lo, uintptr_t hi)
{
    for (uint32_t i = 0; i < count; i++) {
        _Atomic uint64_t *slot = &rules_cache[(first + i) & RULES_MASK];
        uint64_t entry = atomic_load_explicit(slot, memory_order_relaxed);
        uintptr_t ip = (uintptr_t)(entry >> 16) & ~RULES_EXACT;
        if (entry && ip >= lo && ip <= hi) {
            atomic_compare_exchange_strong(slot, &entry, 0);
        }
    }
}

/* The addresses of a page have their homes in as many slots as it has words, one after the other.
 * So a module of some pages needs no pass over the whole cache. */
void rules_forget(uintptr_t lo, uintptr_t hi)
{
    enum { PAGE_SLOTS = PAGE_BYTES / 8, MOST_PAGES = (RULES_MASK + 1) / (2 * PAGE_SLOTS) };
    uintptr_t page = lo / PAGE_BYTES, last = hi / PAGE_BYTES;
    atomic_fetch_add(&rules.generation, 1);
    if (last - page >= MOST_PAGES) {
        rules_forget_slots(0, RULES_MASK + 1, lo, hi);
        return;
    }
    for (; page <= last; page++) {
        uint32_t first = rules_slot(page * PAGE_BYTES) & ~(uint32_t)(PAGE_SLOTS - 1);
        rules_forget_slots(first, PAGE_SLOTS + RULES_PROBE - 1, lo, hi);
    }
}

bool rules_entry_appeared(uintptr_t ip)
{
    if (rules.mode != UNWIND_CFI || rule_compute(ip, false) == RULE_NO_ENTRY) {
        return false;
    }
    rules_drop(ip);
    return true;
}
