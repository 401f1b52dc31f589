/* Sizes, lifetimes and reallocations as bars, and two of them together as a map of shades. */
#include "report/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"

enum { LABEL = 12, COUNT = 10, SHARE = 8, BINS = 66, MAP_ROWS = 24, MAP_COLUMNS = 48 };

typedef struct human human_of(uint64_t value);

/* The rows of a kind; they lie together. */
struct rows {
    const struct distribution_row *at;
    size_t count;
};
static struct rows rows_of(const struct profile *profile, uint32_t kind)
{
    struct rows rows = {profile->distributions, 0};
    size_t first = 0;
    while (first < profile->distribution_count && profile->distributions[first].kind != kind)
        first++;
    while (first + rows.count < profile->distribution_count &&
           profile->distributions[first + rows.count].kind == kind)
        rows.count++;
    if (rows.count)
        rows.at += first;
    return rows;
}

/* 0, then 1 + log2. */
static unsigned bin_of(uint64_t value)
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}
static uint64_t bin_begin(unsigned bin)
{
    return bin ? 1ull << (bin - 1) : 0;
}

/* ---- Bars ---------------------------------------------------------------------------------- */

struct bins {
    uint64_t count[BINS], bytes[BINS];
    uint64_t total, total_bytes, most;
    unsigned first, last, step; /* bins are shown `step` together */
};

/* Fine bins add up to powers of two, and those to powers of four if there were too many lines. */
static struct bins bins_from(struct rows rows, unsigned step)
{
    struct bins bins = {.first = BINS, .step = step};
    for (size_t i = 0; i < rows.count; i++) {
        unsigned bin = bin_of(rows.at[i].x);
        bin = bin ? (bin - 1) / step * step + 1 : 0;
        bins.count[bin] += rows.at[i].count;
        bins.bytes[bin] += rows.at[i].bytes;
        bins.total += rows.at[i].count;
        bins.total_bytes += rows.at[i].bytes;
        bins.first = bin < bins.first ? bin : bins.first;
        bins.last = bin > bins.last ? bin : bins.last;
    }
    for (unsigned i = 0; i < BINS; i++)
        bins.most = bins.count[i] > bins.most ? bins.count[i] : bins.most;
    return bins;
}

static void add_bin(struct text *text, const struct bins *bins, unsigned bin, human_of *human)
{
    size_t used = LABEL + 2 * (COUNT + SHARE) + 2;
    part_cell(text, human(bin_begin(bin)).text, LABEL);
    part_figure(text, human_count(bins->count[bin]).text, COUNT);
    part_cell(text, human_percent((double)bins->count[bin], (double)bins->total).text, SHARE);
    part_cell(text, human_bytes(bins->bytes[bin]).text, COUNT);
    part_cell(text, human_percent((double)bins->bytes[bin], (double)bins->total_bytes).text, SHARE);
    strbuf_add_string(&text->out, "  ");
    part_bar(text, 0, (double)bins->count[bin], (double)bins->most, text->style.columns - used);
    strbuf_add_char(&text->out, '\n');
}

static void add_bins(struct text *text, const struct bins *bins, human_of *human, const char *of)
{
    style_begin(&text->out, &text->style, TONE_DIM);
    part_cell(text, of, LABEL);
    part_cell(text, "blocks", COUNT);
    part_cell(text, "", SHARE);
    part_cell(text, "bytes", COUNT);
    style_end(&text->out, &text->style);
    strbuf_add_char(&text->out, '\n');
    for (unsigned i = bins->first; i <= bins->last; i += i ? bins->step : 1) {
        if (bins->count[i]) {
            add_bin(text, bins, i, human);
        } else if (i && !bins->count[i - 1 ? i - bins->step : 0]) {
            continue; /* of several empty lines one is enough */
        } else {
            part_cell(text, style_sign(&text->style, "…", "..."), LABEL);
            strbuf_add_char(&text->out, '\n');
        }
    }
}

static bool add_bars(struct text *text, uint32_t kind, const char *title, const char *of,
                     human_of *human, unsigned step)
{
    struct rows rows = rows_of(text->profile, kind);
    struct bins bins = bins_from(rows, step);
    struct strbuf rest = STRBUF_INIT;
    if (rows.count) {
        strbuf_addf(&rest, "of %s blocks, ", human_count(bins.total).text);
        strbuf_addf(&rest, "%s", human_bytes(bins.total_bytes).text);
    }
    part_title(text, title, rest.data);
    if (rows.count)
        add_bins(text, &bins, human, of);
    else
        part_note(text, "not recorded");
    strbuf_release(&rest);
    return rows.count > 0;
}

