/* A collector that is not the program's parent. */
#ifndef TIDEMARK_CLI_COLLECT_H
#define TIDEMARK_CLI_COLLECT_H

#include <stddef.h>
#include "collector/collector.h"

/* Starts one as a process that is nobody's child, in a session of its own, with nothing of the
 * caller's open; it ends when the last process that it records has. Writes the name to connect to.
 * 0 or -errno. */
int collect_in_background(const struct collector_options *options, char *name, size_t bytes);

#endif
