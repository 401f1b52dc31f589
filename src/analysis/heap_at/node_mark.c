/* Finds when ranks together held most (node_mark.h), best bound first.
 *
 *   rank 0  │ 9 │    5    │ 7  │      pieces: from when, and the most until the next
 *   rank 1     │  3  │ 8 │ 2 │
 *   sum     │ 9 │12│ 8 │13│ 7 │9│     no instant holds more than that
 *
 * A piece is a block of a trace, of which the index says the most. Blocks of the highest sums are
 * read and become pieces of PIECE_RECORDS records each. When the highest sum is of such pieces
 * alone its instants are looked at one by one. Blocks in which no sum is higher than that are left
 * unread. Memory: the pieces, and the changes of levels in CHUNK_SPANS sums, of which each is as
 * long as one piece at most. */
#include "heap_at/node_mark.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/search.h"
#include "offline/offline.h"
#include "trace/trace.h"

enum { PIECE_RECORDS = 1024, CHUNK_SPANS = 2048, ROUNDING_STEPS = 4096 };
#define MOST_NS 4e18 /* 120 years */

struct node_mark_piece {
    uint64_t at_ns, most; /* from then until the next piece */
    uint32_t block;
    bool is_fine; /* a part of the block */
};

struct node_mark_member {
    struct node_mark_rank *rank;
    uint64_t end_ns; /* from then on it holds nothing */
    struct node_mark_piece *pieces;
    size_t count, room;
};

/* [from, until): no sum in it is higher. */
struct node_mark_span {
    uint64_t from_ns, until_ns, most;
    bool is_fine;
};

struct node_mark_point {
    uint64_t at_ns, change; /* two's complement */
};

struct node_mark_search {
    struct node_mark_member *members;
    size_t count;
    struct node_mark_span *spans;
    size_t span_count;
    struct node_mark_point *points;
    size_t point_count, point_room;
    struct node_mark *mark;
};

/* ---- Clocks -------------------------------------------------------------------------------- */

uint64_t node_mark_ticks(const struct node_mark_clock *clock, uint64_t ns)
{
    if (ns <= clock->at_ns)
        return clock->ticks;
    double ticks = (double)(ns - clock->at_ns) / clock->tick_ns + 0.5;
    return ticks < (double)(UINT64_MAX - clock->ticks) ? clock->ticks + (uint64_t)ticks
                                                       : UINT64_MAX;
}

uint64_t node_mark_ns(const struct node_mark_clock *clock, uint64_t ticks)
{
    if (ticks <= clock->ticks)
        return clock->at_ns;
    double after_ns = (double)(ticks - clock->ticks) * clock->tick_ns;
    if (!(after_ns < MOST_NS)) /* of a damaged trace */
        return clock->at_ns < (uint64_t)MOST_NS ? (uint64_t)MOST_NS : clock->at_ns;
    uint64_t ns = clock->at_ns + (uint64_t)after_ns;
    for (int step = 0; step < ROUNDING_STEPS && node_mark_ticks(clock, ns) < ticks; step++)
        ns++;
    for (int step = 0;
         step < ROUNDING_STEPS && ns > clock->at_ns && node_mark_ticks(clock, ns - 1) >= ticks;
         step++)
        ns--;
    return ns;
}

/* Each by its own trace and calendar. */
static void node_mark_own_clock(struct node_mark_rank *rank, uint64_t *run_ticks)
{
    struct offline_clock clock;
    struct trace *trace;
    *run_ticks = 0;
    if (!rank->trace_path || !figure_known(rank->start_ns) || trace_open(&trace, rank->trace_path))
        return;
    offline_clock(trace, &clock);
    trace_close(trace);
    rank->has_clock = true;
    rank->clock =
        (struct node_mark_clock){clock.start_ticks, figure_or(rank->start_ns, 0), clock.tick_ns};
    *run_ticks = clock.end_ticks - clock.start_ticks;
}

struct node_mark_run {
    struct node_mark_rank *rank;
    uint64_t ticks;
};

