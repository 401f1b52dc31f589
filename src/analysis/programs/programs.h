/* Many processes at a glance: all profiles of a directory, or all rows of a session file, by the
 * program that they ran. Of a profile only its facts and totals are read, of a row only its head.
 * Peaks of processes are not added up, because they are of different moments. */
#ifndef TIDEMARK_PROGRAMS_PROGRAMS_H
#define TIDEMARK_PROGRAMS_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "model/figure.h"

/* What lists are sorted by, most first. */
enum programs_order { PROGRAMS_BY_PEAK, PROGRAMS_BY_COUNT, PROGRAMS_BY_BYTES };

struct programs_process {
    char *profile; /* what every command takes for its profile: a path, or FILE@PID */
    char *program, *command;
    uint64_t pid, parent; /* 0: not known */
    uint64_t start_unix_ns;
    struct figure duration_ns, peak_bytes, resident_peak_bytes, alloc_count, alloc_bytes;
    char *end;                /* "exit", "signal", … as in a profile's meta; NULL: not known */
    struct figure end_status; /* exit status or signal; unknown: of other ends, too */
    bool is_row;              /* it has no file of its own */
    bool lossy;               /* events were lost or came late */
    bool being_written;
    bool cut_short; /* its recording did not come to its end */
};

/* A sum over processes. The figure may be unknown for some of them. */
struct programs_sum {
    struct figure all;   /* unknown where one is */
    struct figure known; /* of those that are known: a lower bound; unknown: none is */
    size_t processes;    /* whose figure is known */
};

struct programs_program {
    const char *name;
    size_t processes;
    size_t failed,
        lossy;      /* of them: ended by a signal or with another status than 0; lost events */
    size_t largest; /* index into processes: the one with the highest peak */
    struct figure peak_bytes, resident_peak_bytes; /* highest of any of them, where one is known */
    size_t known_peaks;                            /* processes whose peak_bytes is known */
    struct programs_sum alloc_count, alloc_bytes, duration_ns;
};

struct programs {
    char *path;                         /* NULL: of several */
    struct programs_process *processes; /* in the order that was asked for */
    size_t process_count;
    struct programs_program *programs; /* likewise */
    size_t program_count;
    struct programs_program all; /* of all processes; its name is NULL */
    struct programs_unread {
        char *path, *why;
    } * unread; /* what could not be read, or not wholly */
    size_t unread_count;
    size_t snapshots; /* profiles left out: of a process whose own profile is here … */
    size_t derived;   /* … and those made of others, of whole jobs or by replays */
    size_t rows;      /* processes of session files */
    size_t beside;    /* of a session file: profiles beside it, which are not in here */
};

/* Is `path` something that programs_read() reads: a directory or a session file? */
bool programs_is(const char *path);
/* One directory or session file, or several of these and of profiles. 0 or -errno with a sentence;
 * -ENOENT also where there is no profile at all, and -EINVAL for the directory of a job, which
 * `tidemark job` reads. */
int programs_read(struct programs **out, char *const *paths, size_t count,
                  enum programs_order order);
void programs_free(struct programs *programs);

#endif
