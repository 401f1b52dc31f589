/* What the threads of a program have recorded since the list of its live blocks was made: while
 * they stand, what lies in their rings and was not merged yet. Inside the room. */
#ifndef TIDEMARK_COLLECTOR_GRAPH_NEWS_H
#define TIDEMARK_COLLECTOR_GRAPH_NEWS_H

#include <stdbool.h>
#include <stdint.h>
#include "collector/shared_view.h"

/* Calls see for the address in each record. False: there is none, and no thread is about to write
 * one, so the list is still true. Only while nobody merges. */
bool graph_news_see(const struct view *view, void (*see)(void *context, uint64_t address),
                    void *context);

#endif
