/* Which profile in a node's file the next one is packed against. Ranks of a program differ in
 * little more than times, so against another one a rank's profile is less than half as long.
 *
 *     row   0   1   2  …  15  16  17  …
 *           ▲───┘   │      │   ▲───┘
 *           ╰───────┴──────╯             a model is packed alone, and 15 rows refer to it
 *
 * So a damaged row costs itself and fifteen others at most, and a reader unpacks two. */
#ifndef TIDEMARK_COLLECTOR_NODE_MODELS_H
#define TIDEMARK_COLLECTOR_NODE_MODELS_H

#include "session/session_whole.h"

struct node_models;

struct node_models *node_models_new(void);
void node_models_free(struct node_models *models); /* NULL is nothing */

/* Appends a complete packed profile's file to the node's file, against a model or as a new one.
 * From any thread; none waits for another's packing. 0 or as session_whole_append(). */
int node_models_append(struct node_models *models, struct session_whole_file *file,
                       const struct session_row *row, const char *said, const void *packed,
                       size_t count);

#endif
