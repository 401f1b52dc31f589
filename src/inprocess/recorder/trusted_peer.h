/* May the process that listens by a collector's name get the session's key? Runs inside the
 * profiled program: system calls only, no malloc, no stdio. */
#ifndef TIDEMARK_RECORDER_TRUSTED_PEER_H
#define TIDEMARK_RECORDER_TRUSTED_PEER_H

#include <stdbool.h>

/* `fd`: a connected socket. True: the listener is a process of root or of the program's own user,
 * or of a user that our user namespace does not have. */
bool trusted_peer(int fd);

#endif
