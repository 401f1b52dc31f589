/* Lists the blocks, or the mappings, that are alive at a moment of a trace. The records before the
 * moment are replayed, and what the live table and the mappings have then is visited: once for the
 * call paths to be named, and once or more for the rows, a piece of the list each time
 * (block_pick.h), so that the memory it takes is the replay's and a bounded number of rows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/human.h"
#include "base/error.h"
#include "base/json.h"
#include "base/array.h"
#include "base/text.h"
#include "base/text_table.h"
#include "heap_at/block_pick.h"
#include "heap_at/heap_at.h"
#include "heap_at/times.h"
#include "aggregate/frames.h"
#include "aggregate/match.h"
#include "replay/replay.h"

enum { LABEL = 15, FIGURE = 11, AGE = 10, THREAD = 9, ADDRESS = 18, KIND = 11, GAP = 2 };

struct block_list {
    const struct trace *trace;
    const struct blocks_options *options;
    struct offline_clock clock;
    uint64_t ticks, until; /* the moment; records before it */
    struct replay *replay;
    void (*visit)(struct block_list *blocks, const struct block_row *row);
    struct block_nodes nodes; /* of those that are wanted */
    struct block_pick pick;
    struct block_sum *sums; /* by node, of so many */
    size_t sum_count;
    uint64_t visited, count, bytes, live_count, live_bytes;
    struct profile *profile;
    bool *hidden, *wanted;
    bool *told; /* by node: its frames were written; NULL: each block has them */
    uint64_t missing_blocks;
};

/* ---- Which are wanted ---------------------------------------------------------------------- */

static uint64_t block_list_age_ns(const struct block_list *blocks, const struct replay_block *block)
{
    return heap_at_ns(&blocks->clock, blocks->ticks) -
           heap_at_ns(&blocks->clock, block->birth_ticks);
}

static uint32_t block_list_tid_of(const struct block_list *blocks, const struct replay_block *block)
{
    struct thread_metrics owner;

    if (block->owner >= replay_thread_count(blocks->replay))
        return UINT32_MAX;
    owner = replay_thread(blocks->replay, block->owner);
    return figure_positive(owner.earlier_count) ? UINT32_MAX : owner.tid; /* one of several */
}

static bool block_list_is_wanted(const struct block_list *blocks, const struct replay_block *block)
{
    const struct blocks_options *options = blocks->options;

    const struct match_conditions *conditions = &options->conditions;
    if (!match_in_range(&conditions->size, block->size_bytes) ||
        (conditions->age.is_said &&
         (block->birth_ticks > blocks->ticks ||
          !match_in_range(&conditions->age, block_list_age_ns(blocks, block)))) ||
        (conditions->has_thread && !match_thread(conditions, block_list_tid_of(blocks, block))))
        return false;
    return block->size_bytes >= options->least_bytes &&
           (!options->least_age_ns ||
            (block->birth_ticks <= blocks->ticks &&
             block_list_age_ns(blocks, block) >= options->least_age_ns)) &&
           (options->tid == UINT64_MAX || block_list_tid_of(blocks, block) == options->tid);
}

/* ---- Visits -------------------------------------------------------------------------------- */

static void block_list_visit_row(struct block_list *blocks, const struct replay_block *block,
                                 const char *kind)
{
    const struct block_row row = {*block, kind, blocks->visited++};
    blocks->visit(blocks, &row);
}

static void block_list_visit_block(void *context, const struct replay_block *block)
{
    block_list_visit_row(context, block, NULL);
}

/* Address space without access, or without a claim to memory, is no memory that was asked for. */
static void block_list_visit_mapping(void *context, const struct replay_mapping *mapping)
{
    const struct replay_block block = {.address = mapping->start,
                                       .size_bytes = mapping->end - mapping->start,
                                       .birth_ticks = mapping->birth_ticks,
                                       .node = mapping->node,
                                       .owner = UINT32_MAX};
    if (!mapping->is_reserved && !mapping->is_allocators)
        block_list_visit_row(context, &block, mapping_kind_name(mapping->kind));
}

