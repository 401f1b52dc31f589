/* --source-path, which annotate, serve and html have. */
#ifndef TIDEMARK_COMMANDS_SOURCE_PATH_H
#define TIDEMARK_COMMANDS_SOURCE_PATH_H

#include "base/options.h"
#include "aggregate/source_text.h"

/* `add`: an option's function that calls source_path_add(). */
#define SOURCE_PATH_ENTRY(add)                                                                     \
    {                                                                                              \
        "source-path", 'S', OPTION_CALL, "OLD=NEW",                                                \
            "sources recorded as below OLD are below NEW; may be repeated", 0, false, add          \
    }

/* One --source-path; 0 or -errno with a sentence on stderr. `pair` must live on. */
int source_path_add(const struct options_command *command, struct source_paths *paths,
                    const char *pair);

/* Without a pair, source files are read only where the profile is of this machine since its last
 * start. What is shown goes to others, and a stranger's profile may name any file. */
void source_path_only_here(struct source_paths *paths);

#endif
