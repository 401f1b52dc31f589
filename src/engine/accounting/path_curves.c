/* Curves of the sites' live bytes over time (path_curves.h). Points lie in pieces of 8, 16, …
 * points, taken from one arena with a free list for each size. A full curve doubles
 * its threshold until at least a quarter of its points is redundant, or keeps of each stretch of
 * time the highest, the lowest and the last point. */
#include "accounting/path_curves.h"

#include <math.h>
#include <string.h>

#define SMALLEST_POINTS 8u
#define PIECE_BYTES     (SMALLEST_POINTS * sizeof(struct curve_point))

_Static_assert(SMALLEST_POINTS << (CURVE_PIECES - 1) == CURVE_POINTS, "the largest piece");
_Static_assert(SMALLEST_POINTS << (CURVE_EXACT_PIECES - 1) == CURVE_EXACT_POINTS, "exact");

void curves_release(struct curves *curves)
{
    arena_release(&curves->all_memory);
    arena_release(&curves->arena);
}

size_t curves_memory_bytes(const struct curves *curves)
{
    return curves->count * sizeof *curves->all + curves->used * PIECE_BYTES;
}

/* ---- The arena ----------------------------------------------------------------------------- */

static struct curve_point *curves_piece_at(const struct curves *curves, uint32_t piece)
{
    return (struct curve_point *)curves->arena.base + (size_t)(piece - 1) * SMALLEST_POINTS;
}

static size_t curves_most_pieces(const struct curves *curves)
{
    size_t bytes = !curves->noise_bytes ? CURVES_MAX_BYTES
                   : curves->is_brief   ? CURVES_BRIEF_BYTES
                                        : CURVES_NOISY_BYTES;
    return bytes / PIECE_BYTES;
}

/* 0: the arena is full. */
static uint32_t curves_take_piece(struct curves *curves, unsigned size)
{
    uint32_t piece = curves->free[size];

    if (piece) {
        curves->free[size] = (uint32_t)curves_piece_at(curves, piece)->ticks;
        return piece;
    }
    if (curves->used + (1u << size) > curves_most_pieces(curves))
        return 0;
    piece = curves->used + 1;
    curves->used += 1u << size;
    arena_grow(&curves->arena, curves->used * PIECE_BYTES);
    return piece;
}

static void curves_give_piece(struct curves *curves, uint32_t piece, unsigned size)
{
    curves_piece_at(curves, piece)->ticks = curves->free[size];
    curves->free[size] = piece;
}

static size_t curves_room_of(const struct site_curve *curve)
{
    return curve->piece ? (size_t)SMALLEST_POINTS << curve->size : 0;
}

/* How many sizes a curve's next piece may have. */
static unsigned curves_sizes(const struct curves *curves)
{
    bool room = curves->used < CURVES_EXACT_BYTES / PIECE_BYTES;

    if (curves->is_brief)
        return CURVE_BRIEF_PIECES;
    return curves->begin_exact && room ? CURVE_EXACT_PIECES : CURVE_PIECES;
}

/* A larger piece for the curve. False: it has the largest, or the arena is full. */
static bool curves_enlarge(struct curves *curves, struct site_curve *curve)
{
    unsigned size = curve->piece ? curve->size + 1u : 0;
    uint32_t piece = size < curves_sizes(curves) ? curves_take_piece(curves, size) : 0;

    if (!piece)
        return false;
    for (size_t i = 0; i < curve->count; i++)
        curves_piece_at(curves, piece)[i] = curves_piece_at(curves, curve->piece)[i];
    if (curve->piece)
        curves_give_piece(curves, curve->piece, curve->size);
    curve->piece = piece;
    curve->size = (uint8_t)size;
    return true;
}

/* ---- Bands --------------------------------------------------------------------------------- */

/* The deviation of an estimated level; 0 if levels are exact. */
static uint64_t curves_noise(const struct curves *curves, uint64_t bytes)
{
    return curves->noise_bytes ? (uint64_t)sqrt((double)bytes * (double)curves->noise_bytes) : 0;
}

static struct curve_band curves_band_of(const struct curves *curves, uint64_t bytes,
                                        uint64_t threshold_bytes)
{
    uint64_t part = threshold_bytes ? bytes / CURVE_PART : 0;
    uint64_t noise = threshold_bytes ? curves_noise(curves, bytes) : 0;
    uint64_t error = part > threshold_bytes ? part : threshold_bytes;
    error = noise > error ? noise : error;
    struct curve_band band = {bytes > error ? bytes - error : 0, bytes + error};

    if (band.high < bytes)
        band.high = UINT64_MAX;
    return band;
}

