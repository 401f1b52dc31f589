/* What the user wants always: defaults of options, one section for each command, one name for each
 * of its long options.
 *
 *   [record]
 *   ring = "1M"
 *   free-stacks = true              # a switch: true or false
 *   [report]
 *   strip-path = ["/build", "/src"] # an option that may be given several times
 *
 * Read from $XDG_CONFIG_DIRS/tidemark/config.toml, then $XDG_CONFIG_HOME/tidemark/config.toml;
 * where both set an option the second holds, and the command line above both. TIDEMARK_CONFIG names
 * another file instead of them; empty: none. Not thread-safe. */
#ifndef TIDEMARK_BASE_DEFAULTS_H
#define TIDEMARK_BASE_DEFAULTS_H

#include <stddef.h>
#include "base/options.h"
#include "base/strbuf.h"

/* Reads the files there are. `commands`: the sections that there may be. 0, or -EINVAL with a
 * sentence, "FILE:LINE: …", added to `why`. What was read stays for the life of the process. */
int defaults_load(const char *const *commands, size_t count, struct strbuf *why);

/* Sets a command's options in `target`. 0, or -EINVAL with a sentence. */
int defaults_apply(const struct options_command *command, void *target, struct strbuf *why);

/* The files that were read, in their order; NULL behind the last. */
const char *defaults_file(size_t number);

#endif