/* All that is alive, in the same order each time. */
static void block_list_visit_all(struct block_list *blocks,
                                 void (*visit)(struct block_list *blocks,
                                               const struct block_row *row))
{
    blocks->visit = visit;
    blocks->visited = 0;
    if (blocks->options->of != MEMORY_MAPPED)
        replay_live_blocks(blocks->replay, block_list_visit_block, blocks);
    if (blocks->options->of != MEMORY_HEAP)
        replay_mapped(blocks->replay, block_list_visit_mapping, blocks);
}

/* ---- Names --------------------------------------------------------------------------------- */

static void block_list_take_node(struct block_list *blocks, const struct block_row *row)
{
    blocks->live_count++;
    blocks->live_bytes += row->block.size_bytes;
    if (block_list_is_wanted(blocks, &row->block))
        block_nodes_add(&blocks->nodes, row->block.node);
}

/* Names the call paths of the blocks that are wanted, and finds those that pass the filter. */
static int block_list_name_blocks(struct block_list *blocks)
{
    struct offline_wanted wanted = {0};
    uint32_t *nodes;
    block_list_visit_all(blocks, block_list_take_node);
    nodes = block_nodes_list(&blocks->nodes, &wanted.count);
    block_nodes_release(&blocks->nodes);
    if (!nodes)
        return heap_at_no_memory();
    wanted.nodes = nodes;
    int error = offline_names(blocks->trace, SIZE_MAX, &wanted, &blocks->profile);
    free(nodes);
    if (error)
        return error;
    if (blocks->options->pattern &&
        match_frames(blocks->profile, blocks->options->pattern, &blocks->wanted))
        return heap_at_no_memory();
    blocks->hidden = blocks->options->style.hide_std ? frames_of_libraries_in_trace(blocks->profile)
                                                     : calloc(blocks->profile->line_count + 1, 1);
    return blocks->hidden ? 0 : heap_at_no_memory();
}

/* ---- Rows ---------------------------------------------------------------------------------- */

/* Node 0 stands for a path that the trace lacks. */
static void block_list_take_row(struct block_list *blocks, const struct block_row *row)
{
    if (!block_list_is_wanted(blocks, &row->block))
        return;
    struct block_row known = *row;
    if (known.block.node >= blocks->profile->node_count)
        known.block.node = 0;
    if (blocks->wanted && !blocks->wanted[known.block.node])
        return;
    blocks->count++;
    blocks->bytes += known.block.size_bytes;
    block_pick_offer(&blocks->pick, &known);
}

/* The next rows of the list, `most` at most. */
static int block_list_pick(struct block_list *blocks, uint64_t most)
{
    block_pick_begin(&blocks->pick, most);
    blocks->count = blocks->bytes = 0;
    block_list_visit_all(blocks, block_list_take_row);
    return block_pick_end(&blocks->pick) ? heap_at_no_memory() : 0;
}

static uint64_t block_list_shown(const struct block_list *blocks)
{
    uint64_t top = blocks->options->style.top;

    return top && top < blocks->count ? top : blocks->count;
}

/* ---- Text ---------------------------------------------------------------------------------- */