static bool curves_contains(struct curve_band outer, struct curve_band inner)
{
    return outer.low <= inner.low && inner.high <= outer.high;
}

/* ---- Thinning ------------------------------------------------------------------------------ */

/* Which points remain with a threshold: `keep(i)` is written to kept[i]. Returns how many. */
static size_t curves_sift(const struct curves *curves, const struct site_curve *curve,
                          uint64_t threshold_bytes, bool kept[CURVE_EXACT_POINTS])
{
    const struct curve_point *points = curves_piece_at(curves, curve->piece);
    struct curve_band band = curves_band_of(curves, 0, threshold_bytes);
    size_t count = 0;

    for (size_t i = 0; i < curve->count; i++) {
        struct curve_band old = curves_band_of(curves, points[i].bytes, curve->threshold_bytes);
        kept[i] = i == curve->highest || !curves_contains(band, old);
        if (!kept[i])
            continue;
        band = curves_band_of(curves, points[i].bytes, threshold_bytes);
        count++;
    }
    return count;
}

static void curves_drop(struct site_curve *curve, struct curve_point *points,
                        const bool kept[CURVE_EXACT_POINTS])
{
    size_t count = 0, highest = 0;

    for (size_t i = 0; i < curve->count; i++) {
        if (i == curve->highest)
            highest = count;
        if (kept[i])
            points[count++] = points[i];
    }
    curve->count = (uint16_t)count;
    curve->highest = (uint16_t)highest;
}

/* The largest threshold that still shows the shape of this curve. */
static uint64_t curves_plain_threshold(const struct site_curve *curve,
                                       const struct curve_point *points)
{
    uint64_t part = points[curve->highest].bytes / CURVE_PLAIN_PART;
    return part > CURVE_PLAIN_BYTES ? part : CURVE_PLAIN_BYTES;
}

/* Doubles the threshold until a quarter of the points can go. False: not even the largest threshold
 * is enough. */
static bool curves_raise_threshold(const struct curves *curves, struct site_curve *curve,
                                   struct curve_point *points)
{
    bool kept[CURVE_EXACT_POINTS], enough = false;
    uint64_t most = curves_plain_threshold(curve, points), threshold = curve->threshold_bytes;

    while (!enough && 2 * threshold <= most) {
        threshold = threshold ? 2 * threshold : CURVE_THRESHOLD_BYTES;
        enough = curves_sift(curves, curve, threshold, kept) <= curve->count * 3u / 4;
    }
    if (enough)
        curves_drop(curve, points, kept);
    curve->threshold_bytes = threshold;
    return enough;
}

/* ---- Stretches ---- */

/* Of the points of one stretch remain the earliest highest, the earliest lowest and the last one.
 * Returns how many. */
static size_t curves_keep_extremes(struct curve_point *points, size_t count)
{
    size_t highest = 0, lowest = 0, kept = 0;

    for (size_t i = 1; i < count; i++) {
        highest = points[i].bytes > points[highest].bytes ? i : highest;
        lowest = points[i].bytes < points[lowest].bytes ? i : lowest;
    }
    for (size_t i = 0; i < count; i++)
        if (i == highest || i == lowest || i + 1 == count)
            points[kept++] = points[i];
    return kept;
}

static void curves_find_highest(struct site_curve *curve, const struct curve_point *points,
                                size_t from)
{
    for (size_t i = from; i < curve->count; i++)
        if (points[i].bytes > points[curve->highest].bytes)
            curve->highest = (uint16_t)i;
}

/* How many points from the first one on are in its stretch. */
static size_t curves_stretch_points(const struct site_curve *curve, const struct curve_point *first,
                                    size_t left)
{
    size_t count = 1;

    while (count < left && !((first[count].ticks ^ first->ticks) >> curve->stretch_log))
        count++;
    return count;
}

static void curves_merge_stretches(struct site_curve *curve, struct curve_point *points)
{
    size_t kept = 0, count;

    for (size_t first = 0; first < curve->count; first += count) {
        count = curves_stretch_points(curve, points + first, curve->count - first);
        memmove(points + kept, points + first, count * sizeof *points);
        kept += curves_keep_extremes(points + kept, count);
    }
    curve->count = (uint16_t)kept;
}

/* Stretches double until a quarter of the points is dropped: in the end all points are one
 * stretch. */
static void curves_lengthen_stretches(struct site_curve *curve, struct curve_point *points)
{
    size_t enough = curve->count * 3u / 4;

    do {
        curve->stretch_log++;
        curves_merge_stretches(curve, points);
    } while (curve->count > enough && curve->stretch_log < 63);
    curve->highest = 0;
    curves_find_highest(curve, points, 1);
}

