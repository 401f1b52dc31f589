/* The call graph of the functions that hold most, as DOT; and as SVG, which Graphviz's `dot` draws.
 *
 * Functions below 1/200 of the whole are passed over: an edge over such ones is dashed. An edge is
 * what is asked for below its callee when called from there, each path once: in the call tree, the
 * outermost node of each path to which the edge leads has all of its value. */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/array.h"
#include "base/human.h"
#include "base/memory.h"
#include "export/exporting.h"
#include "format/names.h"
#include "aggregate/functions.h"
#include "aggregate/top_down.h"

enum { NODES = 80, LEAST_PARTS = 200, EDGE_PARTS = 1000, LABEL_COLUMNS = 36 };

struct export_dot_edge {
    uint32_t from, to; /* keys of functions */
    uint64_t value;
    uint32_t open;  /* so many nodes to which it leads are on the way to where the walk is */
    bool is_direct; /* on some path there is nothing between */
};
struct dot {
    struct exporting *exporting;
    FILE *out;
    struct functions functions;
    const struct function_row **row_of; /* by key; NULL: passed over */
    struct intern numbers;              /* of edges */
    struct export_dot_edge *edges;
    size_t edge_capacity;
    uint64_t total;
};

/* The metric was recorded: exporters.c has made sure. So a site without a figure has nothing. */
static uint64_t export_dot_number(const struct dot *dot, const struct call_metrics *metrics)
{
    return figure_or(metric_value(dot->exporting->options->metric, metrics), 0);
}

static uint64_t export_dot_value_of(const struct dot *dot, const struct merged_metrics *merged)
{
    return merged->paths ? export_dot_number(dot, &merged->metrics) : 0;
}

/* ---- Which functions ----------------------------------------------------------------------- */

static int export_dot_by_falling_value(const void *a, const void *b, void *context)
{
    const struct dot *dot = context;
    const struct function_row *left = *(const struct function_row *const *)a;
    const struct function_row *right = *(const struct function_row *const *)b;
    uint64_t left_value = export_dot_value_of(dot, &left->inclusive);
    uint64_t right_value = export_dot_value_of(dot, &right->inclusive);
    if (left_value != right_value)
        return left_value < right_value ? 1 : -1;
    return left->key < right->key ? -1 : left->key > right->key;
}

static void export_dot_choose(struct dot *dot)
{
    size_t count = dot->functions.count;
    const struct function_row **rows = calloc(count + 1, sizeof *rows);
    dot->row_of = calloc(function_key_count(dot->exporting->profile) + 1, sizeof *dot->row_of);
    if (!rows || !dot->row_of)
        memory_exhausted();
    for (size_t i = 0; i < count; i++)
        rows[i] = &dot->functions.rows[i];
    qsort_r(rows, count, sizeof *rows, export_dot_by_falling_value, dot);
    for (size_t i = 0; i < count && i < NODES; i++) {
        uint64_t value = export_dot_value_of(dot, &rows[i]->inclusive);
        if (value && value >= dot->total / LEAST_PARTS)
            dot->row_of[rows[i]->key] = rows[i];
    }
    free(rows);
}

/* ---- Edges --------------------------------------------------------------------------------- */

/* The number of an edge, from 1. */
static uint32_t export_dot_edge_number(struct dot *dot, uint32_t from, uint32_t to, bool is_direct)
{
    uint32_t key[] = {from, to};
    bool is_new;
    uint32_t number = export_intern(&dot->numbers, (char *)key, sizeof key, &is_new);
    array_need_bare_room(&dot->edges, &dot->edge_capacity, number - 1, sizeof *dot->edges);
    if (is_new)
        dot->edges[number - 1] = (struct export_dot_edge){.from = from, .to = to};
    dot->edges[number - 1].is_direct |= is_direct;
    return number;
}

static bool export_dot_is_shown(const struct dot *dot, const struct top_down *tree, uint32_t node)
{
    return node && dot->row_of[tree->nodes[node].key];
}

/* For each node of the tree the edge that leads to it; 0: none. To be freed. */
static uint32_t *export_dot_list_edges(struct dot *dot, const struct top_down *tree)
{
    uint32_t *edges = memory_need(calloc(tree->count + 1, sizeof *edges));
    uint32_t *callers = memory_need(calloc(tree->count + 1, sizeof *callers)); /* that are shown */
    for (uint32_t node = 1; node < tree->count; node++) {
        uint32_t parent = tree->nodes[node].parent;
        bool is_direct = export_dot_is_shown(dot, tree, parent);
        callers[node] = is_direct ? parent : callers[parent];
        if (callers[node] && export_dot_is_shown(dot, tree, node) &&
            figure_positive(tree->nodes[node].inclusive))
            edges[node] = export_dot_edge_number(dot, tree->nodes[callers[node]].key,
                                                 tree->nodes[node].key, is_direct);
    }
    free(callers);
    return edges;
}

