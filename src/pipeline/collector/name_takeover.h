/* Takes over the name of a profile at exec. In `sh -c 'exec server'` the server replaces the shell
 * and gets the name that the shell's profile had. The shell's files are renamed when they are
 * complete.
 *
 *     the old image:  … completes its files ─▶ renames them ─▶ name_takeover_complete()
 *     the new image:  … records, in memory ── waits for that ─▶ opens files of that name
 *
 * The collector's thread makes it with two references, one for each image. All other functions may
 * be called from any thread. */
#ifndef TIDEMARK_COLLECTOR_NAME_TAKEOVER_H
#define TIDEMARK_COLLECTOR_NAME_TAKEOVER_H

#include <stdbool.h>

struct name_takeover;

/* `aside`: where the old image's profile goes, malloc'd and taken over. NULL: out of memory. */
struct name_takeover *name_takeover_new(char *aside);
/* NULL is allowed. */
void name_takeover_release(struct name_takeover *takeover);

const char *name_takeover_aside(const struct name_takeover *takeover);
/* From now on the new image may use the name. */
void name_takeover_complete(struct name_takeover *takeover);
bool name_takeover_is_complete(const struct name_takeover *takeover);
/* Returns at once if there is none (NULL). The old image has been told of its end, so this ends
 * too. */
void name_takeover_wait(const struct name_takeover *takeover);

#endif
