/* The entry of a process in its job's directory, from the choice of its place to the process's end.
 * jobdir/entry.h has the file's contents, job_place.h its place. For one thread. */
#ifndef TIDEMARK_COLLECTOR_PROCESS_IMAGE_ENTRY_H
#define TIDEMARK_COLLECTOR_PROCESS_IMAGE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "collector/shared_view.h"
#include "procfs/launcher.h"
#include "jobdir/entry.h"
#include "replay/replay.h"

struct node_files;

struct process_image_entry {
    struct entry entry;
    struct entry_writer *writer; /* NULL: it has no place */
};

/* Whose entry it is. `boot` NULL: not known. */
struct process_image_entry_owner {
    const char *job, *session, *program, *boot;
    const struct launcher *launcher;
    pid_t pid, parent;
    int64_t start_unix_ns;
    bool uses_mpi;
    const char *recorded_ranks; /* NULL: all */
    struct node_files *nodes;   /* NULL: processes keep files of their own */
};

/* Takes a place in the directory of jobs, if the entry has none yet; `path` is then the profile's,
 * malloc'd. 0 or -errno with error_text()'s sentence. */
int process_image_entry_take(struct process_image_entry *entry, const char *directory,
                             const struct process_image_entry_owner *owner, char **path);

/* Adds the figures that are known after the last event. Without a place this and the functions
 * below do nothing. */
void process_image_entry_note_events(struct process_image_entry *entry, struct replay *replay,
                                     const struct view *view);

/* The process has ended. Its profile is completed next, and then the entry says how. */
void process_image_entry_process_ended(struct process_image_entry *entry);

/* Removes the entry: of a forked process that did next to nothing before it executed another
 * program, and of one that is in the node's file. */
void process_image_entry_discard(struct process_image_entry *entry);

/* How it ended. `status` negative: none is known; `duration_ns` 0 likewise; `error` NULL: nothing
 * has failed; `trace` NULL, or a trace's path, named if it is there. 0 or -errno with a
 * sentence. */
struct process_image_entry_end {
    const char *how;
    int status;
    int64_t duration_ns;
    const char *error, *trace;
};
int process_image_entry_finish(struct process_image_entry *entry,
                               const struct process_image_entry_end *end);
/* What the entry's last text would be. Who has it elsewhere calls process_image_entry_discard(). */
void process_image_entry_say(struct process_image_entry *entry,
                             const struct process_image_entry_end *end, struct strbuf *out);

void process_image_entry_release(struct process_image_entry *entry);

#endif