static int node_mark_compare_machines(const void *left, const void *right)
{
    const struct node_mark_run *a = left, *b = right;
    int order = strcmp(a->rank->machine, b->rank->machine);
    return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

/* The machine's clock is that of its first rank, with the tick of its longest run, which is known
 * best. A rank whose calendar differs from that by more than FAR_NS reads another counter, and
 * keeps its own clock. `runs` are those of one machine. */
static void node_mark_share_clock(const struct node_mark_run *runs, size_t count)
{
    const double FAR_NS = 2e9;
    struct node_mark_clock shared = {UINT64_MAX, 0, 1};
    uint64_t longest = 0;
    for (size_t i = 0; i < count; i++) {
        const struct node_mark_rank *rank = runs[i].rank;
        if (!rank->has_clock)
            continue;
        if (rank->clock.ticks < shared.ticks) {
            shared.ticks = rank->clock.ticks;
            shared.at_ns = rank->clock.at_ns;
        }
        if (runs[i].ticks >= longest)
            shared.tick_ns = rank->clock.tick_ns;
        longest = runs[i].ticks > longest ? runs[i].ticks : longest;
    }
    for (size_t i = 0; i < count; i++) {
        struct node_mark_clock *own = &runs[i].rank->clock;
        if (runs[i].rank->has_clock &&
            fabs((double)own->at_ns - (double)node_mark_ns(&shared, own->ticks)) < FAR_NS)
            *own = shared;
    }
}

void node_mark_clocks(struct node_mark_rank *ranks, size_t count)
{
    struct node_mark_run *runs = memory_zeroed(count, sizeof *runs);
    for (size_t i = 0; i < count; i++) {
        runs[i].rank = &ranks[i];
        node_mark_own_clock(&ranks[i], &runs[i].ticks);
    }
    if (count)
        qsort(runs, count, sizeof *runs, node_mark_compare_machines);
    for (size_t from = 0, past; from < count; from = past) {
        for (past = from + 1; past < count; past++)
            if (strcmp(runs[from].rank->machine, runs[past].rank->machine))
                break;
        node_mark_share_clock(runs + from, past - from);
    }
    free(runs);
}

static uint64_t node_mark_job_ns(const struct node_mark_member *member, uint64_t ticks)
{
    return node_mark_ns(&member->rank->clock, ticks);
}

/* ---- Pieces -------------------------------------------------------------------------------- */

static void node_mark_add_piece(struct node_mark_member *member, struct node_mark_piece piece)
{
    array_need_room(&member->pieces, &member->room, member->count, sizeof *member->pieces);
    member->pieces[member->count++] = piece;
}

/* The blocks of a trace, by its index. */
static void node_mark_open(struct node_mark_member *member)
{
    struct trace *trace;
    struct trace_damage damage;
    struct offline_clock clock;
    if (!member->rank->has_clock || trace_open(&trace, member->rank->trace_path))
        return;
    trace_damage(trace, &damage, NULL, 0);
    offline_clock(trace, &clock);
    member->rank->is_read = !offline_has_events(trace);
    member->rank->is_whole = !damage.cut_off && !damage.blocks;
    for (size_t i = 0; i < trace_block_count(trace); i++) {
        const struct trace_block *block = trace_block(trace, i);
        node_mark_add_piece(member,
                            (struct node_mark_piece){node_mark_job_ns(member, block->start_ticks),
                                                     block->max_bytes, (uint32_t)i, false});
    }
    member->end_ns = node_mark_job_ns(member, clock.end_ticks) + 1;
    trace_close(trace);
}

struct refining {
    struct node_mark_member *member;
    uint32_t block;
    uint64_t records, ticks, level; /* so far */
};

static void node_mark_refine_record(void *context, uint64_t ticks, uint64_t level)
{
    struct refining *refining = context;
    struct node_mark_member *member = refining->member;
    if (refining->records++ % PIECE_RECORDS == 0)
        node_mark_add_piece(member,
                            (struct node_mark_piece){node_mark_job_ns(member, refining->ticks),
                                                     refining->level, refining->block, true});
    struct node_mark_piece *piece = &member->pieces[member->count - 1];
    piece->most = level > piece->most ? level : piece->most;
    refining->ticks = ticks;
    refining->level = level;
}

/* A block that cannot be read becomes one piece of the level that the index has, and is not read
 * again. */
static int node_mark_refine_block(struct node_mark_member *member, const struct trace *trace,
                                  struct node_mark_piece piece)
{
    size_t before = member->count;
    const struct trace_block *block = trace_block(trace, piece.block);
    struct refining refining = {member, piece.block, 0, block->start_ticks, block->live_bytes};
    int error = trace_block_levels(trace, piece.block, node_mark_refine_record, &refining);
    if (error == -ENOMEM)
        return error;
    if (!error && member->count > before)
        return 0;
    member->count = before;
    member->rank->is_whole &= !error;
    piece.most = block->live_bytes;
    piece.is_fine = true;
    node_mark_add_piece(member, piece);
    return 0;
}

/* ---- Sums ---------------------------------------------------------------------------------- */

struct node_mark_edge {
    uint64_t at_ns;
    size_t member, piece; /* its count: the end */
};

static int node_mark_compare_edges(const void *left, const void *right)
{
    const struct node_mark_edge *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    if (a->member != b->member)
        return a->member < b->member ? -1 : 1;
    return (a->piece > b->piece) - (a->piece < b->piece);
}

static struct node_mark_edge *node_mark_edges(const struct node_mark_search *search, size_t *count)
{
    size_t room = search->count;
    for (size_t i = 0; i < search->count; i++)
        room += search->members[i].count;
    struct node_mark_edge *edges = memory_resize(NULL, room, sizeof *edges);
    *count = 0;
    for (size_t i = 0; i < search->count; i++) {
        const struct node_mark_member *member = &search->members[i];
        for (size_t k = 0; k < member->count; k++)
            if (member->pieces[k].at_ns < member->end_ns)
                edges[(*count)++] = (struct node_mark_edge){member->pieces[k].at_ns, i, k};
        if (member->count)
            edges[(*count)++] = (struct node_mark_edge){member->end_ns, i, member->count};
    }
    if (*count)
        qsort(edges, *count, sizeof *edges, node_mark_compare_edges);
    return edges;
}

/* All spans between edges, in order. */
static void node_mark_sum(struct node_mark_search *search)
{
    size_t count, coarse = 0;
    struct node_mark_edge *edges = node_mark_edges(search, &count);
    struct node_mark_piece *now = memory_zeroed(search->count, sizeof *now);
    uint64_t sum = 0;
    for (size_t i = 0; i < search->count; i++)
        now[i].is_fine = true;
    search->spans = memory_resize(search->spans, count, sizeof *search->spans);
    search->span_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct node_mark_member *member = &search->members[edges[i].member];
        struct node_mark_piece *old = &now[edges[i].member], none = {.is_fine = true};
        struct node_mark_piece new =
            edges[i].piece < member->count ? member->pieces[edges[i].piece] : none;
        sum += new.most - old->most;
        coarse += old->is_fine && !new.is_fine;
        coarse -= !old->is_fine && new.is_fine;
        *old = new;
        if (i + 1 < count && edges[i + 1].at_ns > edges[i].at_ns)
            search->spans[search->span_count++] =
                (struct node_mark_span){edges[i].at_ns, edges[i + 1].at_ns, sum, !coarse};
    }
    free(edges);
    free(now);
}

