/* Has the collector of a recorded process write a snapshot. The collector is found by asking all
 * that listen on this machine (in this network namespace) whether the process is theirs: it may be
 * `tidemark record`, or one in the background that nobody has started by hand. */
#ifndef TIDEMARK_COMMANDS_ASK_SNAPSHOT_H
#define TIDEMARK_COMMANDS_ASK_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/strbuf.h"
#include "wire/wire.h"

struct ask_snapshot {
    const char *command; /* that asks */
    pid_t pid;           /* of the process, or of the collector: then of all that it records */
    struct wire_wish wish;
    uint64_t timeout_ns;
    void (*tell)(void *context, const char *path); /* of each snapshot */
    void *context;
};

/* Complains about what fails. 0, or -1: there is no snapshot, or one of several is missing. */
int ask_snapshot(const struct ask_snapshot *ask);

/* ask_snapshot() for a command that reads the snapshot of one process. Adds the snapshot's path to
 * `path`. 0, or the exit status after a complaint. */
int ask_snapshot_of(const char *command, pid_t pid, const struct wire_wish *wish,
                    struct strbuf *path);

#endif
