/* Our name in LD_PRELOAD: is it there, the list without it, and another list with it in front. Runs
 * inside the profiled program, in children of vfork too: no malloc, no stdio. */
#ifndef TIDEMARK_RECORDER_PRELOADS_H
#define TIDEMARK_RECORDER_PRELOADS_H

#include <stdbool.h>
#include <stddef.h>

/* The entry that the loader heeds, which is the first one; NULL: the environment has none. */
char *const *preloads_entry(char *const *environment);
/* Has the list of such an entry a library of that kind, we being one? */
bool preloads_has(const char *entry, bool (*is)(const char *path, size_t bytes));
bool preloads_has_us(const char *entry);
bool preloads_is_empty(const char *entry);
/* Copies an entry without us into as many bytes as it has. False: nothing would be left in its
 * list. */
bool preloads_copy_others(char *to, const char *entry);

/* What of us stands in an environment's list, as it stands there, with the allocator that `record`
 * has put behind. NULL: nothing any more. Once, when a program begins: it may write over its
 * environment. */
void preloads_keep(char *const *environment);
/* False: there was nothing, or it was too long. */
bool preloads_are_kept(void);
size_t preloads_kept_bytes(void);
/* Copies an entry with what was kept in front, into preloads_kept_bytes() more than it has. */
void preloads_copy_behind_us(char *to, const char *entry);

#endif
