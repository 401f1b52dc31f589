/* Callgrind's format, version 1: all metrics as events, by function, file and line; inlined
 * functions are functions of their own. `calls=` counts the allocations that came by the call: how
 * often it was made at all is not known.
 *
 * Inclusive figures are sums over calls. A function that is on a path twice would have what it
 * called counted twice; so only its outermost frame counts as a caller, and not for what comes back
 * to be its own. A function's own figures and those of its calls are then its inclusive ones
 * exactly, as `tidemark report --inclusive` has them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "export/exporting.h"
#include "base/array.h"
#include "base/memory.h"
#include "aggregate/facts.h"

/* The first is what callgrind_annotate sorts by; KCachegrind shows the first thirteen. */
static const char *const first[] = {
    "at_peak_bytes", "live_bytes",  "alloc_bytes", "alloc_count",   "temporary_count",
    "at_peak_count", "live_count",  "free_bytes",  "realloc_count", "realloc_bytes",
    "slack_bytes",   "freed_bytes", "map_bytes"};
enum { FIRST = sizeof first / sizeof *first };

/* What one line of a function costs by itself (callee 0) or by calling another. */
struct cost_key {
    uint32_t function, line, callee, callee_line;
};
struct export_callgrind_function {
    uint32_t object, file, name; /* numbers of strings */
    size_t seen;                 /* the last site (+ 1) on whose path it was met */
};

struct callgrind {
    struct exporting *exporting;
    struct export_columns columns;
    struct intern names, functions, costs;
    struct export_callgrind_function *list; /* by number - 1 */
    size_t list_capacity;
    struct cost_key *keys; /* by number - 1 */
    struct figure *values; /* columns.count for each key */
    size_t key_capacity;
    char **name_of; /* by number - 1; NULL once it was written: then the number is enough */
    size_t name_capacity;
};

/* ---- Events -------------------------------------------------------------------------------- */

static bool export_callgrind_is_among_first(const struct metric_row *entry)
{
    for (size_t i = 0; i < FIRST; i++)
        if (!strcmp(first[i], entry->column))
            return true;
    return false;
}

static void export_callgrind_order_columns(struct export_columns *columns,
                                           const struct profile *profile)
{
    struct export_columns all;
    export_columns_init(&all, profile, true);
    columns->count = 0;
    for (size_t i = 0; i < FIRST; i++)
        for (size_t j = 0; j < all.count; j++)
            if (!strcmp(all.entries[j]->column, first[i]))
                columns->entries[columns->count++] = all.entries[j];
    for (size_t j = 0; j < all.count; j++)
        if (!export_callgrind_is_among_first(all.entries[j]))
            columns->entries[columns->count++] = all.entries[j];
}

/* ---- Functions ----------------------------------------------------------------------------- */

/* Objects, files and functions are numbered apart: `kind` says which it is. */
static uint32_t export_callgrind_name_number(struct callgrind *callgrind, char kind,
                                             const char *name)
{
    bool is_new;
    struct strbuf key = STRBUF_INIT;
    strbuf_addf(&key, "%c%s", kind, name);
    uint32_t number = export_intern(&callgrind->names, key.data, key.length, &is_new);
    strbuf_release(&key);
    if (is_new) {
        array_need_room(&callgrind->name_of, &callgrind->name_capacity, number - 1,
                        sizeof *callgrind->name_of);
        if (!(callgrind->name_of[number - 1] = strdup(name)))
            memory_exhausted();
    }
    return number;
}

static uint32_t export_callgrind_plain_number(struct callgrind *callgrind, char kind,
                                              const char *text)
{
    struct strbuf plain = STRBUF_INIT;
    export_add_plain(&plain, text, NULL, 0);
    uint32_t number = export_callgrind_name_number(callgrind, kind, plain.data);
    strbuf_release(&plain);
    return number;
}

static uint32_t export_callgrind_file_number(struct callgrind *callgrind, struct frame frame)
{
    uint32_t line;
    struct strbuf path = STRBUF_INIT;
    export_add_file(&path, callgrind->exporting,
                    frame_file(callgrind->exporting->profile, frame, &line));
    uint32_t number =
        export_callgrind_plain_number(callgrind, 'f', path.length ? path.data : "???");
    strbuf_release(&path);
    return number;
}

/* From 1. */
static uint32_t export_callgrind_function_number(struct callgrind *callgrind, struct frame frame)
{
    const struct profile *profile = callgrind->exporting->profile;
    const char *module = frame_module(profile, frame);
    struct strbuf name = STRBUF_INIT;
    export_add_line_name(&name, profile, frame, NULL, 0);
    struct export_callgrind_function function = {
        .object = export_callgrind_plain_number(callgrind, 'o', module ? module : "???"),
        .file = export_callgrind_file_number(callgrind, frame),
        .name = export_callgrind_name_number(callgrind, 'n', name.data)};
    strbuf_release(&name);
    uint32_t key[] = {function.object, function.file, function.name};
    bool is_new;
    uint32_t number = export_intern(&callgrind->functions, (char *)key, sizeof key, &is_new);
    if (is_new) {
        array_need_room(&callgrind->list, &callgrind->list_capacity, number - 1,
                        sizeof *callgrind->list);
        callgrind->list[number - 1] = function;
    }
    return number;
}