static void export_dot_enter(struct dot *dot, uint32_t edge, struct figure value)
{
    if (edge && dot->edges[edge - 1].open++ == 0)
        dot->edges[edge - 1].value += figure_or(value, 0);
}

static void export_dot_leave(struct dot *dot, uint32_t edge)
{
    if (edge)
        dot->edges[edge - 1].open--;
}

static void export_dot_walk(struct dot *dot, const struct top_down *tree, const uint32_t *edges)
{
    uint32_t at = tree->nodes[0].first_child;
    while (at) {
        export_dot_enter(dot, edges[at], tree->nodes[at].inclusive);
        if (tree->nodes[at].first_child) {
            at = tree->nodes[at].first_child;
            continue;
        }
        export_dot_leave(dot, edges[at]);
        while (at && !tree->nodes[at].next) {
            at = tree->nodes[at].parent;
            export_dot_leave(dot, edges[at]);
        }
        at = at ? tree->nodes[at].next : 0;
    }
}

static int export_dot_add_paths(struct dot *dot)
{
    const struct exporting *exporting = dot->exporting;
    struct top_down tree;
    int error = top_down_init(&tree, exporting->profile, exporting->options->metric,
                              exporting->hidden, exporting->wanted);
    if (error)
        return error;
    uint32_t *edges = export_dot_list_edges(dot, &tree);
    export_dot_walk(dot, &tree, edges);
    free(edges);
    top_down_release(&tree);
    return 0;
}

/* ---- Writing ------------------------------------------------------------------------------- */

/* Graphviz takes strings up to 16 KiB; nobody reads one of 4. */
enum { MOST_QUOTED_BYTES = 4096 };

static void export_dot_add_quoted(struct strbuf *out, const char *name)
{
    struct strbuf plain = STRBUF_INIT;
    export_add_plain(&plain, name, NULL, 0);
    if (plain.length > MOST_QUOTED_BYTES) {
        size_t kept = MOST_QUOTED_BYTES;
        while (((unsigned char)plain.data[kept] & 0xc0) == 0x80)
            kept--;
        plain.data[kept] = '\0';
    }
    for (const char *text = plain.data; *text; text++) {
        if (*text == '"' || *text == '\\')
            strbuf_add_char(out, '\\');
        strbuf_add_char(out, *text);
    }
    if (plain.length > MOST_QUOTED_BYTES)
        strbuf_add_string(out, "…");
    strbuf_release(&plain);
}

static void export_dot_add_figure(struct strbuf *out, const struct dot *dot, uint64_t value)
{
    enum metric_unit unit = dot->exporting->options->metric->unit;
    strbuf_add_string(out, unit == METRIC_BYTES ? human_bytes(value).text
                           : unit == METRIC_NS  ? human_duration(value).text
                                                : human_count(value).text);
}

static void export_dot_write_node(struct dot *dot, const struct function_row *row)
{
    const struct profile *profile = dot->exporting->profile;
    struct frame frame = frame_at(row->code, row->line);
    uint64_t own = export_dot_value_of(dot, &row->exclusive),
             all = export_dot_value_of(dot, &row->inclusive);
    double share = dot->total ? (double)own / (double)dot->total : 0;
    double warmth = dot->total ? (double)all / (double)dot->total : 0;
    struct strbuf name = STRBUF_INIT, shown = STRBUF_INIT, label = STRBUF_INIT, tip = STRBUF_INIT;
    export_add_key_name(&name, profile, row->key, frame, NULL, 0);
    name_add_short(&shown, name.data, LABEL_COLUMNS);
    export_dot_add_quoted(&label, shown.data);
    strbuf_reset(&shown);
    frame_add_file(&shown, profile, frame, LABEL_COLUMNS);
    if (shown.length) {
        strbuf_add_string(&label, "\\n");
        export_dot_add_quoted(&label, shown.data);
    }
    strbuf_add_string(&label, "\\n");
    export_dot_add_figure(&label, dot, own);
    strbuf_addf(&label, " (%s) of ", human_percent((double)own, (double)dot->total).text);
    export_dot_add_figure(&label, dot, all);
    strbuf_addf(&label, " (%s)", human_percent((double)all, (double)dot->total).text);
    export_dot_add_quoted(&tip, name.data);
    fprintf(dot->out,
            "  n%u [label=\"%s\" tooltip=\"%s\" fontsize=%.1f fillcolor=\"%.3f %.3f 1.000\"];\n",
            row->key, label.data, tip.data, 9 + 15 * share, 0.15 - 0.12 * warmth,
            0.08 + 0.35 * warmth);
    strbuf_release(&name);
    strbuf_release(&shown);
    strbuf_release(&label);
    strbuf_release(&tip);
}

