/* A collector that is not the program's parent. */
#ifndef TIDEMARK_COMMANDS_COLLECT_H
#define TIDEMARK_COMMANDS_COLLECT_H

#include <stddef.h>
#include "collector/collector.h"

/* Starts a collector as a process that is nobody's child, in a session of its own, without the
 * caller's open descriptors. `snapshot_signal` (0: none) makes it take snapshots. The collector
 * ends when the last process that it records has ended. Writes the session's name, to connect to. 0
 * or -errno. */
int collect_in_background(const struct collector_options *options, int snapshot_signal, char *name,
                          size_t bytes);

/* Takes snapshots, because signal `number` has come. */
void snapshot_on_signal(struct collector *collector, int number);

#endif
