/* Files that a library opens for us, of paths that somebody else chose: a debug link, the name of a
 * split file or of an alternate one in a program's debug information. While a thread is guarded, a
 * file that is opened for reading has to be regular and begin as an ELF file, and nothing is waited
 * for. What loses its end while such a thread reads it in memory (another program truncates the
 * file) reads as zeros, and SIGBUS does not come.
 *
 * This works because guarded_open.c stands before libc's open() for all libraries of the
 * command. */
#ifndef TIDEMARK_BASE_GUARDED_OPEN_H
#define TIDEMARK_BASE_GUARDED_OPEN_H

#include <stdbool.h>
#include <sys/types.h>

struct guarded_open {
    bool is_on;
    bool trusts_all;  /* whoever owns the file; else only what `owner` could have put there */
    const char *root; /* NULL, or "": none. Links in a path below it lead to what is below it, as in
                       * the container whose root it is */
    uid_t owner; /* beside root and the effective user (trust.h); also of the file's directory */
    int (*instead)(int fd); /* takes what is opened and gives what is read in its place; NULL: it */
};

/* What this thread opens from now on. Returns what held before, for guarded_open_restore(). */
struct guarded_open guarded_open_begin(struct guarded_open guard);
/* Not guarded for a while, for files of ours and of /proc. */
struct guarded_open guarded_open_pause(void);
void guarded_open_restore(struct guarded_open before);

#endif
