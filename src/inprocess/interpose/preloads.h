/* Our libraries in LD_PRELOAD: finds them, copies the list without them, and puts them in front of
 * another list. Each caller has a function that says which entries are its library. Runs inside
 * other programs, in children of vfork too: no malloc, no stdio. */
#ifndef TIDEMARK_INTERPOSE_PRELOADS_H
#define TIDEMARK_INTERPOSE_PRELOADS_H

#include <stdbool.h>
#include <stddef.h>

/* Is the library at this path, which does not end with NUL, one of a kind? */
typedef bool preloads_is(const char *path, size_t bytes);
/* Of a sanitizer's run-time, which refuses to run unless it is the first library. */
preloads_is preloads_is_sanitizer;

/* The environment's first "LD_PRELOAD=…", which is the one that the loader uses; NULL: there is
 * none. */
char *const *preloads_entry(char *const *environment);
/* Does the list of such an entry have a library of that kind? */
bool preloads_has(const char *entry, preloads_is *is);
bool preloads_is_empty(const char *entry);
/* Copies the path of the first library of that kind, as text. False: there is none, it is no
 * absolute path, it has a word that the loader replaces ("$LIB"), or there is no room. */
bool preloads_path(char *path, size_t room, const char *entry, preloads_is *is);
/* Copies an entry without libraries of that kind to `to`, which is as large as the entry. False:
 * the copy's list is empty. */
bool preloads_copy_others(char *to, const char *entry, preloads_is *is);

/* Keeps a copy of the libraries of that kind in an environment's list. NULL: keeps nothing any
 * more. To be called once, when the program begins, because later it may overwrite its
 * environment. */
void preloads_keep(char *const *environment, preloads_is *is);
/* False: there was none, or their paths were too long. */
bool preloads_are_kept(void);
size_t preloads_kept_bytes(void);
/* Copies an entry, with the kept libraries in front. `to` has room for the entry and
 * preloads_kept_bytes() more. */
void preloads_copy_behind_kept(char *to, const char *entry);

#endif