/* ---- The commonest values ------------------------------------------------------------------ */

static int add_commonest(struct text *text, uint32_t kind, const char *title, const char *sign)
{
    struct rows rows = rows_of(text->profile, kind);
    if (!rows.count)
        return 0;
    uint64_t *counts = calloc(rows.count, sizeof *counts), most = 0;
    for (size_t i = 0; counts && i < rows.count; i++) {
        counts[i] = rows.at[i].count;
        most = counts[i] > most ? counts[i] : most;
    }
    uint32_t *order = counts ? order_values(counts, rows.count) : NULL;
    free(counts);
    if (!order)
        return -ENOMEM;
    part_title(text, title, NULL);
    for (size_t i = 0; i < rows.count && i < text->options->top; i++) {
        const struct distribution_row *row = &rows.at[order[i]];
        struct strbuf size = STRBUF_INIT;
        strbuf_addf(&size, "%s%s B", sign, human_exact(row->x).text);
        part_cell(text, size.data, LABEL + 4);
        part_figure(text, human_count(row->count).text, COUNT);
        part_cell(text, human_bytes(row->bytes).text, COUNT);
        strbuf_add_string(&text->out, "  ");
        part_bar(text, 0, (double)row->count, (double)most,
                 text->style.columns - LABEL - 4 - 2 * COUNT - 2);
        strbuf_add_char(&text->out, '\n');
        strbuf_release(&size);
    }
    free(order);
    return 0;
}

/* ---- Maps ---------------------------------------------------------------------------------- */

/* Columns are bins of x, or parts of a span; rows are bins of y. */
struct map {
    uint64_t counts[MAP_ROWS][MAP_COLUMNS];
    uint64_t most, left_of, right_of;
    unsigned first_row, last_row;
    size_t columns;
};

static const char *shade(const struct style *style, uint64_t count, uint64_t most)
{
    static const char *const utf8[] = {"·", "░", "▒", "▓", "█"};
    static const char *const ascii[] = {".", ":", "+", "#", "@"};
    if (!count)
        return " ";
    /* By powers of four below the largest: counts differ by orders of magnitude. */
    unsigned below = (bin_of(most) - bin_of(count)) / 2;
    return (style->utf8 ? utf8 : ascii)[below > 4 ? 0 : 4 - below];
}

static void add_map(struct text *text, const struct map *map, const char *title, human_of *human)
{
    part_title(text, title, "darker: more blocks, by powers of four");
    for (unsigned row = map->last_row + 1; row-- > map->first_row;) {
        part_cell(text, human_bytes(bin_begin(row * 2)).text, LABEL);
        strbuf_add_string(&text->out, style_sign(&text->style, " │", " |"));
        style_begin(&text->out, &text->style, TONE_AREA);
        for (size_t column = 0; column < map->columns; column++)
            strbuf_add_string(&text->out, shade(&text->style, map->counts[row][column], map->most));
        style_end(&text->out, &text->style);
        part_end(text);
    }
    strbuf_add_repeated(&text->out, " ", LABEL + 2);
    struct human left = human(map->left_of), right = human(map->right_of);
    size_t gap = map->columns > text_width(left.text) + text_width(right.text)
                     ? map->columns - text_width(left.text) - text_width(right.text)
                     : 1;
    strbuf_addf(&text->out, "%s%*s%s\n", left.text, (int)gap, "", right.text);
}

/* Sizes by powers of four. */
static unsigned map_row(uint64_t bytes)
{
    unsigned row = bin_of(bytes) / 2;
    return row < MAP_ROWS ? row : MAP_ROWS - 1;
}

static void map_put(struct map *map, size_t column, const struct distribution_row *row)
{
    unsigned at = map_row(row->y);
    uint64_t *cell = &map->counts[at][column < map->columns ? column : map->columns - 1];
    *cell += row->count;
    map->most = *cell > map->most ? *cell : map->most;
    map->first_row = at < map->first_row ? at : map->first_row;
    map->last_row = at > map->last_row ? at : map->last_row;
}

