/* Our name in LD_PRELOAD: is it there, and the list without it. Runs inside the profiled program:
 * no malloc, no stdio. */
#ifndef TIDEMARK_RECORDER_PRELOADS_H
#define TIDEMARK_RECORDER_PRELOADS_H

#include <stdbool.h>
#include <stddef.h>

/* The entry that the loader heeds, which is the first one; NULL: the environment has none. */
char *const *preloads_entry(char *const *environment);
/* Are we in the list of such an entry? */
bool preloads_has_us(const char *entry);
/* Copies an entry without us into as many bytes as it has. False: nothing would be left in its
 * list. */
bool preloads_copy_others(char *to, const char *entry);

#endif
