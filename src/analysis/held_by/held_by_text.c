/* Holders for people: a sentence that says how much is held, and the tree.
 *
 *     retained   of all       blocks  held by
 *     10.7 MiB   53.5 %      200,000  table                               variable of gt
 *     10.7 MiB   53.5 %      200,000    main                                   gt.cpp:19
 *
 * Of two profiles: by how much each has grown, and to what. */
#include "held_by/held_by_gather.h"

#include <errno.h>
#include <stdlib.h>
#include "base/human.h"
#include "base/text.h"
#include "base/text_table.h"
#include "format/names.h"
#include "model/figure_human.h"

enum { NAME_AT = 36, INDENT = 2 };

static const struct text_column columns[] = {
    {"retained", 12, TEXT_RIGHT, 0},
    {"of all", 9, TEXT_RIGHT, 0},
    {"blocks", 13, TEXT_RIGHT, 0},
    {"held by", 0, TEXT_LEFT, 2},
};
static const struct text_column grown_columns[] = {
    {"grown by", 12, TEXT_RIGHT, 0},
    {"to", 11, TEXT_RIGHT, 0},
    {"blocks", 11, TEXT_RIGHT, 0},
    {"held by", 0, TEXT_LEFT, 2},
};

/* ---- Names ----------------------------------------------------------------------------------- */

static void held_by_add_thread(struct strbuf *out, const struct profile_holder *holder)
{
    uint64_t tid;
    strbuf_add_string(out, " of thread");
    if (holder->name) {
        strbuf_add_char(out, ' ');
        strbuf_add_string(out, holder->name);
    }
    if (figure_get(holder->thread, &tid))
        strbuf_addf(out, " (%llu)", (unsigned long long)tid);
}

void held_by_add_what(struct strbuf *out, const struct profile_holder *holder)
{
    switch (holder->kind) {
    case PROFILE_HOLDER_VARIABLE:
    case PROFILE_HOLDER_SEVERAL:
        if (holder->module) {
            strbuf_add_string(out, "variable of ");
            text_add_safe_string(out, held_by_library(holder));
        }
        if (holder->kind == PROFILE_HOLDER_SEVERAL)
            strbuf_add_string(out, holder->module ? ", and others" : "and others");
        break;
    case PROFILE_HOLDER_MODULE_VARIABLE:
        strbuf_add_string(out, "variable of module ");
        text_add_safe_string(out, holder->module ? holder->module : "(unnamed)");
        break;
    case PROFILE_HOLDER_CLASS:
        strbuf_add_string(out, "class");
        break;
    case PROFILE_HOLDER_MAPPING:
        strbuf_add_string(out, "mapped by the program");
        break;
    default:
        break;
    }
}

void held_by_add_name(struct strbuf *out, const struct profile_holder *holder)
{
    switch (holder->kind) {
    case PROFILE_HOLDER_TLS:
        strbuf_add_string(out, "thread-local variables");
        held_by_add_thread(out, holder);
        break;
    case PROFILE_HOLDER_STACK:
        strbuf_add_string(out, "stack");
        held_by_add_thread(out, holder);
        break;
    case PROFILE_HOLDER_REGISTERS:
        strbuf_add_string(out, "registers, or only the kernel");
        break;
    case PROFILE_HOLDER_ALLOCATOR:
        strbuf_add_string(out, "allocator: free, or blocks that are not known");
        break;
    case PROFILE_HOLDER_REST:
        strbuf_addf(out, "%s more", human_exact(holder->merged).text);
        break;
    case PROFILE_HOLDER_SEVERAL:
        strbuf_add_string(out, holder->name ? holder->name : "mappings");
        break;
    default:
        strbuf_add_string(out, holder->name ? holder->name : "(unnamed)");
    }
}

void held_by_add_short(struct strbuf *out, const struct held_by_side *side,
                       const struct profile_holder *holder)
{
    enum { COLUMNS = 60 };
    struct held_by_together together = held_by_together_of(side->profile, holder);
    if (holder->kind == PROFILE_HOLDER_SEVERAL && together.count) {
        held_by_add_together(out, side, &together, COLUMNS);
        return;
    }
    struct strbuf name = STRBUF_INIT;
    held_by_add_name(&name, holder);
    name_add_short(out, name.data, 40);
    bool is_several = holder->kind == PROFILE_HOLDER_SEVERAL;
    bool is_variable =
        holder->kind == PROFILE_HOLDER_VARIABLE || holder->kind == PROFILE_HOLDER_MODULE_VARIABLE ||
        (is_several && holder->name && *holder->name == '('); /* a module's without a name */
    if (is_variable && holder->module) {
        strbuf_add_string(out, " of ");
        text_add_safe_string(out, held_by_library(holder));
    }
    if (is_several)
        strbuf_add_string(out, " and others");
    strbuf_release(&name);
}

