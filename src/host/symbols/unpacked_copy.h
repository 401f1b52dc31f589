/* Debug files with their sections unpacked, kept on the disk. Distributions pack the sections of
 * debug files, and libdw unpacks all of them into memory whenever it opens one: 11 MB and 40 ms for
 * the C library's, in each recording and in each collector of a node. So the first process that
 * opens such a file leaves a copy whose sections are not packed. Later ones map the copy, which
 * takes memory only once for all processes.
 *
 * Copies are $TIDEMARK_CACHE/BUILDID-BYTES.debug; without that variable they are in
 * $XDG_CACHE_HOME/tidemark, else in $HOME/.cache/tidemark, and where there is no such place in
 * /var/tmp/tidemark-cache-UID. They take 512 MiB at most; the copy that was read longest ago is
 * removed first, and is made again when needed. The directory must be the effective user's, and
 * only files of root and of the effective user get a copy: any file can claim a build-id, and
 * another user's file must not give names to ours. Copies are not synced, so they are only valid
 * until the next boot. A valid copy has the length that follows from its original, and is younger.
 * Files of other names in the directory are not touched. */
#ifndef TIDEMARK_SYMBOLS_UNPACKED_COPY_H
#define TIDEMARK_SYMBOLS_UNPACKED_COPY_H

/* Takes the descriptor of a debug file. Returns a descriptor of its copy, which is made if there is
 * none, or the same descriptor: little of it is packed, or there is no place for copies. */
int unpacked_copy_instead(int fd);

#endif
