/* What a look keeps of the graph of the live blocks until it is known what variables are called:
 * then held_solve() finds who keeps what (graph/holder_tree.h), as rows of a profile.
 *
 *     look          sweep ──▶ graph, roots with their addresses, places, ranges
 *     profile       names of variables ──▶ holders ──▶ dominators ──▶ tree, cut ──▶ rows
 *
 * Contents of memory are not in it: which block points to which, and where roots lie. */
#ifndef TIDEMARK_PROFILE_BUILD_HELD_H
#define TIDEMARK_PROFILE_BUILD_HELD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "graph/graph.h"
#include "profile/profile.h"
#include "profile_build/variable_owners.h"

/* Whose the memory there is. Strings are the look's. */
struct held_place {
    uint64_t start, end;
    enum profile_holder_kind kind; /* variable, thread-local, stack, mapping, allocator */
    uint32_t path;                 /* of a mapping: who mapped it */
    const char *name;              /* of a stack the thread's; of a mapping its file's; or NULL */
    const char *module;            /* of variables: the path */
    pid_t tid;                     /* of a stack; 0: not known */
};

/* Of a chain that was asked for, by its nodes (graph.h). */
struct held_step {
    uint64_t pointer_offset; /* where in this node the pointer to the next lies */
    uint64_t target_offset;  /* where in the next it points to */
};

struct held {
    struct graph graph;
    struct graph_block *blocks; /* the graph's, malloc'd */
    uint32_t *paths;            /* by block: who allocated it */
    struct graph_block *ranges; /* the graph's */
    struct held_place *range_places;
    struct held_place *places; /* where roots are; by address, disjoint */
    size_t place_count;
    struct graph_chain chain;
    struct held_step *steps; /* by node of the chain; that of the root is one more, in front */
};

/* Which holders come first (graph.h): variables, then stacks and registers, then memory
 * that nobody has seen mapped (the C library keeps stacks of threads that have ended), and what of
 * the allocator's may be blocks that are not known. */
unsigned held_rank(enum profile_holder_kind kind);
/* The place of an address; NULL: none is known. */
const struct held_place *held_place_at(const struct held *held, uint64_t address);

struct held_rows {
    struct profile_holder *rows; /* `sample` is 0; strings are the look's and `find`'s places' */
    size_t count;
    struct profile_chain *chain; /* likewise */
    size_t chain_count;
};

/* `find` as for variable_owners_divide(). 0 or -errno of graph_dominate(). */
int held_solve(struct held *held, variable_find_module *find, void *context, struct held_rows *out);
void held_rows_release(struct held_rows *rows);
void held_free(struct held *held); /* NULL is allowed */

#endif
