/* The program pauses the recording of its blocks. Runs inside the profiled program: no malloc, no
 * stdio, errno kept.
 *
 * The hot path has no test for it: while the recording is paused there is a filter (sampled.h) that
 * lets nothing pass, so that every hook goes the way of a sample's, and that way has the test. */
#ifndef TIDEMARK_RECORDER_PAUSE_H
#define TIDEMARK_RECORDER_PAUSE_H

#include <stdbool.h>

/* They nest, over all threads; what is resumed too often stays resumed. True: this was the first
 * pause, or ended the last one. */
bool pause_begin(void);
bool pause_end(void);

#endif