static void block_list_add_head(struct strbuf *text, const struct block_list *blocks)
{
    struct strbuf head = STRBUF_INIT, *out = &head;
    strbuf_addf(out, "%s %s (%s) %s alive at %s, after %s event%s",
                human_exact(blocks->live_count).text,
                heap_at_words(blocks->options->of, blocks->live_count),
                human_bytes(blocks->live_bytes).text, blocks->live_count == 1 ? "is" : "are",
                human_duration(heap_at_ns(&blocks->clock, blocks->ticks)).text,
                human_exact(blocks->until).text, human_plural(blocks->until));
    if (blocks->count != blocks->live_count)
        strbuf_addf(out, "; %s of them (%s) are asked for", human_exact(blocks->count).text,
                    human_bytes(blocks->bytes).text);
    if (block_list_shown(blocks) < blocks->count)
        strbuf_addf(out, "; the first %s", human_exact(block_list_shown(blocks)).text);
    text_add_wrapped(text, head.data, 0, blocks->options->style.columns);
    strbuf_add_char(text, '\n');
    strbuf_reset(out);
    if (blocks->missing_blocks)
        strbuf_addf(out,
                    "%llu blocks of events cannot be read: blocks that began there are missing, "
                    "and such that ended there are among these",
                    (unsigned long long)blocks->missing_blocks);
    if (head.length) {
        text_add_wrapped(text, head.data, 0, blocks->options->style.columns);
        strbuf_add_char(text, '\n');
    }
    strbuf_release(&head);
}

enum { BLOCK_COLUMNS = 5 };

static const struct text_column block_list_columns[BLOCK_COLUMNS] = {
    {"size", FIGURE, TEXT_APART, 0},
    {"age", AGE, TEXT_APART, 0},
    {"thread", THREAD, TEXT_APART, 0},
    {"address", ADDRESS, TEXT_APART, 0},
    {"allocated by", 0, TEXT_LEFT, GAP}};

/* Which thread mapped something is not kept. */
static const struct text_column block_list_mapped_columns[BLOCK_COLUMNS] = {
    {"size", FIGURE, TEXT_APART, 0},
    {"age", AGE, TEXT_APART, 0},
    {"kind", KIND, TEXT_APART, 0},
    {"address", ADDRESS, TEXT_APART, 0},
    {"mapped by", 0, TEXT_LEFT, GAP}};

static const struct text_column *block_list_columns_of(const struct block_list *blocks)
{
    return blocks->options->of == MEMORY_HEAP ? block_list_columns : block_list_mapped_columns;
}

static void block_list_add_headings(struct strbuf *out, const struct style *style,
                                    const struct block_list *blocks)
{
    struct strbuf line = STRBUF_INIT;
    text_row_add_headings(&line, block_list_columns_of(blocks), BLOCK_COLUMNS);
    strbuf_add_char(&line, '\n');
    style_add(out, style, TONE_DIM, line.data);
    strbuf_release(&line);
}

/* The thread of a block, or the kind of what is among mappings. */
static void block_list_add_thread_or_kind(struct text_row *row, const struct block_list *blocks,
                                          const struct block_row *of)
{
    uint32_t tid = block_list_tid_of(blocks, &of->block);
    char text[24];
    snprintf(text, sizeof text, "%u", tid);
    if (blocks->options->of == MEMORY_HEAP)
        text_row_add(row, tid == UINT32_MAX ? "-" : text);
    else
        text_row_add(row, of->kind ? of->kind : "block");
}

static void block_list_add_row(struct strbuf *out, const struct style *style,
                               const struct block_list *blocks, const struct block_row *of)
{
    const struct replay_block *block = &of->block;
    const struct text_column *columns = block_list_columns_of(blocks);
    size_t used = GAP;
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, blocks->profile, blocks->hidden, block->node);
    char text[24];

    for (size_t i = 0; i < BLOCK_COLUMNS; i++)
        used += columns[i].width;
    struct text_row row = text_row_begin(out, columns);
    text_row_add(&row, human_bytes(block->size_bytes).text);
    text_row_add(&row, human_duration(block_list_age_ns(blocks, block)).text);
    block_list_add_thread_or_kind(&row, blocks, of);
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)block->address);
    text_row_add(&row, text);
    text_row_add(&row, "");
    frame_add_tight_line(out, style, blocks->profile, frame, used);
    for (size_t i = 0; i < blocks->options->style.depth && frame_walk_next(&walk, &frame); i++) {
        strbuf_add_repeated(out, " ", used);
        style_add(out, style, TONE_DIM, style_sign(style, "↑ ", "^ "));
        frame_add_tight_line(out, style, blocks->profile, frame, used + 2);
    }
}

