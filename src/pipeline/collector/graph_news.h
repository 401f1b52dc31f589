/* The records that the threads of a program have written since the list of its live blocks was
 * made: while the threads are stopped, those in their rings that are not merged yet. Inside the
 * room. */
#ifndef TIDEMARK_COLLECTOR_GRAPH_NEWS_H
#define TIDEMARK_COLLECTOR_GRAPH_NEWS_H

#include <stdbool.h>
#include <stdint.h>
#include "collector/shared_view.h"

/* Calls `see` with the address of each record. False: there is no record, and no thread is about to
 * write one, so the list is still exact. Only while no other thread merges. */
bool graph_news_see(const struct view *view, void (*see)(void *context, uint64_t address),
                    void *context);

#endif
