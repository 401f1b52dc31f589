/* The entry of one process in a job's directory (doc/FORMAT-job.md): a small text beside its
 * profile that says who the process is and how it ended. Each file has one writer, and processes
 * share no other file, so hundreds of ranks on a shared file system never wait. Each state
 * of an entry is written whole under another name and renamed in place, so a reader sees the state
 * before or the state after. */
#ifndef TIDEMARK_JOBDIR_ENTRY_H
#define TIDEMARK_JOBDIR_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"

#define ENTRY_SUFFIX ".entry"

enum { ENTRY_MOST_BYTES = 1 << 18 }; /* a longer file is no entry */

/* Texts are malloc'd and owned, NULL: not said. Numbers are never negative, -1: not known. */
struct entry {
    char *job;      /* id, the name of the directory */
    char *session;  /* id of the recording session: processes of one `tidemark record` share it */
    char *launcher; /* "openmpi", "hydra" …; NULL: started by none */
    int64_t rank, ranks, local_rank, node; /* node: number, as the launcher counts */
    int64_t is_launcher;                   /* 1: it is mpirun or the like, no rank */
    char *recorded_ranks; /* the choice of --ranks (rank_choice.h); NULL: all are recorded */
    char *host;
    char *boot; /* the kernel's boot id: names a machine from boot to boot, whatever hosts call
                   themselves. Processes with the same share memory and clock. */
    int64_t pid, parent_pid; /* parent: that it was forked from, 0: it was executed */
    int64_t pid_namespace;   /* the inode of the namespace that has these ids */
    char *program;
    char *profile, *trace; /* file names in the same directory; trace NULL: none */
    int64_t start_unix_ns;
    int64_t uses_mpi; /* 1: an MPI library is mapped; 0: none was seen yet */
    int64_t locked;   /* 1: while its recorder lives it holds a lock on this file (entry_is_held) */

    /* Said at the end; until then NULL and -1. */
    char *end; /* as meta's `end` in FORMAT-profile.md; NULL: not ended */
    int64_t end_status;
    int64_t duration_ns;
    int64_t peak_bytes; /* high-water mark of requested bytes */
    int64_t alloc_count;
    char *error; /* a sentence: why there is no profile, or not all of it */
};

/* Everything unknown. */
void entry_init(struct entry *entry);
void entry_release(struct entry *entry);

void entry_format(const struct entry *entry, struct strbuf *out);
/* Releases nothing of what `entry` held before. 0; -EBADMSG: no entry, cut off, or one that says
 * impossible things; -EPROTONOSUPPORT: of a newer format; -ENOMEM. On failure the entry is as after
 * entry_init(). Names of files are names in this directory, nothing else is taken. */
int entry_parse(struct entry *entry, const char *bytes, size_t count);
/* The same for a file, with error_text()'s sentence. */
int entry_read(struct entry *entry, const char *path);

/* ---- Writing ---- */

struct entry_writer;

/* Creates the file and sets entry->locked. -EEXIST: there is such a file, so the caller tries
 * another name. 0 or -errno, with error_text()'s sentence. */
int entry_writer_open(struct entry_writer **out, const char *path, struct entry *entry);
/* Puts the entry as it is now in the place of the one before. 0 or -errno with a sentence. */
int entry_writer_update(struct entry_writer *writer, const struct entry *entry);
/* The process has ended, and its last entry is not written yet. */
void entry_writer_process_ended(struct entry_writer *writer);
void entry_writer_close(struct entry_writer *writer);
/* Removes the entry's file and closes. */
void entry_writer_discard(struct entry_writer *writer);

/* Does the process's recorder hold the lock now? False too where the file system has no locks, or
 * does not share them with this machine. */
bool entry_is_held(const char *path);
/* Does the process run, as far as its recorder knows? Said of entries with a pid_namespace. */
bool entry_process_is_held(const char *path);

#endif
