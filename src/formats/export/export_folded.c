/* Folded stacks: "main;run;load 4096", a line for each call path of functions, one metric. */
#include <stdlib.h>
#include "export/exporting.h"
#include "aggregate/top_down.h"
#include "base/memory.h"

/* Adds ";name" of a node; the names on the way to it stand there already. */
static void export_folded_add_step(struct strbuf *line, const struct profile *profile,
                                   const struct top_down_node *node)
{
    if (line->length)
        strbuf_add_char(line, ';');
    export_add_key_name(line, profile, node->key, frame_at(node->code, node->line), ";", ':');
}

/* The tree depth first, heaviest child first. lengths[d]: of the line up to depth d. */
static void export_folded_write_tree(struct exporting *exporting, struct top_down *tree,
                                     size_t *lengths)
{
    struct strbuf line = STRBUF_INIT;
    size_t depth = 0;
    top_down_sort(tree, 0);
    for (uint32_t at = tree->nodes[0].first_child; at;) {
        const struct top_down_node *node = &tree->nodes[at];
        uint64_t own;
        lengths[depth] = line.length;
        export_folded_add_step(&line, exporting->profile, node);
        if (figure_get(node->exclusive, &own) && own)
            fprintf(exporting->out, "%s %llu\n", line.data, (unsigned long long)own);
        top_down_sort(tree, at);
        if (tree->nodes[at].first_child) {
            depth++;
            at = tree->nodes[at].first_child;
            continue;
        }
        strbuf_truncate(&line, lengths[depth]);
        while (at && !tree->nodes[at].next) {
            at = tree->nodes[at].parent;
            depth -= depth > 0;
            strbuf_truncate(&line, lengths[depth]);
        }
        at = at ? tree->nodes[at].next : 0;
    }
    strbuf_release(&line);
}

int export_folded(struct exporting *exporting)
{
    struct top_down tree;
    int error = top_down_init(&tree, exporting->profile, exporting->options->metric,
                              exporting->hidden, exporting->wanted);
    if (error)
        return error;
    size_t *lengths = memory_need(calloc(tree.count + 1, sizeof *lengths));
    export_folded_write_tree(exporting, &tree, lengths);
    free(lengths);
    top_down_release(&tree);
    return 0;
}
