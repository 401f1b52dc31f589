/* Lays pieces of data over variables (variable_owners.h). Both are sorted by address, so a piece
 * can only continue the row of the last variable. */
#include "profile_build/variable_owners.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/search.h"

static const char nameless_name[] = "(unnamed)", smaller_name[] = "(smaller variables)";
/* The beginning of names of nameless bytes, with or without a section. */
static const char nameless_prefix[] = "(unnamed";

/* ---- Rows ---------------------------------------------------------------------------------- */

static struct profile_owner *variable_owners_new(struct variable_owners *owners, const char *name,
                                                 const char *module)
{
    array_need_room(&owners->rows, &owners->capacity, owners->count, sizeof *owners->rows);
    owners->rows[owners->count] = (struct profile_owner){
        .kind = PROFILE_OWNER_GLOBALS, .name = name, .module = module, .thread = FIGURE_UNKNOWN};
    return &owners->rows[owners->count++];
}

/* The last module's row of that name; NULL: it has none yet. */
static struct profile_owner *variable_owners_find_common(const struct variable_owners *owners,
                                                         const char *name)
{
    for (size_t i = 0; i < owners->common_count; i++)
        if (owners->common[i].name == name)
            return &owners->rows[owners->common[i].row];
    return NULL;
}

/* If a file has very many sections, the last ones share the row without a section. */
static struct profile_owner *variable_owners_common(struct variable_owners *owners,
                                                    const char *name)
{
    struct profile_owner *row = variable_owners_find_common(owners, name);
    if (!row && owners->common_count >= VARIABLE_COMMON_ROWS - 2 && name != smaller_name) {
        name = nameless_name;
        row = variable_owners_find_common(owners, name);
    }
    if (row)
        return row;
    owners->common[owners->common_count].name = name;
    owners->common[owners->common_count++].row = owners->count;
    return variable_owners_new(owners, name, owners->module);
}

static void variable_owners_enter(struct variable_owners *owners, const char *module)
{
    if (owners->module && strcmp(owners->module, module) == 0)
        return;
    owners->module = module;
    owners->common_count = 0;
}

static struct profile_owner *variable_owners_of(struct variable_owners *owners,
                                                const struct globals_place *place)
{
    if (owners->last == place)
        return &owners->rows[owners->last_row];
    struct profile_owner *row = variable_owners_new(owners, place->name, owners->module);
    row->count = figure_of(1);
    row->virtual_bytes = figure_of(place->bytes);
    owners->last = place;
    owners->last_row = owners->count - 1;
    return row;
}

/* ---- Shares -------------------------------------------------------------------------------- */

/* Of a piece. */
struct variable_share {
    uint64_t bytes, proportional;
    uint64_t count, virtual_bytes; /* of variables that are new, in a share of many */
};

/* All of a piece's bytes are of a kind, or none are. */
static void variable_owners_add_part(struct figure *to, struct figure whole, uint64_t bytes)
{
    if (figure_known(whole))
        whole = figure_of(figure_positive(whole) ? bytes : 0);
    *to = figure_add(*to, whole);
}

static struct figure variable_owners_part_of(const struct proc_touched *piece, struct figure whole,
                                             uint64_t bytes)
{
    uint64_t number, length = piece->end - piece->start;
    return figure_get(whole, &number)
               ? figure_of((uint64_t)((double)number * (double)bytes / (double)length))
               : FIGURE_UNKNOWN;
}

static void variable_owners_add(struct profile_owner *row, const struct proc_touched *piece,
                                const struct variable_share *share)
{
    bool is_huge = !figure_known(piece->huge_bytes) || figure_positive(piece->huge_bytes);
    variable_owners_add_part(&row->resident_bytes, piece->resident_bytes, share->bytes);
    variable_owners_add_part(&row->swapped_bytes, piece->swapped_bytes, share->bytes);
    variable_owners_add_part(&row->huge_bytes, piece->huge_bytes, share->bytes);
    variable_owners_add_part(&row->shared_bytes, piece->shared_bytes, share->bytes);
    variable_owners_add_part(&row->zero_bytes, piece->zero_bytes, share->bytes);
    variable_owners_add_part(&row->copy_bytes, piece->copy_bytes, share->bytes);
    variable_owners_add_part(&row->unwritten_1s_bytes, piece->unwritten_1s_bytes, share->bytes);
    variable_owners_add_part(&row->unwritten_10s_bytes, piece->unwritten_10s_bytes, share->bytes);
    variable_owners_add_part(&row->filled_bytes, piece->filled_bytes, share->bytes);
    for (unsigned i = 0; i < PROFILE_NODES; i++)
        variable_owners_add_part(&row->node_bytes[i], piece->node_bytes[i], share->bytes);
    row->compressible_bytes =
        figure_add(row->compressible_bytes,
                   variable_owners_part_of(piece, piece->compressible_bytes, share->bytes));
    row->huge_idle_bytes =
        figure_add(row->huge_idle_bytes, is_huge ? FIGURE_UNKNOWN : FIGURE_OF(0));
    row->proportional_bytes = figure_add(row->proportional_bytes, figure_of(share->proportional));
    row->count = figure_add(row->count, figure_of(share->count));
    row->virtual_bytes = figure_add(row->virtual_bytes, figure_of(share->virtual_bytes));
}

