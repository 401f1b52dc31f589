/* Threads: what each called, who frees whose blocks, how deep stacks went. */
#include "report/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "views/threads.h"

enum { TID = 9, NAME = 16, CELL = 10, CELLS = 5 };

static size_t name_columns(const struct text *text)
{
    size_t room = text->style.columns - TID - 1 - CELLS * (size_t)CELL;
    return room < NAME ? room : NAME;
}

static void add_heading(struct text *text)
{
    static const char *const titles[] = {"calls", "bytes", "own peak", "by others", "stack"};
    style_begin(&text->out, &text->style, TONE_DIM);
    part_cell(text, "thread", TID);
    strbuf_add_repeated(&text->out, " ", 1 + name_columns(text));
    for (size_t i = 0; i < CELLS; i++)
        part_cell(text, titles[i], CELL);
    style_end(&text->out, &text->style);
    strbuf_add_char(&text->out, '\n');
}

static void add_kind(struct strbuf *line, const char *kind, uint64_t count)
{
    if (count && count != UINT64_MAX)
        strbuf_addf(line, "%s%s %s", line->length ? ", " : "", kind, human_count(count).text);
}

/* Calls by kind, life and time: what does not fit a column. */
static void add_details(struct text *text, const struct thread_metrics *thread)
{
    struct strbuf line = STRBUF_INIT;
    add_kind(&line, "malloc", thread->malloc_count);
    add_kind(&line, "calloc", thread->calloc_count);
    add_kind(&line, "aligned", thread->aligned_count);
    add_kind(&line, "new", thread->new_count);
    add_kind(&line, "pool", thread->pool_count);
    add_kind(&line, "realloc", thread->realloc_count);
    add_kind(&line, "freed", thread->free_count);
    strbuf_addf(&line, "%slived from %s to ", line.length ? "; " : "",
                human_duration(thread->start_ticks).text);
    strbuf_addf(&line, "%s",
                thread->end_ticks ? human_duration(thread->end_ticks).text : "the end");
    if (thread->alloc_time != UINT64_MAX && thread->free_time != UINT64_MAX)
        strbuf_addf(&line, "; %s in the allocator",
                    human_duration(thread->alloc_time + thread->free_time).text);
    if (thread->stack_touched_bytes != UINT64_MAX)
        strbuf_addf(&line, "; %s of its stack ever touched",
                    human_bytes(thread->stack_touched_bytes).text);
    strbuf_add_repeated(&text->out, " ", TID + 1);
    style_begin(&text->out, &text->style, TONE_DIM);
    text_add_wrapped(&text->out, line.data, TID + 1, text->style.columns);
    style_end(&text->out, &text->style);
    strbuf_add_char(&text->out, '\n');
    if (thread->stack_node && thread->stack_node < text->profile->node_count) {
        strbuf_add_repeated(&text->out, " ", TID + 1);
        strbuf_add_string(&text->out, "deepest in ");
        part_path(text, thread->stack_node, TID + 12, false);
    }
    strbuf_release(&line);
}

static void add_thread(struct text *text, const struct thread_metrics *thread)
{
    struct strbuf tid = STRBUF_INIT;
    char name[sizeof thread->name + 1] = "";
    memcpy(name, thread->name, sizeof thread->name);
    strbuf_addf(&tid, "%u", thread->tid);
    part_cell(text, tid.data, TID);
    strbuf_add_char(&text->out, ' ');
    part_name(text, *name ? name : "-", name_columns(text));
    part_figure(text, known_count(thread->alloc_count).text, CELL);
    part_cell(text, known_bytes(thread->alloc_bytes).text, CELL);
    part_cell(text, known_bytes(thread->peak_bytes).text, CELL);
    part_cell(text, known_count(thread->freed_elsewhere_count).text, CELL);
    part_cell(text, known_bytes(thread->stack_deepest_bytes).text, CELL);
    strbuf_add_char(&text->out, '\n');
    add_details(text, thread);
    strbuf_release(&tid);
}

/* ---- Who frees whose ----------------------------------------------------------------------- */

static void add_thread_name(struct strbuf *out, const struct profile *profile, uint32_t index)
{
    if (index >= profile->thread_count) {
        strbuf_add_string(out, "?");
        return;
    }
    const struct thread_metrics *thread = &profile->threads[index];
    size_t length = strnlen(thread->name, sizeof thread->name);
    text_add_safe(out, thread->name, length);
    strbuf_addf(out, "%s%u", length ? " " : "", thread->tid);
}

static void add_exchange(struct text *text, const struct exchange *row)
{
    struct strbuf owner = STRBUF_INIT, freer = STRBUF_INIT;
    part_figure(text, human_count(row->count).text, CELL);
    part_cell(text, human_bytes(row->bytes).text, CELL);
    if (row->owner == UINT32_MAX) {
        strbuf_add_string(&text->out, "  all other pairs\n");
        return;
    }
    add_thread_name(&owner, text->profile, row->owner);
    add_thread_name(&freer, text->profile, row->freer);
    strbuf_addf(&text->out, "  %s %s %s\n", owner.data, style_sign(&text->style, "→", "->"),
                freer.data);
    strbuf_release(&owner);
    strbuf_release(&freer);
}

static int add_exchanges(struct text *text)
{
    const struct profile *profile = text->profile;
    uint64_t *counts = calloc(profile->exchange_count + 1, sizeof *counts);
    for (size_t i = 0; counts && i < profile->exchange_count; i++)
        counts[i] = profile->exchanges[i].count;
    uint32_t *order = counts ? order_values(counts, profile->exchange_count) : NULL;
    free(counts);
    if (!order)
        return -ENOMEM;
    if (profile->exchange_count)
        part_title(text, "Freed by another thread", "blocks, bytes: allocated by, freed by");
    for (size_t i = 0; i < profile->exchange_count && i < text->options->top; i++)
        add_exchange(text, &profile->exchanges[order[i]]);
    free(order);
    return 0;
}

int section_threads(struct text *text)
{
    const struct profile *profile = text->profile;
    uint64_t *bytes = calloc(profile->thread_count + 1, sizeof *bytes);
    for (size_t i = 0; bytes && i < profile->thread_count; i++)
        bytes[i] = profile->threads[i].alloc_bytes != UINT64_MAX ? profile->threads[i].alloc_bytes
                   : profile->threads[i].peak_bytes != UINT64_MAX
                       ? profile->threads[i].peak_bytes
                       : 0;
    uint32_t *order = bytes ? order_values(bytes, profile->thread_count) : NULL;
    free(bytes);
    if (!order)
        return -ENOMEM;
    struct strbuf rest = STRBUF_INIT;
    strbuf_addf(&rest, "%zu, %zu at once; by others: its blocks that those freed",
                profile->thread_count, threads_peak(profile));
    part_title(text, "Threads", rest.data);
    if (profile->thread_count)
        add_heading(text);
    else
        part_note(text, "not recorded");
    for (size_t i = 0; i < profile->thread_count && i < text->options->top; i++)
        add_thread(text, &profile->threads[order[i]]);
    if (profile->thread_count > text->options->top) {
        strbuf_reset(&rest);
        strbuf_addf(&rest, "%zu more (--top)", profile->thread_count - text->options->top);
        part_note(text, rest.data);
    }
    strbuf_release(&rest);
    free(order);
    return add_exchanges(text);
}
