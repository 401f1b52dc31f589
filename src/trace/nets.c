/* See nets.h. */
#include "trace/nets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_node(const void *a, const void *b)
{
    const struct trace_net *x = a, *y = b;

    return (x->node > y->node) - (x->node < y->node);
}

/* Most paths of a block free what they allocate in it: what is nothing goes before the sort. */
void nets_settle(struct nets *nets)
{
    size_t kept = 0;

    for (size_t i = 0; i < nets->count; i++)
        if (nets->all[i].bytes || nets->all[i].count)
            nets->all[kept++] = nets->all[i];
    nets->count = kept;
    if (kept)
        qsort(nets->all, kept, sizeof *nets->all, by_node);
}

static size_t merge(struct trace_net *out, const struct nets *nets, const struct trace_net *changes,
                    size_t change_count)
{
    size_t i = 0, k = 0, count = 0;

    while (i < nets->count || k < change_count) {
        struct trace_net net;
        if (k == change_count || (i < nets->count && nets->all[i].node < changes[k].node)) {
            net = nets->all[i++];
        } else {
            net = changes[k++];
            if (i < nets->count && nets->all[i].node == net.node)
                nets_add(&net, &nets->all[i++]);
        }
        out[count] = net;
        count += net.bytes || net.count;
    }
    return count;
}

int nets_merge(struct nets *into, const struct trace_net *changes, size_t count)
{
    size_t room = into->count + count + 1;
    struct trace_net *all = malloc(room * sizeof *all);

    if (!all)
        return -ENOMEM;
    into->count = merge(all, into, changes, count);
    free(into->all);
    into->all = all;
    into->room = room;
    return 0;
}

void nets_release(struct nets *nets)
{
    free(nets->all);
    *nets = (struct nets){0};
}

/* Nodes by their distances. */
void nets_put(const struct nets *nets, struct byte_sink columns[NET_COLUMNS])
{
    uint32_t last = 0;

    for (size_t i = 0; i < nets->count; i++) {
        const struct trace_net *net = &nets->all[i];
        sink_number(&columns[0], &columns[1], net->node - last);
        sink_number(&columns[2], &columns[3], number_zigzag(net->bytes));
        sink_number(&columns[4], &columns[5], number_zigzag(net->count));
        last = net->node;
    }
}

static int get_all(struct byte_source columns[NET_COLUMNS], struct trace_net *nets, size_t count)
{
    uint64_t node = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t way = source_number(&columns[0], &columns[1]);
        if ((i && !way) || way > UINT32_MAX - node)
            return -EBADMSG;
        node += way;
        nets[i].node = (uint32_t)node;
        nets[i].bytes = number_unzigzag(source_number(&columns[2], &columns[3]));
        nets[i].count = number_unzigzag(source_number(&columns[4], &columns[5]));
    }
    for (int i = 0; i < NET_COLUMNS; i++)
        if (columns[i].overrun || source_left(&columns[i]))
            return -EBADMSG;
    return 0;
}

/* A path takes a byte at least: no count asks for more memory than the columns have. */
int nets_get(struct byte_source columns[NET_COLUMNS], uint32_t count, struct nets *nets)
{
    struct trace_net *all;
    int error;

    if (count > source_left(&columns[0]))
        return -EBADMSG;
    all = malloc((count + 1) * sizeof *all);
    if (!all)
        return -ENOMEM;
    error = get_all(columns, all, count);
    if (error) {
        free(all);
        return error;
    }
    *nets = (struct nets){all, count, count + 1};
    return 0;
}