/* [start, end) of the piece. */
static void variable_share_grow(struct variable_share *share, const struct proc_touched *piece,
                                uint64_t start, uint64_t end)
{
    double pss = (double)figure_or(piece->proportional_bytes, 0);
    double length = (double)(piece->end - piece->start);
    share->bytes += end - start;
    share->proportional += (uint64_t)(pss * (double)(end - piece->start) / length) -
                           (uint64_t)(pss * (double)(start - piece->start) / length);
}

/* The first place that ends above `address`, which is as in the file. */
static size_t variable_owners_first(const struct variable_module *module, uint64_t address)
{
    size_t first = 0;
    SEARCH_FIRST(first, module->place_count, at,
                 module->places[at].address + module->places[at].bytes <= address);
    return first;
}

/* Counts a variable that is too small for a row of its own once, in its first piece. */
static void variable_owners_add_small(struct variable_owners *owners, struct variable_share *small,
                                      const struct globals_place *place)
{
    if (owners->last == place)
        return;
    owners->last = place;
    small->count++;
    small->virtual_bytes += place->bytes;
}

static void variable_owners_add_place(struct variable_owners *owners,
                                      const struct proc_touched *piece,
                                      struct variable_share *small,
                                      const struct globals_place *place, uint64_t start,
                                      uint64_t end)
{
    struct variable_share share = {0};
    if (place->bytes < owners->least_bytes) {
        variable_owners_add_small(owners, small, place);
        variable_share_grow(small, piece, start, end);
        return;
    }
    variable_share_grow(&share, piece, start, end);
    variable_owners_add(variable_owners_of(owners, place), piece, &share);
}

static void variable_owners_add_nameless(struct variable_owners *owners,
                                         const struct proc_touched *piece, const char *name,
                                         uint64_t start, uint64_t end)
{
    struct variable_share share = {0};
    if (start >= end)
        return;
    variable_share_grow(&share, piece, start, end);
    variable_owners_add(variable_owners_common(owners, name), piece, &share);
}

/* What lies between two variables, by section. */
static void variable_owners_add_gap(struct variable_owners *owners,
                                    const struct proc_touched *piece,
                                    const struct variable_module *module, uint64_t start,
                                    uint64_t end)
{
    for (size_t i = 0; i < module->stretch_count && start < end; i++) {
        const struct globals_stretch *stretch = &module->stretches[i];
        uint64_t from = stretch->address + module->bias, to = from + stretch->bytes;
        from = from > start ? from : start;
        to = to < end ? to : end;
        if (from >= to)
            continue;
        variable_owners_add_nameless(owners, piece, nameless_name, start, from);
        variable_owners_add_nameless(owners, piece, stretch->name, from, to);
        start = to;
    }
    variable_owners_add_nameless(owners, piece, nameless_name, start, end);
}

static void variable_owners_add_piece(struct variable_owners *owners,
                                      const struct proc_touched *piece,
                                      const struct variable_module *module)
{
    struct variable_share small = {0};
    uint64_t at = piece->start;
    variable_owners_enter(owners, piece->module);
    for (size_t i = variable_owners_first(module, at - module->bias);
         i < module->place_count && module->places[i].address + module->bias < piece->end; i++) {
        const struct globals_place *place = &module->places[i];
        uint64_t start = place->address + module->bias, end = start + place->bytes;
        start = start > at ? start : at;
        end = end < piece->end ? end : piece->end;
        variable_owners_add_gap(owners, piece, module, at, start);
        variable_owners_add_place(owners, piece, &small, place, start, end);
        at = end;
    }
    variable_owners_add_gap(owners, piece, module, at, piece->end);
    if (small.bytes)
        variable_owners_add(variable_owners_common(owners, smaller_name), piece, &small);
}

