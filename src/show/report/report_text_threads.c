/* Writes the section on threads: what each called, who frees whose blocks, and how deep stacks
 * went. Threads that OpenMP made are also one row together; where there is no room for all threads,
 * they are that row alone. The table has a column for each figure; details of a thread stand below
 * its row. */
#include "report/report_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "aggregate/thread_team.h"
#include "aggregate/thread_totals.h"
#include "model/figure_human.h"

enum { TID = 9, NAME = 16, CELL = 10, CELLS = 5 };

static size_t report_text_threads_name_columns(const struct report_text *text)
{
    size_t room = text->style.columns - TID - 1 - CELLS * (size_t)CELL;
    return room < NAME ? room : NAME;
}

enum { COLUMNS = 2 + CELLS };

static void report_text_threads_lay_out(const struct report_text *text, struct text_column *columns)
{
    static const char *const titles[CELLS] = {"calls", "bytes", "own peak", "by others", "stack"};
    columns[0] = (struct text_column){"thread", TID, TEXT_RIGHT, 0};
    columns[1] = (struct text_column){"", report_text_threads_name_columns(text), TEXT_LEFT, 1};
    for (size_t i = 0; i < CELLS; i++)
        columns[2 + i] = (struct text_column){titles[i], CELL, TEXT_RIGHT, 0};
}

static void report_text_threads_add_kind(struct strbuf *line, const char *kind, struct figure count)
{
    if (figure_positive(count))
        strbuf_addf(line, "%s%s %s", line->length ? ", " : "", kind,
                    figure_human_count(count).text);
}

/* Adds calls by kind, life and time, which have no column. */
static void report_text_threads_add_details(struct report_text *text,
                                            const struct thread_metrics *thread)
{
    struct strbuf line = STRBUF_INIT;
    report_text_threads_add_kind(&line, "malloc", thread->malloc_count);
    report_text_threads_add_kind(&line, "calloc", thread->calloc_count);
    report_text_threads_add_kind(&line, "aligned", thread->aligned_count);
    report_text_threads_add_kind(&line, "new", thread->new_count);
    report_text_threads_add_kind(&line, "pool", thread->pool_count);
    report_text_threads_add_kind(&line, "realloc", thread->realloc_count);
    report_text_threads_add_kind(&line, "freed", thread->free_count);
    strbuf_addf(&line, "%slived from %s to ", line.length ? "; " : "",
                human_duration(thread->start_ticks).text);
    strbuf_addf(&line, "%s",
                thread->end_ticks ? human_duration(thread->end_ticks).text : "the end");
    struct figure in_allocator = figure_add(thread->alloc_time, thread->free_time);
    if (figure_known(in_allocator))
        strbuf_addf(&line, "; %s in the allocator", figure_human_duration(in_allocator).text);
    if (figure_positive(thread->earlier_count))
        strbuf_addf(&line, "; with %s that ended before it, one after the other",
                    figure_human_count(thread->earlier_count).text);
    if (figure_known(thread->stack_touched_bytes))
        strbuf_addf(&line, "; %s of its stack ever touched",
                    figure_human_bytes(thread->stack_touched_bytes).text);
    strbuf_add_repeated(&text->out, " ", TID + 1);
    style_add_wrapped(&text->out, &text->style, TONE_DIM, line.data, TID + 1);
    if (thread->stack_node && thread->stack_node < text->profile->node_count) {
        strbuf_add_repeated(&text->out, " ", TID + 1);
        strbuf_add_string(&text->out, "deepest in ");
        report_part_path(text, thread->stack_node, TID + 12, false);
    }
    strbuf_release(&line);
}

static void report_text_threads_add_row(struct report_text *text, const struct text_column *columns,
                                        const struct thread_metrics *thread, const char *who,
                                        const char *name)
{
    report_part_row(text, columns);
    report_part_next(text, who);
    report_part_next_name(text, name);
    report_part_next_figure(text, figure_human_count(thread->alloc_count).text);
    report_part_next(text, figure_human_bytes(thread->alloc_bytes).text);
    report_part_next(text, figure_human_bytes(thread->peak_bytes).text);
    report_part_next(text, figure_human_count(thread->freed_elsewhere_count).text);
    report_part_next(text, figure_human_bytes(thread->stack_deepest_bytes).text);
    strbuf_add_char(&text->out, '\n');
}

