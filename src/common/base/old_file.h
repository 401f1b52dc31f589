/* An output never replaces an existing file: that is renamed to FILE.old before. */
#ifndef TIDEMARK_BASE_OLD_FILE_H
#define TIDEMARK_BASE_OLD_FILE_H

/* Renames `path` to `path`.old, and each `path`SUFFIX to `path`.oldSUFFIX (suffixes end with NULL;
 * NULL: none). Files of an earlier .old are replaced or removed. 0, also if `path` does not exist;
 * -EINVAL: it is no regular file; -EBUSY: its writer lives (alive.h); else -errno. */
int old_file_keep(const char *path, const char *const *suffixes);
/* Renames `path` to `to`. A profile or trace at `to` is renamed to its .old first. 0 or as above;
 * -EEXIST: there is a file at `to` that is none of ours (own_file.h). */
int old_file_move(const char *path, const char *to);
/* Renames `path` to `to`, which must not exist. 0; -EEXIST: `to` exists, and both stay as they
 * were; else -errno. */
int old_file_move_new(const char *path, const char *to);

/* 0: nothing is at `path`, or a file that may be renamed or replaced. -EINVAL: a device, a pipe, a
 * directory, or one of the names in /dev and /proc that stand for an open file (/dev/stdout). Root
 * could rename these, and nobody would have them any more. Else -errno. */
int old_file_check(const char *path);

/* 0: files can be made in `directory`; else -errno. A directory that was removed meanwhile is
 * -ENOENT. */
int old_file_check_directory(const char *directory);

#endif
