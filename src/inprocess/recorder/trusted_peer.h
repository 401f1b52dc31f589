/* Whether who listens by a collector's name may be told the session's key. Runs inside the profiled
 * program: system calls only, no malloc, no stdio. */
#ifndef TIDEMARK_RECORDER_TRUSTED_PEER_H
#define TIDEMARK_RECORDER_TRUSTED_PEER_H

#include <stdbool.h>

/* `fd`: a socket that is connected. True: a process of root's or of the program's own user listens
 * there, or one whose user our user namespace does not know. */
bool trusted_peer(int fd);

#endif
