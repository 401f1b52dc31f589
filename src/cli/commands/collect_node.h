/* The collector that all ranks of a job on a node share. The first `tidemark record` there starts
 * it, every further one is told its name and key; then each becomes its rank by exec, and nothing
 * of ours stays beside it.
 *
 * Who is on the same node and in the same job says an address, an abstract socket's name: its
 * hash is of the directory, the job's id, the options, the host's name and the namespaces of
 * processes, mounts and users. No file is opened or locked for it, and the kernel takes it back
 * from a collector that dies. */
#ifndef TIDEMARK_COMMANDS_COLLECT_NODE_H
#define TIDEMARK_COMMANDS_COLLECT_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include "collector/collector.h"

enum { COLLECT_NODE_ADDRESS_BYTES = 64 };

/* `words`: what the options were given as. False: there is no address that is sure to be one of
 * this node and job only. */
bool collect_node_address(char address[COLLECT_NODE_ADDRESS_BYTES], const char *directory,
                          const char *job_id, char **words, size_t word_count);

/* Finds that collector or starts it, and has it expect this process. Writes the session's name and
 * key. 0 or -errno: it is to be recorded by a collector of its own. */
int collect_on_node(const struct collector_options *options, const char *address, char *name,
                    size_t bytes);

#endif
