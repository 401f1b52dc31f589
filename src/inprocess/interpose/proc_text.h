/* Reads a text file of /proc from its beginning to its end. Runs inside the profiled program:
 * system calls only, no malloc, no stdio. */
#ifndef TIDEMARK_INTERPOSE_PROC_TEXT_H
#define TIDEMARK_INTERPOSE_PROC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROC_TEXT_BYTES = 1024 };
struct proc_text {
    int fd;
    size_t at, bytes; /* in the buffer: characters read, characters filled */
    char buffer[PROC_TEXT_BYTES];
};

bool proc_text_open(struct proc_text *text, const char *path);
/* /proc/PID/NAME */
bool proc_text_open_of(struct proc_text *text, long pid, const char *name);
void proc_text_close(struct proc_text *text);

/* The next character; -1 at the end. */
int proc_text_next(struct proc_text *text);
/* Reads a number. *behind: the character behind it, which is read too. */
uint64_t proc_text_number(struct proc_text *text, unsigned base, int *behind);
/* Skips characters until `end` was read; `last` is the last character that was read. False: the
 * text has ended. */
bool proc_text_skip(struct proc_text *text, int last, int end);
/* Does `word` come next? Reads until the first character that differs; *last is the last one that
 * was read. */
bool proc_text_is_next(struct proc_text *text, const char *word, int *last);

#endif