static int block_list_put(FILE *file, struct strbuf *out)
{
    bool failed = fwrite(out->data, 1, out->length, file) != out->length;

    strbuf_reset(out);
    return failed ? -errno : 0;
}

static int block_list_write_head(FILE *file, const struct block_list *blocks)
{
    const struct heap_at_style *how = &blocks->options->style;
    const struct style style = {how->colour, how->utf8, how->columns};
    struct strbuf out = STRBUF_INIT;

    block_list_add_head(&out, blocks);
    if (blocks->count)
        block_list_add_headings(&out, &style, blocks);
    int error = block_list_put(file, &out);
    strbuf_release(&out);
    return error;
}

static int block_list_write_rows(FILE *file, const struct block_list *blocks)
{
    const struct heap_at_style *how = &blocks->options->style;
    const struct style style = {how->colour, how->utf8, how->columns};
    struct strbuf out = STRBUF_INIT;
    int error = 0;

    for (size_t i = 0; i < blocks->pick.count && !error; i++) {
        block_list_add_row(&out, &style, blocks, &blocks->pick.rows[i]);
        error = block_list_put(file, &out);
    }
    strbuf_release(&out);
    return error;
}

/* ---- JSON lines ---------------------------------------------------------------------------- */

static void block_list_write_frames(struct json *json, const struct block_list *blocks,
                                    uint32_t node)
{
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, blocks->profile, blocks->hidden, node);
    json_array(json, "frames");
    do {
        json_object(json, NULL);
        frame_write(json, blocks->profile, frame);
        json_end(json);
    } while (frame_walk_next(&walk, &frame));
    json_end(json);
}

static int block_list_write_line(FILE *file, const struct block_list *blocks,
                                 const struct block_row *of)
{
    const struct replay_block *block = &of->block;
    struct json json = json_begin(file, false);
    uint32_t tid = block_list_tid_of(blocks, block);

    json_object(&json, NULL);
    json_unsigned(&json, "address", block->address);
    json_unsigned(&json, "size_bytes", block->size_bytes);
    json_unsigned(&json, "age_ns", block_list_age_ns(blocks, block));
    json_unsigned(&json, "birth_ns", heap_at_ns(&blocks->clock, block->birth_ticks));
    if (tid == UINT32_MAX)
        json_null(&json, "thread");
    else
        json_unsigned(&json, "thread", tid);
    if (of->kind)
        json_string(&json, "mapping", of->kind);
    json_unsigned(&json, "node", block->node);
    if (!blocks->told || !blocks->told[block->node])
        block_list_write_frames(&json, blocks, block->node);
    if (blocks->told)
        blocks->told[block->node] = true;
    json_end(&json);
    fputc('\n', file);
    return ferror(file) ? -(errno ? errno : EIO) : 0;
}

static int block_list_write_lines(FILE *file, struct block_list *blocks)
{
    int error = 0;

    for (size_t i = 0; i < blocks->pick.count && !error; i++)
        error = block_list_write_line(file, blocks, &blocks->pick.rows[i]);
    return error;
}

/* ---- The whole ----------------------------------------------------------------------------- */

/* Finds the moment by the trace's own state, without replaying. */
static int block_list_find(struct block_list *blocks)
{
    struct offline_moment moment = blocks->options->at;
    struct trace_state state;
    int error;

    if (moment.kind == OFFLINE_NO_MOMENT)
        moment = (struct offline_moment){.kind = OFFLINE_PERCENT, .part = 1};
    error = heap_at_level_moment(blocks->trace, &blocks->clock, blocks->options->of, &moment);
    if (!error)
        error = heap_at_state(blocks->trace, &moment, &state);
    if (error)
        return error;
    blocks->until = state.event;
    blocks->ticks = heap_at_ticks(blocks->trace, &blocks->clock, &moment, &state);
    trace_state_release(&state);
    return 0;
}