static void report_text_threads_add(struct report_text *text, const struct text_column *columns,
                                    const struct thread_metrics *thread)
{
    struct strbuf tid = STRBUF_INIT;
    char name[sizeof thread->name + 1] = "";
    memcpy(name, thread->name, sizeof thread->name);
    strbuf_addf(&tid, "%u", thread->tid);
    report_text_threads_add_row(text, columns, thread, tid.data, *name ? name : "-");
    report_text_threads_add_details(text, thread);
    strbuf_release(&tid);
}

/* ---- OpenMP's team -------------------------------------------------------------------------- */

#define TEAM THREAD_TEAM_NAME

/* Is the team shown as one row, because there is no room for each thread? */
static bool report_text_threads_is_one(const struct report_text *text,
                                       const struct thread_team *team)
{
    return team->count > 1 && text->profile->thread_count > text->options->top;
}

/* Says how much the threads of the team differ. */
static void report_text_threads_add_spread(struct report_text *text, const struct thread_team *team)
{
    const struct thread_metrics *threads = text->profile->threads;
    struct figure most = threads[team->most].alloc_bytes, least = threads[team->least].alloc_bytes;
    struct strbuf line = STRBUF_INIT;
    if (figure_known(most) && figure_known(least)) {
        strbuf_addf(&line, "%s to ", figure_human_bytes(least).text);
        strbuf_addf(&line, "%s each, most by %u; ", figure_human_bytes(most).text,
                    threads[team->most].tid);
    }
    strbuf_add_string(&line, "own peak and stack are the highest of one");
    strbuf_add_repeated(&text->out, " ", TID + 1);
    style_add_wrapped(&text->out, &text->style, TONE_DIM, line.data, TID + 1);
    strbuf_release(&line);
}

static void report_text_threads_add_team(struct report_text *text,
                                         const struct text_column *columns,
                                         const struct thread_team *team)
{
    if (team->count < 2)
        return;
    struct strbuf count = STRBUF_INIT;
    strbuf_addf(&count, "%zu of", team->count);
    report_text_threads_add_row(text, columns, &team->all, count.data, TEAM);
    report_text_threads_add_spread(text, team);
    strbuf_release(&count);
}

/* ---- Who frees whose ----------------------------------------------------------------------- */

static void report_text_threads_add_thread_name(struct strbuf *out, const struct profile *profile,
                                                uint32_t index)
{
    if (index >= profile->thread_count) {
        strbuf_add_string(out, index == THREAD_TEAM_ALL ? TEAM : "?");
        return;
    }
    thread_add_name(out, &profile->threads[index]);
}

static const struct text_column report_text_threads_exchange_columns[] = {
    {NULL, CELL, TEXT_RIGHT, 0}, {NULL, CELL, TEXT_RIGHT, 0}, {NULL, 0, TEXT_LEFT, 2}};

static void report_text_threads_add_exchange(struct report_text *text, const struct exchange *row)
{
    struct strbuf owner = STRBUF_INIT, freer = STRBUF_INIT;
    report_part_row(text, report_text_threads_exchange_columns);
    report_part_next_figure(text, human_count(row->count).text);
    report_part_next(text, human_bytes(row->bytes).text);
    if (row->owner == UINT32_MAX) {
        report_part_next(text, "all other pairs");
        report_part_end(text);
        return;
    }
    report_part_next(text, "");
    report_text_threads_add_thread_name(&owner, text->profile, row->owner);
    report_text_threads_add_thread_name(&freer, text->profile, row->freer);
    strbuf_addf(&text->out, "%s %s %s\n", owner.data, style_sign(&text->style, "→", "->"),
                freer.data);
    strbuf_release(&owner);
    strbuf_release(&freer);
}