/* ---- Costs --------------------------------------------------------------------------------- */

static void export_callgrind_add_cost(struct callgrind *callgrind, struct cost_key key,
                                      const struct call_metrics *metrics)
{
    size_t columns = callgrind->columns.count, capacity = callgrind->key_capacity;
    bool is_new;
    uint32_t at = export_intern(&callgrind->costs, (char *)&key, sizeof key, &is_new) - 1;
    if (is_new) {
        array_need_room(&callgrind->keys, &callgrind->key_capacity, at, sizeof *callgrind->keys);
        array_need_room(&callgrind->values, &capacity, at, columns * sizeof *callgrind->values);
        callgrind->keys[at] = key;
    }
    for (size_t i = 0; i < columns; i++) {
        struct figure *value = &callgrind->values[at * columns + i];
        *value = figure_add(*value, metric_value(callgrind->columns.entries[i], metrics));
    }
}

/* numbers: of the functions of the stack, innermost first. */
static void export_callgrind_add_site(struct callgrind *callgrind, size_t site,
                                      const struct export_stack *stack, const uint32_t *numbers)
{
    const struct profile *profile = callgrind->exporting->profile;
    struct profile_site room;
    const struct call_metrics *metrics = &profile_site_at(profile, site, &room)->metrics;
    uint32_t line = profile->lines[stack->frames[0].line].line;
    export_callgrind_add_cost(callgrind, (struct cost_key){numbers[0], line, 0, 0}, metrics);
    for (size_t i = stack->count; i-- > 1;) {
        struct export_callgrind_function *caller = &callgrind->list[numbers[i] - 1];
        bool is_outermost = caller->seen != site + 1;
        caller->seen = site + 1;
        if (!is_outermost || numbers[i] == numbers[0])
            continue;
        line = profile->lines[stack->frames[i].line].line;
        uint32_t callee_line = profile->lines[stack->frames[i - 1].line].line;
        export_callgrind_add_cost(
            callgrind, (struct cost_key){numbers[i], line, numbers[i - 1], callee_line}, metrics);
    }
}

/* Frames of one code location and line are one function: found once. */
static void export_callgrind_add_sites(struct callgrind *callgrind)
{
    const struct profile *profile = callgrind->exporting->profile;
    struct export_stack stack = EXPORT_STACK_INIT;
    uint32_t *of_line = calloc(profile->line_count + 1, sizeof *of_line);
    uint32_t *numbers = NULL;
    size_t capacity = 0;
    if (!of_line)
        memory_exhausted();
    for (size_t i = 0; i < profile->site_count; i++) {
        if (!export_wants(callgrind->exporting, i))
            continue;
        export_stack_take(&stack, callgrind->exporting, profile_site_path(profile, i));
        array_need_room(&numbers, &capacity, stack.count, sizeof *numbers);
        for (size_t j = 0; j < stack.count; j++) {
            uint32_t *number = &of_line[stack.frames[j].line];
            if (!stack.frames[j].line || !*number)
                *number = export_callgrind_function_number(callgrind, stack.frames[j]);
            numbers[j] = *number;
        }
        export_callgrind_add_site(callgrind, i, &stack, numbers);
    }
    free(numbers);
    free(of_line);
    export_stack_release(&stack);
}

/* ---- Writing ------------------------------------------------------------------------------- */

static void export_callgrind_write_name(struct callgrind *callgrind, const char *what,
                                        uint32_t number)
{
    char **name = &callgrind->name_of[number - 1];
    fprintf(callgrind->exporting->out, "%s=(%u)", what, number);
    if (*name)
        fprintf(callgrind->exporting->out, " %s", *name);
    fputc('\n', callgrind->exporting->out);
    free(*name);
    *name = NULL;
}

/* The columns are those that were recorded. */
static void export_callgrind_write_values(struct callgrind *callgrind, size_t at)
{
    size_t columns = callgrind->columns.count;
    for (size_t i = 0; i < columns; i++)
        fprintf(callgrind->exporting->out, " %llu",
                (unsigned long long)figure_or(callgrind->values[at * columns + i], 0));
    fputc('\n', callgrind->exporting->out);
}

/* Allocations behind a cost. */
static unsigned long long export_callgrind_calls_of(const struct callgrind *callgrind, size_t at)
{
    unsigned long long calls = 0;
    for (size_t i = 0; i < callgrind->columns.count; i++) {
        const struct metric_row *row = callgrind->columns.entries[i];
        if (row == METRIC_ROW(alloc_count) || row == METRIC_ROW(realloc_count))
            calls += figure_or(callgrind->values[at * callgrind->columns.count + i], 0);
    }
    return calls;
}

