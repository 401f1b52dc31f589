/* A file that gets its name when it is complete enough to be read. Until then it has no name, so
 * that the kernel removes it when its process is killed. A file system without such files gets a
 * draft (NAME.new), which the next writer of NAME removes. */
#ifndef TIDEMARK_BASE_NEW_FILE_H
#define TIDEMARK_BASE_NEW_FILE_H

struct new_file {
    int fd;      /* to read and to write; -1: none */
    char *draft; /* NULL: it has no name */
};

/* Opens a file that will be `path`; only its owner may read it. 0 or -errno. */
int new_file_open(struct new_file *file, const char *path);

/* Gives the file its name. 0; -EEXIST: there is a file of that name; else -errno. After success the
 * descriptor stays open and is the caller's. */
int new_file_place(struct new_file *file, const char *path);
/* The same, but replaces a file of that name. A reader of `path` finds the old file or the new
 * one. */
int new_file_replace(struct new_file *file, const char *path);

/* Removes and closes a file that was not placed. A file that was placed, and its descriptor, stay
 * as they are. */
void new_file_release(struct new_file *file);

#endif