/* May it have a higher sum than the mark, or the same one earlier? */
static bool node_mark_is_wanted(const struct node_mark_search *search,
                                const struct node_mark_span *span)
{
    const struct node_mark *mark = search->mark;
    return !mark->is_found || span->most > mark->bytes ||
           (span->most == mark->bytes && span->from_ns < mark->time_ns);
}

static const struct node_mark_span *node_mark_highest(const struct node_mark_search *search)
{
    const struct node_mark_span *highest = NULL;
    for (size_t i = 0; i < search->span_count; i++)
        if (!highest || search->spans[i].most > highest->most)
            highest = &search->spans[i];
    return highest;
}

/* Those that are wanted come to the front. */
static void node_mark_keep_wanted(struct node_mark_search *search)
{
    size_t kept = 0;
    for (size_t i = 0; i < search->span_count; i++)
        if (node_mark_is_wanted(search, &search->spans[i]))
            search->spans[kept++] = search->spans[i];
    search->span_count = kept;
}

/* Has [from, until) a part of one of the spans? */
static bool node_mark_touches(const struct node_mark_span *spans, size_t count, uint64_t from_ns,
                              uint64_t until_ns)
{
    size_t low = 0; /* the first that ends behind `from_ns` */
    SEARCH_FIRST(low, count, at, spans[at].until_ns <= from_ns);
    return low < count && spans[low].from_ns < until_ns;
}

static uint64_t node_mark_piece_end(const struct node_mark_member *member, size_t index)
{
    return index + 1 < member->count ? member->pieces[index + 1].at_ns : member->end_ns;
}

/* ---- Reading ------------------------------------------------------------------------------- */

static bool node_mark_is_coarse_in(const struct node_mark_member *member, size_t index,
                                   const struct node_mark_span *spans, size_t count)
{
    return !member->pieces[index].is_fine &&
           node_mark_touches(spans, count, member->pieces[index].at_ns,
                             node_mark_piece_end(member, index));
}

