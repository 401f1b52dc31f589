/* The functions with most of some metrics (functions_top.h). What functions ask for themselves is
 * added up first, path by path. Then it is known which of them are shown, and what is asked for
 * below these alone is added up. Each of them has a bit, and a node has the bits of those on the
 * way to it. Nodes are numbered parents first: one pass finds that without a walk of the tree. */
#include "aggregate/functions_top.h"

#include <errno.h>
#include <stdlib.h>
#include "aggregate/metric_choice.h"
#include "aggregate/order.h"

enum { BITS = 64 }; /* functions that are looked for in one pass */

struct functions_top {
    const struct profile *profile;
    const bool *hidden;
    const struct metric *const *only;
    size_t only_count;
    struct function_row *rows; /* by key */
    uint8_t *bit_of_key;       /* 0: none, else the bit's number + 1 */
    uint64_t *of_code;         /* bits of the functions of a location that are not hidden */
    uint64_t *of_node;         /* those of the node and of all that lead to it */
    struct function_row *looked_for[BITS];
};

/* ---- What they ask for themselves ---------------------------------------------------------- */

static void functions_top_read(const struct functions_top *top, size_t site,
                               struct call_metrics *figures)
{
    for (size_t i = 0; i < top->only_count; i++)
        *metric_field(top->only[i]->row, figures) =
            profile_site_figure(top->profile, site, top->only[i]->row);
}

static void functions_top_add(const struct functions_top *top, struct merged_metrics *into,
                              const struct call_metrics *from)
{
    for (size_t i = 0; i < top->only_count; i++) {
        struct figure value = metric_of(top->only[i], from),
                      *sum = metric_field(top->only[i]->row, &into->metrics);
        *sum = into->paths ? metric_join(top->only[i], *sum, value) : value;
    }
    into->paths++;
}

/* A path of hidden frames alone counts for its innermost one, above which it is not looked for. */
static void functions_top_add_exclusive(struct functions_top *top)
{
    const struct profile *profile = top->profile;
    struct call_metrics figures;
    call_metrics_know_nothing(&figures);
    for (size_t i = 0; i < profile->site_count; i++) {
        uint32_t code, line;
        bool visible = function_exclusive_frame(profile, top->hidden, profile_site_path(profile, i),
                                                &code, &line);
        struct function_row *row = &top->rows[function_key(profile, code, line)];
        if (!row->exclusive.paths) {
            call_metrics_know_nothing(&row->exclusive.metrics);
            call_metrics_know_nothing(&row->inclusive.metrics);
            row->code = code;
            row->line = line;
        }
        functions_top_read(top, i, &figures);
        functions_top_add(top, &row->exclusive, &figures);
        if (!visible)
            functions_top_add(top, &row->inclusive, &figures);
    }
}

/* Rows of functions that ask for something, by key. */
static void functions_top_keep(struct functions *functions, struct functions_top *top, size_t keys)
{
    size_t count = 0;
    for (size_t key = 0; key < keys; key++) {
        if (!top->rows[key].exclusive.paths)
            continue;
        top->rows[key].key = (uint32_t)key;
        if (count != key)
            top->rows[count] = top->rows[key];
        count++;
    }
    *functions = (struct functions){top->rows, count};
    top->rows = NULL;
}

/* ---- With what is below them --------------------------------------------------------------- */

static void functions_top_find_ways(struct functions_top *top)
{
    const struct profile *profile = top->profile;
    for (uint32_t i = 0; i < profile->code_count; i++) {
        const struct profile_code *code = &profile->codes[i];
        top->of_code[i] = 0;
        for (uint32_t line = code->first_line; line < code->first_line + code->line_count; line++) {
            unsigned bit = top->hidden && top->hidden[line]
                               ? 0
                               : top->bit_of_key[function_key(profile, i, line)];
            top->of_code[i] |= bit ? (uint64_t)1 << (bit - 1) : 0;
        }
    }
    top->of_node[0] = 0;
    for (size_t i = 1; i < profile->node_count; i++)
        top->of_node[i] =
            top->of_node[profile->nodes[i].parent] | top->of_code[profile->nodes[i].location];
}

static void functions_top_add_below(struct functions_top *top)
{
    const struct profile *profile = top->profile;
    struct call_metrics figures;
    call_metrics_know_nothing(&figures);
    functions_top_find_ways(top);
    for (size_t i = 0; i < profile->site_count; i++) {
        uint64_t bits = top->of_node[profile_site_path(profile, i)];
        if (bits)
            functions_top_read(top, i, &figures);
        for (; bits; bits &= bits - 1)
            functions_top_add(top, &top->looked_for[__builtin_ctzll(bits)]->inclusive, &figures);
    }
}

/* `wanted`: by row. */
static void functions_top_add_inclusive(struct functions_top *top,
                                        const struct functions *functions, const bool *wanted)
{
    unsigned bits = 0;
    for (size_t i = 0; i < functions->count; i++) {
        struct function_row *row = &functions->rows[i];
        if (wanted[i]) {
            top->looked_for[bits] = row;
            top->bit_of_key[row->key] = (uint8_t)++bits;
        }
        if (!bits || (bits < BITS && i + 1 < functions->count))
            continue;
        functions_top_add_below(top);
        while (bits)
            top->bit_of_key[top->looked_for[--bits]->key] = 0;
    }
}

static bool functions_top_choose(const struct functions_top *top, const struct functions *functions,
                                 size_t most, bool *wanted)
{
    for (size_t i = 0; i < top->only_count; i++) {
        uint32_t *order = order_functions(functions, (size_t)(top->only[i] - metrics), false);
        if (!order)
            return false;
        for (size_t j = 0; j < functions->count && j < most; j++)
            wanted[order[j]] = true;
        free(order);
    }
    return true;
}

/* ---- The answer ---------------------------------------------------------------------------- */

static int functions_top_run(struct functions *functions, struct functions_top *top, size_t most,
                             size_t keys)
{
    functions_top_add_exclusive(top);
    functions_top_keep(functions, top, keys);
    bool *wanted = calloc(functions->count + 1, sizeof *wanted);
    bool complete = wanted && functions_top_choose(top, functions, most, wanted);
    if (complete)
        functions_top_add_inclusive(top, functions, wanted);
    free(wanted);
    if (!complete)
        functions_release(functions);
    return complete ? 0 : -ENOMEM;
}

int functions_init_top(struct functions *functions, const struct profile *profile,
                       const bool *hidden, const struct metric *const *only, size_t count,
                       size_t most)
{
    size_t keys = function_key_count(profile);
    struct functions_top top = {.profile = profile,
                                .hidden = hidden,
                                .only = only,
                                .only_count = count,
                                .rows = calloc(keys, sizeof *top.rows),
                                .bit_of_key = calloc(keys, sizeof *top.bit_of_key),
                                .of_code = calloc(profile->code_count + 1, sizeof *top.of_code),
                                .of_node = malloc((profile->node_count + 1) * sizeof *top.of_node)};
    *functions = (struct functions){0};
    int error = top.rows && top.bit_of_key && top.of_code && top.of_node
                    ? functions_top_run(functions, &top, most, keys)
                    : -ENOMEM;
    free(top.rows);
    free(top.bit_of_key);
    free(top.of_code);
    free(top.of_node);
    return error;
}