static void export_dot_write_edge(struct dot *dot, const struct export_dot_edge *edge)
{
    double share = dot->total ? (double)edge->value / (double)dot->total : 0;
    struct strbuf label = STRBUF_INIT;
    if (edge->value < dot->total / EDGE_PARTS)
        return;
    export_dot_add_figure(&label, dot, edge->value);
    fprintf(dot->out, "  n%u -> n%u [label=\" %s\" weight=%u penwidth=%.1f%s];\n", edge->from,
            edge->to, label.data, 1 + (unsigned)(100 * share), 0.6 + 4 * share,
            edge->is_direct ? "" : " style=dashed");
    strbuf_release(&label);
}

static void export_dot_write_graph(struct dot *dot)
{
    struct exporting *exporting = dot->exporting;
    struct strbuf title = STRBUF_INIT, label = STRBUF_INIT;
    strbuf_addf(&title, "%s: ", export_title(exporting->profile));
    if (exporting->options->region)
        strbuf_addf(&title, "in region %s, ", exporting->options->region);
    strbuf_addf(&title, "%s, ", exporting->options->metric->title);
    export_dot_add_figure(&title, dot, dot->total);
    export_dot_add_quoted(&label, title.data);
    fprintf(
        dot->out,
        "digraph tidemark {\n  label=\"%s\" labelloc=t fontname=\"sans-serif\" "
        "nodesep=0.25 ranksep=0.4;\n"
        "  node [shape=box style=\"filled,rounded\" fontname=\"sans-serif\" color=\"#888888\"];\n"
        "  edge [fontname=\"sans-serif\" fontsize=8 color=\"#555555\" arrowsize=0.6];\n",
        label.data);
    for (size_t i = 0; i < dot->functions.count; i++)
        if (dot->row_of[dot->functions.rows[i].key])
            export_dot_write_node(dot, &dot->functions.rows[i]);
    for (size_t i = 0; i < dot->numbers.count; i++)
        export_dot_write_edge(dot, &dot->edges[i]);
    fputs("}\n", dot->out);
    strbuf_release(&title);
    strbuf_release(&label);
}

static int export_dot_write(struct exporting *exporting, FILE *out)
{
    struct dot dot = {.exporting = exporting, .out = out};
    int error =
        functions_init(&dot.functions, exporting->profile, exporting->hidden, exporting->wanted);
    if (error)
        return error;
    dot.total = figure_or(export_total(exporting, exporting->options->metric), 0);
    export_dot_choose(&dot);
    error = export_dot_add_paths(&dot);
    if (!error)
        export_dot_write_graph(&dot);
    free(dot.row_of);
    free(dot.edges);
    intern_release(&dot.numbers);
    functions_release(&dot.functions);
    return error;
}

int export_dot(struct exporting *exporting)
{
    return export_dot_write(exporting, exporting->out);
}

/* ---- Drawn --------------------------------------------------------------------------------- */

/* Runs `dot -Tsvg` from one open file to another. */
static int export_dot_draw(struct exporting *exporting, int from, int to)
{
    extern char **environ;
    char *const arguments[] = {"dot", "-Tsvg", NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = 0;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
    int error = posix_spawnp(&pid, "dot", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        return export_fail(exporting, -error,
                           "cannot run dot, which draws the graph (package graphviz): %s; --to dot "
                           "writes what it would draw",
                           strerror(error));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(status) && !WEXITSTATUS(status))
        return 0;
    return export_fail(exporting, -EIO, "dot did not draw the graph; --to dot writes it as text");
}

int export_svg(struct exporting *exporting)
{
    int fd = memfd_create("tidemark-dot", MFD_CLOEXEC);
    FILE *graph = fd >= 0 ? fdopen(fd, "w+") : NULL;
    if (!graph) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return export_fail(exporting, -error, "no room for a graph: %s", strerror(error));
    }
    int error = export_dot_write(exporting, graph);
    if (!error && (fflush(graph) || lseek(fd, 0, SEEK_SET)))
        error = -errno;
    if (!error && !fflush(exporting->out))
        error = export_dot_draw(exporting, fd, fileno(exporting->out));
    fclose(graph);
    return error;
}
