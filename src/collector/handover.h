/* The name of a profile passes on by exec: what a process becomes gets the name that the program had
 * whose place it took (sh -c 'exec server'), and that one's files step aside when they are complete.
 *
 *     the old image:  … completes its files ─▶ renames them ─▶ handover_complete()
 *     the new image:  … records, in memory ── waits for that ─▶ opens files of that name
 *
 * Made by the collector's thread with two references, one for each image; the rest is safe from any. */
#ifndef TIDEMARK_COLLECTOR_HANDOVER_H
#define TIDEMARK_COLLECTOR_HANDOVER_H

#include <stdbool.h>

struct handover;

/* `aside`: where the old image's profile goes, malloc'd and taken over. NULL: out of memory. */
struct handover *handover_new(char *aside);
/* NULL is allowed. */
void handover_release(struct handover *handover);

const char *handover_aside(const struct handover *handover);
/* Whoever comes may use the name now. */
void handover_complete(struct handover *handover);
bool handover_is_complete(const struct handover *handover);
/* Returns at once if there is none (NULL). The old image has been told of its end, so this ends too. */
void handover_wait(const struct handover *handover);

#endif
