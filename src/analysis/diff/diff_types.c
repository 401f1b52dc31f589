/* Compares live blocks by type (diff_types.h). The types of both recordings are merged by name, and
 * sorted by how much they changed. */
#include "diff/diff_types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "aggregate/live_types.h"
#include "base/human.h"
#include "base/json.h"
#include "base/text_table.h"
#include "format/names.h"

enum { FIGURE = 11, COUNT = 10, COLUMNS = 5, USED = 3 * FIGURE + COUNT + 2 };

static const struct text_column columns[] = {{"difference", FIGURE, TEXT_RIGHT, 0},
                                             {"before", FIGURE, TEXT_RIGHT, 0},
                                             {"after", FIGURE, TEXT_RIGHT, 0},
                                             {"blocks", COUNT, TEXT_RIGHT, 0},
                                             {"type", 0, TEXT_LEFT, 2}};

enum { BEFORE, AFTER, SIDES };

struct type_change {
    const char *name;
    uint64_t count[SIDES], bytes[SIDES];
};

struct type_changes {
    struct live_types sides[SIDES];
    struct type_change *rows;
    size_t count, unchanged; /* the unchanged stand last */
};

/* ---- Making it ------------------------------------------------------------------------------- */

const char *diff_types_missing(const struct profile *profile)
{
    for (size_t i = 0; i < profile->sample_count; i++)
        if (figure_known(profile->samples[i].class_count))
            return NULL;
    return "no look has asked live blocks for their types (tidemark record --types)";
}

static int64_t diff_types_by(const struct type_change *row)
{
    return (int64_t)(row->bytes[AFTER] - row->bytes[BEFORE]);
}

static bool diff_types_is_same(const struct type_change *row)
{
    return row->bytes[AFTER] == row->bytes[BEFORE] && row->count[AFTER] == row->count[BEFORE];
}