/* Reads the blocks of a rank that have a part of the spans. */
static int node_mark_refine_member(struct node_mark_member *member,
                                   const struct node_mark_span *spans, size_t count)
{
    struct node_mark_member old = *member;
    struct trace *trace = NULL;
    int error = 0;
    bool *wanted = memory_zeroed(old.count, sizeof *wanted), any = false;
    for (size_t i = 0; i < old.count; i++)
        any |= wanted[i] = node_mark_is_coarse_in(&old, i, spans, count);
    if (any && trace_open(&trace, member->rank->trace_path))
        error = -ENOENT;
    if (trace) {
        member->pieces = NULL;
        member->count = member->room = 0;
        for (size_t i = 0; i < old.count && !error; i++)
            if (wanted[i])
                error = node_mark_refine_block(member, trace, old.pieces[i]);
            else
                node_mark_add_piece(member, old.pieces[i]);
        free(old.pieces);
        trace_close(trace);
    }
    free(wanted);
    return error;
}

static int node_mark_refine(struct node_mark_search *search, const struct node_mark_span *spans,
                            size_t count)
{
    int error = 0;
    for (size_t i = 0; i < search->count && !error; i++)
        error = node_mark_refine_member(&search->members[i], spans, count);
    return error;
}

/* ---- Instants ------------------------------------------------------------------------------ */

struct looking {
    struct node_mark_search *search;
    struct node_mark_member *member;
    const struct node_mark_span *spans;
    size_t count, next; /* the first that does not lie before the newest record */
    uint64_t level, told;
    bool is_inside; /* the level at the next one's beginning was told */
};

static void node_mark_add_point(struct looking *looking, uint64_t at_ns, uint64_t level)
{
    struct node_mark_search *search = looking->search;
    if (level == looking->told)
        return;
    array_need_bare_room(&search->points, &search->point_room, search->point_count,
                         sizeof *search->points);
    search->points[search->point_count++] = (struct node_mark_point){at_ns, level - looking->told};
    looking->told = level;
}

/* The level stays what it is until then. */
static void node_mark_pass(struct looking *looking, uint64_t at_ns)
{
    while (looking->next < looking->count && looking->spans[looking->next].from_ns < at_ns) {
        const struct node_mark_span *span = &looking->spans[looking->next];
        if (!looking->is_inside)
            node_mark_add_point(looking, span->from_ns, looking->level);
        looking->is_inside = span->until_ns > at_ns;
        if (looking->is_inside)
            return;
        looking->next++;
    }
}

static void node_mark_look_record(void *context, uint64_t ticks, uint64_t level)
{
    struct looking *looking = context;
    if (level == looking->level)
        return;
    uint64_t at_ns = node_mark_job_ns(looking->member, ticks);
    node_mark_pass(looking, at_ns);
    looking->level = level;
    if (looking->is_inside)
        node_mark_add_point(looking, at_ns, level);
}

/* Its changes within the spans become points. */
static int node_mark_look_at_member(struct looking *looking)
{
    struct node_mark_member *member = looking->member;
    struct trace *trace = NULL;
    uint32_t last = UINT32_MAX;
    int error = 0;
    for (size_t i = 0; i < member->count && !error; i++) {
        uint32_t block = member->pieces[i].block;
        uint64_t end_ns = node_mark_piece_end(member, i);
        if (block == last ||
            !node_mark_touches(looking->spans, looking->count, member->pieces[i].at_ns, end_ns))
            continue;
        if (!trace && trace_open(&trace, member->rank->trace_path))
            return -ENOENT;
        node_mark_pass(looking, node_mark_job_ns(member, trace_block(trace, block)->start_ticks));
        looking->level = trace_block(trace, block)->live_bytes;
        error = trace_block_levels(trace, block, node_mark_look_record, looking);
        error = error == -EBADMSG ? 0 : error;
        last = block;
    }
    node_mark_pass(looking, member->end_ns);
    looking->level = 0;
    node_mark_pass(looking, UINT64_MAX);
    if (trace)
        trace_close(trace);
    return error;
}