static void export_callgrind_write_cost(struct callgrind *callgrind, size_t at)
{
    FILE *out = callgrind->exporting->out;
    const struct cost_key *key = &callgrind->keys[at];
    if (key->callee) {
        const struct export_callgrind_function *callee = &callgrind->list[key->callee - 1];
        const struct export_callgrind_function *caller = &callgrind->list[key->function - 1];
        if (callee->object != caller->object)
            export_callgrind_write_name(callgrind, "cob", callee->object);
        if (callee->file != caller->file)
            export_callgrind_write_name(callgrind, "cfi", callee->file);
        export_callgrind_write_name(callgrind, "cfn", callee->name);
        fprintf(out, "calls=%llu %u\n", export_callgrind_calls_of(callgrind, at), key->callee_line);
    }
    fprintf(out, "%u", key->line);
    export_callgrind_write_values(callgrind, at);
}

static int export_callgrind_by_place(const void *a, const void *b, void *context)
{
    const struct cost_key *keys = context;
    const struct cost_key *left = &keys[*(const uint32_t *)a], *right = &keys[*(const uint32_t *)b];
    if (left->function != right->function)
        return left->function < right->function ? -1 : 1;
    if (!left->callee != !right->callee)
        return left->callee ? 1 : -1;
    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    return left->callee < right->callee ? -1 : left->callee > right->callee;
}

static void export_callgrind_write_costs(struct callgrind *callgrind)
{
    size_t count = callgrind->costs.count;
    uint32_t *order = calloc(count + 1, sizeof *order), last = 0;
    if (!order)
        memory_exhausted();
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, count, sizeof *order, export_callgrind_by_place, callgrind->keys);
    for (size_t i = 0; i < count; i++) {
        uint32_t number = callgrind->keys[order[i]].function;
        const struct export_callgrind_function *function = &callgrind->list[number - 1];
        if (number != last) {
            fputc('\n', callgrind->exporting->out);
            export_callgrind_write_name(callgrind, "ob", function->object);
            export_callgrind_write_name(callgrind, "fl", function->file);
            export_callgrind_write_name(callgrind, "fn", function->name);
            /* callgrind_annotate wants at least one line with costs of its own for every
             * function. */
            if (callgrind->keys[order[i]].callee)
                fprintf(callgrind->exporting->out, "%u 0\n", callgrind->keys[order[i]].line);
        }
        last = number;
        export_callgrind_write_cost(callgrind, order[i]);
    }
    free(order);
}

static void export_callgrind_write_head(struct callgrind *callgrind)
{
    FILE *out = callgrind->exporting->out;
    const struct profile *profile = callgrind->exporting->profile;
    const char *command = profile_get(profile, PROFILE_META_COMMAND);
    struct strbuf plain = STRBUF_INIT;
    export_add_plain(&plain, command ? command : export_title(profile), NULL, 0);
    fprintf(out, "# callgrind format\nversion: 1\ncreator: tidemark " TIDEMARK_VERSION "\n");
    fprintf(out, "pid: %llu\n", (unsigned long long)export_number(profile, PROFILE_META_PID));
    fprintf(out, "cmd: %s\npart: 1\n", plain.data);
    fprintf(out, "desc: Trigger: Program termination\n\npositions: line\n");
    for (size_t i = 0; i < callgrind->columns.count; i++)
        fprintf(out, "event: %s : %s\n", callgrind->columns.entries[i]->column,
                callgrind->columns.entries[i]->title);
    fprintf(out, "events:");
    for (size_t i = 0; i < callgrind->columns.count; i++)
        fprintf(out, " %s", callgrind->columns.entries[i]->column);
    fprintf(out, "\nsummary:");
    for (size_t i = 0; i < callgrind->columns.count; i++)
        fprintf(out, " %llu",
                (unsigned long long)figure_or(
                    export_total(callgrind->exporting, callgrind->columns.entries[i]), 0));
    fprintf(out, "\n");
    strbuf_release(&plain);
}

int export_callgrind(struct exporting *exporting)
{
    struct callgrind callgrind = {.exporting = exporting};
    export_callgrind_order_columns(&callgrind.columns, exporting->profile);
    export_callgrind_add_sites(&callgrind);
    export_callgrind_write_head(&callgrind);
    export_callgrind_write_costs(&callgrind);
    for (size_t i = 0; i < callgrind.names.count; i++)
        free(callgrind.name_of[i]);
    free(callgrind.name_of);
    free(callgrind.list);
    free(callgrind.keys);
    free(callgrind.values);
    intern_release(&callgrind.names);
    intern_release(&callgrind.functions);
    intern_release(&callgrind.costs);
    return 0;
}
