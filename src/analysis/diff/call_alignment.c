/* Pairs the calls of each function in two versions of a program (call_alignment.h). Calls are
 * collected in a hash table, sorted by function and line, and aligned for each function by
 * align_calls(). Without line numbers, calls of the same callee are one. */
#include "diff/call_alignment.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash.h"
#include "diff/align.h"

/* ---- What was seen ------------------------------------------------------------------------- */

static uint64_t calls_hash(const struct seen *seen)
{
    return hash_u64((uint64_t)seen->function << 32 | seen->callee) ^
           hash_u64((uint64_t)seen->line << 1 | seen->group);
}

static bool calls_is_same(const struct seen *a, const struct seen *b)
{
    return a->function == b->function && a->callee == b->callee && a->line == b->line &&
           a->group == b->group;
}

int calls_add(struct calls *sites, int group, uint32_t function, uint32_t callee, uint32_t line,
              uint32_t *number)
{
    uint32_t fresh = (uint32_t)sites->seen_count;
    struct seen seen = {function, callee, line, (uint32_t)group, 0, fresh};
    for (struct map_probe probe = map_probe(&sites->map, calls_hash(&seen));
         map_next(&probe, number);)
        if (calls_is_same(&sites->seen[*number], &seen))
            return 0;
    if (!array_make_room(&sites->seen, &sites->seen_capacity, sites->seen_count,
                         sizeof *sites->seen) ||
        !map_try_add(&sites->map, calls_hash(&seen), fresh))
        return -ENOMEM;
    sites->seen[sites->seen_count++] = seen;
    *number = fresh;
    return 0;
}

/* ---- In line ------------------------------------------------------------------------------- */

static int calls_by_function(const void *a, const void *b)
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

static uint32_t calls_new_site(struct calls *sites, const struct seen *of)
{
    struct call_site *site = &sites->sites[sites->count];
    *site = (struct call_site){.function = of->function, .callee = of->callee};
    site->line[of->group] = of->line;
    return (uint32_t)sites->count++;
}

static bool calls_has_lines(const struct seen *seen, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (seen[i].line)
            return true;
    return false;
}

/* One of them was built without debug information: all calls of a callee are one. */
static void calls_join_by_callee(struct calls *sites, struct seen *seen, size_t count)
{
    size_t first = sites->count;
    for (size_t i = 0; i < count; i++) {
        size_t at = first;
        while (at < sites->count && sites->sites[at].callee != seen[i].callee)
            at++;
        if (at == sites->count)
            calls_new_site(sites, &seen[i]);
        seen[i].site = (uint32_t)at;
        if (!sites->sites[at].line[seen[i].group])
            sites->sites[at].line[seen[i].group] = seen[i].line;
    }
}

static void calls_take_partners(struct calls *sites, struct seen *seen, size_t before, size_t after,
                                const int32_t *partner)
{
    for (size_t i = 0; i < before + after; i++)
        seen[i].site = UINT32_MAX;
    for (size_t i = 0; i < before; i++) {
        seen[i].site = calls_new_site(sites, &seen[i]);
        if (partner[i] == ALIGN_NONE)
            continue;
        struct seen *other = &seen[before + (size_t)partner[i]];
        other->site = seen[i].site;
        sites->sites[other->site].line[other->group] = other->line;
    }
    for (size_t i = before; i < before + after; i++)
        if (seen[i].site == UINT32_MAX)
            seen[i].site = calls_new_site(sites, &seen[i]);
}

static int calls_align_function(struct calls *sites, struct seen *seen, size_t before, size_t after)
{
    bool known = calls_has_lines(seen, before), known_after = calls_has_lines(seen + before, after);
    if (before && after && known != known_after) {
        calls_join_by_callee(sites, seen, before + after);
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
        calls_take_partners(sites, seen, before, after, partner);
    free(calls);
    free(partner);
    return error;
}

int calls_align(struct calls *sites)
{
    if (!sites->seen_count)
        return 0;
    qsort(sites->seen, sites->seen_count, sizeof *sites->seen, calls_by_function);
    sites->sites = calloc(sites->seen_count + 1, sizeof *sites->sites);
    sites->site_of = calloc(sites->seen_count + 1, sizeof *sites->site_of);
    int error = sites->sites && sites->site_of ? 0 : -ENOMEM;
    for (size_t first = 0, end; first < sites->seen_count && !error; first = end) {
        size_t after = 0;
        for (end = first;
             end < sites->seen_count && sites->seen[end].function == sites->seen[first].function;
             end++)
            after += sites->seen[end].group;
        error = calls_align_function(sites, sites->seen + first, end - first - after, after);
    }
    map_release(&sites->map); /* they were sorted */
    for (size_t i = 0; i < sites->seen_count && !error; i++)
        sites->site_of[sites->seen[i].number] = sites->seen[i].site;
    return error;
}

void calls_release(struct calls *sites)
{
    free(sites->sites);
    free(sites->seen);
    free(sites->site_of);
    map_release(&sites->map);
    *sites = (struct calls){0};
}
