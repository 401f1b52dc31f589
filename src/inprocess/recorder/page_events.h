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

/* Sets BFM's hook; the recorder has to be ready for events. False: no memory. */
bool page_events_begin(void);
/* saw_code() of unwind_host: also looks for operators, whose frames paths leave out. */
void page_events_saw_code(uintptr_t ip);
#else
enum { PAGES = 0 };
#endif

#endif
