/* Stacks of threads that have ended: glibc keeps them for the next thread, with the values that the
 * last frames have left there. Inside the room. */
#ifndef TIDEMARK_COLLECTOR_GRAPH_ENDED_H
#define TIDEMARK_COLLECTOR_GRAPH_ENDED_H

#include <stdint.h>
#include "collector/areas.h"
#include "collector/shared_view.h"

/* Where the thread pointer of an ended thread lies in the area; 0: the area is no such stack, or a
 * live thread uses it now. */
uint64_t graph_ended_pointer(const struct view *view, const struct area *area);

/* Of a word that lies in the stack of an ended thread: is it a return address of the C library's?
 * The highest one is where the thread began; above it are its thread-local variables. */
bool graph_ended_is_start(const struct smaps *smaps, uint64_t word);

#endif
