/* Puts the rows of a table by process into the order of a tree: each process stands behind its
 * parent, and what it started with all of its own follows. A row whose parent is not in the table
 * is a root. A row that a broken capture makes its own ancestor is a root as well. */
#include "system_memory/processes.h"
#include "base/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct process_tree {
    struct system_memory_table *table;
    struct system_memory_row *ordered;
    size_t *parent;       /* row; count: a root */
    size_t *first, *next; /* children, the largest first; count: none */
    size_t count, done;
};

static int process_tree_compare_pids(const void *left, const void *right)
{
    const struct system_memory_row *a = left, *b = right;
    return (a->process->status.pid > b->process->status.pid) -
           (a->process->status.pid < b->process->status.pid);
}

static size_t process_tree_find(const struct process_tree *tree, pid_t pid)
{
    size_t first = 0;
    SEARCH_FIRST(first, tree->count, at, tree->table->rows[at].process->status.pid < pid);
    return first < tree->count && tree->table->rows[first].process->status.pid == pid ? first
                                                                                      : tree->count;
}

static bool process_tree_is_below(const struct process_tree *tree, size_t row, size_t ancestor)
{
    size_t steps = 0;
    for (; row < tree->count && steps <= tree->count; row = tree->parent[row], steps++)
        if (row == ancestor)
            return true;
    return steps > tree->count;
}

static void process_tree_find_parents(struct process_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        tree->parent[i] = tree->count;
    for (size_t i = 0; i < tree->count; i++) {
        size_t parent = process_tree_find(tree, tree->table->rows[i].process->status.parent);
        if (parent < tree->count && !process_tree_is_below(tree, parent, i))
            tree->parent[i] = parent;
    }
}

static void process_tree_add_up(struct process_tree *tree)
{
    struct system_memory_row *rows = tree->table->rows;
    for (size_t i = 0; i < tree->count; i++)
        rows[i].with_all = figure_of(0);
    for (size_t i = 0; i < tree->count; i++)
        for (size_t at = i; at < tree->count; at = tree->parent[at])
            rows[at].with_all = figure_add(rows[at].with_all, rows[i].bytes.pss);
}

/* `list` is a row's first child, or a root. The largest comes first, equals by number. */
static void process_tree_insert(struct process_tree *tree, size_t *list, size_t row)
{
    const struct system_memory_row *rows = tree->table->rows;
    uint64_t bytes = figure_or(rows[row].with_all, 0);
    while (*list < tree->count && figure_or(rows[*list].with_all, 0) >= bytes)
        list = &tree->next[*list];
    tree->next[row] = *list;
    *list = row;
}

/* Behind its parent's row; without recursion, because a tree may be as deep as there are
 * processes. */
static void process_tree_order(struct process_tree *tree, size_t root)
{
    size_t row = root, depth = 0;
    uint64_t open = 0; /* bit d: the ancestor at depth d has a sibling below */
    while (row < tree->count) {
        struct system_memory_row *to = &tree->ordered[tree->done++];
        *to = tree->table->rows[row];
        to->depth = depth;
        if (depth < 64)
            open = (open & ~(1ull << depth)) | (uint64_t)(depth && tree->next[row] < tree->count)
                                                   << depth;
        to->open_levels = open;
        if (tree->first[row] < tree->count) {
            row = tree->first[row];
            depth++;
            continue;
        }
        while (depth && tree->next[row] >= tree->count) {
            row = tree->parent[row];
            depth--;
        }
        row = depth ? tree->next[row] : tree->count;
    }
}

static void process_tree_build(struct process_tree *tree)
{
    size_t roots = tree->count;
    process_tree_find_parents(tree);
    process_tree_add_up(tree);
    for (size_t i = 0; i < tree->count; i++)
        tree->first[i] = tree->next[i] = tree->count;
    for (size_t i = 0; i < tree->count; i++)
        process_tree_insert(
            tree, tree->parent[i] < tree->count ? &tree->first[tree->parent[i]] : &roots, i);
    for (size_t root = roots; root < tree->count; root = tree->next[root])
        process_tree_order(tree, root);
    tree->table->total.with_all = tree->table->total.bytes.pss;
}

int system_memory_make_tree(struct system_memory_table *table)
{
    struct process_tree tree = {.table = table, .count = table->count};
    tree.ordered = calloc(tree.count + 1, sizeof *tree.ordered);
    tree.parent = calloc(3 * (tree.count + 1), sizeof *tree.parent);
    if (!tree.ordered || !tree.parent) {
        free(tree.ordered);
        free(tree.parent);
        return -ENOMEM;
    }
    tree.first = tree.parent + tree.count + 1;
    tree.next = tree.first + tree.count + 1;
    qsort(table->rows, table->count, sizeof *table->rows, process_tree_compare_pids);
    process_tree_build(&tree);
    memcpy(table->rows, tree.ordered, table->count * sizeof *table->rows);
    table->is_tree = true;
    free(tree.ordered);
    free(tree.parent);
    return 0;
}
