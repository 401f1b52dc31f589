/* A table of routes in sets of four (routes.h). The tags of a set lie together, so that a start of
 * which nothing is known costs one look. A set without routes is not touched, so that its page
 * costs no memory: a program may have thousands of threads. A node that comes for the first time is
 * only noted, because most paths of a program that takes ever other ways never come again. Where
 * few captures find a route (a compiler's), many do without. */
#include "unwind/routes.h"

#include <stdatomic.h>
#include "base/hash.h"
#include "unwind/verify.h"

enum {
    ROUTES_TURN = 1024, /* captures that are counted together … */
    ROUTES_PAY = 256,   /* … of which so many have to find a route … */
    ROUTES_REST = 16384 /* … or else so many do without */
};

static inline uint64_t routes_hash(uintptr_t ip, uintptr_t slot)
{
    return (ip ^ slot << 24) * HASH_GOLDEN;
}

static inline uint32_t routes_set(uint64_t hash)
{
    return hash >> 32 & (ROUTE_SETS - 1);
}

static inline uint32_t routes_tag(uint64_t hash)
{
    return (uint32_t)hash | 1;
}

/* Is the route's base as it was, and all that is outside of it? */
static inline bool routes_base_stays(const struct unwind_memory *memory,
                                     const struct known_route *route)
{
    const struct remembered *frames = memory->remembered;
    const struct frame_state *base = &frames->states[route->known];
    return route->known <= memory->count && frames->slots[route->known].at == route->words[1].at &&
           base->hash == route->base_hash && base->needs_bp == route->base_needs_bp &&
           (!base->needs_bp || base->bp == route->base_bp) &&
           verify_all_same(frames->slots, route->known) &&
           (likely(!base->extras) || verify_extras_same(frames, base->extras));
}

static void __attribute__((noinline)) routes_count(struct unwind_memory *memory)
{
    memory->routes_rest = memory->routes_found < ROUTES_PAY ? ROUTES_REST : 0;
    memory->routes_tried = memory->routes_found = 0;
}

static inline uint32_t routes_look_up(const struct unwind_memory *memory,
                                      const struct unwind_start *start)
{
    uint64_t hash = routes_hash(start->ip, start->sp - 8);
    const struct route_set *set = &memory->routes[routes_set(hash)];
    uint32_t tag = routes_tag(hash);
    if (!(memory->route_sets >> routes_set(hash) & 1)) {
        return 0;
    }
    for (uint32_t i = 0; i < ROUTE_WAYS; i++) {
        const struct known_route *route = &set->routes[i];
        if (set->tags[i] == tag && route->words[0].value == start->ip &&
            route->words[0].at == start->sp - 8 && (!route->needs_bp || route->bp == start->bp) &&
            verify_all_same(route->words, route->count) && routes_base_stays(memory, route)) {
            return memory->unwalkable_root ? 0 : route->node;
        }
    }
    return 0;
}

uint32_t routes_find(struct unwind_memory *memory, const struct unwind_start *start)
{
    if (memory->routes_rest) {
        memory->routes_rest--;
        return 0;
    }
    uint32_t node = routes_look_up(memory, start);
    memory->routes_found += node != 0;
    if (unlikely(++memory->routes_tried >= ROUTES_TURN)) {
        routes_count(memory);
    }
    return node;
}

/* The way of the set that is to be overwritten: the node's own, or the next in turn. */
static uint32_t routes_way(struct route_set *set, uint32_t tag, uint32_t node)
{
    for (uint32_t i = 0; i < ROUTE_WAYS; i++) {
        if (set->tags[i] == tag && set->routes[i].node == node) {
            return i;
        }
    }
    return set->next++ % ROUTE_WAYS;
}

/* Frame known … count - 1 by their return slots, and the extra words of those inside of `known`. */
static void routes_copy(struct known_route *route, const struct remembered *frames, uint32_t known,
                        uint32_t count)
{
    const struct frame_state *base = &frames->states[known], *top = &frames->states[count];
    uint32_t words = 1;
    route->words[0] = frames->slots[count];
    for (uint32_t i = known; i < count; i++) {
        route->words[words++] = frames->slots[i];
    }
    for (uint32_t i = base->extras + 1; i <= top->extras; i++) {
        route->words[words++] = frames->extras[i];
    }
    route->count = words - 1;
    route->known = known;
    route->bp = top->bp;
    route->needs_bp = top->needs_bp;
    route->base_hash = base->hash;
    route->base_bp = base->bp;
    route->base_needs_bp = base->needs_bp;
}

void routes_learn(struct unwind_memory *memory, uint32_t known, uint32_t node)
{
    const struct remembered *frames = memory->remembered;
    uint32_t count = memory->count;
    if (memory->routes_rest || count <= known ||
        count - known + frames->states[count].extras - frames->states[known].extras > ROUTE_WORDS) {
        return;
    }
    uint64_t hash = routes_hash(frames->slots[count].value, frames->slots[count].at);
    uint32_t tag = routes_tag(hash), *seen = &memory->seen[node % ROUTES_SEEN];
    if (*seen != node) {
        *seen = node;
        return;
    }
    struct route_set *set = &memory->routes[routes_set(hash)];
    memory->route_sets |= 1ull << routes_set(hash);
    atomic_signal_fence(memory_order_seq_cst); /* so routes_forget() finds its tags */
    uint32_t way = routes_way(set, tag, node);
    routes_copy(&set->routes[way], frames, known, count);
    set->routes[way].node = node;
    set->tags[way] = tag;
}

void routes_forget(struct unwind_memory *memory)
{
    for (uint32_t i = 0; i < ROUTE_SETS; i++) {
        for (uint32_t way = 0; memory->route_sets >> i & 1 && way < ROUTE_WAYS; way++) {
            memory->routes[i].tags[way] = 0;
        }
    }
    atomic_signal_fence(memory_order_seq_cst);
    memory->route_sets = 0;
    for (uint32_t i = 0; i < ROUTES_SEEN; i++) {
        memory->seen[i] = 0;
    }
}
