/* What is written never replaces what is there: an existing file steps aside as FILE.old. */
#ifndef TIDEMARK_BASE_OLD_FILE_H
#define TIDEMARK_BASE_OLD_FILE_H

/* Renames `path` to `path`.old, and each `path`SUFFIX to `path`.oldSUFFIX (suffixes end with NULL;
 * NULL: none). What of an earlier .old has no successor goes. 0, also if there is no such file;
 * -EINVAL: it is there and no regular file; -EBUSY: its writer lives (alive.h); else -errno. */
int old_file_keep(const char *path, const char *const *suffixes);

#endif