static bool held_by_has_frame(const struct profile_holder *holder)
{
    return holder->kind == PROFILE_HOLDER_BLOCKS || holder->kind == PROFILE_HOLDER_PATH ||
           (holder->kind == PROFILE_HOLDER_MAPPING && holder->path);
}

/* Adds a text that is no name of a function, and is therefore not shortened. */
static void held_by_add_plain(struct strbuf *out, const struct style *style, const char *text,
                              bool strong)
{
    struct strbuf safe = STRBUF_INIT;
    text_add_safe_string(&safe, text);
    if (strong)
        style_add(out, style, TONE_TITLE, safe.data ? safe.data : "");
    else
        strbuf_add_string(out, safe.data ? safe.data : "");
    strbuf_add_char(out, '\n');
    strbuf_release(&safe);
}

void held_by_add_line(struct strbuf *out, const struct style *style,
                      const struct held_by_side *side, const struct profile_holder *holder,
                      size_t used, bool strong)
{
    struct strbuf name = STRBUF_INIT, what = STRBUF_INIT;
    struct frame_walk walk;
    if (held_by_has_frame(holder)) {
        struct frame frame = frame_walk_begin(&walk, side->profile, side->hidden, holder->path);
        if (holder->kind == PROFILE_HOLDER_MAPPING) {
            strbuf_add_string(out, "mapping of ");
            used += 11;
        }
        frame_add_line(out, style, side->profile, frame, used, strong);
        return;
    }
    held_by_add_name(&name, holder);
    held_by_add_what(&what, holder);
    if (what.length)
        frame_add_columns(out, style, name.data, what.data, used, strong);
    else
        held_by_add_plain(out, style, name.data, strong);
    strbuf_release(&name);
    strbuf_release(&what);
}

/* ---- Head ------------------------------------------------------------------------------------ */

static void held_by_add_when(struct strbuf *out, const struct profile_sample *sample)
{
    strbuf_add_string(out, profile_sample_when(sample));
    strbuf_addf(out, " (%s after the start)", human_duration(sample->time_ns).text);
}

static void held_by_add_sum(struct strbuf *out, const struct held_by_sum *sum)
{
    strbuf_addf(out, "%s in %s block%s", human_bytes(sum->bytes).text, human_exact(sum->count).text,
                human_plural(sum->count));
}

/* An interpreter's objects that only point to each other are no leak. Its variables are in the
 * profile, whatever the rows are of. */
static bool held_by_has_collector(const struct held_by *holders)
{
    const struct profile *profile = holders->now.profile;
    uint32_t sample = holders->now.sample->id;
    for (size_t i = held_by_first_of(profile, sample);
         i < profile->holder_count && profile->holders[i].sample == sample; i++)
        if (profile->holders[i].kind == PROFILE_HOLDER_MODULE_VARIABLE)
            return true;
    return false;
}

/* Blocks that only a buffer of stdio has the address of are held by nobody, and yet not lost. */
static const char *held_by_lost_words(const struct held_by *holders)
{
    const struct profile_sample *sample = holders->now.sample;
    uint64_t lost;
    if (held_by_has_collector(holders))
        return " by nobody: lost, or for the garbage collector to find";
    if (figure_get(figure_add(sample->lost_count, sample->indirect_count), &lost) &&
        holders->lost.count > lost)
        return " by nobody: lost (tidemark leaks), or only a buffer of stdio has the address";
    return " lost (tidemark leaks)";
}

static void held_by_add_filter(struct strbuf *out, const struct held_by *holders)
{
    bool is_of_types = holders->by == HELD_BY_TYPE;
    if (!holders->filter)
        return;
    strbuf_add_string(out, is_of_types ? "\nonly blocks of call paths that pass the filter "
                                       : "\nonly call paths that pass the filter ");
    text_add_safe_string(out, holders->filter);
    strbuf_add_string(out, is_of_types ? "" : ", and what holds them");
}

