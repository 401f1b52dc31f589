/* Files that a library opens for us, of paths that somebody else chose: a debug link, the name of a
 * split file or of an alternate one in a program's debug information. While a thread is guarded, a
 * file that is opened for reading has to be regular and begin as an ELF file, and opening never
 * blocks. If another program truncates a file that such a thread has mapped, the pages behind the
 * new end read as zeros, and no SIGBUS comes.
 *
 * This works because guarded_open.c stands before libc's open() for all libraries of the
 * command. */
#ifndef TIDEMARK_BASE_GUARDED_OPEN_H
#define TIDEMARK_BASE_GUARDED_OPEN_H

#include <stdbool.h>
#include <sys/types.h>

struct guarded_open {
    bool is_on;
    bool trusts_all;  /* any owner will do; else only files that `owner` could have put there */
    const char *root; /* of a container: symbolic links in paths below it are followed within it;
                       * NULL or "": none */
    uid_t owner;      /* may own files and their directories, beside root and the effective user
                       * (trust.h) */
    int (*instead)(int fd); /* takes the opened descriptor and returns the one to read instead of
                             * it; NULL: no exchange */
};

/* Guards this thread's opens from now on. Returns the guard before, for guarded_open_restore(). */
struct guarded_open guarded_open_begin(struct guarded_open guard);
/* Ends the guard until guarded_open_restore(), for files of ours and of /proc. */
struct guarded_open guarded_open_pause(void);
void guarded_open_restore(struct guarded_open before);

#endif