static int diff_types_compare_names(const void *left, const void *right)
{
    const struct type_change *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static int diff_types_compare(const void *left, const void *right)
{
    const struct type_change *a = left, *b = right;
    uint64_t of_a = (uint64_t)llabs(diff_types_by(a)), of_b = (uint64_t)llabs(diff_types_by(b));
    if (diff_types_is_same(a) != diff_types_is_same(b))
        return diff_types_is_same(a) ? 1 : -1;
    if (of_a != of_b)
        return of_a < of_b ? 1 : -1;
    return strcmp(a->name, b->name);
}

static void diff_types_merge(struct type_changes *changes)
{
    size_t kept = 0;
    qsort(changes->rows, changes->count, sizeof *changes->rows, diff_types_compare_names);
    for (size_t i = 0; i < changes->count; i++) {
        struct type_change *last = kept ? &changes->rows[kept - 1] : NULL;
        if (!last || strcmp(last->name, changes->rows[i].name)) {
            changes->rows[kept++] = changes->rows[i];
            continue;
        }
        for (int side = 0; side < SIDES; side++) {
            last->count[side] += changes->rows[i].count[side];
            last->bytes[side] += changes->rows[i].bytes[side];
        }
    }
    changes->count = kept;
    qsort(changes->rows, kept, sizeof *changes->rows, diff_types_compare);
    for (size_t i = 0; i < kept; i++)
        changes->unchanged += diff_types_is_same(&changes->rows[i]);
}

static void diff_types_release(struct type_changes *changes)
{
    for (int side = 0; side < SIDES; side++)
        live_types_release(&changes->sides[side]);
    free(changes->rows);
}

static int diff_types_make(struct type_changes *changes, const struct profile *before,
                           const struct profile *after)
{
    const struct profile *profiles[SIDES] = {before, after};
    *changes = (struct type_changes){0};
    for (int side = 0; side < SIDES; side++) {
        int error = live_types_init(&changes->sides[side], profiles[side], NULL);
        if (error) {
            diff_types_release(changes);
            return error;
        }
    }
    size_t most = changes->sides[BEFORE].count + changes->sides[AFTER].count;
    changes->rows = calloc(most + 1, sizeof *changes->rows);
    if (!changes->rows) {
        diff_types_release(changes);
        return -ENOMEM;
    }
    for (int side = 0; side < SIDES; side++)
        for (size_t i = 0; i < changes->sides[side].count; i++) {
            const struct live_type *type = &changes->sides[side].rows[i];
            struct type_change *row = &changes->rows[changes->count++];
            row->name = type->name;
            row->count[side] = type->count;
            row->bytes[side] = type->bytes;
        }
    diff_types_merge(changes);
    return 0;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static struct human diff_types_signed(int64_t by, struct human (*human)(uint64_t),
                                      const struct style *style)
{
    struct human plain = human((uint64_t)llabs(by)), out;
    if (!by)
        return (struct human){"0"};
    snprintf(out.text, sizeof out.text, "%s%.24s", by > 0 ? "+" : style_sign(style, "−", "-"),
             plain.text);
    return out;
}

static void diff_types_add_side(struct strbuf *out, const char *title,
                                const struct live_types *types)
{
    strbuf_addf(out, "%s  %s in %s blocks of a known type, %s (%s after the start)\n", title,
                human_bytes(types->bytes).text, human_exact(types->blocks).text,
                profile_sample_when(types->sample), human_duration(types->sample->time_ns).text);
}

static void diff_types_add_row(struct strbuf *out, const struct type_change *row,
                               const struct style *style)
{
    int64_t blocks = (int64_t)(row->count[AFTER] - row->count[BEFORE]);
    struct text_row cells = text_row_begin(out, columns);
    text_row_add(&cells, diff_types_signed(diff_types_by(row), human_bytes, style).text);
    text_row_add(&cells, human_bytes(row->bytes[BEFORE]).text);
    text_row_add(&cells, human_bytes(row->bytes[AFTER]).text);
    text_row_add(&cells, diff_types_signed(blocks, human_count, style).text);
    text_row_add(&cells, "");
    name_add_type(out, row->name, style->columns > USED ? style->columns - USED : 0);
    strbuf_add_char(out, '\n');
}

int diff_types_text(FILE *out, const struct profile *before, const struct profile *after,
                    const struct diff_show *show)
{
    struct type_changes changes;
    struct strbuf text = STRBUF_INIT;
    int error = diff_types_make(&changes, before, after);
    if (error)
        return error;
    diff_types_add_side(&text, "before", &changes.sides[BEFORE]);
    diff_types_add_side(&text, "after ", &changes.sides[AFTER]);
    size_t changed = changes.count - changes.unchanged;
    size_t shown = show->top && changed > show->top ? show->top : changed;
    strbuf_add_char(&text, '\n');
    if (shown) {
        text_row_add_headings(&text, columns, COLUMNS);
        strbuf_add_char(&text, '\n');
    }
    for (size_t i = 0; i < shown; i++)
        diff_types_add_row(&text, &changes.rows[i], &show->style);
    if (changed > shown)
        strbuf_addf(&text, "  %zu more (--top)\n", changed - shown);
    strbuf_addf(&text, "  %zu types did not change\n", changes.unchanged);
    errno = 0;
    if (fwrite(text.data, 1, text.length, out) != text.length)
        error = errno ? -errno : -EIO;
    strbuf_release(&text);
    diff_types_release(&changes);
    return error;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void diff_types_write_side(struct json *json, const char *name,
                                  const struct live_types *types)
{
    json_object(json, name);
    json_string(json, "at", profile_sample_name(types->sample));
    json_unsigned(json, "time_ns", types->sample->time_ns);
    json_unsigned(json, "count", types->blocks);
    json_unsigned(json, "bytes", types->bytes);
    json_end(json);
}

static void diff_types_write_row(struct json *json, const struct type_change *row)
{
    json_object(json, NULL);
    json_string(json, "name", row->name);
    json_unsigned(json, "bytes_before", row->bytes[BEFORE]);
    json_unsigned(json, "bytes_after", row->bytes[AFTER]);
    json_unsigned(json, "count_before", row->count[BEFORE]);
    json_unsigned(json, "count_after", row->count[AFTER]);
    json_end(json);
}

int diff_types_json(FILE *out, const struct profile *before, const struct profile *after,
                    const struct diff_show *show)
{
    struct type_changes changes;
    int error = diff_types_make(&changes, before, after);
    if (error)
        return error;
    struct json json = json_begin(out, true);
    json_object(&json, NULL);
    json_string(&json, "format", "tidemark-diff-types");
    json_unsigned(&json, "version", 1);
    json_string(&json, "tool", "tidemark " TIDEMARK_VERSION);
    diff_types_write_side(&json, "before", &changes.sides[BEFORE]);
    diff_types_write_side(&json, "after", &changes.sides[AFTER]);
    json_unsigned(&json, "type_count", changes.count);
    json_array(&json, "types");
    for (size_t i = 0; i < changes.count && (!show->top || i < show->top); i++)
        diff_types_write_row(&json, &changes.rows[i]);
    json_end(&json);
    json_end(&json);
    diff_types_release(&changes);
    return json_finish(&json);
}