/* ---- The floor ---- */

/* Was the level never above the floor? */
static bool curves_is_below_floor(const struct curves *curves, const struct site_curve *curve,
                                  const struct curve_point *points)
{
    struct curve_band none = curves_band_of(curves, 0, curves->floor_bytes);

    return !curve->count ||
           curves_contains(
               none, curves_band_of(curves, points[curve->highest].bytes, curve->threshold_bytes));
}

/* The curve without what the floor makes redundant. */
static void curves_raise_to_floor(const struct curves *curves, struct site_curve *curve)
{
    struct curve_point *points = curve->piece ? curves_piece_at(curves, curve->piece) : NULL;
    uint64_t floor_bytes = curves->floor_bytes;
    bool kept[CURVE_EXACT_POINTS];

    if (curve->threshold_bytes > floor_bytes && !curve->stretch_log)
        return;
    if (curves_is_below_floor(curves, curve, points)) {
        curve->changed |= curve->count != 0;
        curve->count = curve->highest = curve->stretch_log = 0;
        curve->threshold_bytes = floor_bytes;
        curve->band = curves_band_of(curves, 0, floor_bytes);
    } else if (!curve->stretch_log) {
        curves_sift(curves, curve, floor_bytes, kept);
        curves_drop(curve, points, kept);
        curve->threshold_bytes = floor_bytes;
        curve->changed = true;
    }
}

/* The least number of pieces of 8 points that the curve fits into: a power of two, or 0. */
static size_t curves_needed(const struct site_curve *curve)
{
    size_t pieces = curve->count != 0;

    while (pieces * SMALLEST_POINTS < curve->count)
        pieces *= 2;
    return pieces;
}

static void curves_lay_out(struct curves *curves, size_t pieces)
{
    struct arena old = curves->arena;

    curves->arena = (struct arena){0};
    memset(curves->free, 0, sizeof curves->free);
    curves->used = 0;
    arena_grow(&curves->arena, (pieces + 1) * PIECE_BYTES);
    for (uint32_t i = 0; i < curves->count; i++) {
        struct site_curve *curve = &curves->all[i];
        size_t needed = curves_needed(curve);
        const char *from = (const char *)old.base + (curve->piece - 1) * PIECE_BYTES;
        curve->piece = needed ? curves->used + 1 : 0;
        curve->size = 0;
        if (!needed)
            continue;
        curves->used += (uint32_t)needed;
        curve->size = (uint8_t)__builtin_ctzl(needed);
        memcpy(curves_piece_at(curves, curve->piece), from,
               curve->count * sizeof(struct curve_point));
    }
    arena_release(&old);
}

/* Makes room in the arena of curves of estimates: a quarter of it. In the end the floor is above
 * all curves. */
static void curves_raise_floor(struct curves *curves)
{
    size_t pieces;

    do {
        curves->floor_bytes =
            2 * (curves->floor_bytes ? curves->floor_bytes : CURVE_THRESHOLD_BYTES);
        pieces = 0;
        for (uint32_t i = 0; i < curves->count; i++) {
            curves_raise_to_floor(curves, &curves->all[i]);
            pieces += curves_needed(&curves->all[i]);
        }
    } while (pieces > curves_most_pieces(curves) / 4 * 3 && curves->floor_bytes < UINT64_MAX / 4);
    curves_lay_out(curves, pieces);
}

static void curves_thin(struct curves *curves, struct site_curve *curve)
{
    struct curve_point *points = curves_piece_at(curves, curve->piece);

    if (curve->stretch_log || !curves_raise_threshold(curves, curve, points))
        curves_lengthen_stretches(curve, points);
    curve->changed = true;
}

/* The last stretch has a new point. */
static void curves_close_up(struct site_curve *curve, struct curve_point *points)
{
    size_t first = curve->count - 1u;
    uint64_t stretch = points[first].ticks >> curve->stretch_log;

    while (first && points[first - 1].ticks >> curve->stretch_log == stretch)
        first--;
    bool is_highest_here = curve->highest >= first;
    curve->count = (uint16_t)(first + curves_keep_extremes(points + first, curve->count - first));
    if (is_highest_here)
        curve->highest = (uint16_t)first;
    curves_find_highest(curve, points, first);
}

/* ---- Points -------------------------------------------------------------------------------- */

static struct site_curve *curves_curve_of(struct curves *curves, struct sites *sites, uint32_t site)
{
    uint32_t number = site_curve(sites, site);

