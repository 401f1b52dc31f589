/* An empty profile: a database with all tables and no rows, as bytes of a file. A profile begins with it, so that its
 * file is one from its first moment on. Made once for a process, because to have SQLite create the tables takes longer
 * than to write a small profile. */
#ifndef TIDEMARK_PROFILE_BLANK_H
#define TIDEMARK_PROFILE_BLANK_H

#include <stddef.h>

/* NULL: out of memory. It stays the room's. May be called by several threads. */
const void *blank_profile(size_t *bytes);

#endif
