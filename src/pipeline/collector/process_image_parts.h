/* The state of a recorded process, shared by the files that implement process_image.h:
 *
 *   process_image.c           its life: start, window, thread, end
 *   process_image_facts.c     what a profile and a trace say about the process
 *   process_image_writing.c   the profile, while the process runs and in the end
 *   process_image_small.c     the row of a small one, in its place
 *   process_image_trace.c     the trace beside it
 *   process_image_requests.c  what the program, people and triggers ask for
 *
 * All functions run on the image's own thread, except those that process_image.h declares and the
 * thread that writes a flush. That thread reads only what does not change during the flush. No
 * other file includes this header. */
#ifndef TIDEMARK_COLLECTOR_PROCESS_IMAGE_PARTS_H
#define TIDEMARK_COLLECTOR_PROCESS_IMAGE_PARTS_H

#include "collector/process_image.h"

#include <pthread.h>
#include <stdatomic.h>
#include "profile_build/snapshot.h"
#include "base/human.h"
#include "base/strbuf.h"
#include "collector/collector.h"
#include "collector/event_sink.h"
#include "collector/process_image_entry.h"
#include "collector/job_place.h"
#include "collector/machine_memory.h"
#include "collector/oom_watch.h"
#include "collector/snapshots.h"
#include "collector/overhead_budget.h"
#include "collector/triggers.h"
#include "collector/shared_view.h"
#include "collector/recorded_window.h"
#include "collector/workers.h"
#include "procfs/process.h"
#include "session/session_file.h"

struct name_takeover;
struct look_schedule;
struct ring_merge;
struct tracer;
struct writer;

/* While events come, a profile and a trace are committed this often. Writing a large profile may
 * take only a part of the time, so a larger one is committed less often; but what is in the file is
 * never older than IMAGE_FLUSH_MOST_NS, unless writing takes more than a third of that. */
#define IMAGE_FLUSH_NS      1500000000u
#define IMAGE_FLUSH_PART    50
#define IMAGE_FLUSH_MOST_NS 2000000000u
/* Of a node with more ranks than processors. */
#define IMAGE_FLUSH_CROWD_NS 10000000000u
/* With fewer nodes of call paths than these, a process that has ended is written in memory. */
#define IMAGE_AT_ONCE_NODES 100000u

struct process_image {
    struct collector_options options;
    bool pages;      /* are what it records (wire.h, "Pages") */
    bool keeps_file; /* is never a row of the session's file: the user asked for it */
    int socket;
    pid_t pid, parent;
    bool first;
    bool knows_mappings; /* all its mappings are known, as those of its parent are */
    bool late;           /* it ran before we came, … */
    uint64_t age_ns;     /* … so long; 0: not known */
    char *program, *executable, *command, *directory, *path, *trace_path;
    bool retitled; /* `command` is a later title than the first one told */
    struct launcher launcher;
    char *boot; /* NULL: not known */
    bool uses_mpi;
    struct worker_job job;
    bool launched;                   /* it is begun */
    _Atomic bool ready, ended, done; /* ready: `view` may be used by others */
    _Atomic bool left;               /* the recorder has left it */
    struct name_takeover *takes; /* it gets the name of another image, which must complete first;
                                    NULL: its name is new */
    struct name_takeover *_Atomic gives; /* it must give up its name when it has ended; NULL: it
                                            keeps it */
    enum process_image_end how;
    int status;
    struct process_image_result result;
    _Atomic uint32_t forks_unfollowed[WIRE_UNFOLLOWED_KINDS];
    _Atomic uint32_t unsaved; /* its place in options.unsaved, until it has a file or a row */
    _Atomic int watch;        /* a userfaultfd that nobody has taken yet, + 1; 0: none */

