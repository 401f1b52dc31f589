/* The two variables of permitted_calls.h: a mask of the system calls that the program's seccomp
 * filter forbids, and the byte by which a thread has its own calls blocked. Runs inside the
 * profiled program. */
#include "unwind/permitted_calls.h"

uint32_t calls_forbidden;
__thread const volatile char *calls_selector;
