/* The collector that all ranks of a job on a node share. The first `tidemark record` there starts
 * it, and each further one asks it for the session's name and key. Then each becomes its rank by
 * exec, and no process of ours stays beside the rank.
 *
 * The collector's address is the name of an abstract socket. Its hash is of the directory, the
 * job's id, the options, the host's name, the root directory and the namespaces of processes,
 * mounts and users: ranks with the same hash are on one node, in one job, and see the same files by
 * the same names. No file is opened or locked for the address, and the kernel frees it when the
 * collector dies. */
#ifndef TIDEMARK_COMMANDS_COLLECT_NODE_H
#define TIDEMARK_COMMANDS_COLLECT_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include "collector/collector.h"

enum { COLLECT_NODE_ADDRESS_BYTES = 64 };

/* Is the memory or the processor time of each process limited (ulimit -v, -d, -t)? A collector has
 * then for all ranks what one of them may have, and where it ends by that it ends for all. */
bool collect_node_is_limited(void);

/* `words`: the options as they were given. False: no address is sure to be of this node and job
 * alone. */
bool collect_node_address(char address[COLLECT_NODE_ADDRESS_BYTES], const char *directory,
                          const char *job_id, char **words, size_t word_count);

/* Finds that collector or starts it, and has it expect this process. Writes the session's name and
 * key. 0 or -errno: it is to be recorded by a collector of its own. */
int collect_on_node(const struct collector_options *options, const char *address, char *name,
                    size_t bytes);

#endif
