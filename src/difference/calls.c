/* See calls.h. */
#include "difference/calls.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "difference/align.h"

/* ---- What was seen ------------------------------------------------------------------------- */

static size_t home_of(const struct calls *sites, const struct seen *seen)
{
    uint64_t hash = hash_u64((uint64_t)seen->function << 32 | seen->callee) ^
                    hash_u64((uint64_t)seen->line << 1 | seen->group);
    return (hash ^ hash >> 29) & (sites->slot_count - 1);
}

static bool is_same(const struct seen *a, const struct seen *b)
{
    return a->function == b->function && a->callee == b->callee && a->line == b->line &&
           a->group == b->group;
}

/* The slot of it, or the free one where it belongs. */
static uint32_t *slot_of(const struct calls *sites, const struct seen *seen)
{
    size_t at = home_of(sites, seen);
    while (sites->slots[at] && !is_same(&sites->seen[sites->slots[at] - 1], seen))
        at = (at + 1) & (sites->slot_count - 1);
    return &sites->slots[at];
}

static void fill_slots(struct calls *sites)
{
    memset(sites->slots, 0, sites->slot_count * sizeof *sites->slots);
    for (size_t i = 0; i < sites->seen_count; i++)
        *slot_of(sites, &sites->seen[i]) = (uint32_t)i + 1;
}

static int grow(struct calls *sites)
{
    size_t capacity = sites->seen_capacity ? 2 * sites->seen_capacity : 1024;
    struct seen *seen = realloc(sites->seen, capacity * sizeof *seen);
    if (!seen)
        return -ENOMEM;
    sites->seen = seen;
    uint32_t *slots = realloc(sites->slots, 2 * capacity * sizeof *slots);
    if (!slots)
        return -ENOMEM;
    sites->slots = slots;
    sites->seen_capacity = capacity;
    sites->slot_count = 2 * capacity;
    fill_slots(sites);
    return 0;
}

int calls_add(struct calls *sites, int group, uint32_t function, uint32_t callee,
                   uint32_t line)
{
    struct seen seen = {function, callee, line, (uint32_t)group, 0};
    if (sites->seen_count == sites->seen_capacity && grow(sites))
        return -ENOMEM;
    uint32_t *slot = slot_of(sites, &seen);
    if (!*slot) {
        sites->seen[sites->seen_count] = seen;
        *slot = (uint32_t)++sites->seen_count;
    }
    return 0;
}

uint32_t calls_find(const struct calls *sites, int group, uint32_t function,
                         uint32_t callee, uint32_t line)
{
    struct seen seen = {function, callee, line, (uint32_t)group, 0};
    return sites->seen[*slot_of(sites, &seen) - 1].site;
}

/* ---- In line ------------------------------------------------------------------------------- */

static int by_function(const void *a, const void *b)
{
    const struct seen *left = a, *right = b;
    if (left->function != right->function)
        return left->function < right->function ? -1 : 1;
    if (left->group != right->group)
        return left->group < right->group ? -1 : 1;
    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    return left->callee < right->callee ? -1 : left->callee > right->callee;
}

static uint32_t new_site(struct calls *sites, const struct seen *of)
{
    struct call_site *site = &sites->sites[sites->count];
    *site = (struct call_site){.function = of->function, .callee = of->callee};
    site->line[of->group] = of->line;
    return (uint32_t)sites->count++;
}

static bool has_lines(const struct seen *seen, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (seen[i].line)
            return true;
    return false;
}

/* One of them was built without debug information: all calls of a callee are one. */
static void join_by_callee(struct calls *sites, struct seen *seen, size_t count)
{
    size_t first = sites->count;
    for (size_t i = 0; i < count; i++) {
        size_t at = first;
        while (at < sites->count && sites->sites[at].callee != seen[i].callee)
            at++;
        if (at == sites->count)
            new_site(sites, &seen[i]);
        seen[i].site = (uint32_t)at;
        if (!sites->sites[at].line[seen[i].group])
            sites->sites[at].line[seen[i].group] = seen[i].line;
    }
}

static void take_partners(struct calls *sites, struct seen *seen, size_t before,
                          size_t after, const int32_t *partner)
{
    for (size_t i = 0; i < before + after; i++)
        seen[i].site = UINT32_MAX;
    for (size_t i = 0; i < before; i++) {
        seen[i].site = new_site(sites, &seen[i]);
        if (partner[i] == ALIGN_NONE)
            continue;
        struct seen *other = &seen[before + (size_t)partner[i]];
        other->site = seen[i].site;
        sites->sites[other->site].line[other->group] = other->line;
    }
    for (size_t i = before; i < before + after; i++)
        if (seen[i].site == UINT32_MAX)
            seen[i].site = new_site(sites, &seen[i]);
}

static int align_function(struct calls *sites, struct seen *seen, size_t before,
                          size_t after)
{
    bool known = has_lines(seen, before), known_after = has_lines(seen + before, after);
    if (before && after && known != known_after) {
        join_by_callee(sites, seen, before + after);
        return 0;
    }
    struct align_call *calls = calloc(before + after + 1, sizeof *calls);
    int32_t *partner = calloc(before + 1, sizeof *partner);
    int error = calls && partner ? 0 : -ENOMEM;
    for (size_t i = 0; !error && i < before + after; i++)
        calls[i] = (struct align_call){seen[i].line, seen[i].callee};
    if (!error)
        error = align_calls(calls, before, calls + before, after, partner);
    if (!error)
        take_partners(sites, seen, before, after, partner);
    free(calls);
    free(partner);
    return error;
}

int calls_align(struct calls *sites)
{
    if (!sites->seen_count)
        return 0;
    qsort(sites->seen, sites->seen_count, sizeof *sites->seen, by_function);
    sites->sites = calloc(sites->seen_count + 1, sizeof *sites->sites);
    int error = sites->sites ? 0 : -ENOMEM;
    for (size_t first = 0, end; first < sites->seen_count && !error; first = end) {
        size_t after = 0;
        for (end = first; end < sites->seen_count &&
                          sites->seen[end].function == sites->seen[first].function;
             end++)
            after += sites->seen[end].group;
        error = align_function(sites, sites->seen + first, end - first - after, after);
    }
    fill_slots(sites);
    return error;
}

void calls_release(struct calls *sites)
{
    free(sites->sites);
    free(sites->seen);
    free(sites->slots);
    *sites = (struct calls){0};
}
