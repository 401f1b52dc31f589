/* A table of sections, searched only for addresses that are in no module. A slot is free while its
 * start is 0. Readers are counted. A thread that removes a section waits until there are no
 * readers, because the program frees the section's memory afterwards. */
#include "unwind/registered.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include "base/large_static.h"
#include "unwind/unwind_rules.h"

#define SECTIONS_MOST 1024u
#define CLAIMED       1u                 /* a start: the slot is being written */
#define SECTION_BYTES ((size_t)64 << 20) /* the largest */
/* spins; a reader that was left by longjmp stays counted for ever */
#define WAIT_MOST (1u << 22)

struct section {
    _Atomic uintptr_t start;  /* of the entries; 0: free */
    _Atomic uintptr_t end;    /* behind the terminator */
    _Atomic uintptr_t lo, hi; /* the code that the entries are of */
};
LARGE_STATIC static struct section registered_sections[SECTIONS_MOST];
static _Atomic uint32_t registered_section_count; /* no slot from here on was ever used */
static _Atomic uint32_t registered_readers;

void registered_init(void)
{
    atomic_store(&registered_readers, 0);
}

/* Takes the section if `pc` is in its code. The slot may be freed and claimed again at any moment:
 * the module is of one section only if the start is still the same after the end was read. */
static bool registered_take(const struct section *section, uintptr_t pc, struct cfi_module *module)
{
    uintptr_t start = atomic_load(&section->start);
    if (start <= CLAIMED || pc < section->lo || pc >= section->hi) {
        return false;
    }
    *module = (struct cfi_module){(const uint8_t *)start, (const uint8_t *)section->end, NULL};
    return atomic_load(&section->start) == start;
}

static bool registered_has_expressions(const struct cfi_row *row)
{
    bool has = row->cfa_is_expression;
    for (unsigned i = 0; i < CFI_COLUMNS; i++) {
        has |= row->how[i] == CFI_EXPRESSION || row->how[i] == CFI_VALUE_EXPRESSION;
    }
    return has;
}

int registered_find_row(uintptr_t pc, struct cfi_row *row)
{
    int error = -ENOENT;
    uint32_t count = atomic_load(&registered_section_count);
    if (!count) {
        return -ENOENT;
    }
    atomic_fetch_add(&registered_readers, 1);
    for (uint32_t i = 0; i < count && error == -ENOENT; i++) {
        struct cfi_module module;
        if (registered_take(&registered_sections[i], pc, &module)) {
            error = cfi_find_row(&module, pc, row);
        }
    }
    atomic_fetch_sub(&registered_readers, 1);
    return error == 0 && registered_has_expressions(row) ? -EINVAL : error;
}

/* ---- Coming and going ------------------------------------------------------------------------ */

/* Finds the end of a section, which is an entry of length 0, and the code that it covers. Some
 * unwinders register single entries instead, whose end cannot be found: false. */
static bool registered_measure(struct section *section, uintptr_t start)
{
    uint32_t words[2];
    uintptr_t at = start, lo, hi;
    memcpy(words, (const void *)at, sizeof words);
    if (!words[0] || words[1]) {
        return false; /* empty, or it does not begin with a CIE */
    }
    while (words[0] && words[0] < SECTION_BYTES && at - start < SECTION_BYTES) {
        at += 4 + words[0];
        memcpy(words, (const void *)at, sizeof *words);
    }
    section->end = at + 4;
    struct cfi_module module = {(const uint8_t *)start, (const uint8_t *)section->end, NULL};
    if (words[0] || cfi_bounds(&module, &lo, &hi) != 0) {
        return false;
    }
    section->lo = lo;
    section->hi = hi;
    return true;
}

static bool registered_claim(struct section *slot, const struct section *section, uintptr_t start)
{
    uintptr_t nobody = 0;
    if (!atomic_compare_exchange_strong(&slot->start, &nobody, CLAIMED)) {
        return false;
    }
    slot->end = section->end; /* hi is 0, so that no address is in the slot until all of it is
                               * written */
    slot->start = start;
    slot->lo = section->lo;
    slot->hi = section->hi;
    return true;
}

void registered_add(const void *frames)
{
    struct section section = {0};
    uint32_t count = atomic_load(&registered_section_count), slot = 0;
    if (!frames || !rules_follow_tables() || !registered_measure(&section, (uintptr_t)frames)) {
        return;
    }
    while (slot < SECTIONS_MOST &&
           !registered_claim(&registered_sections[slot], &section, (uintptr_t)frames)) {
        slot++;
    }
    while (slot < SECTIONS_MOST && count <= slot &&
           !atomic_compare_exchange_weak(&registered_section_count, &count, slot + 1)) {
    }
}

bool registered_remove(const void *frames, uintptr_t *lo, uintptr_t *hi)
{
    uint32_t i = 0, count = atomic_load(&registered_section_count);
    while (i < count && registered_sections[i].start != (uintptr_t)frames) {
        i++;
    }
    if (!frames || i == count) {
        return false;
    }
    *lo = registered_sections[i].lo;
    *hi = registered_sections[i].hi;
    registered_sections[i].hi = 0;
    registered_sections[i].start = 0;
    for (uint32_t waited = 0; atomic_load(&registered_readers) && waited < WAIT_MOST; waited++) {
        arch_relax();
    }
    return true;
}
