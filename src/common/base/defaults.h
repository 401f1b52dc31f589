/* Defaults of options from the user's configuration files: one section for each command, and in it
 * the names of the command's long options.
 *
 *   [record]
 *   ring = "1M"
 *   free-stacks = true              # a switch: true or false
 *   [report]
 *   strip-path = ["/build", "/src"] # an option that may be given several times
 *
 * Read from tidemark/config.toml in the directories of $XDG_CONFIG_DIRS, then in $XDG_CONFIG_HOME.
 * Where both set an option the second holds; the command line overrides both. TIDEMARK_CONFIG names
 * another file to read in their place; empty: none is read. Not thread-safe. */
#ifndef TIDEMARK_BASE_DEFAULTS_H
#define TIDEMARK_BASE_DEFAULTS_H

#include <stddef.h>
#include "base/options.h"
#include "base/strbuf.h"

/* Reads the files that exist. `commands`: the permitted names of sections. 0, or -EINVAL with a
 * sentence, "FILE:LINE: …", added to `why`. What was read stays for the life of the process. */
int defaults_load(const char *const *commands, size_t count, struct strbuf *why);

/* Sets a command's options in `target` from what was read. 0, or -EINVAL with a sentence in
 * `why`. */
int defaults_apply(const struct options_command *command, void *target, struct strbuf *why);

/* The path of the file with this number (from 0) among those that were read; NULL behind the
 * last. */
const char *defaults_file(size_t number);

#endif
