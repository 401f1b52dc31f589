/* Tells the collector of allocators that the recorder has found and cannot record. Runs inside the
 * profiled program: no malloc, no stdio. */
#ifndef TIDEMARK_RECORDER_UNSEEN_H
#define TIDEMARK_RECORDER_UNSEEN_H

#include "wire/wire.h"

/* Adds an allocator of a module; NULL: not known. One that is in the list already is not added
 * again. */
void unseen_tell(enum wire_unseen_what what, enum wire_unseen_why why, const char *function,
                 const char *module);
/* Removes functions that the user had named, because another session may name others. */
void unseen_forget_pools(void);
/* Publishes the whole list, for a new collector or in the child of a fork. */
void unseen_tell_again(void);

#endif
