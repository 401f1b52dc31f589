/* The texts that the program names marks and regions by, in the shared memory, each once: a number
 * stands for it in records. Runs inside the profiled program: no malloc, no stdio, errno kept. */
#ifndef TIDEMARK_RECORDER_USER_NAMES_H
#define TIDEMARK_RECORDER_USER_NAMES_H

#include <stdint.h>

/* The number of a name; a known one costs no system call. NULL and "" are "(unnamed)"; 0: there is
 * no memory. Only while recording. */
uint32_t names_number(const char *text);

/* The session's memory is gone, and with it all names. While nobody else runs. */
void names_renew(void);

#endif
