/* The names of the program's marks and regions, each once in the shared memory. Records have the
 * number of a name. Runs inside the profiled program: no malloc, no stdio, errno kept. */
#ifndef TIDEMARK_RECORDER_USER_NAMES_H
#define TIDEMARK_RECORDER_USER_NAMES_H

#include <stdint.h>

/* The number of a name; a known one costs no system call. NULL and "" are "(unnamed)"; 0: there is
 * no memory. Only while recording. */
uint32_t names_number(const char *text);

/* To be called when the session's memory, and so all names, was given back. While no other thread
 * runs. */
void names_renew(void);

#endif
