/* What is written never replaces what is there: an existing file steps aside as FILE.old. */
#ifndef TIDEMARK_BASE_OLD_FILE_H
#define TIDEMARK_BASE_OLD_FILE_H

/* Renames `path` to `path`.old, and each `path`SUFFIX to `path`.oldSUFFIX (suffixes end with NULL;
 * NULL: none). What of an earlier .old has no successor goes. 0, also if there is no such file;
 * -EINVAL: it is there and no regular file; -EBUSY: its writer lives (alive.h); else -errno. */
int old_file_keep(const char *path, const char *const *suffixes);
/* Renames `path` to `to`, where a profile or trace that is there steps aside first. 0 or as above;
 * -EEXIST: what is there is somebody else's (own_file.h). */
int old_file_move(const char *path, const char *to);
/* Renames `path` to `to`, where nothing may be. 0; -EEXIST: something is, both are as they were;
 * else -errno. */
int old_file_move_new(const char *path, const char *to);

/* 0: nothing is there, or a file that may step aside or be replaced. -EINVAL: a device, a pipe, a
 * directory, or one of the names in /dev and /proc that stand for an open file (/dev/stdout): to
 * rename these, which root may, would take them from everybody. Else -errno. */
int old_file_check(const char *path);

/* 0: files can be made in `directory`; else -errno, -ENOENT also of one that was deleted under
 * us. */
int old_file_check_directory(const char *directory);

#endif