/* Replays up to the moment. */
static int block_list_replay(struct block_list *blocks)
{
    offline_clock(blocks->trace, &blocks->clock);
    int error = block_list_find(blocks);
    if (error)
        return error;
    struct heap_at_replay replay = {.trace = blocks->trace,
                                    .clock = &blocks->clock,
                                    .until = blocks->until,
                                    .progress = blocks->options->progress,
                                    .context = blocks->options->context};
    error = heap_at_replay(&replay);
    blocks->replay = replay.replay;
    blocks->missing_blocks = replay.missing_blocks;
    return error;
}

static void block_list_add_up(struct block_list *blocks, const struct block_row *row)
{
    if (!block_list_is_wanted(blocks, &row->block))
        return;
    size_t node = row->block.node < blocks->sum_count ? row->block.node : 0;
    blocks->sums[node].bytes += row->block.size_bytes;
    blocks->sums[node].count++;
}

/* Sums of all nodes while they are made; then those of nodes that have blocks. */
static int block_list_make_sums(struct block_list *blocks, size_t node_count,
                                struct block_sums *sums)
{
    blocks->sum_count = node_count;
    blocks->sums = sums->list = calloc(node_count + 1, sizeof *sums->list);
    if (!sums->list)
        return heap_at_no_memory();
    block_list_visit_all(blocks, block_list_add_up);
    for (size_t node = 0; node <= node_count; node++) {
        const struct block_sum sum = {(uint32_t)node, sums->list[node].bytes,
                                      sums->list[node].count};
        if (sum.count)
            sums->list[sums->count++] = sum;
    }
    return 0;
}

int block_list_sums(const struct trace *trace, const struct blocks_options *options,
                    size_t node_count, struct block_sums *sums)
{
    struct blocks_options wanted = *options;
    struct block_list blocks = {.trace = trace, .options = &wanted};
    wanted.tid = UINT64_MAX;
    *sums = (struct block_sums){0};
    int error = block_list_replay(&blocks);
    if (!error)
        error = block_list_make_sums(&blocks, node_count, sums);
    sums->time_ns = heap_at_ns(&blocks.clock, blocks.ticks);
    sums->missing_blocks = blocks.missing_blocks;
    replay_free(blocks.replay);
    return error;
}

/* Piece by piece: each is picked from all that is alive. */
static int block_list_show_all(FILE *out, struct block_list *blocks)
{
    const struct heap_at_style *how = &blocks->options->style;
    int error = block_list_pick(blocks, how->top ? how->top : UINT64_MAX);
    uint64_t left = block_list_shown(blocks);

    if (blocks->options->paths_once &&
        !(blocks->told = calloc(blocks->profile->node_count + 1, sizeof *blocks->told)))
        error = heap_at_no_memory();
    if (!error && !how->json)
        error = block_list_write_head(out, blocks);
    while (!error && left && blocks->pick.count) {
        error =
            how->json ? block_list_write_lines(out, blocks) : block_list_write_rows(out, blocks);
        left -= blocks->pick.count;
        if (!error && left)
            error = block_list_pick(blocks, left);
    }
    return !error && fflush(out) ? -errno : error;
}

int block_list_show(FILE *out, const struct trace *trace, const struct blocks_options *options)
{
    struct block_list blocks = {.trace = trace, .options = options, .pick.order = options->order};
    int error = block_list_replay(&blocks);
    if (!error)
        error = block_list_name_blocks(&blocks);
    if (!error)
        error = block_list_show_all(out, &blocks);
    replay_free(blocks.replay);
    profile_free(blocks.profile);
    block_pick_release(&blocks.pick);
    free(blocks.hidden);
    free(blocks.told);
    free(blocks.wanted);
    return error;
}
