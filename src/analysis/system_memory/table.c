/* Makes the rows of the table: one per process, or one per group. Processes are grouped by sorting
 * names. Rows are sorted by the chosen column, then by PSS, then by number or name, so equal
 * figures always give one order. */
#include <errno.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "system_memory/processes.h"

void system_memory_user_name(uid_t uid, char *name, size_t size)
{
    const struct passwd *user = uid == (uid_t)-1 ? NULL : getpwuid(uid);
    if (user)
        snprintf(name, size, "%s", user->pw_name);
    else if (uid == (uid_t)-1)
        snprintf(name, size, "?");
    else
        snprintf(name, size, "%u", (unsigned)uid);
}

/* ---- Rows ---------------------------------------------------------------------------------- */

static const char *system_memory_table_group_name(const struct system_memory_process *process,
                                                  enum system_memory_by by)
{
    if (by == SYSTEM_MEMORY_BY_CGROUP)
        return process->cgroup ? process->cgroup : "?";
    return by == SYSTEM_MEMORY_BY_NAME
               ? process->status.name
               : (process->command ? process->command : process->status.name);
}

static void system_memory_table_add_pieces(struct system_memory_table *table,
                                           const struct system_memory_process *process)
{
    for (size_t i = 0; i < process->piece_count; i++) {
        const struct system_memory_piece *piece = &process->pieces[i];
        table->rows[table->count++] = (struct system_memory_row){.name = piece->name,
                                                                 .process = process,
                                                                 .processes = 1,
                                                                 .mappings = piece->mappings,
                                                                 .bytes = piece->bytes};
    }
}

static bool system_memory_table_is_by_piece(enum system_memory_by by)
{
    return by == SYSTEM_MEMORY_BY_MAPPING || by == SYSTEM_MEMORY_BY_LIBRARY;
}

static void system_memory_table_add_rows(struct system_memory_table *table,
                                         const struct system_memory *system)
{
    for (size_t i = 0; i < system->count; i++) {
        const struct system_memory_process *process = &system->processes[i];
        if (process->state != SYSTEM_MEMORY_READ)
            continue;
        smaps_add(&table->total.bytes, &process->bytes);
        table->total.processes++;
        table->total.mappings += process->mappings;
        if (system_memory_table_is_by_piece(table->by))
            system_memory_table_add_pieces(table, process);
        else
            table->rows[table->count++] = (struct system_memory_row){
                .name = system_memory_table_group_name(process, table->by),
                .process = process,
                .processes = 1,
                .mappings = process->mappings,
                .bytes = process->bytes};
    }
}

static size_t system_memory_table_row_bound(const struct system_memory *system,
                                            enum system_memory_by by)
{
    size_t bound = 1;
    for (size_t i = 0; i < system->count; i++)
        bound += system_memory_table_is_by_piece(by) ? system->processes[i].piece_count : 1;
    return bound;
}

/* ---- Groups -------------------------------------------------------------------------------- */

static int system_memory_table_compare_names(const void *left, const void *right)
{
    return strcmp(((const struct system_memory_row *)left)->name,
                  ((const struct system_memory_row *)right)->name);
}

static uid_t system_memory_table_row_uid(const struct system_memory_row *row)
{
    return row->process->status.uid;
}

static int system_memory_table_compare_users(const void *left, const void *right)
{
    uid_t a = system_memory_table_row_uid(left), b = system_memory_table_row_uid(right);
    return (a > b) - (a < b);
}

static void system_memory_table_join_rows(struct system_memory_table *table,
                                          int (*compare)(const void *, const void *))
{
    size_t kept = 0;
    qsort(table->rows, table->count, sizeof *table->rows, compare);
    for (size_t i = 0; i < table->count; i++) {
        struct system_memory_row *row = &table->rows[i], *last = &table->rows[kept ? kept - 1 : 0];
        if (kept && compare(last, row) == 0) {
            smaps_add(&last->bytes, &row->bytes);
            last->processes += row->processes;
            last->mappings += row->mappings;
        } else {
            table->rows[kept++] = *row;
        }
    }
    table->count = kept;
}

static int system_memory_table_name_users(struct system_memory_table *table)
{
    table->user_names = calloc(table->count + 1, sizeof *table->user_names);
    for (size_t i = 0; table->user_names && i < table->count; i++) {
        char name[64];
        system_memory_user_name(system_memory_table_row_uid(&table->rows[i]), name, sizeof name);
        table->rows[i].name = table->user_names[i] = strdup(name);
        if (!table->rows[i].name)
            return -ENOMEM;
    }
    return table->user_names ? 0 : -ENOMEM;
}

