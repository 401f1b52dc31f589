/* The program pauses the recording of its blocks. Runs inside the profiled program: no malloc, no
 * stdio, errno kept.
 *
 * The hot path has no test for a pause. While the recording is paused, there is a filter
 * (sampled.h) that lets nothing pass. So every hook takes the path for sampled recordings, and that
 * path tests for the pause. */
#ifndef TIDEMARK_RECORDER_PAUSE_H
#define TIDEMARK_RECORDER_PAUSE_H

#include <stdbool.h>

/* Pauses nest, over all threads. A surplus pause_end() has no effect. True: this call began the
 * first pause, or ended the last one. */
bool pause_begin(void);
bool pause_end(void);

/* A session begins in the child of a fork, or once more in the same process: it is paused if the
 * one before was. */
void pause_go_on(void);

#endif
