/* A file that gets its name when it is worth reading. Until then it has none, so that it goes with
 * a process that is killed; where the file system cannot do that it has the name of a draft
 * (NAME.new), which the next writer removes. */
#ifndef TIDEMARK_BASE_NEW_FILE_H
#define TIDEMARK_BASE_NEW_FILE_H

struct new_file {
    int fd;      /* to read and to write; -1: none */
    char *draft; /* NULL: it has no name */
};

/* For a file that will be `path`, for its owner alone. 0 or -errno. */
int new_file_open(struct new_file *file, const char *path);

/* Gives it the name, which nobody may have: -EEXIST. The descriptor stays open and is the caller's.
 */
int new_file_place(struct new_file *file, const char *path);
/* The same, and what has the name now goes. Who reads `path` sees the old file or the new one. */
int new_file_replace(struct new_file *file, const char *path);

/* Nothing is left of a file that was not placed; one that was has lost nothing. Leaves the
 * descriptor alone where it was placed. */
void new_file_release(struct new_file *file);

#endif