/* ---- Order --------------------------------------------------------------------------------- */

/* What is unknown counts as nothing here only: it goes to the end. */
static uint64_t system_memory_table_known(struct figure value)
{
    return figure_or(value, 0);
}

static uint64_t system_memory_table_key_of(const struct system_memory_row *row,
                                           enum system_memory_order order)
{
    switch (order) {
    case SYSTEM_MEMORY_USS:
        return system_memory_table_known(row->bytes.uss);
    case SYSTEM_MEMORY_RSS:
        return system_memory_table_known(row->bytes.rss);
    case SYSTEM_MEMORY_SWAP:
        return system_memory_table_known(row->bytes.swap);
    case SYSTEM_MEMORY_COUNT:
        return row->mappings > row->processes ? row->mappings : row->processes;
    default:
        return system_memory_table_known(row->bytes.pss);
    }
}

struct sorting {
    enum system_memory_order order;
    bool reverse;
};

/* What is not known stands at the end, whichever way. 0: equal. */
static int system_memory_table_compare_growth(const struct system_memory_row *a,
                                              const struct system_memory_row *b, int sign)
{
    if (isnan(a->growth_bytes) || isnan(b->growth_bytes))
        return isnan(a->growth_bytes) - isnan(b->growth_bytes);
    return a->growth_bytes == b->growth_bytes  ? 0
           : a->growth_bytes > b->growth_bytes ? -sign
                                               : sign;
}

/* Equals go by PSS, then by number or name, so that the order follows from the figures alone. */
static int system_memory_table_compare_rows(const void *left, const void *right, void *context)
{
    const struct system_memory_row *a = left, *b = right;
    const struct sorting *sorting = context;
    int sign = sorting->reverse ? -1 : 1;
    uint64_t key_a = system_memory_table_key_of(a, sorting->order),
             key_b = system_memory_table_key_of(b, sorting->order);
    if (sorting->order == SYSTEM_MEMORY_NAME && strcmp(a->name, b->name) != 0)
        return sign * strcmp(a->name, b->name);
    int growth =
        sorting->order == SYSTEM_MEMORY_GROWTH ? system_memory_table_compare_growth(a, b, sign) : 0;
    if (growth)
        return growth;
    if (sorting->order != SYSTEM_MEMORY_NAME && key_a != key_b)
        return key_a > key_b ? -sign : sign;
    if (system_memory_table_known(a->bytes.pss) != system_memory_table_known(b->bytes.pss))
        return system_memory_table_known(a->bytes.pss) > system_memory_table_known(b->bytes.pss)
                   ? -sign
                   : sign;
    if (a->process->status.pid != b->process->status.pid)
        return a->process->status.pid > b->process->status.pid ? 1 : -1;
    return strcmp(a->name, b->name);
}

void system_memory_sort(struct system_memory_table *table, enum system_memory_order order,
                        bool reverse)
{
    struct sorting sorting = {order, reverse};
    qsort_r(table->rows, table->count, sizeof *table->rows, system_memory_table_compare_rows,
            &sorting);
}

int system_memory_tabulate(struct system_memory_table *table, const struct system_memory *system,
                           enum system_memory_by by, enum system_memory_order order, bool reverse)
{
    int error = 0;
    *table = (struct system_memory_table){.by = by};
    table->rows = calloc(system_memory_table_row_bound(system, by), sizeof *table->rows);
    if (!table->rows)
        return -ENOMEM;
    system_memory_table_add_rows(table, system);
    if (by == SYSTEM_MEMORY_BY_USER) {
        system_memory_table_join_rows(table, system_memory_table_compare_users);
        error = system_memory_table_name_users(table);
    } else if (by != SYSTEM_MEMORY_BY_PROCESS) {
        system_memory_table_join_rows(table, system_memory_table_compare_names);
    }
    if (error) {
        system_memory_table_release(table);
        return error;
    }
    for (size_t i = 0; i < table->count; i++)
        table->rows[i].growth_bytes = NAN;
    table->total.growth_bytes = NAN;
    system_memory_sort(table, order, reverse);
    return 0;
}

void system_memory_table_release(struct system_memory_table *table)
{
    for (size_t i = 0; table->user_names && i < table->count; i++)
        free(table->user_names[i]);
    free(table->user_names);
    free(table->rows);
    *table = (struct system_memory_table){0};
}
