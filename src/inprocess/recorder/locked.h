/* mlockall() without our memory: only the program's is locked, and neither our memory nor our
 * library counts against the program's limit (ulimit -l). Runs inside the profiled program: no
 * malloc, no stdio. */
#ifndef TIDEMARK_RECORDER_LOCKED_H
#define TIDEMARK_RECORDER_LOCKED_H

/* As mlockall(), in a process that is recorded. */
int locked_all(int flags);
/* To be called when we were loaded into a running program, which may have called mlockall()
 * before. */
void locked_came_late(void);

#endif
