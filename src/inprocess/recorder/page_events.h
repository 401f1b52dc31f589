/* --events=pages: libtidemark-bfm.so contains BFM. BFM's event hook reports each large block, and
 * each small block that stands for a page record (tidemark/bfm.h), when it is allocated or freed.
 * malloc and operator new are not interposed: malloc is BFM's. Both libraries are made of the same
 * sources, and the functions here tell them apart. */
#ifndef TIDEMARK_RECORDER_PAGE_EVENTS_H
#define TIDEMARK_RECORDER_PAGE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef TIDEMARK_PAGES
enum { PAGES = 1 };

/* Has events told from here on; the recorder is ready for them. False: no memory. */
bool page_events_begin(void);
/* Code at ip was seen for the first time: there may be operators to pass over. */
void page_events_saw_code(uintptr_t ip);
#else
enum { PAGES = 0 };
#endif

#endif
