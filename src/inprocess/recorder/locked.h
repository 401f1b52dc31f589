/* mlockall() as if we were not there: it locks what is the program's, and neither our memory nor
 * our library counts against what the program may lock (ulimit -l). Runs inside the profiled
 * program: no malloc, no stdio. */
#ifndef TIDEMARK_RECORDER_LOCKED_H
#define TIDEMARK_RECORDER_LOCKED_H

/* As mlockall(), in a process that is recorded. */
int locked_all(int flags);
/* We have come into a program that may have called it before. */
void locked_came_late(void);

#endif