static void held_by_add_verdict(struct strbuf *out, const struct held_by *holders,
                                const struct style *style)
{
    struct strbuf line = STRBUF_INIT;
    held_by_add_sum(&line, &holders->held);
    strbuf_add_string(&line, holders->held.count == 1 ? " is held" : " are held");
    style_add(out, style, TONE_TITLE, line.data);
    strbuf_release(&line);
    if (holders->lost.count) {
        strbuf_add_string(out, ", ");
        held_by_add_sum(out, &holders->lost);
        strbuf_add_string(out, held_by_lost_words(holders));
    }
    strbuf_add_char(out, '\n');
    held_by_add_when(out, holders->now.sample);
    if (holders->before.profile) {
        strbuf_add_string(out, "; before ");
        held_by_add_sum(out, &holders->old_held);
        strbuf_add_char(out, ' ');
        held_by_add_when(out, holders->before.sample);
    }
    held_by_add_filter(out, holders);
    strbuf_add_string(out, "\n\n");
}

/* ---- Rows ------------------------------------------------------------------------------------ */

struct held_by_showing {
    struct strbuf *out;
    const struct held_by *holders;
    const struct held_by_options *options;
};

static struct strbuf held_by_signed_bytes(int64_t bytes)
{
    struct strbuf text = STRBUF_INIT;
    uint64_t size = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
    strbuf_addf(&text, "%s%s", bytes < 0 ? "-" : "+", human_bytes(size).text);
    return text;
}

static void held_by_add_grown(struct text_row *cells, const struct held_by_row *row)
{
    int64_t count = (int64_t)(row->retained.count - row->old.count);
    struct strbuf grown = held_by_signed_bytes((int64_t)(row->retained.bytes - row->old.bytes));
    struct strbuf blocks = STRBUF_INIT;
    strbuf_addf(&blocks, "%s%s", count < 0 ? "-" : "+",
                human_exact(count < 0 ? 0 - (uint64_t)count : (uint64_t)count).text);
    text_row_add(cells, grown.data);
    text_row_add(cells, human_bytes(row->retained.bytes).text);
    text_row_add(cells, blocks.data);
    strbuf_release(&grown);
    strbuf_release(&blocks);
}

/* Of several: who they are. A row that two of one name have become says no more than the name. */
static bool held_by_add_several(const struct held_by_showing *showing,
                                const struct held_by_row *row, size_t depth)
{
    const struct held_by_side *side = held_by_side_of(showing->holders, row);
    const struct style *style = &showing->options->style;
    const struct held_by_sum *sum = row->is_old ? &row->old : &row->retained;
    size_t used = NAME_AT + INDENT * depth;
    if (row->of->kind != PROFILE_HOLDER_SEVERAL || showing->holders->by != HELD_BY_HOLDER)
        return false;
    struct held_by_together together = held_by_together_of(side->profile, row->of);
    if (!together.count || sum->bytes != row->of->retained_bytes)
        return false;
    struct strbuf names = STRBUF_INIT;
    held_by_add_together(&names, side, &together,
                         style->columns > used ? style->columns - used : 0);
    style_add(showing->out, style, TONE_TITLE, names.data);
    strbuf_add_char(showing->out, '\n');
    held_by_add_reach(showing->out, style, &together, row->of, used + INDENT);
    strbuf_release(&names);
    return true;
}

static void held_by_add_row(const struct held_by_showing *showing, const struct held_by_row *row,
                            size_t depth)
{
    const struct held_by *holders = showing->holders;
    bool is_grown = holders->before.profile != NULL;
    struct text_row cells = text_row_begin(showing->out, is_grown ? grown_columns : columns);
    struct profile_holder holder = *row->of;
    holder.merged = row->merged;
    if (holders->by == HELD_BY_LIBRARY && row->of->kind != PROFILE_HOLDER_REST) {
        holder.kind = PROFILE_HOLDER_KINDS; /* nothing but its name */
        holder.name = held_by_library_of(held_by_side_of(holders, row), row->of);
    }
    if (is_grown) {
        held_by_add_grown(&cells, row);
    } else {
        text_row_add(&cells, human_bytes(row->retained.bytes).text);
        text_row_add(&cells,
                     human_percent((double)row->retained.bytes, (double)holders->held.bytes).text);
        text_row_add(&cells, human_exact(row->retained.count).text);
    }
    if (row->type) {
        holder.kind = PROFILE_HOLDER_KINDS;
        holder.name = row->type;
    }
    text_row_add(&cells, "");
    strbuf_add_repeated(showing->out, " ", INDENT * depth);
    if (held_by_add_several(showing, row, depth))
        return;
    held_by_add_line(showing->out, &showing->options->style, held_by_side_of(holders, row), &holder,
                     NAME_AT + INDENT * depth, depth == 0);
}

