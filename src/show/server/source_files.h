/* The source files that a profile names, each once however it is spelled. A file's number is its
 * place among the names in order; it changes when a live profile gets another file. */
#ifndef TIDEMARK_SERVER_SOURCE_FILES_H
#define TIDEMARK_SERVER_SOURCE_FILES_H

#include <stddef.h>
#include <stdint.h>
#include "profile/profile.h"

struct source_spelling {
    const char *path; /* as recorded; the profile's */
    char *name;       /* without ".", ".." and doubled slashes */
    uint32_t file;
};
struct source_files {
    struct source_spelling *spellings; /* by name, then path */
    size_t spelling_count;
    uint32_t *first; /* by file: its first spelling; one more at the end */
    size_t count;
    uint32_t *by_path; /* spellings in the order of their paths */
};

/* 0 or -ENOMEM. */
int source_files_init(struct source_files *files, const struct profile *profile);
void source_files_release(struct source_files *files);
/* UINT32_MAX: none; path may be NULL. */
uint32_t source_files_find(const struct source_files *files, const char *path);

#endif
