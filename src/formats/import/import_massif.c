/* Massif's output: the highest snapshot with a tree, and the levels of all. The one that massif
 * calls the peak may be far below others, because it takes it at a free only. Trees run from the
 * allocating call outwards; what a node has more than those below it was cut off there by massif's
 * threshold. Who allocated and freed how much in all, and what was never freed, it does not say. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "import/importers.h"
#include "import/import_text.h"
#include "base/human.h"
#include "base/memory.h"

enum { DEEPEST = 4096 };

struct import_massif {
    struct gather *gather;
    struct strbuf *why;
    struct import_text all;
    size_t line_number;
    bool is_ms; /* else time is in instructions or bytes */
    struct import_massif_snapshot {
        uint64_t time, heap, extra, stacks;
        struct import_text tree; /* empty: it has none */
    } now, best;
    uint64_t highest, highest_time;
};

static int import_massif_fail(struct import_massif *massif, const char *what)
{
    strbuf_reset(massif->why);
    strbuf_addf(massif->why, "line %zu of the massif file %s", massif->line_number, what);
    return -EBADMSG;
}

static bool import_massif_next_line(struct import_massif *massif, struct import_text *line)
{
    massif->line_number++;
    return text_line(&massif->all, line);
}

/* ---- Trees --------------------------------------------------------------------------------- */

/* One node of the way from the top to where reading stands. */
struct import_massif_step {
    uint64_t bytes, below, children_left;
    uint32_t location; /* 0: the top */
};

/* Bytes that end at steps[depth]: its location is the outermost of the path. */
static void import_massif_add_path(struct import_massif *massif,
                                   const struct import_massif_step *steps, size_t depth,
                                   uint64_t bytes)
{
    uint32_t path = 0;
    if (!bytes)
        return;
    if (!depth) {
        struct gather_named rest = {.function = "(below massif's threshold)",
                                    .function_length = 26};
        path = gather_path(massif->gather, 0, gather_location(massif->gather, -1, 0, &rest, 1));
    }
    for (size_t i = depth; i >= 1; i--)
        path = gather_path(massif->gather, path, steps[i].location);
    struct call_metrics *metrics = &gather_site(massif->gather, path)->metrics;
    gather_add(&metrics->at_peak_bytes, bytes);
}

/* A node is done when its children are: what they do not account for ends at it. */
static void import_massif_end_step(struct import_massif *massif, struct import_massif_step *steps,
                                   size_t *depth)
{
    for (;;) {
        struct import_massif_step *step = &steps[*depth];
        import_massif_add_path(massif, steps, *depth,
                               step->bytes > step->below ? step->bytes - step->below : 0);
        if (!*depth)
            return;
        uint64_t bytes = step->bytes;
        step = &steps[--*depth];
        step->below = gather_sum(step->below, bytes);
        if (--step->children_left)
            return;
    }
}

/* "n3: 1000 0x…: f (a.c:1)", "n0: 10 in 3 places, all below massif's threshold (1.00%)". */
static int import_massif_take_node(struct import_massif *massif, struct import_text line,
                                   struct import_massif_step *step, bool is_top, bool *is_rest)
{
    *step = (struct import_massif_step){0};
    text_skip_spaces(&line);
    if (!text_skip(&line, "n") || !text_number(&line, 10, &step->children_left) ||
        !text_skip(&line, ":") || !text_number(&line, 10, &step->bytes) || step->bytes > INT64_MAX)
        return import_massif_fail(massif, "is no node of a tree");
    text_skip_spaces(&line);
    *is_rest = !is_top && !text_skip(&line, "0x") && text_skip(&line, "in ");
    if (is_top || *is_rest)
        return 0;
    if (line.at[-1] == 'x' && line.at[-2] == '0')
        line.at -= 2;
    step->location = text_frame(massif->gather, line);
    return 0;
}

static int import_massif_take_tree(struct import_massif *massif)
{
    struct import_massif_step *steps = calloc(DEEPEST + 1, sizeof *steps);
    struct import_text tree = massif->best.tree, line;
    size_t depth = 0;
    bool is_rest, has_begun = false;
    int error = 0;
    if (!steps)
        memory_exhausted();
    while (!error && text_line(&tree, &line)) {
        struct import_massif_step step;
        error = import_massif_take_node(massif, line, &step, !has_begun, &is_rest);
        if (!error && has_begun && !steps[depth].children_left)
            break;
        if (!error && has_begun && depth == DEEPEST)
            error = import_massif_fail(massif, "holds a tree that is too deep");
        if (error)
            break;
        depth += has_begun;
        steps[depth] = step;
        has_begun = true;
        if (is_rest) { /* its bytes are not below: they end at its parent */
            steps[depth].bytes = 0;
            steps[depth].children_left = 0;
        }
        if (!step.children_left)
            import_massif_end_step(massif, steps, &depth);
    }
    free(steps);
    return error;
}

/* ---- Snapshots ----------------------------------------------------------------------------- */

static uint64_t import_massif_ns_of(const struct import_massif *massif, uint64_t time)
{
    uint64_t ns;
    return __builtin_mul_overflow(time, massif->is_ms ? 1000000 : 1, &ns) || ns > GATHER_MOST
               ? GATHER_MOST
               : ns;
}

static void import_massif_end_snapshot(struct import_massif *massif)
{
    const struct import_massif_snapshot *now = &massif->now;
    uint64_t ns = import_massif_ns_of(massif, now->time);
    gather_moment(massif->gather, &(struct gather_moment){.time_ns = ns,
                                                          .requested_bytes = figure_of(now->heap),
                                                          .resident_bytes = FIGURE_UNKNOWN});
    massif->gather->duration_ns = figure_max(massif->gather->duration_ns, figure_of(ns));
    if (now->heap > massif->highest) {
        massif->highest = now->heap;
        massif->highest_time = ns;
    }
    bool has_tree = now->tree.at < now->tree.end;
    if (has_tree && now->heap >= massif->best.heap)
        massif->best = *now;
}