static int node_mark_compare_points(const void *left, const void *right)
{
    const struct node_mark_point *a = left, *b = right;
    return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

/* The sum behind all changes of an instant counts. */
static void node_mark_take_instants(struct node_mark_search *search,
                                    const struct node_mark_span *spans, size_t count)
{
    struct node_mark *mark = search->mark;
    uint64_t sum = 0;
    if (search->point_count)
        qsort(search->points, search->point_count, sizeof *search->points,
              node_mark_compare_points);
    for (size_t i = 0; i < search->point_count; i++) {
        uint64_t at_ns = search->points[i].at_ns;
        sum += search->points[i].change;
        if (i + 1 < search->point_count && search->points[i + 1].at_ns == at_ns)
            continue;
        if (!node_mark_touches(spans, count, at_ns, at_ns + 1) ||
            (mark->is_found &&
             (sum < mark->bytes || (sum == mark->bytes && at_ns >= mark->time_ns))))
            continue;
        mark->is_found = true;
        mark->bytes = sum;
        mark->time_ns = at_ns;
    }
}

static int node_mark_look(struct node_mark_search *search, const struct node_mark_span *spans,
                          size_t count)
{
    int error = 0;
    search->point_count = 0;
    for (size_t i = 0; i < search->count && !error; i++) {
        struct looking looking = {
            .search = search, .member = &search->members[i], .spans = spans, .count = count};
        error = node_mark_look_at_member(&looking);
    }
    if (!error)
        node_mark_take_instants(search, spans, count);
    return error;
}

/* ---- The search ---------------------------------------------------------------------------- */

/* The highest sum, read until its instants are known. */
static int node_mark_look_at_highest(struct node_mark_search *search)
{
    for (;;) {
        node_mark_sum(search);
        const struct node_mark_span *highest = node_mark_highest(search);
        if (!highest)
            return 0;
        struct node_mark_span span = *highest;
        int error =
            span.is_fine ? node_mark_look(search, &span, 1) : node_mark_refine(search, &span, 1);
        if (error || span.is_fine)
            return error;
    }
}

/* The rest that may be higher, in pieces that fit into memory. */
static int node_mark_look_at_others(struct node_mark_search *search)
{
    node_mark_keep_wanted(search);
    int error = node_mark_refine(search, search->spans, search->span_count);
    if (error)
        return error;
    node_mark_sum(search);
    node_mark_keep_wanted(search);
    for (size_t i = 0; i < search->span_count && !error; i += CHUNK_SPANS) {
        size_t left = search->span_count - i, kept = 0;
        size_t count = left < CHUNK_SPANS ? left : CHUNK_SPANS;
        for (size_t k = 0; k < count; k++)
            if (node_mark_is_wanted(search, &search->spans[i + k]))
                search->spans[i + kept++] = search->spans[i + k];
        error = kept ? node_mark_look(search, search->spans + i, kept) : 0;
    }
    return error;
}

/* The bytes that each rank holds at the mark. */
static int node_mark_take_parts(struct node_mark_search *search)
{
    struct node_mark *mark = search->mark;
    int error = 0;
    for (size_t i = 0; i < search->count && !error && mark->is_found; i++) {
        struct node_mark_member *member = &search->members[i];
        struct trace *trace;
        struct trace_state state;
        if (!member->count || mark->time_ns < member->pieces[0].at_ns ||
            mark->time_ns >= member->end_ns)
            continue;
        if (trace_open(&trace, member->rank->trace_path))
            return -ENOENT;
        uint64_t ticks = node_mark_ticks(&member->rank->clock, mark->time_ns);
        error = trace_state_at(trace, TRACE_AT_TICKS, ticks, &state);
        if (!error)
            member->rank->bytes = state.live_bytes;
        trace_state_release(&state);
        trace_close(trace);
    }
    return error;
}

int node_mark_find(struct node_mark_rank *ranks, size_t count, struct node_mark *mark)
{
    struct node_mark_search search = {.count = count, .mark = mark};
    *mark = (struct node_mark){0};
    search.members = memory_zeroed(count, sizeof *search.members);
    for (size_t i = 0; i < count; i++) {
        search.members[i].rank = &ranks[i];
        node_mark_open(&search.members[i]);
    }
    int error = node_mark_look_at_highest(&search);
    if (!error && mark->is_found)
        error = node_mark_look_at_others(&search);
    for (size_t i = 0; i < count; i++)
        mark->is_found |= ranks[i].is_read; /* where nothing was ever alive: 0 at the beginning */
    if (!error)
        error = node_mark_take_parts(&search);
    for (size_t i = 0; i < count; i++) {
        mark->at_least |= !ranks[i].is_read || !ranks[i].is_whole;
        free(search.members[i].pieces);
    }
    free(search.members);
    free(search.spans);
    free(search.points);
    return error;
}
