/* One process image being recorded: the thread that drains its rings, replays, and writes its
 * profile. */
#ifndef TIDEMARK_COLLECTOR_IMAGE_H
#define TIDEMARK_COLLECTOR_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct collector_options;
struct image;

/* How a process image ended. */
enum image_end {
    IMAGE_END_UNKNOWN = 0, /* gone; nobody saw how */
    IMAGE_END_EXIT,        /* status: exit status */
    IMAGE_END_SIGNAL,      /* status: signal */
    IMAGE_END_EXEC,        /* another program took its place */
    IMAGE_END_DETACHED,    /* it lives on, we left */
};

/* What a process is called in the names of profiles (%n); malloc'd. */
char *image_program_of(pid_t pid);

/* Begins to record the process at the other end of `socket` (taken over) and answers its hello.
 * `parent` is the pid of the process that it was forked from, 0 if it was executed. `pages`: what it
 * records are pages (wire.h). `first`: the program that was asked for. `late`: it ran before, and what
 * it allocated until now nobody knows. `replaced`: whose place it took by exec, and whose end is to be told
 * next; if both would have the same name, this one gets it. NULL: none. Returns NULL, with a sentence on
 * stderr, if it cannot be. */
struct image *image_start(const struct collector_options *options, int socket, pid_t pid,
                          pid_t parent, bool pages, bool first, bool late,
                          struct image *replaced);
pid_t image_pid(const struct image *image);

/* It has ended (or we leave): reads what is left, completes the profile. Returns at once. */
void image_end(struct image *image, enum image_end how, int status);
/* Asks for a snapshot: a profile of this moment, NAME.snap-N.tmk beside its own. `why` is copied.
 * `answer`: -1, or a socket (taken over) that is told what came of it as wire.h says. Returns at once. By
 * the thread that calls image_end(). */
void image_snapshot(struct image *image, const char *why, int answer);
/* Waits for that. The image is no more afterwards but for what is copied to `result`. */
struct image_result {
    pid_t pid;
    bool first;
    bool replaced;  /* it executed another program, whose image has a result of its own */
    char *path;     /* of the profile, malloc'd; NULL: none was written (`error`, or a fork that did
                       next to nothing before it executed something else) */
    char *error;    /* sentence, malloc'd, or NULL */
    char *program;  /* malloc'd */
    uint64_t peak_bytes; /* requested; as the profile has it */
    char *trace;    /* path of the trace, malloc'd; NULL: there is none */
    uint64_t trace_bytes;
    char *trace_error; /* sentence, malloc'd, or NULL: the trace is whole */
};
void image_join(struct image *image, struct image_result *result);
bool image_is_done(const struct image *image);
/* The recorder has left the process, which runs on: an end that nobody outside sees. */
bool image_has_left(const struct image *image);

#endif
