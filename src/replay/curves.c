/* See curves.h. */
#include "replay/curves.h"

#define SMALLEST_POINTS 8u
#define PIECE_BYTES     (SMALLEST_POINTS * sizeof(struct curve_point))
#define MAX_PIECES      (CURVES_MAX_BYTES / PIECE_BYTES)

_Static_assert(SMALLEST_POINTS << (CURVE_PIECES - 1) == CURVE_POINTS, "the largest piece");

void curves_release(struct curves *curves)
{
    region_release(&curves->all_memory);
    region_release(&curves->arena);
}

size_t curves_memory_bytes(const struct curves *curves)
{
    return curves->count * sizeof(*curves->all) + curves->used * PIECE_BYTES;
}

/* ---- The arena ----------------------------------------------------------------------------- */

static struct curve_point *piece_at(const struct curves *curves, uint32_t piece)
{
    return (struct curve_point *)curves->arena.base + (size_t)(piece - 1) * SMALLEST_POINTS;
}

/* 0: the arena is full. */
static uint32_t take_piece(struct curves *curves, unsigned size)
{
    uint32_t piece = curves->free[size];

    if (piece) {
        curves->free[size] = (uint32_t)piece_at(curves, piece)->ticks;
        return piece;
    }
    if (curves->used + (1u << size) > MAX_PIECES)
        return 0;
    piece = curves->used + 1;
    curves->used += 1u << size;
    region_grow(&curves->arena, curves->used * PIECE_BYTES);
    return piece;
}

static void give_piece(struct curves *curves, uint32_t piece, unsigned size)
{
    piece_at(curves, piece)->ticks = curves->free[size];
    curves->free[size] = piece;
}

static size_t room_of(const struct site_curve *curve)
{
    return curve->piece ? (size_t)SMALLEST_POINTS << curve->size : 0;
}

/* A larger piece for the curve. False: it has the largest, or the arena is full. */
static bool enlarge(struct curves *curves, struct site_curve *curve)
{
    unsigned size = curve->piece ? curve->size + 1u : 0;
    uint32_t piece = size < CURVE_PIECES ? take_piece(curves, size) : 0;

    if (!piece)
        return false;
    for (size_t i = 0; i < curve->count; i++)
        piece_at(curves, piece)[i] = piece_at(curves, curve->piece)[i];
    if (curve->piece)
        give_piece(curves, curve->piece, curve->size);
    curve->piece = piece;
    curve->size = (uint8_t)size;
    return true;
}

/* ---- Bands --------------------------------------------------------------------------------- */

static struct curve_band band_of(uint64_t bytes, uint64_t threshold_bytes)
{
    uint64_t part = bytes / CURVE_PART;
    uint64_t error = part > threshold_bytes ? part : threshold_bytes;
    struct curve_band band = {bytes > error ? bytes - error : 0, bytes + error};

    if (band.high < bytes)
        band.high = UINT64_MAX;
    return band;
}

static bool contains(struct curve_band outer, struct curve_band inner)
{
    return outer.low <= inner.low && inner.high <= outer.high;
}

/* ---- Thinning ------------------------------------------------------------------------------ */

/* Which points remain with a threshold: `keep(i)` is written to kept[i]. Returns how many. */
static size_t sift(const struct site_curve *curve, const struct curve_point *points,
                   uint64_t threshold_bytes, bool kept[CURVE_POINTS])
{
    struct curve_band band = band_of(0, threshold_bytes);
    size_t count = 0;

    for (size_t i = 0; i < curve->count; i++) {
        kept[i] = i == curve->highest ||
                  !contains(band, band_of(points[i].bytes, curve->threshold_bytes));
        if (!kept[i])
            continue;
        band = band_of(points[i].bytes, threshold_bytes);
        count++;
    }
    return count;
}

static void drop(struct site_curve *curve, struct curve_point *points,
                 const bool kept[CURVE_POINTS])
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

static void thin(struct curves *curves, struct site_curve *curve)
{
    struct curve_point *points = piece_at(curves, curve->piece);
    uint64_t threshold = curve->threshold_bytes;
    bool kept[CURVE_POINTS];

    do {
        threshold = threshold >> 62 ? UINT64_MAX : 2 * threshold;
    } while (sift(curve, points, threshold, kept) > curve->count * 3u / 4);
    drop(curve, points, kept);
    curve->threshold_bytes = threshold;
    curve->changed = true;
}

/* ---- Points -------------------------------------------------------------------------------- */

static struct site_curve *curve_of(struct curves *curves, struct sites *sites, uint32_t site)
{
    uint32_t number = site_curve(sites, site);

    if (number)
        return &curves->all[number - 1];
    region_grow(&curves->all_memory, (curves->count + 1) * sizeof(*curves->all));
    curves->all = curves->all_memory.base;
    curves->all[curves->count] =
        (struct site_curve){.threshold_bytes = CURVE_THRESHOLD_BYTES,
                            .band = {0, CURVE_THRESHOLD_BYTES},
                            .site = site};
    site_rare(sites, site)->curve = curves->count + 1;
    return &curves->all[curves->count++];
}

static struct curve_band band_now(const struct curves *curves, const struct site_curve *curve)
{
    static const struct curve_band everything = {0, UINT64_MAX};

    if (!curve->piece)
        return everything; /* the arena was full when it began */
    return band_of(curve->count ? piece_at(curves, curve->piece)[curve->count - 1].bytes : 0,
                   curve->threshold_bytes);
}

static void append(struct curves *curves, struct site_curve *curve, struct curve_point point)
{
    struct curve_point *points = piece_at(curves, curve->piece);

    if (curve->count == 0 || point.bytes > points[curve->highest].bytes)
        curve->highest = curve->count;
    points[curve->count++] = point;
    curve->changed = true;
}

static bool is_in(struct curve_band band, uint64_t bytes)
{
    return band.low <= bytes && bytes <= band.high;
}

/* A point for the level, if the curve has room for one. */
static void note(struct curves *curves, struct site_curve *curve, struct curve_point point)
{
    if (curve->count == room_of(curve) && !enlarge(curves, curve) && curve->piece)
        thin(curves, curve);
    curve->band = band_now(curves, curve);
    if (is_in(curve->band, point.bytes))
        return;
    append(curves, curve, point);
    curve->band = band_now(curves, curve);
}

struct curve_band curves_look(struct curves *curves, struct sites *sites, uint32_t site,
                              uint64_t ticks)
{
    struct site_curve *curve = curve_of(curves, sites, site);
    uint64_t live = site_live_bytes(sites, site);

    if (!is_in(curve->band, live))
        note(curves, curve, (struct curve_point){ticks, live});
    return curve->band;
}

void curves_visit(struct curves *curves, const struct sites *sites,
                  void (*visit)(void *context, const struct curve *curve), void *context)
{
    for (uint32_t i = 0; i < curves->count; i++) {
        struct site_curve *from = &curves->all[i];
        struct curve curve = {.node = sites->cold[from->site].node,
                              .count = from->count,
                              .threshold_bytes = from->threshold_bytes};
        if (!from->changed)
            continue;
        curve.points = piece_at(curves, from->piece);
        from->changed = false;
        visit(context, &curve);
    }
}