static int report_text_threads_list_exchanges(struct report_text *text, const struct exchange *rows,
                                              size_t row_count)
{
    struct figure *counts = calloc(row_count + 1, sizeof *counts);
    for (size_t i = 0; counts && i < row_count; i++)
        counts[i] = figure_of(rows[i].count);
    uint32_t *order = counts ? order_values(counts, row_count) : NULL;
    free(counts);
    if (!order)
        return -ENOMEM;
    if (row_count)
        report_part_title(text, "Freed by another thread", "blocks, bytes: allocated by, freed by");
    for (size_t i = 0; i < row_count && i < text->options->top; i++)
        report_text_threads_add_exchange(text, &rows[order[i]]);
    free(order);
    return 0;
}

static int report_text_threads_add_exchanges(struct report_text *text,
                                             const struct thread_team *team)
{
    const struct profile *profile = text->profile;
    if (!report_text_threads_is_one(text, team))
        return report_text_threads_list_exchanges(text, profile->exchanges,
                                                  profile->exchange_count);
    struct exchange *rows = calloc(profile->exchange_count + 1, sizeof *rows);
    if (!rows)
        return -ENOMEM;
    int error =
        report_text_threads_list_exchanges(text, rows, thread_team_join(team, profile, rows));
    free(rows);
    return error;
}

/* ---- The section ----------------------------------------------------------------------------- */

static void report_text_threads_list(struct report_text *text, const struct thread_team *team,
                                     const uint32_t *order)
{
    const struct profile *profile = text->profile;
    struct text_column columns[COLUMNS];
    struct strbuf rest = STRBUF_INIT;
    size_t shown = 0, hidden = report_text_threads_is_one(text, team) ? team->count : 0;
    report_text_threads_lay_out(text, columns);
    report_part_headings(text, columns, COLUMNS);
    report_text_threads_add_team(text, columns, team);
    for (size_t i = 0; i < profile->thread_count && shown < text->options->top; i++) {
        if (hidden && team->has[order[i]])
            continue;
        report_text_threads_add(text, columns, &profile->threads[order[i]]);
        shown++;
    }
    if (profile->thread_count > shown + hidden)
        strbuf_addf(&rest, "%zu more (--top)", profile->thread_count - shown - hidden);
    else if (hidden)
        strbuf_addf(&rest, "those of %s one by one: --top %zu", TEAM, profile->thread_count);
    if (rest.length)
        report_part_note(text, rest.data);
    strbuf_release(&rest);
}

static uint32_t *report_text_threads_order(const struct profile *profile)
{
    struct figure *bytes = calloc(profile->thread_count + 1, sizeof *bytes);
    for (size_t i = 0; bytes && i < profile->thread_count; i++)
        bytes[i] = figure_known(profile->threads[i].alloc_bytes) ? profile->threads[i].alloc_bytes
                                                                 : profile->threads[i].peak_bytes;
    uint32_t *order = bytes ? order_values(bytes, profile->thread_count) : NULL;
    free(bytes);
    return order;
}

static void report_text_threads_add_title(struct report_text *text, const struct thread_team *team)
{
    struct strbuf rest = STRBUF_INIT;
    uint64_t ever = threads_ever(text->profile);
    bool is_joined = ever > text->profile->thread_count;
    strbuf_addf(&rest, "%" PRIu64 ", %s%zu at once", ever, is_joined ? "at most " : "",
                threads_peak(text->profile));
    if (is_joined)
        strbuf_addf(&rest, "; %zu rows", text->profile->thread_count);
    if (team->count)
        strbuf_addf(&rest, ", %zu of %s", team->count, TEAM);
    strbuf_add_string(&rest, "; by others: its blocks that those freed");
    report_part_title(text, "Threads", rest.data);
    strbuf_release(&rest);
}

int report_section_threads(struct report_text *text)
{
    struct thread_team team;
    uint32_t *order = report_text_threads_order(text->profile);
    int error = order ? thread_team_find(&team, text->profile) : -ENOMEM;
    if (!error) {
        report_text_threads_add_title(text, &team);
        if (text->profile->thread_count)
            report_text_threads_list(text, &team, order);
        else
            report_part_note(text, "not recorded");
        error = report_text_threads_add_exchanges(text, &team);
        thread_team_release(&team);
    }
    free(order);
    return error;
}
