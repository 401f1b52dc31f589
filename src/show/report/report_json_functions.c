/* Writes functions, libraries and the call tree as JSON. The aggregate room makes them from the
 * chosen metric; their rows are written here with all metrics. */
#include <errno.h>
#include <stdlib.h>
#include "base/text.h"
#include "aggregate/metric_choice.h"
#include "format/names.h"
#include "aggregate/order.h"
#include "report/report_writer.h"
#include "aggregate/functions.h"
#include "aggregate/top_down.h"

static size_t report_json_functions_chosen_metric(const struct report_writer *writer)
{
    return metric_choice_of(writer->profile, writer->options->metric);
}

/* ---- Functions ----------------------------------------------------------------------------- */

static void report_json_functions_write_function_name(struct report_writer *writer, uint32_t key,
                                                      struct frame frame)
{
    const struct profile *profile = writer->profile;
    uint32_t index, line;
    struct strbuf name = STRBUF_INIT;
    enum function_key_kind kind = function_key_kind(profile, key, &index);
    bool named = kind == FUNCTION_KEY_FUNCTION;
    if (kind != FUNCTION_KEY_ANONYMOUS)
        frame_add_name(&name, profile, frame);
    json_string(&writer->json, "function", name.length ? name.data : NULL);
    json_string(&writer->json, "linkage", named ? profile->functions[index].linkage : NULL);
    json_string(&writer->json, "file", named ? frame_file(profile, frame, &line) : NULL);
    json_string(&writer->json, "module", frame_module(profile, frame));
    strbuf_release(&name);
}

static void report_json_functions_write_row(struct report_writer *writer,
                                            const struct function_row *row)
{
    json_object(&writer->json, NULL);
    report_json_functions_write_function_name(writer, row->key, frame_at(row->code, row->line));
    json_unsigned(&writer->json, "paths", row->inclusive.paths);
    json_unsigned(&writer->json, "own_paths", row->exclusive.paths);
    report_json_metrics(writer, "exclusive", &row->exclusive.metrics);
    report_json_metrics(writer, "inclusive", &row->inclusive.metrics);
    json_end(&writer->json);
}

static void report_json_functions_write_rows(struct report_writer *writer, const char *name,
                                             const struct functions *functions,
                                             const uint32_t *order,
                                             void (*write)(struct report_writer *writer,
                                                           const struct function_row *row))
{
    json_object(&writer->json, name);
    json_string(&writer->json, "metric", metrics[report_json_functions_chosen_metric(writer)].name);
    json_bool(&writer->json, "by_inclusive", writer->options->inclusive);
    json_unsigned(&writer->json, "count", functions->count);
    json_array(&writer->json, "rows");
    for (size_t i = 0; order && i < functions->count && i < writer->options->top; i++)
        write(writer, &functions->rows[order[i]]);
    json_end(&writer->json);
    json_end(&writer->json);
}

static int report_json_functions_write(struct report_writer *writer, const char *name,
                                       struct functions *functions,
                                       void (*write)(struct report_writer *writer,
                                                     const struct function_row *row))
{
    uint32_t *order = order_functions(functions, report_json_functions_chosen_metric(writer),
                                      writer->options->inclusive);
    report_json_functions_write_rows(writer, name, functions, order, write);
    int error = order ? 0 : -ENOMEM;
    free(order);
    functions_release(functions);
    return error;
}

int report_json_functions(struct report_writer *writer)
{
    struct functions functions;
    int error =
        functions_init(&functions, writer->profile, writer->sites.hidden, writer->sites.wanted);
    return error ? error
                 : report_json_functions_write(writer, "functions", &functions,
                                               report_json_functions_write_row);
}

/* ---- Libraries ----------------------------------------------------------------------------- */

static void report_json_functions_write_library(struct report_writer *writer,
                                                const struct function_row *row)
{
    bool is_module = row->key < writer->profile->module_count;
    json_object(&writer->json, NULL);
    json_string(&writer->json, "module",
                is_module ? writer->profile->modules[row->key].path : NULL);
    json_unsigned(&writer->json, "paths", row->inclusive.paths);
    json_unsigned(&writer->json, "own_paths", row->exclusive.paths);
    report_json_metrics(writer, "exclusive", &row->exclusive.metrics);
    report_json_metrics(writer, "inclusive", &row->inclusive.metrics);
    json_end(&writer->json);
}

int report_json_libraries(struct report_writer *writer)
{
    struct functions functions;
    if (!(writer->options->show >> REPORT_LIBRARIES & 1))
        return 0;
    int error = functions_init_libraries(&functions, writer->profile, writer->sites.hidden,
                                         writer->sites.wanted);
    return error ? error
                 : report_json_functions_write(writer, "libraries", &functions,
                                               report_json_functions_write_library);
}

/* ---- Call tree ----------------------------------------------------------------------------- */

/* JSON_MAX_DEPTH bounds the levels, and a node uses two. Nodes with less than a thousandth are left
 * out. */
enum { TREE_LEVELS = (JSON_MAX_DEPTH - 8) / 2, TREE_PART = 1000 };

static void report_json_functions_write_children(struct report_writer *writer,
                                                 struct top_down *tree, uint32_t index,
                                                 size_t levels)
{
    struct figure least = figure_divide(tree->nodes[0].inclusive, figure_of(TREE_PART));
    top_down_sort(tree, index);
    json_array(&writer->json, "children");
    for (uint32_t child = tree->nodes[index].first_child; child && levels;
         child = tree->nodes[child].next) {
        const struct top_down_node *node = &tree->nodes[child];
        if (figure_less(node->inclusive, least))
            break;
        json_object(&writer->json, NULL);
        json_figure(&writer->json, "inclusive", node->inclusive);
        json_figure(&writer->json, "exclusive", node->exclusive);
        report_json_functions_write_function_name(writer, node->key,
                                                  frame_at(node->code, node->line));
        report_json_functions_write_children(writer, tree, child, levels - 1);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

int report_json_tree(struct report_writer *writer)
{
    struct top_down tree;
    size_t metric = metric_choice_that_adds_up(writer->profile, writer->options->metric);
    if (!(writer->options->show >> REPORT_TREE & 1))
        return 0;
    int error = top_down_init(&tree, writer->profile, metrics[metric].row, writer->sites.hidden,
                              writer->sites.wanted);
    if (error)
        return error;
    json_object(&writer->json, "tree");
    json_string(&writer->json, "metric", metrics[metric].name);
    json_figure(&writer->json, "inclusive", tree.nodes[0].inclusive);
    report_json_functions_write_children(writer, &tree, 0, TREE_LEVELS);
    json_end(&writer->json);
    top_down_release(&tree);
    return 0;
}