void variable_owners_divide(struct variable_owners *owners, const struct proc_touched *pieces,
                            size_t count, variable_find_module *find, void *context)
{
    struct variable_module module = {0};
    for (size_t i = 0; i < count; i++) {
        bool is_same = pieces[i].start >= module.start && pieces[i].start < module.end;
        if (!is_same && !find(context, pieces[i].start, &module))
            module = (struct variable_module){0};
        variable_owners_add_piece(owners, &pieces[i], &module);
    }
}

/* ---- Which rows stay ----------------------------------------------------------------------- */

static uint64_t variable_owners_size(const struct profile_owner *row)
{
    return figure_or(row->resident_bytes, 0) + figure_or(row->swapped_bytes, 0);
}

static bool variable_owners_is_joined(const struct profile_owner *row)
{
    return *row->name == '(' && strcmp(row->name, smaller_name) == 0;
}

/* Sorts rows that are sums behind all others. */
static int variable_owners_compare(const void *left, const void *right)
{
    const struct profile_owner *a = left, *b = right;
    uint64_t left_bytes = variable_owners_size(a), right_bytes = variable_owners_size(b);
    bool is_left_joined = variable_owners_is_joined(a),
         is_right_joined = variable_owners_is_joined(b);
    if (is_left_joined != is_right_joined)
        return is_left_joined ? 1 : -1;
    if (left_bytes != right_bytes)
        return left_bytes > right_bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void variable_owners_join(struct profile_owner *to, const struct profile_owner *from)
{
    to->count = figure_add(to->count, from->count);
    to->virtual_bytes = figure_add(to->virtual_bytes, from->virtual_bytes);
    to->resident_bytes = figure_add(to->resident_bytes, from->resident_bytes);
    to->proportional_bytes = figure_add(to->proportional_bytes, from->proportional_bytes);
    to->swapped_bytes = figure_add(to->swapped_bytes, from->swapped_bytes);
    to->huge_bytes = figure_add(to->huge_bytes, from->huge_bytes);
    to->huge_idle_bytes = figure_add(to->huge_idle_bytes, from->huge_idle_bytes);
    to->shared_bytes = figure_add(to->shared_bytes, from->shared_bytes);
    to->zero_bytes = figure_add(to->zero_bytes, from->zero_bytes);
    to->copy_bytes = figure_add(to->copy_bytes, from->copy_bytes);
    to->compressible_bytes = figure_add(to->compressible_bytes, from->compressible_bytes);
    to->unwritten_1s_bytes = figure_add(to->unwritten_1s_bytes, from->unwritten_1s_bytes);
    to->unwritten_10s_bytes = figure_add(to->unwritten_10s_bytes, from->unwritten_10s_bytes);
    to->filled_bytes = figure_add(to->filled_bytes, from->filled_bytes);
    for (unsigned i = 0; i < PROFILE_NODES; i++)
        to->node_bytes[i] = figure_add(to->node_bytes[i], from->node_bytes[i]);
}

void variable_owners_cut(struct variable_owners *owners, size_t limit, uint64_t least)
{
    size_t large = 0;
    if (owners->count)
        qsort(owners->rows, owners->count, sizeof *owners->rows, variable_owners_compare);
    while (large < owners->count && large < limit &&
           !variable_owners_is_joined(&owners->rows[large]) &&
           variable_owners_size(&owners->rows[large]) >= least)
        large++;
    size_t kept = large;
    for (size_t i = large; i < owners->count; i++) {
        struct profile_owner row = owners->rows[i];
        size_t to = large;
        bool is_nameless = strncmp(row.name, nameless_prefix, strlen(nameless_prefix)) == 0;
        row.name = is_nameless ? nameless_name : smaller_name;
        while (to < kept && (strcmp(owners->rows[to].module, row.module) != 0 ||
                             strcmp(owners->rows[to].name, row.name) != 0))
            to++;
        if (to == kept)
            owners->rows[kept++] = row;
        else
            variable_owners_join(&owners->rows[to], &row);
    }
    owners->count = kept;
}

void variable_owners_release(struct variable_owners *owners)
{
    free(owners->rows);
    *owners = VARIABLE_OWNERS_INIT;
}
