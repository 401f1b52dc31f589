/* The graph of the live blocks, which a look keeps until the names of variables are known. Then
 * held_solve() finds which holder keeps which blocks (graph/holder_tree.h), as rows of a profile.
 *
 *     look          sweep ──▶ graph, roots with their addresses, places, ranges
 *     profile       names of variables ──▶ holders ──▶ dominators ──▶ tree, cut ──▶ rows
 *
 * It has no contents of memory: only which block points to which, and where roots lie. */
#ifndef TIDEMARK_PROFILE_BUILD_HELD_H
#define TIDEMARK_PROFILE_BUILD_HELD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "graph/graph.h"
#include "profile/profile.h"
#include "profile_build/variable_owners.h"

/* The owner of a range of memory. Strings are the look's. */
struct held_place {
    uint64_t start, end;
    enum profile_holder_kind kind; /* variable, thread-local, stack, mapping, allocator */
    uint32_t path;                 /* of a mapping: the call path that mapped it */
    const char *name;   /* a stack's: the thread's name; a mapping's: its file; or NULL */
    const char *module; /* of variables: the module's path */
    pid_t tid;          /* of a stack; 0: not known */
};

/* A step of the chain that was asked for, by node (graph.h). */
struct held_step {
    uint64_t pointer_offset; /* offset in this node of the pointer to the next node */
    uint64_t target_offset;  /* offset in the next node to which it points */
};

/* The name that an interpreter gives a root (graph_add_name()). */
struct held_name {
    enum profile_holder_kind kind;
    const char *name, *module; /* or NULL */
};

struct held {
    struct graph graph;
    struct graph_block *blocks; /* the graph's, malloc'd */
    uint32_t *paths;            /* by block: the call path that allocated it */
    struct graph_block *ranges; /* the graph's */
    struct held_place *range_places;
    struct held_place *places; /* where roots are; by address, disjoint */
    size_t place_count;
    struct held_name *names; /* of the last `name_count` roots of the graph */
    size_t name_count, name_room;
    char **texts; /* of the names */
    size_t text_count, text_room;
    struct graph_chain chain;
    struct held_step *steps; /* by node of the chain, with the root's step in front */
};

/* A copy that lives as long as `held`; NULL: there is no memory. */
const char *held_keep_text(struct held *held, const char *text);
/* Gives a name to the holder of a block by the word at an address (0: in no memory). The name comes
 * before any other name of that memory. Call it after all words were added. `name` and `module`
 * (NULL is allowed) must live as long as `held`. 0 or -ENOMEM. */
int held_add_name(struct held *held, uint64_t address, uint32_t block,
                  enum profile_holder_kind kind, const char *name, const char *module);
/* The kind of a root. */
enum profile_holder_kind held_kind_of_root(const struct held *held, size_t root);

/* The rank of a kind of holder; lower ranks come first (graph.h): variables of an interpreter's
 * modules, its classes, variables of the program, stacks and registers. Last come mappings that no
 * call was recorded for (the C library keeps stacks of ended threads there), and memory of the
 * allocator that may be unknown blocks. */
unsigned held_rank(enum profile_holder_kind kind);
/* The place of an address; NULL: none is known. */
const struct held_place *held_place_at(const struct held *held, uint64_t address);

struct held_rows {
    struct profile_holder *rows; /* `sample` is 0; strings are the look's and `find`'s places' */
    size_t count;
    struct profile_sharer *sharers; /* likewise; of the rows of kind SEVERAL */
    size_t sharer_count;
    struct profile_chain *chain; /* likewise */
    size_t chain_count;
};

/* `find` as for variable_owners_divide(). 0 or -errno of graph_dominate(). */
int held_solve(struct held *held, variable_find_module *find, void *context, struct held_rows *out);
void held_rows_release(struct held_rows *rows);
void held_free(struct held *held); /* NULL is allowed */

#endif
