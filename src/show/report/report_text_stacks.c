/* Writes how deep each thread's stack was, to the byte, when, and which functions stood on it then.
 * This is known of programs whose functions call hooks. */
#include "report/report_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "aggregate/thread_team.h"
#include "aggregate/thread_totals.h"

enum { CELL = 10, SHARE = 8, FRAMES = 10 };

/* The rows of one thread: its functions, and its maxima, of which the last is the deepest. */
struct thread_rows {
    uint32_t thread;
    const struct stack_peak *peaks;
    size_t peak_count;
    const struct stack_layer *layers;
    size_t layer_count;
};

static const struct stack_peak *report_text_stacks_deepest_of(const struct thread_rows *rows)
{
    return &rows->peaks[rows->peak_count - 1];
}

/* Rows of one thread lie together. */
static void report_text_stacks_find_layers(const struct profile *profile, struct thread_rows *rows)
{
    size_t i = 0;
    while (i < profile->stack_layer_count && profile->stack_layers[i].thread != rows->thread)
        i++;
    rows->layers = profile->stack_layers + i;
    while (i < profile->stack_layer_count && profile->stack_layers[i].thread == rows->thread)
        i++, rows->layer_count++;
}

static size_t report_text_stacks_gather(const struct profile *profile, struct thread_rows *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->stack_peak_count; i++) {
        const struct stack_peak *peak = &profile->stack_peaks[i];
        if (!count || rows[count - 1].thread != peak->thread) {
            rows[count] = (struct thread_rows){.thread = peak->thread, .peaks = peak};
            report_text_stacks_find_layers(profile, &rows[count++]);
        }
        rows[count - 1].peak_count++;
    }
    return count;
}

static int report_text_stacks_by_depth(const void *left, const void *right)
{
    const struct thread_rows *a = left, *b = right;
    uint64_t x = report_text_stacks_deepest_of(a)->bytes,
             y = report_text_stacks_deepest_of(b)->bytes;
    return x != y ? (x < y ? 1 : -1) : a->thread < b->thread ? -1 : a->thread > b->thread;
}

static const struct text_column report_text_stacks_columns[] = {{"bytes", CELL, TEXT_RIGHT, 0},
                                                                {"share", SHARE, TEXT_RIGHT, 0},
                                                                {"frames", FRAMES, TEXT_RIGHT, 0},
                                                                {"function", 0, TEXT_LEFT, 2}};

static void report_text_stacks_add_layer(struct report_text *text, const struct stack_layer *layer,
                                         uint64_t whole)
{
    report_part_row(text, report_text_stacks_columns);
    report_part_next_figure(text, human_bytes(layer->bytes).text);
    report_part_next(text, human_percent((double)layer->bytes, (double)whole).text);
    report_part_next(text, human_count(layer->frames).text);
    report_part_next(text, "");
    report_part_path(text, layer->node, CELL + SHARE + FRAMES + 2, false);
}

static void report_text_stacks_add_layers(struct report_text *text, const struct thread_rows *rows)
{
    if (!rows->layer_count) {
        report_part_note(
            text, "what stood on it then is not known: the thread was ended by force, or still "
                  "stood there at the end");
        return;
    }
    report_part_headings(text, report_text_stacks_columns,
                         sizeof report_text_stacks_columns / sizeof *report_text_stacks_columns);
    for (size_t i = 0; i < rows->layer_count && i < text->options->top; i++)
        report_text_stacks_add_layer(text, &rows->layers[i],
                                     report_text_stacks_deepest_of(rows)->bytes);
    if (rows->layer_count > text->options->top) {
        struct strbuf rest = STRBUF_INIT;
        strbuf_addf(&rest, "%zu more functions (--top)", rows->layer_count - text->options->top);
        report_part_note(text, rest.data);
        strbuf_release(&rest);
    }
}

static void report_text_stacks_add_thread(struct report_text *text, const struct thread_rows *rows)
{
    const struct profile *profile = text->profile;
    const struct stack_peak *deepest = report_text_stacks_deepest_of(rows);
    struct strbuf line = STRBUF_INIT, title = STRBUF_INIT;
    strbuf_add_string(&title, "Stack of ");
    if (rows->thread < profile->thread_count)
        thread_add_name(&title, &profile->threads[rows->thread]);
    else
        strbuf_add_char(&title, '?');
    strbuf_addf(&line, "%s (%llu bytes) at most, after %s", human_bytes(deepest->bytes).text,
                (unsigned long long)deepest->bytes, human_duration(deepest->ticks).text);
    report_part_title(text, title.data, line.data);
    if (deepest->node && deepest->node < profile->node_count) {
        strbuf_add_string(&text->out, "  deepest in ");
        report_part_path(text, deepest->node, 13, false);
    }
    report_text_stacks_add_layers(text, rows);
    strbuf_release(&title);
    strbuf_release(&line);
}

/* Keeps only the deepest of the threads that OpenMP made. The rows are in the order of depth. */
static int report_text_stacks_join_team(const struct profile *profile, struct thread_rows *rows,
                                        size_t *count)
{
    struct thread_team team;
    size_t kept = 0;
    bool has_member = false;
    int error = thread_team_find(&team, profile);
    for (size_t i = 0; !error && i < *count; i++) {
        bool is_member = rows[i].thread < profile->thread_count && team.has[rows[i].thread];
        if (is_member && has_member)
            continue;
        has_member |= is_member;
        rows[kept++] = rows[i];
    }
    thread_team_release(&team);
    *count = error ? *count : kept;
    return error;
}

static void report_text_stacks_add_rest(struct report_text *text, size_t more, size_t shallower)
{
    struct strbuf rest = STRBUF_INIT;
    if (shallower)
        strbuf_addf(&rest, "%zu more of %s were no deeper (--top)", shallower, THREAD_TEAM_NAME);
    if (more)
        strbuf_addf(&rest, "%s%zu more threads (--top)", shallower ? "; " : "", more);
    if (rest.length)
        report_part_note(text, rest.data);
    strbuf_release(&rest);
}

int report_section_stacks(struct report_text *text)
{
    const struct profile *profile = text->profile;
    struct thread_rows *rows = calloc(profile->stack_peak_count + 1, sizeof *rows);
    if (!rows)
        return -ENOMEM;
    size_t all = report_text_stacks_gather(profile, rows), count = all, top = text->options->top;
    qsort(rows, count, sizeof *rows, report_text_stacks_by_depth);
    int error = count > top ? report_text_stacks_join_team(profile, rows, &count) : 0;
    if (!count) {
        report_part_title(text, "Stacks", "");
        report_part_note(
            text, "not known to the byte: the program's functions call no hooks (gcc and clang "
                  "-finstrument-functions); the threads' section has what its events saw");
    }
    for (size_t i = 0; i < count && i < top; i++)
        report_text_stacks_add_thread(text, &rows[i]);
    report_text_stacks_add_rest(text, count > top ? count - top : 0, all - count);
    free(rows);
    return error;
}