    /* the thread's own from here on */
    struct view view;
    struct origins origins; /* of the view */
    struct event_sink sink;
    struct window_gate gate;
    struct ring_merge *merge;
    struct writer *writer;
    struct clock_reading start;
    int64_t start_unix_ns, end_unix_ns;
    int64_t duration_ns; /* that of the last snapshot, which is the profile's; 0: none yet */
    struct process_meter meter;
    bool keeps_meter;            /* … its descriptor, and … */
    bool keeps_writer;           /* … those of the profile, while the process lives (quota.h) */
    struct look_schedule *looks; /* NULL: not wanted */
    struct heat *heat;           /* NULL: not wanted, or not to be had */
    struct page_use *use;        /* NULL: not wanted */
    struct machine_memory machine;
    bool looked;           /* the last look was made */
    bool has_begun_window; /* the recorder is ready, and --for counts */
    double tick_ns;        /* of the times written so far; 0: nothing was written */
    uint64_t looked_ticks; /* the end of the last look; 0: there was none */
    uint64_t next_sample_ns, sample_interval_ns, next_flush_ns, next_trace_ns;
    bool written;                          /* the profile exists, … */
    bool packed;                           /* … and is complete and packed */
    struct session_row row;                /* of it, if it may go into the node's file, … */
    bool in_nodes;                         /* … whose user the process is */
    uint32_t next_name;                    /* names of the program's told so far, + 1 */
    size_t marks_in_trace, names_in_trace; /* that are in the trace's facts */
    uint32_t answered;                     /* requests */
    char *begun_on, *ended_on;     /* the marks at which the window began and ended; NULL: none */
    uint64_t begun_ns;             /* after the program's start */
    struct replay_counters before; /* what was alive then */
    struct process_image_entry entry; /* with a directory of jobs */
    struct snapshots snapshots;
    struct triggers *triggers; /* NULL: none are wanted */
    struct oom_watch oom;
    struct overhead_budget budget;
    struct strbuf sample_changes; /* as the profile tells them */
    char *sample_why;             /* why they changed, if it was not for the budget; NULL */
    uint64_t next_bound_ns,
        bound_seen_ns;        /* when the collector's memory is looked at (memory_bound.h) */
    uint64_t bound_had_bytes; /* the replay's memory when the level last rose for the bound */
    clockid_t program_clock;
    uint64_t replay_ns;            /* processor time of passes that took records */
    uint64_t snapshot_cpu_ns;      /* what the last flush took on this thread, … */
    _Atomic uint64_t flush_cpu_ns; /* … and on its own */
    struct figure resident_bytes;  /* the program's, when it was last read */

    /* a flush under way, on a thread of its own */
    pthread_t flusher;
    bool flushing;
    bool flushes_in_turn; /* of quota_try_work() */
    _Atomic bool flushed;
    _Atomic bool hurried; /* the image's thread waits for it, and so may the program */
    struct snapshot snapshot;
    struct look *taken; /* looks of that snapshot */
    size_t taken_count;
    struct proc_sample *proc_samples;
    int flush_status;
    char *flush_error;
    /* the snapshot to write as a file of its own after the flush; `why` "": none */
    struct snapshot_request request;
    char *request_path, *request_error;
    uint64_t request_ns; /* since the start */
};

