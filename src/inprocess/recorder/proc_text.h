/* Reads a text file of /proc from its beginning to its end. Runs inside the profiled program:
 * system calls only, no malloc, no stdio. */
#ifndef TIDEMARK_RECORDER_PROC_TEXT_H
#define TIDEMARK_RECORDER_PROC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROC_TEXT_BYTES = 1024 };
struct proc_text {
    int fd;
    size_t at, bytes; /* of the buffer: read, filled */
    char buffer[PROC_TEXT_BYTES];
};

bool proc_text_open(struct proc_text *text, const char *path);
/* /proc/PID/NAME */
bool proc_text_open_of(struct proc_text *text, long pid, const char *name);
void proc_text_close(struct proc_text *text);

/* The next character; -1 at the end. */
int proc_text_next(struct proc_text *text);
/* The number that comes next, and what stands behind it. */
uint64_t proc_text_number(struct proc_text *text, unsigned base, int *behind);
/* Passes over what is left until `end`; `last` is what was read last. False: nothing comes
 * behind. */
bool proc_text_skip(struct proc_text *text, int last, int end);
/* Whether `word` comes next; reads until the first character that differs, which is `*last`. */
bool proc_text_is_next(struct proc_text *text, const char *word, int *last);

#endif
