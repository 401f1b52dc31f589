/* Content for people: sums of each kind, and a table of the owners with the callers of paths.
 *
 *     to win  resident  zeros  copies    LZ4  whose
 *   64.0 MiB  64.0 MiB   99 %     1 %    0 %  blocks    create_bitmap                  bitmap.c:70
 *                                                       ↑ main                         main.c:8
 */
#include "content/content.h"

#include <errno.h>
#include "base/human.h"
#include "base/text.h"
#include "base/text_table.h"
#include "model/figure_human.h"

enum { CALLERS = 3, NAME_AT = 57, LEAST_PART = 1000 };

static const struct text_column columns[] = {
    {"to win", 10, TEXT_RIGHT, 0}, {"resident", 10, TEXT_RIGHT, 1}, {"zeros", 7, TEXT_RIGHT, 1},
    {"copies", 7, TEXT_RIGHT, 1},  {"LZ4", 7, TEXT_RIGHT, 1},       {"whose", 9, TEXT_LEFT, 2},
    {"", 0, TEXT_LEFT, 1},
};
static const struct text_column sums[] = {
    {"", 10, TEXT_RIGHT, 0}, {"", 8, TEXT_RIGHT, 0}, {"", 6, TEXT_LEFT, 2}, {"", 0, TEXT_LEFT, 2}};

static void content_text_add_sum(struct strbuf *out, const struct content *content, uint64_t bytes,
                                 const char *what, const char *meaning)
{
    struct text_row row = text_row_begin(out, sums);
    text_row_add(&row, human_bytes(bytes).text);
    text_row_add(&row, human_percent((double)bytes, (double)content->all.resident).text);
    text_row_add(&row, what);
    text_row_add(&row, meaning);
    strbuf_add_char(out, '\n');
}

static void content_text_add_head(struct strbuf *out, const struct content *content,
                                  const struct style *style)
{
    const struct profile_sample *sample = content->sample;
    struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "%s of the %s on pages that were read could be won",
                human_bytes(content_sum_won(&content->all)).text,
                human_bytes(content->all.resident).text);
    style_add(out, style, TONE_TITLE, line.data);
    strbuf_addf(out, "\n%s (%s after the start)\n\n", profile_sample_when(sample),
                human_duration(sample->time_ns).text);
    content_text_add_sum(out, content, content->all.zero, "zeros", "pages of nothing but zeros");
    content_text_add_sum(out, content, content->all.copy, "copies",
                         "private pages like one before: what KSM wins");
    content_text_add_sum(out, content, content->all.compressible, "LZ4",
                         "what zswap or zram wins of the other private pages");
    strbuf_release(&line);
}

static void content_text_add_callers(struct strbuf *out, const struct content *content,
                                     const struct content_row *row, const struct style *style)
{
    struct frame_walk walk;
    frame_walk_begin(&walk, content->profile, content->hidden, row->node);
    frame_add_callers(out, style, &walk, CALLERS, NAME_AT);
}

static void content_text_add_name(struct strbuf *out, const struct content_row *row,
                                  const struct style *style)
{
    const struct profile_owner *owner = row->named;
    struct strbuf name = STRBUF_INIT, safe = STRBUF_INIT;
    uint64_t thread;
    strbuf_add_string(&name, owner->name ? owner->name : "-");
    if (owner->kind == PROFILE_OWNER_STACK && figure_get(owner->thread, &thread))
        strbuf_addf(&name, ", thread %llu", (unsigned long long)thread);
    text_add_safe_string(&safe, name.data);
    text_add_cut(out, safe.data, style->columns > NAME_AT + 10 ? style->columns - NAME_AT : 10);
    strbuf_add_char(out, '\n');
    strbuf_release(&name);
    strbuf_release(&safe);
}

static void content_text_add_row(struct strbuf *out, const struct content *content,
                                 const struct content_row *of, const struct style *style)
{
    struct text_row row = text_row_begin(out, columns);
    double whole = (double)of->sum.resident;
    text_row_add(&row, human_bytes(content_sum_won(&of->sum)).text);
    text_row_add(&row, human_bytes(of->sum.resident).text);
    text_row_add(&row, human_percent((double)of->sum.zero, whole).text);
    text_row_add(&row, human_percent((double)of->sum.copy, whole).text);
    text_row_add(&row, human_percent((double)of->sum.compressible, whole).text);
    text_row_add(&row, profile_owner_names[of->kind]);
    text_row_add(&row, "");
    if (!of->frame.code) {
        content_text_add_name(out, of, style);
        return;
    }
    frame_add_line(out, style, content->profile, of->frame, NAME_AT, true);
    content_text_add_callers(out, content, of, style);
}

/* Rows that have next to nothing are left to --top. */
static size_t content_text_shown(const struct content *content, size_t top)
{
    uint64_t least = content_sum_won(&content->all) / LEAST_PART;
    size_t shown = 0;
    while (shown < content->row_count && shown < top &&
           content_sum_won(&content->rows[shown].sum) > least)
        shown++;
    return shown;
}

static void content_text_add_rows(struct strbuf *out, const struct content *content,
                                  const struct content_options *options)
{
    size_t shown = content_text_shown(content, options->top);
    if (!shown)
        return;
    strbuf_add_char(out, '\n');
    text_row_add_headings(out, columns, sizeof columns / sizeof *columns - 1);
    strbuf_add_char(out, '\n');
    for (size_t i = 0; i < shown; i++)
        content_text_add_row(out, content, &content->rows[i], &options->style);
    if (shown < content->row_count && shown == options->top)
        strbuf_addf(out, "  %zu more owners: --top %zu shows them\n", content->row_count - shown,
                    content->row_count);
}

int content_text(FILE *out, const struct content *content, const struct content_options *options)
{
    struct strbuf text = STRBUF_INIT;
    content_text_add_head(&text, content, &options->style);
    content_text_add_rows(&text, content, options);
    int error = fwrite(text.data, 1, text.length, out) == text.length && !fflush(out) ? 0 : -errno;
    strbuf_release(&text);
    return error;
}
