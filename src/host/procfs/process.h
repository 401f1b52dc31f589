/* What /proc says about a process: how much memory it has, what is mapped where, who it is. The
 * process may end between two reads: then the answer is -ESRCH. Functions return 0 or -errno;
 * strings are malloc'd, the caller frees them.
 *
 * The room keeps no state but descriptors and buffers that are used again. `proc_file` is under all
 * files. `smaps` is the table of mappings with their cost, `page_table` the page table laid over
 * ranges or blocks, `stacks` joins both for threads' stacks, `usage` has faults, time and switches,
 * `cgroup` finds the tightest limit, `executable` tells whether a program can be recorded and why
 * not, `launcher` finds rank and job. */
#ifndef TIDEMARK_PROCFS_PROCESS_H
#define TIDEMARK_PROCFS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/strbuf.h"

/* ---- Memory, often ------------------------------------------------------------------------- */

/* With an open descriptor a reading is one pread, about 2 µs, and cannot be of another process that
 * got the same number. Where descriptors are short, statm is opened for each reading. */
struct process_meter {
    pid_t pid;
    int statm_fd; /* -1: opened for each reading */
};

struct process_memory {
    uint64_t virtual_bytes, resident_bytes, shared_bytes; /* shared: resident, of files and shm */
};

int process_meter_open(struct process_meter *meter, pid_t pid, bool keep_descriptor);
void process_meter_close(struct process_meter *meter);

/* -ESRCH when the process has ended (a zombie has no memory either). */
int process_meter_read(struct process_meter *meter, struct process_memory *memory);

/* ---- What is mapped where ------------------------------------------------------------------ */

struct process_mapping {
    uint64_t start, end, offset_bytes, inode;
    uint32_t device_major, device_minor;
    bool readable, writable, executable, shared;
    const char *path; /* "" if it has none; "[heap]", "/lib/x.so", "/tmp/y (deleted)"; valid during
                         the call only */
};

/* Calls `visit` for every mapping in order of address until it returns other than 0, which is then
 * returned. A line that cannot be read is left out. */
int process_maps(pid_t pid, int (*visit)(const struct process_mapping *, void *context),
                 void *context);

/* The same for one line of a maps file, without its newline; changes the line, `mapping->path`
 * points into it. -EINVAL if it is none. */
int process_maps_parse(char *line, struct process_mapping *mapping);

/* ---- Who it is ----------------------------------------------------------------------------- */

int process_executable(pid_t pid, char **path);
int process_directory(pid_t pid, char **path);

/* The arguments as a shell would take them: 'a b' is quoted. If the process has written a title
 * over its arguments, the title. Without any (a zombie, a kernel thread), the short name in
 * brackets. */
int process_command_line(pid_t pid, char **text);
/* The same from the contents of a cmdline file: malloc'd, "" if it was empty. */
char *process_command_of(const struct strbuf *words);

/* `text` as the name of a thread: 15 characters at most, control characters become '?'. */
void process_clean_name(const char *text, size_t length, char name[16]);
/* Writes the thread's name, as pthread_setname_np() set it; control characters become '?'. */
int process_thread_name(pid_t pid, pid_t tid, char name[16]);

/* When the process was started, in nanoseconds since 1970, exact to a clock tick (10 ms). Pid and
 * start time together identify a process for good. */
int process_start_time(pid_t pid, uint64_t *unix_ns);
/* The same in the kernel's clock ticks since the boot, exact. */
int process_start_ticks(pid_t pid, uint64_t *ticks);

/* `parent` is 0 if the parent is outside our namespace. */
int process_parent(pid_t pid, pid_t *parent);

/* How long the main thread has run on a processor, and how long it has waited for one when it could
 * have run. -ENOENT where the kernel does not count that. */
int process_main_thread_time(pid_t pid, uint64_t *ran_ns, uint64_t *waited_ns);
/* The same from the contents of a schedstat file. -EINVAL if it is none. */
int process_schedstat_parse(const char *text, uint64_t *ran_ns, uint64_t *waited_ns);

/* How a zombie ended (its parent has not waited for it yet): a status as wait() gives it. -ESRCH if
 * the process is gone, -EAGAIN if it still runs. */
int process_zombie_status(pid_t pid, int *status);

/* As the process calls itself: differs from `pid` in a container. */
int process_own_pid(pid_t pid, pid_t *own);

/* ---- The machine --------------------------------------------------------------------------- */

size_t process_page_bytes(void);
int process_host_name(char **name);

/* A random number of the kernel's, made at boot: all containers of a machine have the same,
 * whatever they call their hosts. *id is NULL on failure. */
int process_boot_id(char **id);
/* The inode of our namespace of process ids; -1: not known. */
int64_t process_pid_namespace(void);

/* `text` as one word for a POSIX shell, malloc'd: as it is if no character needs quoting. */
char *process_shell_quoted(const char *text);

#endif
