/* --events=pages: libtidemark-bfm.so has BFM in it and is told by its hook when a large block changes
 * hands, or one of the small blocks that stand for a page record each (tidemark/bfm.h). malloc and
 * operator new are not stood in for: malloc is BFM's. The same sources make both libraries; what
 * differs is asked here. */
#ifndef TIDEMARK_RECORDER_PAGES_H
#define TIDEMARK_RECORDER_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef TIDEMARK_PAGES
enum { PAGES = 1 };

/* Has events told from here on; the recorder is ready for them. False: no memory. */
bool pages_begin(void);
/* Code at ip was seen for the first time: there may be operators to pass over. */
void pages_saw_code(uintptr_t ip);
#else
enum { PAGES = 0 };
#endif

#endif