/* Notes why there is no profile, or no whole one; the first failure is the one that is told. */
void process_image_fail(struct process_image *image, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Takes its place in the directory of a job, if there is such a directory. False: there is none to
 * be had, and the failure is noted. */
bool process_image_take_place(struct process_image *image);
/* Whether the program has mapped the shared memory. It cannot without a free descriptor or address
 * space, and then runs on unrecorded. No profile is written then, because one without events would
 * claim that the program did nothing. */
bool process_image_has_joined(const struct process_image *image);
/* A pass of the merge, which takes no event of after --for's end. Returns the bytes that it
 * took. */
size_t process_image_merge(struct process_image *image);

/* ---- process_image_facts.c ---- */

/* Facts go to the profile and to the trace, which are opened at different times. So functions that
 * tell facts are given the function that stores them. `text` NULL: a number. */
typedef void process_image_take_fact(struct process_image *image, const char *key, const char *text,
                                     int64_t number);
void process_image_fact_for_profile(struct process_image *image, const char *key, const char *text,
                                    int64_t number);

/* How the process ended, as far as that is known. `status`: as in enum process_image_end. */
struct process_image_ending {
    enum process_image_end how;
    int status;
};
struct process_image_ending process_image_ending(const struct process_image *image);
bool process_image_ending_has_status(struct process_image_ending ending);
extern const char *const process_image_end_names[]; /* by enum process_image_end, as in files */

/* Reads what the process is from /proc, so the process must still exist. `replaced`: as in
 * process_image_new(). */
void process_image_describe(struct process_image *image, struct process_image *replaced);
/* Reads the title that the process has now; tells it. */
void process_image_read_title(struct process_image *image);
void process_image_tell_title(struct process_image *image, process_image_take_fact *take);
const char *process_image_job_id(const struct process_image *image);
void process_image_tell_description(struct process_image *image, process_image_take_fact *take);
/* Tells the levels of sampling that --budget-cpu or the bound of the collector's memory has caused
 * so far. */
void process_image_tell_budget(struct process_image *image, process_image_take_fact *take);
/* Tells the allocators and modules that the recorder has found and cannot record, so far. */
void process_image_tell_unseen(struct process_image *image, process_image_take_fact *take);
void process_image_tell_end(struct process_image *image, process_image_take_fact *take);
/* The number of programs that it and its forks without an image have executed and that are not
 * recorded. */
uint32_t process_image_unfollowed(const struct process_image *image, enum wire_unfollowed kind);
/* Whether the recorder has announced that it leaves the process. */
bool process_image_recorder_left(const struct process_image *image);
/* Whether the process has executed another program, which does not have the shared memory. */
bool process_image_has_executed(const struct process_image *image);
int64_t process_image_unix_ns(void);

/* ---- process_image_writing.c ---- */

/* Copies the metrics of everything replayed so far into image->snapshot, and notes that in the
 * trace. 0 or -errno. */
int process_image_take_snapshot(struct process_image *image);
/* Writes such a snapshot on a thread of its own; collecting waits for that thread. */
void process_image_flush_begin(struct process_image *image);
void process_image_flush_collect(struct process_image *image);
void process_image_flush_if_due(struct process_image *image, uint64_t now_ns);
/* Opens the profile. It waits for the image whose name it takes, and half a minute for another
 * session's writer of that name. */
bool process_image_wait_for_writer(struct process_image *image);
/* Sends a message about the profile to collector_options.begun. `what`: one of COLLECTOR_FILE_…. */
void process_image_tell_file(const struct process_image *image, char what);
/* Removes the image from options.unsaved: it has a file or a row, or gets none. Further calls do
 * nothing. */
void process_image_note_saved(struct process_image *image);
void process_image_write_last(struct process_image *image);
/* Writes the end and all that was replayed. It fills image->snapshot, which
 * process_image_release_snapshot() frees. 0 or -errno, with error_text()'s sentence. */
int process_image_write_end(struct process_image *image);
void process_image_release_snapshot(struct process_image *image);
/* After the profile is complete: renames it if another image takes its name. */
void process_image_hand_over(struct process_image *image);
/* Passes a name that the program has announced to the replay; `context` is the image. */
void process_image_take_name(void *context, uint32_t number, const char *name);

/* ---- process_image_small.c ---- */

struct program_metrics;
bool process_image_is_small(const struct process_image *image,
                            const struct program_metrics *program);
/* What a session file says of the process; of its last snapshot. */
struct session_row process_image_row(const struct process_image *image,
                                     const struct program_metrics *program);
void process_image_write_row(struct process_image *image, const struct program_metrics *program);

/* ---- process_image_trace.c ---- */

void process_image_begin_trace(struct process_image *image, double tick_ns);
void process_image_fact_for_trace(struct process_image *image, const char *key, const char *text,
                                  int64_t number);
/* The marks and names that the program has told since the last time. */
void process_image_tell_trace_said(struct process_image *image);
/* Notes the moment of a snapshot and its nanoseconds a tick, so that a replay of the trace takes a
 * snapshot at the same place among the events. */
void process_image_tell_trace_moment(struct process_image *image,
                                     const struct snapshot_moment *moment);
/* Has the trace written up to now if that is due, so that little is lost if the collector is
 * killed. */
void process_image_flush_trace_if_due(struct process_image *image, uint64_t now_ns);
/* After the profile is finished: tables of the profile that do not follow from the events go to the
 * trace's end. */
void process_image_finish_trace(struct process_image *image, struct tracer *tracer,
                                bool has_profile);

/* ---- process_image_requests.c ---- */

/* Whether the program has made a request; answers it. */
bool process_image_is_asked(const struct process_image *image);
void process_image_answer(struct process_image *image);
/* Begins a snapshot if one was asked for from outside or by a trigger. The program does not wait
 * for it, and the merge goes on while the file is written. */
void process_image_begin_snapshot_if_asked(struct process_image *image);
/* Compares the triggers with the levels of now, and asks for their snapshots. */
void process_image_see_triggers(struct process_image *image, uint64_t now_ns);

#endif
