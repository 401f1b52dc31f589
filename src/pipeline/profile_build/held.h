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

/* What a run-time calls a root (graph_add_name()). */
struct held_name {
    enum profile_holder_kind kind;
    const char *name, *module; /* or NULL */
};

struct held {
    struct graph graph;
    struct graph_block *blocks; /* the graph's, malloc'd */
    uint32_t *paths;            /* by block: who allocated it */
    struct graph_block *ranges; /* the graph's */
    struct held_place *range_places;
    struct held_place *places; /* where roots are; by address, disjoint */
    size_t place_count;
    struct held_name *names; /* of the graph's last roots */
    size_t name_count, name_room;
    char **texts; /* of the names */
    size_t text_count, text_room;
    struct graph_chain chain;
    struct held_step *steps; /* by node of the chain; that of the root is one more, in front */
};

/* A copy that lives as long as `held`; NULL: there is no memory. */
const char *held_keep_text(struct held *held, const char *text);
/* Who holds a block by the word at an address (0: in no memory) is called that, whatever else that
 * memory is called. After all words were added. `name` and `module` are kept, or NULL. 0 or
 * -ENOMEM. */
int held_add_name(struct held *held, uint64_t address, uint32_t block,
                  enum profile_holder_kind kind, const char *name, const char *module);
/* Of a root. */
enum profile_holder_kind held_kind_of_root(const struct held *held, size_t root);

/* Which holders come first (graph.h): variables of an interpreter's modules, its classes, variables
 * of the program, then stacks and registers, then memory that nobody has seen mapped (the C library
 * keeps stacks of threads that have ended), and what of the allocator's may be blocks that are not
 * known. */
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