static int import_massif_take_number(struct import_massif *massif, const char *name,
                                     uint64_t *value)
{
    struct import_text line;
    while (massif->all.at < massif->all.end && *massif->all.at == '#')
        import_massif_next_line(massif, &line);
    if (!import_massif_next_line(massif, &line) || !text_skip(&line, name) ||
        !text_skip(&line, "=") || !text_number(&line, 10, value) || *value > INT64_MAX)
        return import_massif_fail(massif, "is not the part of a snapshot that should stand there");
    return 0;
}

/* Up to the next snapshot's "#---". */
static void import_massif_pass_tree(struct import_massif *massif, struct import_text *tree)
{
    struct import_text line;
    tree->at = massif->all.at;
    while (massif->all.at < massif->all.end && *massif->all.at != '#')
        import_massif_next_line(massif, &line);
    tree->end = massif->all.at;
}

static int import_massif_take_snapshot(struct import_massif *massif)
{
    struct import_text line;
    massif->now = (struct import_massif_snapshot){0};
    int error = import_massif_take_number(massif, "time", &massif->now.time);
    if (!error)
        error = import_massif_take_number(massif, "mem_heap_B", &massif->now.heap);
    if (!error)
        error = import_massif_take_number(massif, "mem_heap_extra_B", &massif->now.extra);
    if (!error)
        error = import_massif_take_number(massif, "mem_stacks_B", &massif->now.stacks);
    if (error)
        return error;
    if (!import_massif_next_line(massif, &line) || !text_skip(&line, "heap_tree="))
        return import_massif_fail(massif, "does not say whether there is a tree");
    import_massif_pass_tree(massif, &massif->now.tree);
    import_massif_end_snapshot(massif);
    return 0;
}

static int import_massif_take_head(struct import_massif *massif, struct import_text line)
{
    struct import_text rest = line;
    if (text_skip(&rest, "cmd:")) {
        text_skip_spaces(&rest);
        size_t length = (size_t)(rest.end - rest.at);
        const char *space = memchr(rest.at, ' ', length);
        const char *end = space ? space : rest.end;
        const char *slash = memrchr(rest.at, '/', (size_t)(end - rest.at));
        const char *name = slash ? slash + 1 : rest.at;
        gather_fact(massif->gather, PROFILE_META_COMMAND, rest.at, length);
        gather_fact(massif->gather, PROFILE_META_PROGRAM, name, (size_t)(end - name));
    } else if (text_skip(&rest, "time_unit:")) {
        text_skip_spaces(&rest);
        massif->is_ms = text_skip(&rest, "ms");
    }
    return 0;
}

/* ---- All of it ----------------------------------------------------------------------------- */

static int import_massif_read_lines(struct import_massif *massif)
{
    struct import_text line;
    int error = 0;
    while (!error && import_massif_next_line(massif, &line)) {
        struct import_text rest = line;
        if (text_skip(&rest, "snapshot="))
            error = import_massif_take_snapshot(massif);
        else if (line.at < line.end && *line.at != '#')
            error = import_massif_take_head(massif, line);
    }
    return error;
}

static void import_massif_add_note(struct import_massif *massif)
{
    struct strbuf note = STRBUF_INIT;
    if (!massif->is_ms)
        strbuf_add_string(&note, "massif's time is not in milliseconds: what is shown as 1 ns is "
                                 "one of its units (instructions or bytes)");
    if (massif->best.tree.at && massif->best.heap < massif->highest)
        strbuf_addf(&note,
                    "%sthe peak is the highest moment with call paths: massif saw %s "
                    "without them",
                    note.length ? "; " : "", human_bytes(massif->highest).text);
    if (!massif->best.tree.at)
        strbuf_addf(&note, "%sthe massif file has no detailed snapshot: there are no call paths",
                    note.length ? "; " : "");
    if (note.length)
        gather_fact(massif->gather, PROFILE_META_IMPORT_NOTE, note.data, note.length);
    strbuf_release(&note);
}

static int import_massif_finish(struct import_massif *massif)
{
    struct gather *gather = massif->gather;
    gather->program.total.peak_bytes = figure_of(massif->highest);
    gather->program.total.peak_ticks = figure_of(massif->highest_time);
    if (massif->best.tree.at && massif->best.heap < massif->highest) {
        /* The tree of the highest detailed snapshot stands for what is below the real peak. */
        gather->program.total.peak_bytes = figure_of(massif->best.heap);
        gather->program.total.peak_ticks =
            figure_of(import_massif_ns_of(massif, massif->best.time));
    }
    import_massif_add_note(massif);
    return import_massif_take_tree(massif);
}

bool import_is_massif(const char *bytes, size_t count)
{
    struct import_text head = {bytes, bytes + (count < 4096 ? count : 4096)}, line;
    bool has_time = false, has_command = false;
    while (text_line(&head, &line)) {
        has_command |= text_skip(&line, "cmd:");
        has_time |= text_skip(&line, "time_unit:");
    }
    return has_time && has_command;
}

int import_massif(struct gather *gather, const char *bytes, size_t count, struct strbuf *why)
{
    struct import_massif massif = {.gather = gather, .why = why, .all = {bytes, bytes + count}};
    GATHER_KNOWS(gather, at_peak_bytes);
    int error = import_massif_read_lines(&massif);
    if (!error && !figure_known(gather->duration_ns)) {
        strbuf_add_string(why, "the massif file holds no snapshot");
        error = -EBADMSG;
    }
    return error ? error : import_massif_finish(&massif);
}
