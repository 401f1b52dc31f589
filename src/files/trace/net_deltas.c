/* Lists of net changes by path, sorted by node (net_deltas.h). Two lists are merged like two sorted
 * runs. In the file nodes are distances and changes are zigzag numbers. */
#include "trace/net_deltas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int net_deltas_by_node(const void *a, const void *b)
{
    const struct trace_net_delta *x = a, *y = b;

    return (x->node > y->node) - (x->node < y->node);
}

/* Most paths of a block free what they allocate in it: what is nothing goes before the sort. */
void net_deltas_settle(struct net_deltas *deltas)
{
    size_t kept = 0;

    for (size_t i = 0; i < deltas->count; i++)
        if (deltas->all[i].bytes || deltas->all[i].count)
            deltas->all[kept++] = deltas->all[i];
    deltas->count = kept;
    if (kept)
        qsort(deltas->all, kept, sizeof *deltas->all, net_deltas_by_node);
}

static size_t net_deltas_merge_into(struct trace_net_delta *out, const struct net_deltas *deltas,
                                    const struct trace_net_delta *changes, size_t change_count)
{
    size_t i = 0, k = 0, count = 0;

    while (i < deltas->count || k < change_count) {
        struct trace_net_delta net;
        if (k == change_count || (i < deltas->count && deltas->all[i].node < changes[k].node)) {
            net = deltas->all[i++];
        } else {
            net = changes[k++];
            if (i < deltas->count && deltas->all[i].node == net.node)
                net_deltas_add(&net, &deltas->all[i++]);
        }
        out[count] = net;
        count += net.bytes || net.count;
    }
    return count;
}

int net_deltas_merge(struct net_deltas *into, const struct trace_net_delta *changes, size_t count)
{
    size_t room = into->count + count + 1;
    struct trace_net_delta *all = malloc(room * sizeof *all);

    if (!all)
        return -ENOMEM;
    into->count = net_deltas_merge_into(all, into, changes, count);
    free(into->all);
    into->all = all;
    into->room = room;
    return 0;
}

void net_deltas_release(struct net_deltas *deltas)
{
    free(deltas->all);
    *deltas = (struct net_deltas){0};
}

/* Nodes by their distances. */
void net_deltas_put(const struct net_deltas *deltas, struct byte_sink columns[NET_COLUMNS])
{
    uint32_t last = 0;

    for (size_t i = 0; i < deltas->count; i++) {
        const struct trace_net_delta *net = &deltas->all[i];
        numbers_sink(&columns[0], &columns[1], net->node - last);
        numbers_sink(&columns[2], &columns[3], varint_zigzag(net->bytes));
        numbers_sink(&columns[4], &columns[5], varint_zigzag(net->count));
        last = net->node;
    }
}

static int net_deltas_get_all(struct byte_source columns[NET_COLUMNS],
                              struct trace_net_delta *deltas, size_t count)
{
    uint64_t node = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t way = numbers_source(&columns[0], &columns[1]);
        if ((i && !way) || way > UINT32_MAX - node)
            return -EBADMSG;
        node += way;
        deltas[i].node = (uint32_t)node;
        deltas[i].bytes = varint_unzigzag(numbers_source(&columns[2], &columns[3]));
        deltas[i].count = varint_unzigzag(numbers_source(&columns[4], &columns[5]));
    }
    for (int i = 0; i < NET_COLUMNS; i++)
        if (columns[i].overrun || numbers_source_left(&columns[i]))
            return -EBADMSG;
    return 0;
}

/* A path takes a byte at least: no count asks for more memory than the columns have. */
int net_deltas_get(struct byte_source columns[NET_COLUMNS], uint32_t count,
                   struct net_deltas *deltas)
{
    struct trace_net_delta *all;
    int error;

    if (count > numbers_source_left(&columns[0]))
        return -EBADMSG;
    all = malloc((count + 1) * sizeof *all);
    if (!all)
        return -ENOMEM;
    error = net_deltas_get_all(columns, all, count);
    if (error) {
        free(all);
        return error;
    }
    *deltas = (struct net_deltas){all, count, count + 1};
    return 0;
}
