/* Debug files with their sections unpacked, kept on the disk. Distributions pack the sections of
 * debug files, and libdw unpacks all of them into memory whenever it opens one: 11 MB and 40 ms for
 * the C library's, in each recording and in each collector of a node. So the first who opens such a
 * file leaves a copy whose sections are not packed. Whoever opens the file later maps the copy,
 * which is the kernel's memory once for all processes.
 *
 * Copies are $TIDEMARK_CACHE/BUILDID-BYTES.debug; without that variable they are in
 * $XDG_CACHE_HOME/tidemark, else in $HOME/.cache/tidemark. They take 512 MiB at most; the one that
 * was read longest ago goes first, and nobody misses one that is gone. The directory must be the
 * effective user's, and only files of root and of the effective user get a copy: a build-id is what
 * its file says it is, and another user's file must not give names to ours. Nothing is synced, so
 * copies count until the machine starts anew. A copy has the length that its original asks for, and
 * is younger than that. Files of other names in the directory are not ours, and stay. */
#ifndef TIDEMARK_SYMBOLS_UNPACKED_COPY_H
#define TIDEMARK_SYMBOLS_UNPACKED_COPY_H

/* The descriptor of a debug file becomes that of its copy, which is made if there is none; or it
 * comes back as it is: nothing or little of it is packed, or there is no place for copies. */
int unpacked_copy_instead(int fd);

#endif
