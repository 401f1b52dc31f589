/* Reads files of /proc and of control groups, for the other files of this room. The texts come from
 * the kernel but have names that other programs chose, and a process may end between two reads. So
 * a number is taken whole or not at all, and a process that is gone is -ESRCH. Functions return 0
 * or -errno. */
#ifndef TIDEMARK_PROCFS_PROC_FILE_H
#define TIDEMARK_PROCFS_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"

struct proc_path {
    char text[64];
};
struct proc_path proc_path(pid_t pid, const char *file);

/* As -errno: a process that is gone before the open is ENOENT, after it ESRCH; one that we may not
 * look into is EACCES or EPERM. Two answers are left: -ESRCH and -EACCES. */
int proc_error(int error);

/* A descriptor or -errno. */
int proc_open(pid_t pid, const char *file);

/* Adds a file without a size to `content`: reads until the end or `max` bytes. */
int proc_read_fd(int fd, size_t max, struct strbuf *content);
int proc_read_list_at(const char *path, size_t max, struct strbuf *content);
/* The same of a file that the kernel makes in one piece, as it does all but lists (maps,
 * mountinfo): a read that leaves room was the last. */
int proc_read(pid_t pid, const char *file, size_t max, struct strbuf *content);
int proc_read_at(const char *path, size_t max, struct strbuf *content);

/* The threads of a process; `visit` may stop it with a number other than 0. */
int proc_threads(pid_t pid, int (*visit)(pid_t tid, void *context), void *context);

/* ---- Texts --------------------------------------------------------------------------------- */

/* The decimal number that `at` begins with, and what follows it. False if there is none or it does
 * not fit. */
bool proc_number(const char *at, uint64_t *value, const char **end);

/* The number in the line that begins with `key`, then a colon or not, then blanks: "VmHWM:\t 12 kB"
 * (a unit of kB is turned into bytes), "oom_kill 3". False if there is no such line. */
bool proc_value(const char *text, const char *key, uint64_t *value);

/* Where field `number` (≥ 3, as proc(5) counts) of /proc/PID/stat begins, NULL if there is none.
 * The name, field 2, may hold spaces, brackets and newlines: counted from its last bracket. */
const char *proc_stat_field(const char *stat, unsigned number);

/* ---- Lines, streaming ---------------------------------------------------------------------- */

/* Lines of any length through one buffer, which is kept for the next file.
 *
 *     data ┌─────────────┬──────────────────────┬───────────┐
 *          │ given out   │ read, not given out  │ free      │
 *          └─────────────┴──────────────────────┴───────────┘
 *                        begin                  end         capacity        */
struct proc_lines {
    int fd;
    char *data;
    size_t begin, end, capacity;
    int error;
};

void proc_lines_start(struct proc_lines *lines, int fd); /* fd stays the caller's */
void proc_lines_release(struct proc_lines *lines);

/* The next line without its newline, NUL-ended, the caller may change it until the next call. NULL
 * at the end: `error` then says whether there was one. A last line that lacks its newline was cut
 * and is not given out. */
char *proc_lines_next(struct proc_lines *lines);
/* The next line, which stays in the buffer, if it has exactly this length; with its newline. NULL:
 * it has another length, or not all of it has been read. proc_lines_pass() removes it. */
static inline const char *proc_lines_peek(const struct proc_lines *lines, size_t length)
{
    const char *line = lines->data + lines->begin;
    return lines->end - lines->begin > length && line[length] == '\n' ? line : NULL;
}
static inline void proc_lines_pass(struct proc_lines *lines, size_t length)
{
    lines->begin += length + 1;
}

#endif
