/* Writes the sections on sizes, lifetimes and reallocations. One distribution is a row of bars, by
 * powers of two or four; two of them together are a map of shades. */
#include "report/report_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "model/figure_human.h"

enum { LABEL = 12, COUNT = 10, SHARE = 8, GAP = 2, BINS = 66, MAP_ROWS = 24, MAP_COLUMNS = 48 };

typedef struct human human_of(uint64_t value);

/* The rows of a kind, which lie together. */
struct rows {
    const struct distribution_row *at;
    size_t count;
};
static struct rows report_text_distributions_rows_of(const struct profile *profile, uint32_t kind)
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
static unsigned distributions_bin_of(uint64_t value)
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}
static uint64_t report_text_distributions_bin_begin(unsigned bin)
{
    return bin ? 1ull << (bin - 1) : 0;
}

/* ---- Bars ---------------------------------------------------------------------------------- */

struct bins {
    uint64_t count[BINS], bytes[BINS];
    uint64_t total, total_bytes, most;
    unsigned first, last, step; /* bins are shown `step` together */
};

/* Adds fine bins up to powers of two, or of four where there would be too many lines. */
static struct bins report_text_distributions_bins_from(struct rows rows, unsigned step)
{
    struct bins bins = {.first = BINS, .step = step};
    for (size_t i = 0; i < rows.count; i++) {
        unsigned bin = distributions_bin_of(rows.at[i].x);
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

enum { BIN_HEADINGS = 4, BIN_COLUMNS = 6 };

static void report_text_distributions_lay_out(struct text_column *columns, const char *of)
{
    columns[0] = (struct text_column){of, LABEL, TEXT_RIGHT, 0};
    columns[1] = (struct text_column){"blocks", COUNT, TEXT_RIGHT, 0};
    columns[2] = (struct text_column){"", SHARE, TEXT_RIGHT, 0};
    columns[3] = (struct text_column){"bytes", COUNT, TEXT_RIGHT, 0};
    columns[4] = columns[2];
    columns[5] = (struct text_column){"", 0, TEXT_LEFT, 2};
}

static void report_text_distributions_add_bin(struct report_text *text, const struct bins *bins,
                                              unsigned bin, human_of *human)
{
    size_t used = LABEL + 2 * (COUNT + SHARE) + 2;
    report_part_next(text, human(report_text_distributions_bin_begin(bin)).text);
    report_part_next_figure(text, human_count(bins->count[bin]).text);
    report_part_next(text, human_percent((double)bins->count[bin], (double)bins->total).text);
    report_part_next(text, human_bytes(bins->bytes[bin]).text);
    report_part_next(text, human_percent((double)bins->bytes[bin], (double)bins->total_bytes).text);
    report_part_next(text, "");
    report_part_bar(text, 0, (double)bins->count[bin], (double)bins->most,
                    text->style.columns - used);
}

static void report_text_distributions_add_bins(struct report_text *text, const struct bins *bins,
                                               human_of *human, const char *of)
{
    struct text_column columns[BIN_COLUMNS];
    report_text_distributions_lay_out(columns, of);
    report_part_headings(text, columns, BIN_HEADINGS);
    for (unsigned i = bins->first; i <= bins->last; i += i ? bins->step : 1) {
        if (!bins->count[i] && i && !bins->count[i - 1 ? i - bins->step : 0])
            continue; /* one line stands for several empty ones */
        report_part_row(text, columns);
        if (bins->count[i])
            report_text_distributions_add_bin(text, bins, i, human);
        else
            report_part_next(text, style_sign(&text->style, "…", "..."));
        strbuf_add_char(&text->out, '\n');
    }
}

static bool report_text_distributions_add_bars(struct report_text *text, uint32_t kind,
                                               const char *title, const char *of, human_of *human,
                                               unsigned step)
{
    struct rows rows = report_text_distributions_rows_of(text->profile, kind);
    struct bins bins = report_text_distributions_bins_from(rows, step);
    struct strbuf rest = STRBUF_INIT;
    if (rows.count) {
        strbuf_addf(&rest, "of %s blocks, ", human_count(bins.total).text);
        strbuf_addf(&rest, "%s", human_bytes(bins.total_bytes).text);
    }
    report_part_title(text, title, rest.data);
    if (rows.count)
        report_text_distributions_add_bins(text, &bins, human, of);
    else
        report_part_note(text, "not recorded");
    strbuf_release(&rest);
    return rows.count > 0;
}

/* ---- The commonest values ------------------------------------------------------------------ */

enum { EXACT = LABEL + 4 };
static const struct text_column report_text_distributions_exact_columns[] = {
    {NULL, EXACT, TEXT_RIGHT, 0},
    {NULL, COUNT, TEXT_RIGHT, 0},
    {NULL, COUNT, TEXT_RIGHT, 0},
    {NULL, 0, TEXT_LEFT, GAP}};

/* The rows by their counts, and the largest count. NULL: no memory. */
static uint32_t *report_text_distributions_order(const struct rows *rows, uint64_t *most)
{
    struct figure *counts = calloc(rows->count + 1, sizeof *counts);
    *most = 0;
    for (size_t i = 0; counts && i < rows->count; i++) {
        counts[i] = figure_of(rows->at[i].count);
        *most = rows->at[i].count > *most ? rows->at[i].count : *most;
    }
    uint32_t *order = counts ? order_values(counts, rows->count) : NULL;
    free(counts);
    return order;
}

static int report_text_distributions_add_commonest(struct report_text *text, uint32_t kind,
                                                   const char *title, const char *sign)
{
    struct rows rows = report_text_distributions_rows_of(text->profile, kind);
    if (!rows.count)
        return 0;
    uint64_t most;
    uint32_t *order = report_text_distributions_order(&rows, &most);
    if (!order)
        return -ENOMEM;
    report_part_title(text, title, NULL);
    for (size_t i = 0; i < rows.count && i < text->options->top; i++) {
        const struct distribution_row *row = &rows.at[order[i]];
        struct strbuf size = STRBUF_INIT;
        strbuf_addf(&size, "%s%s B", sign, human_exact(row->x).text);
        report_part_row(text, report_text_distributions_exact_columns);
        report_part_next(text, size.data);
        report_part_next_figure(text, human_count(row->count).text);
        report_part_next(text, human_bytes(row->bytes).text);
        report_part_next(text, "");
        report_part_bar(text, 0, (double)row->count, (double)most,
                        text->style.columns - EXACT - 2 * COUNT - GAP);
        strbuf_add_char(&text->out, '\n');
        strbuf_release(&size);
    }
    free(order);
    return 0;
}

/* ---- Maps ---------------------------------------------------------------------------------- */

/* Columns are bins of x, or parts of a span; rows are bins of y. */
struct distributions_map {
    uint64_t counts[MAP_ROWS][MAP_COLUMNS];
    uint64_t most, left_of, right_of;
    unsigned first_row, last_row;
    size_t columns;
};

static const char *report_text_distributions_shade(const struct style *style, uint64_t count,
                                                   uint64_t most)
{
    static const char *const utf8[] = {"·", "░", "▒", "▓", "█"};
    static const char *const ascii[] = {".", ":", "+", "#", "@"};
    if (!count)
        return " ";
    /* By powers of four below the largest: counts differ by orders of magnitude. */
    unsigned below = (distributions_bin_of(most) - distributions_bin_of(count)) / 2;
    return (style->utf8 ? utf8 : ascii)[below > 4 ? 0 : 4 - below];
}

static const struct text_column report_text_distributions_map_columns[] = {
    {NULL, LABEL, TEXT_RIGHT, 0}};

static void report_text_distributions_add_map(struct report_text *text,
                                              const struct distributions_map *map,
                                              const char *title, human_of *human)
{
    report_part_title(text, title, "darker: more blocks, by powers of four");
    for (unsigned row = map->last_row + 1; row-- > map->first_row;) {
        report_part_row(text, report_text_distributions_map_columns);
        report_part_next(text, human_bytes(report_text_distributions_bin_begin(row * 2)).text);
        strbuf_add_string(&text->out, style_sign(&text->style, " │", " |"));
        style_begin(&text->out, &text->style, TONE_AREA);
        for (size_t column = 0; column < map->columns; column++)
            strbuf_add_string(&text->out, report_text_distributions_shade(
                                              &text->style, map->counts[row][column], map->most));
        style_end(&text->out, &text->style);
        report_part_end(text);
    }
    strbuf_add_repeated(&text->out, " ", LABEL + 2);
    struct human left = human(map->left_of), right = human(map->right_of);
    size_t gap = map->columns > text_width(left.text) + text_width(right.text)
                     ? map->columns - text_width(left.text) - text_width(right.text)
                     : 1;
    strbuf_addf(&text->out, "%s%*s%s\n", left.text, (int)gap, "", right.text);
}

/* Sizes by powers of four. */
static unsigned report_text_distributions_map_row(uint64_t bytes)
{
    unsigned row = distributions_bin_of(bytes) / 2;
    return row < MAP_ROWS ? row : MAP_ROWS - 1;
}

static void report_text_distributions_map_put(struct distributions_map *map, size_t column,
                                              const struct distribution_row *row)
{
    unsigned at = report_text_distributions_map_row(row->y);
    uint64_t *cell = &map->counts[at][column < map->columns ? column : map->columns - 1];
    *cell += row->count;
    map->most = *cell > map->most ? *cell : map->most;
    map->first_row = at < map->first_row ? at : map->first_row;
    map->last_row = at > map->last_row ? at : map->last_row;
}

static void report_text_distributions_add_life_map(struct report_text *text)
{
    struct rows rows = report_text_distributions_rows_of(text->profile, DISTRIBUTION_LIFETIME_SIZE);
    struct distributions_map map = {.first_row = MAP_ROWS};
    unsigned first = BINS, last = 0;
    for (size_t i = 0; i < rows.count; i++) {
        first =
            distributions_bin_of(rows.at[i].x) < first ? distributions_bin_of(rows.at[i].x) : first;
        last =
            distributions_bin_of(rows.at[i].x) > last ? distributions_bin_of(rows.at[i].x) : last;
    }
    if (!rows.count)
        return;
    map.columns = last - first + 1 < MAP_COLUMNS ? last - first + 1 : MAP_COLUMNS;
    map.left_of = report_text_distributions_bin_begin(first);
    map.right_of = report_text_distributions_bin_begin(last);
    for (size_t i = 0; i < rows.count; i++)
        report_text_distributions_map_put(&map, distributions_bin_of(rows.at[i].x) - first,
                                          &rows.at[i]);
    report_text_distributions_add_map(text, &map, "Lifetime and size", human_duration);
}

static void report_text_distributions_add_time_map(struct report_text *text)
{
    struct rows rows = report_text_distributions_rows_of(text->profile, DISTRIBUTION_TIME_SIZE);
    struct distributions_map map = {.first_row = MAP_ROWS, .columns = MAP_COLUMNS};
    for (size_t i = 0; i < rows.count; i++)
        map.right_of = rows.at[i].x > map.right_of ? rows.at[i].x : map.right_of;
    if (!rows.count)
        return;
    for (size_t i = 0; i < rows.count; i++)
        report_text_distributions_map_put(
            &map, (size_t)((double)rows.at[i].x / ((double)map.right_of + 1) * MAP_COLUMNS),
            &rows.at[i]);
    report_text_distributions_add_map(text, &map, "Sizes over time", human_duration);
}

/* ---- Sections ------------------------------------------------------------------------------ */

int report_section_sizes(struct report_text *text)
{
    report_text_distributions_add_bars(text, DISTRIBUTION_SIZE, "Block sizes", "from", human_bytes,
                                       1);
    int error = report_text_distributions_add_commonest(text, DISTRIBUTION_SIZE_EXACT,
                                                        "Commonest sizes", "");
    report_text_distributions_add_time_map(text);
    return error;
}

int report_section_lifetimes(struct report_text *text)
{
    report_text_distributions_add_bars(text, DISTRIBUTION_LIFETIME, "Lifetimes", "from",
                                       human_duration, 2);
    report_text_distributions_add_life_map(text);
    return 0;
}

enum { JUMP_TO = 9, ARROW = 3 };
static const struct text_column report_text_distributions_jump_columns[] = {
    {NULL, LABEL, TEXT_RIGHT, 0},
    {NULL, ARROW, TEXT_LEFT, 0},
    {NULL, JUMP_TO, TEXT_RIGHT, 0},
    {NULL, COUNT, TEXT_RIGHT, 0},
    {NULL, 0, TEXT_LEFT, GAP}};

static int report_text_distributions_add_jumps(struct report_text *text)
{
    struct rows rows = report_text_distributions_rows_of(text->profile, DISTRIBUTION_REALLOC);
    uint64_t most;
    uint32_t *order = report_text_distributions_order(&rows, &most);
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < rows.count && i < text->options->top; i++) {
        const struct distribution_row *row = &rows.at[order[i]];
        report_part_row(text, report_text_distributions_jump_columns);
        report_part_next(text, human_bytes(row->x).text);
        report_part_next(text, style_sign(&text->style, " → ", " > "));
        report_part_next(text, human_bytes(row->y).text);
        report_part_next_figure(text, human_count(row->count).text);
        report_part_next(text, "");
        report_part_bar(text, 0, (double)row->count, (double)most,
                        text->style.columns - LABEL - ARROW - JUMP_TO - COUNT - GAP);
        strbuf_add_char(&text->out, '\n');
    }
    if (!rows.count)
        report_part_note(text, "from what to what was not recorded");
    free(order);
    return 0;
}

int report_section_reallocs(struct report_text *text)
{
    const struct call_metrics *total = &text->profile->program.total;
    struct strbuf rest = STRBUF_INIT;
    if (!figure_known(total->realloc_count)) {
        report_part_title(text, "Reallocations", "not recorded");
        return 0;
    }
    strbuf_addf(&rest, "%s", figure_human_exact(total->realloc_count).text);
    if (figure_positive(total->realloc_count))
        strbuf_addf(
            &rest, ", %s of them moved the block; sizes by powers of two",
            human_percent(figure_double(total->realloc_moved), figure_double(total->realloc_count))
                .text);
    report_part_title(text, "Reallocations", rest.data);
    strbuf_release(&rest);
    if (figure_zero(total->realloc_count)) {
        report_part_note(text, "nothing was reallocated");
        return 0;
    }
    int error = report_text_distributions_add_jumps(text);
    if (!error)
        error = report_text_distributions_add_commonest(text, DISTRIBUTION_REALLOC_GROW, "Grown by",
                                                        "+");
    if (!error)
        error = report_text_distributions_add_commonest(text, DISTRIBUTION_REALLOC_SHRINK,
                                                        "Shrunk by", "-");
    return error;
}
