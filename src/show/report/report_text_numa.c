/* Writes the section on NUMA nodes: on which nodes each owner's resident memory is, at the look
 * with most of it. The nodes with most have a column each, all others share one. */
#include "report/report_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "aggregate/facts.h"
#include "base/human.h"
#include "model/figure_human.h"

enum { CELL = 10, WHOSE = 9, SHOWN = 4, NAMES = PROFILE_NODES + 1, NAME_BYTES = 24 };

/* The columns of the table: resident, nodes, others, not known, whose, name. */
struct numa_table {
    int nodes[PROFILE_NODES]; /* by bytes; nodes without any are left out */
    size_t node_count, shown;
    bool has_unknown;
    char names[NAMES][NAME_BYTES];
    struct text_column columns[SHOWN + 5];
    size_t column_count, used;
};

static bool report_text_numa_counts(const struct profile_owner *owner, uint32_t sample)
{
    return owner->sample == sample && figure_known(owner->node_bytes[0]) &&
           figure_positive(owner->resident_bytes) && owner->kind != PROFILE_OWNER_TOOL;
}

static void report_text_numa_join(struct profile_owner *to, const struct profile_owner *from)
{
    to->resident_bytes = figure_add(to->resident_bytes, from->resident_bytes);
    for (int i = 0; i < PROFILE_NODES; i++)
        to->node_bytes[i] = figure_add(to->node_bytes[i], from->node_bytes[i]);
}

static int report_text_numa_compare(const void *left, const void *right)
{
    const struct profile_owner *a = left, *b = right;
    int by_bytes = figure_compare(b->resident_bytes, a->resident_bytes);
    return by_bytes ? by_bytes : (a->path > b->path) - (a->path < b->path);
}

static struct figure report_text_numa_unknown(const struct profile_owner *row)
{
    struct figure known = figure_of(0);
    for (int i = 0; i < PROFILE_NODES; i++)
        known = figure_add(known, row->node_bytes[i]);
    return figure_sub(row->resident_bytes, known);
}

static void report_text_numa_name(char *name, int node)
{
    if (node == PROFILE_NODE_ABOVE)
        snprintf(name, NAME_BYTES, "nodes %d+", PROFILE_NODE_ABOVE);
    else
        snprintf(name, NAME_BYTES, "node %d", node);
}

/* Chooses the nodes that have bytes, most first; among equal ones the lower number first. */
static void report_text_numa_choose(struct numa_table *table, const struct profile_owner *all)
{
    for (int node = 0; node < PROFILE_NODES; node++) {
        size_t at = table->node_count;
        if (!figure_positive(all->node_bytes[node]))
            continue;
        for (; at > 0 &&
               figure_compare(all->node_bytes[table->nodes[at - 1]], all->node_bytes[node]) < 0;
             at--)
            table->nodes[at] = table->nodes[at - 1];
        table->nodes[at] = node;
        table->node_count++;
    }
    table->shown = table->node_count < SHOWN ? table->node_count : SHOWN;
    table->has_unknown = figure_positive(report_text_numa_unknown(all));
}

static void report_text_numa_add_column(struct numa_table *table, const char *name)
{
    table->columns[table->column_count++] = (struct text_column){name, CELL, TEXT_RIGHT, 0};
    table->used += CELL;
}

static void report_text_numa_lay_out(struct numa_table *table, const struct profile_owner *all)
{
    report_text_numa_choose(table, all);
    report_text_numa_add_column(table, "resident");
    for (size_t i = 0; i < table->shown; i++) {
        report_text_numa_name(table->names[i], table->nodes[i]);
        report_text_numa_add_column(table, table->names[i]);
    }
    if (table->node_count > table->shown)
        report_text_numa_add_column(table, "others");
    if (table->has_unknown)
        report_text_numa_add_column(table, "not known");
    table->columns[table->column_count++] = (struct text_column){"whose", WHOSE, TEXT_LEFT, 2};
    table->columns[table->column_count] = (struct text_column){"", 0, TEXT_LEFT, 1};
    table->used += WHOSE + 3;
}

static void report_text_numa_add_row(struct report_text *text, const struct numa_table *table,
                                     const struct profile_owner *row)
{
    struct figure others = figure_of(0);
    report_part_row(text, table->columns);
    report_part_next_figure(text, figure_human_bytes(row->resident_bytes).text);
    for (size_t i = 0; i < table->node_count; i++)
        if (i < table->shown)
            report_part_next(text, figure_human_bytes(row->node_bytes[table->nodes[i]]).text);
        else
            others = figure_add(others, row->node_bytes[table->nodes[i]]);
    if (table->node_count > table->shown)
        report_part_next(text, figure_human_bytes(others).text);
    if (table->has_unknown)
        report_part_next(text, figure_human_bytes(report_text_numa_unknown(row)).text);
    report_part_next_name(text, profile_owner_names[row->kind]);
    report_part_next(text, "");
    if (profile_owner_is_by_path(row)) {
        report_part_path(text, row->path, table->used, false);
        return;
    }
    size_t columns = text->style.columns;
    report_part_name(text, row->name ? row->name : "-",
                     columns > table->used + 10 ? columns - table->used : 10);
    report_part_end(text);
}

static void report_text_numa_add_title(struct report_text *text, const struct numa_table *table,
                                       const struct profile_owner *all)
{
    struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "of %s", figure_human_bytes(all->resident_bytes).text);
    for (size_t i = 0; i < table->node_count; i++) {
        char name[NAME_BYTES];
        report_text_numa_name(name, table->nodes[i]);
        strbuf_addf(&line, ", %s on %s", figure_human_bytes(all->node_bytes[table->nodes[i]]).text,
                    name);
    }
    if (table->has_unknown)
        strbuf_addf(&line, ", of %s not known",
                    figure_human_bytes(report_text_numa_unknown(all)).text);
    report_part_title(text, "NUMA nodes", line.data);
    strbuf_release(&line);
}

static void report_text_numa_add_rows(struct report_text *text, struct profile_owner *rows,
                                      size_t count)
{
    struct profile_owner all = {0};
    struct numa_table table = {.node_count = 0};
    for (size_t i = 0; i < count; i++)
        report_text_numa_join(&all, &rows[i]);
    report_text_numa_lay_out(&table, &all);
    report_text_numa_add_title(text, &table, &all);
    count = report_part_group_owners(text, rows, count, report_text_numa_join);
    qsort(rows, count, sizeof *rows, report_text_numa_compare);
    report_part_headings(text, table.columns, table.column_count);
    for (size_t i = 0; i < count && i < text->options->top; i++)
        report_text_numa_add_row(text, &table, &rows[i]);
    report_part_more(text, count);
}

int report_section_numa(struct report_text *text)
{
    size_t count;
    struct profile_owner *rows = report_part_take_owners(text, facts_owners_sample(text->profile),
                                                         report_text_numa_counts, &count);
    if (!rows)
        return -ENOMEM;
    if (count) {
        report_text_numa_add_rows(text, rows, count);
    } else {
        report_part_title(text, "NUMA nodes", NULL);
        report_part_note(text, "on which node memory is was not asked: the machine had one, or the "
                               "kernel did not tell");
    }
    free(rows);
    return 0;
}