    if (number)
        return &curves->all[number - 1];
    arena_grow(&curves->all_memory, (curves->count + 1) * sizeof *curves->all);
    curves->all = curves->all_memory.base;
    uint64_t least_bytes = curves_least_bytes(curves);
    if (curves->floor_bytes)
        least_bytes = curves->floor_bytes;
    curves->all[curves->count] =
        (struct site_curve){.threshold_bytes = least_bytes, .band = {0, least_bytes}, .site = site};
    site_rare(sites, site)->curve = curves->count + 1;
    return &curves->all[curves->count++];
}

static struct curve_band curves_band_now(const struct curves *curves,
                                         const struct site_curve *curve)
{
    static const struct curve_band everything = {0, UINT64_MAX};

    if (!curve->piece && !curves->noise_bytes)
        return everything; /* the arena was full when the curve began */
    uint64_t bytes =
        curve->count ? curves_piece_at(curves, curve->piece)[curve->count - 1].bytes : 0;
    struct curve_band band = curves_band_of(curves, bytes, curve->threshold_bytes);
    if (curve->threshold_bytes > CURVE_THRESHOLD_BYTES && bytes && !band.low)
        band.low = 1; /* 0 is a point of even the coarsest curve */
    return band;
}

static void curves_append(struct curves *curves, struct site_curve *curve, struct curve_point point)
{
    struct curve_point *points = curves_piece_at(curves, curve->piece);

    if (curve->count == 0 || point.bytes > points[curve->highest].bytes)
        curve->highest = curve->count;
    points[curve->count++] = point;
    curve->changed = true;
    if (curve->stretch_log)
        curves_close_up(curve, points);
}

static bool curves_is_in(struct curve_band band, uint64_t bytes)
{
    return band.low <= bytes && bytes <= band.high;
}

/* Is it for lack of room in the arena that the curve of estimates cannot grow? */
static bool curves_is_full(const struct curves *curves, const struct site_curve *curve)
{
    return curves->noise_bytes && (!curve->piece || curve->size + 1u < curves_sizes(curves));
}

/* A point for the level, if the curve has room for one. */
static void curves_note(struct curves *curves, struct site_curve *curve, struct curve_point point)
{
    bool has_room = curve->count < curves_room_of(curve) || curves_enlarge(curves, curve);
    if (!has_room && curves_is_full(curves, curve)) {
        curves_raise_floor(curves);
        has_room = curve->count < curves_room_of(curve) || curves_enlarge(curves, curve);
    }
    if (!has_room && curve->piece)
        curves_thin(curves, curve);
    curve->band = curves_band_now(curves, curve);
    if (curves_is_in(curve->band, point.bytes) || !curve->piece)
        return;
    curves_append(curves, curve, point);
    curve->band = curves_band_now(curves, curve);
}

struct curve_band curves_look(struct curves *curves, struct sites *sites, uint32_t site,
                              uint64_t ticks)
{
    struct site_curve *curve = curves_curve_of(curves, sites, site);
    uint64_t live = site_live_bytes(sites, site);

    if (!curves_is_in(curve->band, live))
        curves_note(curves, curve, (struct curve_point){ticks, live});
    return curve->band;
}

/* With this threshold the error at each point is at most max(threshold, 1/CURVE_PART). The noise is
 * less than that part from CURVE_PART^2 times noise_bytes on. */
static uint64_t curves_told_threshold(const struct curves *curves, const struct site_curve *curve)
{
    uint64_t most = (uint64_t)CURVE_PART * CURVE_PART * curves->noise_bytes;
    if (!curves->noise_bytes || !curve->count)
        return curve->threshold_bytes;
    uint64_t highest = curves_piece_at(curves, curve->piece)[curve->highest].bytes;
    uint64_t noise = curves_noise(curves, highest < most ? highest : most);
    return noise > curve->threshold_bytes ? noise : curve->threshold_bytes;
}

void curves_visit(struct curves *curves, const struct sites *sites, enum memory_level level,
                  void (*visit)(void *context, const struct curve *curve), void *context)
{
    for (uint32_t i = 0; i < curves->count; i++) {
        struct site_curve *from = &curves->all[i];
        struct curve curve = {.node = sites->cold[from->site].node,
                              .level = level,
                              .count = from->count,
                              .stretch_ticks =
                                  from->stretch_log ? (uint64_t)1 << from->stretch_log : 0,
                              .threshold_bytes = figure_of(curves_told_threshold(curves, from))};
        if (!from->changed)
            continue;
        curve.points = from->piece ? curves_piece_at(curves, from->piece) : NULL;
        from->changed = false;
        visit(context, &curve);
    }
}