static void held_by_add_more(const struct held_by_showing *showing, const uint32_t *children,
                             size_t from, size_t count, size_t depth)
{
    const struct held_by *holders = showing->holders;
    struct held_by_row sum = {0};
    struct profile_holder rest = {.kind = PROFILE_HOLDER_REST};
    for (size_t i = from; i < count; i++) {
        const struct held_by_row *row = &holders->rows[children[i]];
        sum.retained.bytes += row->retained.bytes;
        sum.retained.count += row->retained.count;
        sum.old.bytes += row->old.bytes;
        sum.old.count += row->old.count;
        sum.merged += row->of->kind == PROFILE_HOLDER_REST ? row->merged : 1;
    }
    sum.of = &rest;
    held_by_add_row(showing, &sum, depth);
}

static bool held_by_is_unchanged(const struct held_by *holders, const struct held_by_row *row)
{
    return holders->before.profile && row->retained.bytes == row->old.bytes;
}

/* Below a holder the first row that says more than the one above it: an object that keeps hardly
 * anything but what one other object keeps is passed over. In a comparison none is, because such an
 * object may be what has grown. */
static uint32_t held_by_pass_links(const struct held_by *holders, uint32_t row)
{
    enum { HARDLY = 100 }; /* one part in so many */
    for (size_t count;;) {
        uint32_t *children = held_by_children(holders, row, &count);
        uint64_t whole = holders->rows[row].retained.bytes;
        uint32_t first = count ? children[0] : HELD_BY_NONE;
        free(children);
        if (holders->before.profile || first == HELD_BY_NONE ||
            holders->rows[first].of->kind == PROFILE_HOLDER_REST ||
            holders->rows[first].retained.bytes < whole - whole / HARDLY)
            return row;
        row = first;
    }
}

static void held_by_add_children(const struct held_by_showing *showing, uint32_t parent,
                                 size_t depth)
{
    size_t count, top = showing->options->top;
    uint32_t *children = held_by_children(showing->holders, parent, &count);
    size_t shown = count > top ? top : count;
    for (size_t i = 0; i < shown && depth; i++)
        children[i] = held_by_pass_links(showing->holders, children[i]);
    for (size_t i = 0; i < shown; i++) {
        uint32_t number = children[i];
        const struct held_by_row *row = &showing->holders->rows[number];
        if (held_by_is_unchanged(showing->holders, row))
            continue;
        held_by_add_row(showing, row, depth);
        held_by_add_apart(showing->out, &showing->options->style, showing->holders, children, shown,
                          number, NAME_AT + INDENT * depth);
        if (depth + 1 < showing->options->depth)
            held_by_add_children(showing, number, depth + 1);
    }
    if (shown < count)
        held_by_add_more(showing, children, shown, count, depth);
    free(children);
}

static void held_by_add_untyped(struct strbuf *out, const struct held_by *holders)
{
    if (holders->by != HELD_BY_TYPE || !holders->untyped.count)
        return;
    strbuf_add_string(out, holders->count ? "\nOf " : "Of ");
    held_by_add_sum(out, &holders->untyped);
    strbuf_add_string(out, " the type is not known\n");
}

int held_by_text(FILE *out, const struct held_by *holders, const struct held_by_options *options)
{
    struct strbuf text = STRBUF_INIT;
    const struct held_by_showing showing = {&text, holders, options};
    bool is_grown = holders->before.profile != NULL;
    held_by_add_verdict(&text, holders, &options->style);
    if (holders->by != HELD_BY_TYPE || holders->count) {
        text_row_add_headings(&text, is_grown ? grown_columns : columns,
                              sizeof columns / sizeof *columns);
        strbuf_add_char(&text, '\n');
    }
    held_by_add_children(&showing, HELD_BY_NONE, 0);
    held_by_add_untyped(&text, holders);
    int error = fwrite(text.data, 1, text.length, out) == text.length && !fflush(out) ? 0 : -errno;
    strbuf_release(&text);
    return error;
}