static void add_life_map(struct text *text)
{
    struct rows rows = rows_of(text->profile, DISTRIBUTION_LIFETIME_SIZE);
    struct map map = {.first_row = MAP_ROWS};
    unsigned first = BINS, last = 0;
    for (size_t i = 0; i < rows.count; i++) {
        first = bin_of(rows.at[i].x) < first ? bin_of(rows.at[i].x) : first;
        last = bin_of(rows.at[i].x) > last ? bin_of(rows.at[i].x) : last;
    }
    if (!rows.count)
        return;
    map.columns = last - first + 1 < MAP_COLUMNS ? last - first + 1 : MAP_COLUMNS;
    map.left_of = bin_begin(first);
    map.right_of = bin_begin(last);
    for (size_t i = 0; i < rows.count; i++)
        map_put(&map, bin_of(rows.at[i].x) - first, &rows.at[i]);
    add_map(text, &map, "Lifetime and size", human_duration);
}

static void add_time_map(struct text *text)
{
    struct rows rows = rows_of(text->profile, DISTRIBUTION_TIME_SIZE);
    struct map map = {.first_row = MAP_ROWS, .columns = MAP_COLUMNS};
    for (size_t i = 0; i < rows.count; i++)
        map.right_of = rows.at[i].x > map.right_of ? rows.at[i].x : map.right_of;
    if (!rows.count)
        return;
    for (size_t i = 0; i < rows.count; i++)
        map_put(&map, (size_t)((double)rows.at[i].x / ((double)map.right_of + 1) * MAP_COLUMNS),
                &rows.at[i]);
    add_map(text, &map, "Sizes over time", human_duration);
}

/* ---- Sections ------------------------------------------------------------------------------ */

int section_sizes(struct text *text)
{
    add_bars(text, DISTRIBUTION_SIZE, "Block sizes", "from", human_bytes, 1);
    int error = add_commonest(text, DISTRIBUTION_SIZE_EXACT, "Commonest sizes", "");
    add_time_map(text);
    return error;
}

int section_lifetimes(struct text *text)
{
    add_bars(text, DISTRIBUTION_LIFETIME, "Lifetimes", "from", human_duration, 2);
    add_life_map(text);
    return 0;
}

static int add_jumps(struct text *text)
{
    struct rows rows = rows_of(text->profile, DISTRIBUTION_REALLOC);
    uint64_t *counts = calloc(rows.count + 1, sizeof *counts), most = 0;
    for (size_t i = 0; counts && i < rows.count; i++) {
        counts[i] = rows.at[i].count;
        most = counts[i] > most ? counts[i] : most;
    }
    uint32_t *order = counts ? order_values(counts, rows.count) : NULL;
    free(counts);
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < rows.count && i < text->options->top; i++) {
        const struct distribution_row *row = &rows.at[order[i]];
        part_cell(text, human_bytes(row->x).text, LABEL);
        strbuf_add_string(&text->out, style_sign(&text->style, " → ", " > "));
        part_cell(text, human_bytes(row->y).text, 9);
        part_figure(text, human_count(row->count).text, COUNT);
        strbuf_add_string(&text->out, "  ");
        part_bar(text, 0, (double)row->count, (double)most,
                 text->style.columns - LABEL - 12 - COUNT - 2);
        strbuf_add_char(&text->out, '\n');
    }
    if (!rows.count)
        part_note(text, "from what to what was not recorded");
    free(order);
    return 0;
}

int section_reallocs(struct text *text)
{
    const struct call_metrics *total = &text->profile->program.total;
    struct strbuf rest = STRBUF_INIT;
    if (total->realloc_count == UINT64_MAX) {
        part_title(text, "Reallocations", "not recorded");
        return 0;
    }
    strbuf_addf(&rest, "%s", human_exact(total->realloc_count).text);
    if (total->realloc_count)
        strbuf_addf(&rest, ", %s of them moved the block; sizes by powers of two",
                    human_percent((double)total->realloc_moved, (double)total->realloc_count).text);
    part_title(text, "Reallocations", rest.data);
    strbuf_release(&rest);
    if (!total->realloc_count) {
        part_note(text, "nothing was reallocated");
        return 0;
    }
    int error = add_jumps(text);
    if (!error)
        error = add_commonest(text, DISTRIBUTION_REALLOC_GROW, "Grown by", "+");
    if (!error)
        error = add_commonest(text, DISTRIBUTION_REALLOC_SHRINK, "Shrunk by", "-");
    return error;
}
