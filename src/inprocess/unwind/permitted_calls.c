/* The one variable of permitted_calls.h: a mask of the system calls that the program's seccomp
 * filter forbids. Runs inside the profiled program. */
#include "unwind/permitted_calls.h"

uint32_t calls_forbidden;
