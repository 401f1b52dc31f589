/* Files that a command writes for its user: whole or not at all, and never over what is there
 * unless that was asked for. */
#ifndef TIDEMARK_CLI_PUBLISH_H
#define TIDEMARK_CLI_PUBLISH_H

#include <stdbool.h>
#include <stdio.h>
#include "base/strbuf.h"

struct publication {
    const char *command; /* "html" */
    const char *name;    /* of the file; "-": stdout */
    bool force;          /* replace what is there */
    /* Writes it, to a stream or (`write_file`, where `write` is NULL) to a new file of that name.
     * An exit status; what went wrong has been said. */
    int (*write)(FILE *out, void *context);
    int (*write_file)(const char *path, void *context);
    void *context;
};
/* The exit status; on success "wrote NAME" is on stderr. */
int publish(const struct publication *publication);

/* The name of what is made of `source` where none was given: .tmk and .tmt make way for `ending`.
 */
void publish_default_name(struct strbuf *name, const char *source, const char *ending);

#endif
