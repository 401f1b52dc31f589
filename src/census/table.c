/* Rows: the processes, or groups of them by a name, sorted. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "census/census.h"

void census_user_name(uid_t uid, char *name, size_t size)
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

static const char *group_name(const struct census_process *process, enum census_by by)
{
    if (by == CENSUS_BY_CGROUP)
        return process->cgroup ? process->cgroup : "?";
    return by == CENSUS_BY_NAME ? process->status.name
                                : (process->command ? process->command : process->status.name);
}

static void add_pieces(struct census_table *table, const struct census_process *process)
{
    for (size_t i = 0; i < process->piece_count; i++) {
        const struct census_piece *piece = &process->pieces[i];
        table->rows[table->count++] =
            (struct census_row){piece->name, process, 1, piece->mappings, piece->bytes};
    }
}

static bool is_by_piece(enum census_by by)
{
    return by == CENSUS_BY_MAPPING || by == CENSUS_BY_LIBRARY;
}

static void add_rows(struct census_table *table, const struct census *census)
{
    for (size_t i = 0; i < census->count; i++) {
        const struct census_process *process = &census->processes[i];
        if (process->state != CENSUS_READ)
            continue;
        smaps_add(&table->total.bytes, &process->bytes);
        table->total.processes++;
        table->total.mappings += process->mappings;
        if (is_by_piece(table->by))
            add_pieces(table, process);
        else
            table->rows[table->count++] = (struct census_row){
                group_name(process, table->by), process, 1, process->mappings, process->bytes};
    }
}

static size_t row_bound(const struct census *census, enum census_by by)
{
    size_t bound = 1;
    for (size_t i = 0; i < census->count; i++)
        bound += is_by_piece(by) ? census->processes[i].piece_count : 1;
    return bound;
}

/* ---- Groups -------------------------------------------------------------------------------- */

static int compare_names(const void *left, const void *right)
{
    return strcmp(((const struct census_row *)left)->name,
                  ((const struct census_row *)right)->name);
}

static uid_t row_uid(const struct census_row *row)
{
    return row->process->status.uid;
}

static int compare_users(const void *left, const void *right)
{
    uid_t a = row_uid(left), b = row_uid(right);
    return (a > b) - (a < b);
}

static void join_rows(struct census_table *table, int (*compare)(const void *, const void *))
{
    size_t kept = 0;
    qsort(table->rows, table->count, sizeof *table->rows, compare);
    for (size_t i = 0; i < table->count; i++) {
        struct census_row *row = &table->rows[i], *last = &table->rows[kept ? kept - 1 : 0];
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

static int name_users(struct census_table *table)
{
    table->user_names = calloc(table->count + 1, sizeof *table->user_names);
    for (size_t i = 0; table->user_names && i < table->count; i++) {
        char name[64];
        census_user_name(row_uid(&table->rows[i]), name, sizeof name);
        table->rows[i].name = table->user_names[i] = strdup(name);
        if (!table->rows[i].name)
            return -ENOMEM;
    }
    return table->user_names ? 0 : -ENOMEM;
}

/* ---- Order --------------------------------------------------------------------------------- */

/* What is unknown counts as nothing here only: it goes to the end. */
static uint64_t known(uint64_t value)
{
    return value == PROCESS_UNKNOWN ? 0 : value;
}

static uint64_t key_of(const struct census_row *row, enum census_order order)
{
    switch (order) {
    case CENSUS_USS:
        return known(row->bytes.uss);
    case CENSUS_RSS:
        return known(row->bytes.rss);
    case CENSUS_SWAP:
        return known(row->bytes.swap);
    case CENSUS_COUNT:
        return row->mappings > row->processes ? row->mappings : row->processes;
    default:
        return known(row->bytes.pss);
    }
}

struct sorting {
    enum census_order order;
    bool reverse;
};

/* Equals go by PSS, then by number or name, so that the order follows from the figures alone. */
static int compare_rows(const void *left, const void *right, void *context)
{
    const struct census_row *a = left, *b = right;
    const struct sorting *sorting = context;
    int sign = sorting->reverse ? -1 : 1;
    uint64_t key_a = key_of(a, sorting->order), key_b = key_of(b, sorting->order);
    if (sorting->order == CENSUS_NAME && strcmp(a->name, b->name) != 0)
        return sign * strcmp(a->name, b->name);
    if (sorting->order != CENSUS_NAME && key_a != key_b)
        return key_a > key_b ? -sign : sign;
    if (known(a->bytes.pss) != known(b->bytes.pss))
        return known(a->bytes.pss) > known(b->bytes.pss) ? -sign : sign;
    if (a->process->status.pid != b->process->status.pid)
        return a->process->status.pid > b->process->status.pid ? 1 : -1;
    return strcmp(a->name, b->name);
}

int census_tabulate(struct census_table *table, const struct census *census, enum census_by by,
                    enum census_order order, bool reverse)
{
    struct sorting sorting = {order, reverse};
    int error = 0;
    *table = (struct census_table){.by = by};
    table->rows = calloc(row_bound(census, by), sizeof *table->rows);
    if (!table->rows)
        return -ENOMEM;
    add_rows(table, census);
    if (by == CENSUS_BY_USER) {
        join_rows(table, compare_users);
        error = name_users(table);
    } else if (by != CENSUS_BY_PROCESS) {
        join_rows(table, compare_names);
    }
    if (error) {
        census_table_release(table);
        return error;
    }
    qsort_r(table->rows, table->count, sizeof *table->rows, compare_rows, &sorting);
    return 0;
}

void census_table_release(struct census_table *table)
{
    for (size_t i = 0; table->user_names && i < table->count; i++)
        free(table->user_names[i]);
    free(table->user_names);
    free(table->rows);
    *table = (struct census_table){0};
}
