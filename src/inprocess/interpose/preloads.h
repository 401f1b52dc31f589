/* A library of ours in LD_PRELOAD: is it there, the list without it, and another list with it in
 * front. Each library of ours says by a name which entries are its own. Runs inside other programs,
 * in children of vfork too: no malloc, no stdio. */
#ifndef TIDEMARK_INTERPOSE_PRELOADS_H
#define TIDEMARK_INTERPOSE_PRELOADS_H

#include <stdbool.h>
#include <stddef.h>

/* Is that path of a list, which no zero ends, of a kind? */
typedef bool preloads_is(const char *path, size_t bytes);
/* A sanitizer's run-time, which refuses to come second. */
preloads_is preloads_is_sanitizer;

/* The entry that the loader heeds, which is the first one; NULL: the environment has none. */
char *const *preloads_entry(char *const *environment);
/* Has the list of such an entry a library of that kind? */
bool preloads_has(const char *entry, preloads_is *is);
bool preloads_is_empty(const char *entry);
/* Copies an entry without these into as many bytes as it has. False: nothing would be left in its
 * list. */
bool preloads_copy_others(char *to, const char *entry, preloads_is *is);

/* Keeps what of these stands in an environment's list, as it stands there. NULL: nothing any more.
 * Once, when a program begins: it may write over its environment. */
void preloads_keep(char *const *environment, preloads_is *is);
/* False: there was nothing, or it was too long. */
bool preloads_are_kept(void);
size_t preloads_kept_bytes(void);
/* Copies an entry with what was kept in front, into preloads_kept_bytes() more than it has. */
void preloads_copy_behind_kept(char *to, const char *entry);

#endif
