/* The files of one job that are to be read, in a fixed order, and what the manifest says of those
 * that cannot be. One process of an analysis makes the list and sends it to the others. */
#ifndef TIDEMARK_JOB_JOB_FILES_H
#define TIDEMARK_JOB_JOB_FILES_H

#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "job/job_digest.h"
#include "jobdir/manifest.h"
#include "model/level.h"

struct job_file {
    char *path;        /* NULL: there is no profile */
    char *name;        /* relative to the job's directory, else as given */
    char *node, *boot; /* may be NULL */
    char *note;        /* why there is none, or what is wrong with the entry; may be NULL */
    uint64_t bytes;    /* of the profile; 0: not known */
    uint64_t part_at, part_bytes; /* as in struct job_source */
    uint32_t rank, size;          /* size of the job, 0: not known */
    bool rank_known, is_helper;
    bool is_running; /* its recording goes on */
    /* What the manifest says: -1 is not known. */
    int64_t start_unix_ns, pid;
    /* Not written by job_files_write(). */
    char *trace; /* NULL: none */
    int64_t peak_bytes, end_status;
    enum manifest_state state;
};
struct job_files {
    char *id; /* of the job; "" if it has none */
    char
        *recorded_ranks; /* the choice of --ranks (jobdir/rank_choice.h); NULL: all. Not written. */
    char *program;       /* of the first process that says it; NULL: none does. Not written. */
    size_t collectors;   /* that recorded the ranks, of those that say it. Not written. */
    struct job_file *files;
    size_t count;
    enum memory_level level; /* that profiles are made one of when they are read */
};

/* In the manifest's order: ranks, each with its own process first, then processes of no rank. A
 * launcher is left out; where there are no ranks at all every process stands as one. */
void job_files_init(struct job_files *files, const struct manifest_job *job);
void job_files_release(struct job_files *files);

void job_files_write(struct strbuf *out, const struct job_files *files);
int job_files_read(struct job_files *files, const void *bytes, size_t count); /* 0 or -EINVAL */

struct job_source job_files_source(const struct job_files *files, size_t index);
/* Indices of the files, the largest first, in malloc'd memory. */
uint32_t *job_files_by_size(const struct job_files *files);

#endif
