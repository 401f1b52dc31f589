/* Memory of another process. 0 or -errno; -EFAULT: it has no such memory, all of it. */
#ifndef TIDEMARK_ATTACH_TARGET_MEMORY_H
#define TIDEMARK_ATTACH_TARGET_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int memory_read(pid_t pid, uintptr_t address, void *bytes, size_t count);
int memory_write(pid_t pid, uintptr_t address, const void *bytes, size_t count);
/* Also where the process itself may only read, of a process whose tracer we are. */
int memory_force(pid_t pid, uintptr_t address, const void *bytes, size_t count);
/* A string, cut to the room. */
int memory_read_string(pid_t pid, uintptr_t address, char *text, size_t room);

#endif
