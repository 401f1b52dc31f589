/* One recorded process image, with the thread that reads its rings, replays the events, and writes
 * its profile. */
#ifndef TIDEMARK_COLLECTOR_PROCESS_IMAGE_H
#define TIDEMARK_COLLECTOR_PROCESS_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "procfs/launcher.h"
#include "wire/wire.h"

struct collector_options;
struct process_image;

/* How a process image ended. */
enum process_image_end {
    IMAGE_END_UNKNOWN = 0, /* gone; nobody saw how */
    IMAGE_END_EXIT,        /* status: exit status */
    IMAGE_END_SIGNAL,      /* status: signal */
    IMAGE_END_EXEC,        /* another program took its place */
    IMAGE_END_DETACHED,    /* it lives on, we left */
};

/* What a process is called in the names of profiles (%n); malloc'd. */
char *process_image_program_of(pid_t pid);

/* Makes an image that records the process at the other end of `socket` (taken over, with the
 * descriptors of a newcomer, quota.h). `parent`: the pid of the process that it was forked from, 0
 * if it was executed. `pages`: the recorder records pages (wire.h). `first`: it is the program that
 * the user named; `named`: it is that program, or what the program has executed in its place.
 * `late`: it ran before the recording, so its earlier allocations are unknown. `replaced`: the
 * image whose place it took by exec, or NULL. That image ends next, and if both would have the same
 * name, the new image gets it. NULL: out of memory. */
struct process_image *process_image_new(const struct collector_options *options, int socket,
                                        pid_t pid, pid_t parent, bool pages, bool first, bool named,
                                        bool late, struct process_image *replaced);
/* Before process_image_launch(): `launcher` (NULL is allowed) is the rank to assume if the
 * process's environment tells none. */
void process_image_take_rank(struct process_image *image, const struct launcher *launcher);
/* Begins the image's thread, which answers the hello: 0, or the error because of which there is no
 * thread (yet). */
int process_image_launch(struct process_image *image);
/* Instead of process_image_launch(), for want of a thread: the process runs on unrecorded. */
void process_image_refuse(struct process_image *image, int error);
pid_t process_image_pid(const struct process_image *image);
/* The image's own. The path of its profile is NULL while it is not chosen, as in a directory of
 * jobs. */
const char *process_image_program(const struct process_image *image);
const char *process_image_path(const struct process_image *image);

/* It has ended (or we leave): reads what is left, completes the profile. Returns at once. */
void process_image_end(struct process_image *image, enum process_image_end how, int status);
/* A forked child without an image executes `difference` more programs that are not recorded. By the
 * thread that calls process_image_end(). */
void process_image_note_unfollowed(struct process_image *image, enum wire_unfollowed kind,
                                   int difference);
/* A userfaultfd of the process (heat.h), taken over. By the thread that calls
 * process_image_end(). */
void process_image_take_watch(struct process_image *image, int fd);
/* Asks for a snapshot: a profile of this moment, NAME.snap-N.tmk beside its own. `why` is copied.
 * `answer`: -1, or a socket (taken over) that is told what came of it as wire.h says. Returns at
 * once. By the thread that calls process_image_end(). */
void process_image_snapshot(struct process_image *image, const char *why,
                            const struct wire_wish *wish, int answer);
/* The outcome of an image, for the caller to free. process_image_join() waits until the image is
 * done, fills it in and frees the image. */
struct process_image_result {
    pid_t pid;
    bool first;
    bool small;    /* it is a row of the session's file; `path` is FILE@PID */
    bool replaced; /* it executed another program, whose image has a result of its own */
    char *path;    /* of the profile, malloc'd; NULL: none was written (`error`, or a fork that did
                       next to nothing before it executed something else) */
    char *error;   /* sentence, malloc'd, or NULL */
    char *program; /* malloc'd */
    uint64_t peak_bytes; /* requested bytes, as in the profile */
    char *trace;         /* path of the trace, malloc'd; NULL: there is none */
    uint64_t trace_bytes;
    char *trace_error; /* sentence, malloc'd, or NULL: the trace is whole */
    uint32_t unfollowed[WIRE_UNFOLLOWED_KINDS]; /* programs that it executed, and its forks */
};
void process_image_join(struct process_image *image, struct process_image_result *result);
bool process_image_is_done(const struct process_image *image);
/* Whether the recorder has left the process, which runs on. No pidfd shows such an end. */
bool process_image_has_left(const struct process_image *image);

/* Where the trace of `profile` is: malloc'd. */
char *process_image_trace_name(const char *profile);

#endif
