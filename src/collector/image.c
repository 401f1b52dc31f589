#include "collector/image.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include "assembly/snapshot.h"
#include "assembly/supplement.h"
#include "assembly/writer.h"
#include "base/human.h"
#include "base/ticks.h"
#include "collector/collector.h"
#include "collector/image_entry.h"
#include "collector/job_place.h"
#include "collector/looks.h"
#include "collector/merge.h"
#include "collector/output_name.h"
#include "collector/snapshots.h"
#include "collector/thrift.h"
#include "collector/tracer.h"
#include "collector/triggers.h"
#include "collector/view.h"
#include "process/process.h"
#include "profile/profile.h"

/* A committed profile is never older than this while events come. */
#define FLUSH_NS 1500000000u

/* Between passes the thread sleeps until a ring is a quarter full, at most this long. */
#define SLEEP_MIN_NS 2000000u
#define SLEEP_MAX_NS 50000000u

/* A fork that executes another program before it has allocated this often has no profile of its
 * own: shells and build tools fork such children by the thousand. */
#define STUB_EVENTS 1000u

struct image {
    struct collector_options options;
    bool pages; /* are what it records (wire.h, "Pages") */
    int socket;
    pid_t pid, parent;
    bool first;
    bool late;       /* it ran before we came, … */
    uint64_t age_ns; /* … so long; 0: not known */
    char *program, *executable, *command, *directory, *path, *trace_path;
    struct launcher launcher;
    char *boot; /* NULL: not known */
    bool uses_mpi;
    pthread_t thread;
    _Atomic bool ready, ended, done; /* ready: `view` may be used by others */
    _Atomic bool left; /* the recorder has left it */
    enum image_end how;
    int status;
    struct image_result result;

    /* the thread's own from here on */
    struct view view;
    struct origins origins; /* of the view */
    struct feed feed;
    struct gate gate;
    struct merge *merge;
    struct writer *writer;
    struct clock_reading start;
    int64_t start_unix_ns, end_unix_ns;
    struct process_meter meter;
    struct looks *looks; /* NULL: not wanted */
    bool looked;         /* for the last time */
    uint64_t next_sample_ns, sample_interval_ns, next_flush_ns, next_trace_ns;
    bool written; /* the profile exists */
    uint32_t next_name;   /* names of the program's told so far, + 1 */
    size_t marks_in_trace;   /* that the trace's facts tell of; and names */
    uint32_t names_in_trace;
    uint32_t answered;    /* requests */
    char *begun_on, *ended_on; /* marks that did; NULL */
    uint64_t begun_ns;         /* after the program's start */
    struct replay_counters before; /* what was alive then */
    struct image_entry entry; /* with a directory of jobs */
    struct snapshots snapshots;
    struct triggers *triggers; /* NULL: none are wanted */
    struct thrift thrift;
    struct strbuf sample_changes; /* as the profile tells them */
    clockid_t program_clock;
    uint64_t replay_ns; /* processor time of passes that moved something */
    _Atomic uint64_t flush_cpu_ns; /* of the last one */
    uint64_t resident_bytes;   /* the program's, when it was last read; UINT64_MAX: it was not */

    /* a flush under way, on a thread of its own */
    pthread_t flusher;
    bool flushing;
    _Atomic bool flushed;
    struct snapshot snapshot;
    struct look *taken; /* looks of that snapshot */
    size_t taken_count;
    struct sighting *sightings;
    int flush_status;
    char *flush_error;
    /* that is written as a file of its own afterwards; `why` "": none */
    struct snapshot_request request;
    char *request_path, *request_error;
    uint64_t request_ns; /* since the start */
};

static void fail(struct image *image, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct image *image, const char *format, ...)
{
    if (image->result.error)
        return; /* the first failure is the one that explains the others */
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&image->result.error, format, arguments) < 0)
        image->result.error = NULL;
    va_end(arguments);
}

/* ---- What the profile says about the process ---- */

static int64_t unix_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* What a function of process.h says, or "". */
static char *ask(int (*question)(pid_t, char **), pid_t pid)
{
    char *answer;
    return question(pid, &answer) == 0 ? answer : strdup("");
}

/* As it was called: "g++", where the file is x86_64-linux-gnu-g++-12. A login shell's dash and
 * names that a shell would quote are not for file names. */
static char *program_name(const struct image *image)
{
    const char *command = image->command;
    size_t word = strcspn(command, " ");
    const char *name = command;
    for (const char *at = command; at < command + word; at++)
        if (*at == '/')
            name = at + 1;
    size_t length = (size_t)(command + word - name);
    if (length > 0 && *name != '-' && *name != '\'' && *name != '[')
        return strndup(name, length);
    return strdup(*image->executable ? base_name(image->executable) : "unknown");
}

static uint64_t age_of(const struct image *image)
{
    uint64_t began_ns;
    if (process_start_time(image->pid, &began_ns) < 0)
        return 0;
    return (uint64_t)image->start_unix_ns > began_ns ? (uint64_t)image->start_unix_ns - began_ns : 0;
}

static void describe(struct image *image)
{
    image->executable = ask(process_executable, image->pid);
    image->command = ask(process_command_line, image->pid);
    image->directory = ask(process_directory, image->pid);
    image->program = program_name(image);
    image->start_unix_ns = unix_ns();
    image->age_ns = image->late ? age_of(image) : 0;
    process_boot_id(&image->boot);
    job_place_identify(&image->launcher, image->pid);
    if (image->options.job)
        image->uses_mpi = job_place_maps_mpi(image->pid);
    else
        image->path = output_name(image->options.output, image->program, image->pid);
}

static const char *job_id(const struct image *image)
{
    const struct launcher *launcher = &image->launcher;
    if (image->options.job_id)
        return image->options.job_id;
    return launcher->name && *launcher->job_id ? launcher->job_id : image->options.session;
}

/* Facts go to the profile and to the trace, which are opened at different times: whoever has some
 * to tell is given a function that takes them. `text` NULL: a number. */
typedef void take_fact(struct image *image, const char *key, const char *text, int64_t number);

static void fact_for_profile(struct image *image, const char *key, const char *text,
                             int64_t number)
{
    if (text)
        writer_fact(image->writer, key, text);
    else
        writer_fact_number(image->writer, key, number);
}

static void fact_for_trace(struct image *image, const char *key, const char *text, int64_t number)
{
    char digits[24];
    char name[64];
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    snprintf(name, sizeof name, TRACE_FACT_META "%s", key);
    tracer_fact(image->feed.tracer, name, text ? text : digits);
}

static void tell_rank(struct image *image, take_fact *take)
{
    const struct launcher *launcher = &image->launcher;
    if (image->boot)
        take(image, PROFILE_META_BOOT, image->boot, 0);
    if (image->options.job || launcher->name)
        take(image, PROFILE_META_JOB, job_id(image), 0);
    if (!launcher->name)
        return;
    take(image, PROFILE_META_LAUNCHER, launcher->name, 0);
    take(image, PROFILE_META_RANK, NULL, launcher->rank);
    if (launcher->ranks >= 0)
        take(image, PROFILE_META_RANKS, NULL, launcher->ranks);
    if (launcher->local_rank >= 0)
        take(image, PROFILE_META_LOCAL_RANK, NULL, launcher->local_rank);
    if (launcher->node >= 0)
        take(image, PROFILE_META_NODE, NULL, launcher->node);
}

/* What has become of --budget-cpu so far. */
static void tell_budget(struct image *image, take_fact *take)
{
    const struct thrift_reading *last =
        image->thrift.count ? &image->thrift.readings[image->thrift.count - 1] : NULL;
    if (image->sample_changes.length) {
        take(image, PROFILE_META_SAMPLE, NULL, WIRE_LEVEL_UNIT);
        take(image, PROFILE_META_SAMPLE_CHANGES, image->sample_changes.data, 0);
    }
    if (last)
        take(image, PROFILE_META_BUDGET_COST, NULL,
             (int64_t)(last->recorder_ns + last->replay_ns));
}

static void tell_description(struct image *image, take_fact *take)
{
    struct utsname machine;
    uname(&machine);
    take(image, "tool", "tidemark " TIDEMARK_VERSION, 0);
    take(image, "program", image->program, 0);
    take(image, "executable", image->executable, 0);
    take(image, "command", image->command, 0);
    take(image, "directory", image->directory, 0);
    take(image, "host", machine.nodename, 0);
    take(image, "kernel", machine.release, 0);
    take(image, "machine", machine.machine, 0);
    take(image, "pid", NULL, image->pid);
    take(image, "parent_pid", NULL, image->parent);
    take(image, "started_by", image->parent ? "fork" : "exec", 0);
    take(image, "start_unix_ns", NULL, image->start_unix_ns);
    tell_rank(image, take);
    if (image->late)
        take(image, PROFILE_META_ATTACHED, NULL, (int64_t)image->age_ns);
    take(image, "on_full", image->options.drop ? "drop" : "wait", 0);
    if (image->options.budget_millionths) {
        take(image, PROFILE_META_BUDGET, NULL, image->options.budget_millionths);
        tell_budget(image, take);
    }
    if (image->options.sample_bytes)
        take(image, PROFILE_META_SAMPLE, NULL, (int64_t)image->options.sample_bytes);
    if (image->pages) {
        take(image, PROFILE_META_SAMPLE, NULL, WIRE_PAGE_BYTES);
        take(image, PROFILE_META_PAGES, NULL, 1);
    }
    if (image->options.free_stacks)
        take(image, PROFILE_META_FREE_STACKS, NULL, 1);
    if (image->options.timed)
        take(image, PROFILE_META_TIMED, NULL, 1);
}

/* Of --start-on, --until and --for. */
static void tell_window(struct image *image, take_fact *take)
{
    struct window *window = image->options.window;
    struct strbuf why = STRBUF_INIT;
    if (image->begun_on) {
        take(image, PROFILE_META_BEGUN_ON, image->begun_on, 0);
        take(image, PROFILE_META_BEGUN_NS, NULL, (int64_t)image->begun_ns);
        take(image, PROFILE_META_BEFORE_BLOCKS, NULL, (int64_t)image->before.live_count);
        take(image, PROFILE_META_BEFORE_BYTES, NULL, (int64_t)image->before.current_bytes);
    }
    if (image->gate.state == GATE_BEFORE)
        take(image, PROFILE_META_NEVER_BEGUN, window->start_on, 0);
    if (image->ended_on)
        strbuf_addf(&why, "at mark '%s' (--until)", image->ended_on);
    else if (image->how == IMAGE_END_DETACHED && window && window->end == WINDOW_UNTIL)
        strbuf_add_string(&why, "at a mark of another process (--until)");
    else if (image->how == IMAGE_END_DETACHED && window && window->end == WINDOW_FOR)
        strbuf_addf(&why, "after %s (--for)", human_duration(window->for_ns).text);
    if (why.length)
        take(image, PROFILE_META_ENDED_ON, why.data, 0);
    strbuf_release(&why);
}

struct ending {
    enum image_end how;
    int status;
};

static bool has_left(const struct image *image)
{
    return atomic_load(&image->view.header->end_kind) == WIRE_END_LEFT;
}

/* What nobody saw the program itself may have said. */
static struct ending ending_of(const struct image *image)
{
    struct wire_header *header = image->view.header;
    struct ending ending = {image->how, image->status};
    if (header && ending.how == IMAGE_END_UNKNOWN &&
        atomic_load(&header->end_kind) == WIRE_END_EXIT) {
        ending.how = IMAGE_END_EXIT;
        ending.status = atomic_load(&header->end_status) & 0xff;
    }
    if (header && ending.how == IMAGE_END_UNKNOWN && has_left(image))
        ending.how = IMAGE_END_DETACHED;
    return ending;
}

static bool has_status(struct ending ending)
{
    return ending.how == IMAGE_END_EXIT || ending.how == IMAGE_END_SIGNAL;
}

static const char *const end_names[] = {"unknown", "exit", "signal", "exec", "detached"};

static void tell_end(struct image *image, take_fact *take)
{
    struct ending ending = ending_of(image);
    take(image, PROFILE_META_END, end_names[ending.how], 0);
    tell_window(image, take);
    if (image->options.budget_millionths)
        tell_budget(image, take);
    if (has_status(ending))
        take(image, PROFILE_META_END_STATUS, NULL, ending.status);
    if (image->looks && looks_complaint(image->looks))
        take(image, PROFILE_META_NO_LEDGER, looks_complaint(image->looks), 0);
}

/* ---- Its entry in a directory of jobs ---- */

/* Its place in the directory; false, with a failure noted, if there is none to be had. */
static bool take_place(struct image *image)
{
    if (!image->options.job)
        return true;
    struct image_entry_owner owner = {.job = job_id(image),
                                    .session = image->options.session,
                                    .program = image->program,
                                    .boot = image->boot,
                                    .launcher = &image->launcher,
                                    .pid = image->pid,
                                    .parent = image->parent,
                                    .start_unix_ns = image->start_unix_ns,
                                    .uses_mpi = image->uses_mpi};
    int status = image_entry_take(&image->entry, image->options.job, &owner, &image->path);
    if (status < 0)
        fail(image, "%s", profile_error());
    return status == 0;
}

static void end_entry(struct image *image)
{
    struct ending ending = ending_of(image);
    struct image_entry_end end = {
        .how = end_names[ending.how],
        .status = has_status(ending) ? ending.status : -1,
        .duration_ns = image->end_unix_ns ? image->end_unix_ns - image->start_unix_ns : 0,
        .error = image->result.error,
        .trace = image->trace_path};
    if (image_entry_finish(&image->entry, &end) < 0)
        fail(image, "%s", profile_error());
}

/* ---- Writing ---- */

static bool writer_is_ready(struct image *image, bool patient)
{
    if (image->writer)
        return true;
    if (image->written || image->result.error || !take_place(image))
        return false;
    int status = writer_open(&image->writer, image->path, image->pid, image->executable);
    /* A program whose place this one took by exec may still be completing a profile of that name;
     * then we try again later. */
    if (status < 0 && !(status == -EBUSY && patient))
        fail(image, "%s", profile_error());
    if (status < 0)
        return false;
    image->result.path = strdup(image->path);
    image->written = true;
    if (image->options.embed_sources)
        writer_keep_sources(image->writer);
    tell_description(image, fact_for_profile);
    return true;
}

/* What was just committed, as a snapshot. */
static void write_requested(struct image *image)
{
    int status = image->flush_status;
    if (status == 0)
        status = snapshots_write(&image->snapshots, image->writer, image->path, &image->request,
                                 &image->request_path);
    if (status < 0)
        image->request_error = strdup(profile_error());
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec spent;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return (uint64_t)spent.tv_sec * 1000000000u + (uint64_t)spent.tv_nsec;
}

static void *flush_thread(void *context)
{
    struct image *image = context;
    image->flush_status = writer_write(image->writer, &image->origins, &image->snapshot);
    if (image->flush_status < 0)
        image->flush_error = strdup(profile_error()); /* which is this thread's */
    if (*image->request.why)
        write_requested(image);
    atomic_store(&image->flush_cpu_ns, thread_cpu_ns());
    atomic_store(&image->flushed, true);
    return NULL;
}

static void release_snapshot(struct image *image)
{
    snapshot_release(&image->snapshot);
    for (size_t i = 0; i < image->taken_count; i++)
        look_release(&image->taken[i]);
    free(image->taken);
    free(image->sightings);
    image->taken = NULL;
    image->sightings = NULL;
    image->taken_count = 0;
}

/* The final profile lists them. */
static void tell_snapshot(struct image *image)
{
    struct strbuf line = STRBUF_INIT;
    char key[40];
    snprintf(key, sizeof key, PROFILE_META_SNAPSHOT_OF "%zu", image->snapshots.written);
    strbuf_addf(&line, "%llu\t%s\t%s", (unsigned long long)image->request_ns,
                image->request.why, base_name(image->request_path));
    writer_fact(image->writer, key, line.data);
    writer_fact_number(image->writer, PROFILE_META_SNAPSHOTS, (int64_t)image->snapshots.written);
    strbuf_release(&line);
}

/* It is no fault of the profile's. */
static void tell_no_snapshot(struct image *image)
{
    if (!image->request_error)
        image->request_error = strdup(strerror(ENOMEM));
    fprintf(stderr, "tidemark: %s\n", image->request_error);
    writer_fact(image->writer, PROFILE_META_SNAPSHOT_ERROR, image->request_error);
}

static void end_request(struct image *image)
{
    if (image->request_path)
        tell_snapshot(image);
    else
        tell_no_snapshot(image);
    snapshot_answer(&image->request, image->request_path, image->request_error);
    free(image->request_path);
    free(image->request_error);
    image->request_path = image->request_error = NULL;
    *image->request.why = 0;
}

/* Where there is a budget, writing may have its share of it. */
static void delay_flush(struct image *image)
{
    uint64_t due_ns = clock_read().ns +
                      thrift_pause_ns(&image->thrift, atomic_load(&image->flush_cpu_ns));
    if (image->thrift.millionths && due_ns > image->next_flush_ns)
        image->next_flush_ns = due_ns;
}

static void flush_collect(struct image *image)
{
    if (!image->flushing)
        return;
    pthread_join(image->flusher, NULL);
    delay_flush(image);
    release_snapshot(image);
    image->flushing = false;
    if (image->flush_status < 0)
        fail(image, "%s", image->flush_error ? image->flush_error : strerror(-image->flush_status));
    free(image->flush_error);
    image->flush_error = NULL;
    if (*image->request.why)
        end_request(image);
}

/* What was seen of the process since the last snapshot, for the one that is being written. */
static void take_looks(struct image *image)
{
    image->taken = looks_take(image->looks, &image->taken_count);
    image->sightings = calloc(image->taken_count + 1, sizeof *image->sightings);
    if (!image->sightings)
        return;
    for (size_t i = 0; i < image->taken_count; i++)
        image->sightings[i] = look_sighting(&image->taken[i]);
    image->snapshot.sightings = image->sightings;
    image->snapshot.sighting_count = image->taken_count;
}

static void tell_trace_tick(struct image *image, const char *key, double tick_ns)
{
    char exact[40];
    snprintf(exact, sizeof exact, "%a", tick_ns);
    tracer_fact(image->feed.tracer, key, exact);
}

/* What has been written into the profile at this moment is in its nanoseconds: who replays does as
 * we did, at the same place among the events. */
static void tell_trace_moment(struct image *image, const struct snapshot_moment *moment)
{
    char ticks[24];
    feed_snapshot(&image->feed, moment->now_ticks, moment->scale.tick_ns);
    snprintf(ticks, sizeof ticks, "%llu", (unsigned long long)moment->now_ticks);
    tracer_fact(image->feed.tracer, TRACE_FACT_END_TICKS, ticks);
    tell_trace_tick(image, TRACE_FACT_TICK_NS, moment->scale.tick_ns);
}

/* ---- What the program says of itself ---- */

static void take_name(void *context, uint32_t number, const char *name)
{
    struct image *image = context;
    feed_name(&image->feed, number, name);
}

static void tell_trace_marks(struct image *image)
{
    size_t count, first;
    const struct replay_mark *marks = replay_marks(image->feed.replay, &count);
    while (image->marks_in_trace < count) {
        struct strbuf lines = STRBUF_INIT;
        char key[32];
        first = image->marks_in_trace / TRACE_FACT_LINES * TRACE_FACT_LINES;
        snprintf(key, sizeof key, TRACE_FACT_MARKS "%zu", first / TRACE_FACT_LINES);
        size_t end = first + TRACE_FACT_LINES < count ? first + TRACE_FACT_LINES : count;
        for (size_t i = first; i < end; i++)
            if (marks[i].name)
                strbuf_addf(&lines, "%llu %s\n", (unsigned long long)marks[i].ticks,
                            replay_name_of(image->feed.replay, marks[i].name));
        tracer_fact(image->feed.tracer, key, lines.data);
        strbuf_release(&lines);
        image->marks_in_trace = end;
    }
}

static void tell_trace_names(struct image *image)
{
    uint32_t count = image->next_name, first;
    while (image->names_in_trace < count) {
        struct strbuf lines = STRBUF_INIT;
        char key[32];
        first = image->names_in_trace / TRACE_FACT_LINES * TRACE_FACT_LINES;
        snprintf(key, sizeof key, TRACE_FACT_NAMES "%u", first / TRACE_FACT_LINES);
        uint32_t end = first + TRACE_FACT_LINES < count ? first + TRACE_FACT_LINES : count;
        for (uint32_t i = first ? first : 1; i < end; i++)
            strbuf_addf(&lines, "%u %s\n", i, replay_name_of(image->feed.replay, i));
        tracer_fact(image->feed.tracer, key, lines.data);
        strbuf_release(&lines);
        image->names_in_trace = end;
    }
}

static int take_snapshot(struct image *image)
{
    struct clock_reading now = clock_read();
    struct snapshot_moment moment = {
        .scale = {image->start.ticks, clock_tick_ns(image->start, now)},
        .now_ticks = image->gate.state == GATE_SHUT ? image->gate.ticks : now.ticks,
        .damaged_rings = merge_damaged_rings(image->merge)};
    uint64_t wait_ticks, lost_events;
    view_refresh(&image->view); /* what was replayed has its nodes in chunks that may be new */
    moment.node_count = view_node_count(&image->view);
    view_names(&image->view, &image->next_name, take_name, image);
    merge_tell_stacks(image->merge);
    merge_tell_waits(image->merge, &moment.waits, &wait_ticks, &lost_events);
    moment.wait_ns = clock_span_ns(moment.scale, wait_ticks);
    int status = snapshot_take(&image->snapshot, image->feed.replay, &moment);
    if (image->feed.tracer) {
        tell_trace_moment(image, &moment);
        tell_trace_marks(image);
        if (image->next_name > 1)
            tell_trace_names(image);
    }
    if (status == 0 && image->looks)
        take_looks(image);
    return status;
}

static void flush_begin(struct image *image)
{
    if (!writer_is_ready(image, true) || take_snapshot(image) < 0)
        return;
    atomic_store(&image->flushed, false);
    image->request_ns = image->snapshot.duration_ns;
    image->flushing = pthread_create(&image->flusher, NULL, flush_thread, image) == 0;
    if (!image->flushing)
        release_snapshot(image);
}

/* ---- The trace ---- */

/* Beside the profile: .tmt instead of .tmk. */
static char *trace_name(const char *profile)
{
    size_t length = strlen(profile);
    bool has_suffix = length > 4 && strcmp(profile + length - 4, ".tmk") == 0;
    char *name = NULL;
    if (asprintf(&name, "%.*s.tmt", (int)(has_suffix ? length - 4 : length), profile) < 0)
        abort();
    return name;
}

static void begin_trace(struct image *image, double tick_ns)
{
    const struct collector_options *options = &image->options;
    struct trace_options trace = {
        .compression = options->trace_compression,
        .level = options->trace_level,
        .flags = (options->free_stacks ? TRACE_FREE_STACKS : 0) |
                 (options->timed ? TRACE_TIMED : 0),
        .start_ticks = image->start.ticks,
        .sample_bytes = options->sample_bytes,
    };
    image->trace_path = trace_name(image->path);
    image->feed.tracer = tracer_new(image->trace_path, &trace, &image->view);
    image->next_trace_ns = image->start.ns + FLUSH_NS;
    tell_description(image, fact_for_trace);
    tell_trace_tick(image, TRACE_FACT_FIRST_TICK_NS, tick_ns);
}

/* What was fed so far is safe soon, whoever is killed. */
static void flush_trace_if_due(struct image *image, uint64_t now_ns)
{
    if (!image->feed.tracer || now_ns < image->next_trace_ns)
        return;
    tracer_flush(image->feed.tracer);
    image->next_trace_ns = now_ns + FLUSH_NS;
}

/* The profile, if there is one, is finished: what of it is not in the events goes to the end. */
static void finish_trace(struct image *image, struct tracer *tracer, bool has_profile)
{
    const char *error = NULL;
    struct trace_writer *writer = tracer_settle(tracer);
    if (writer && has_profile && supplement_into_trace(writer, image->path, &error) < 0)
        image->result.trace_error = strdup(error);
    tracer_finish(tracer);
    if (tracer_file_bytes(tracer)) {
        image->result.trace = strdup(image->trace_path);
        image->result.trace_bytes = tracer_file_bytes(tracer);
    }
    if (tracer_error(tracer) && !image->result.trace_error)
        image->result.trace_error = strdup(tracer_error(tracer));
    tracer_free(tracer);
}

/* ---- /proc ---- */

static void see_triggers(struct image *image, uint64_t now_ns)
{
    struct replay_counters counters = {0};
    const struct trigger *trigger;
    replay_counters(image->feed.replay, 0, &counters);
    struct trigger_levels levels = {image->resident_bytes, counters.current_bytes,
                                    counters.total_bytes};
    while ((trigger = triggers_see(image->triggers, &levels, now_ns))) {
        struct snapshot_request request = {.answer = -1, .urgent = trigger->kind == TRIGGER_OOM};
        char name[64];
        trigger_name(trigger, name);
        snprintf(request.why, sizeof request.why, "%s", name);
        snapshots_ask(&image->snapshots, &request);
    }
}

/* ---- What it costs ---- */

static uint64_t program_cpu_ns(const struct image *image)
{
    struct timespec spent;
    if (clock_gettime(image->program_clock, &spent) < 0)
        return 0;
    return (uint64_t)spent.tv_sec * 1000000000u + (uint64_t)spent.tv_nsec;
}

static void sample_more_coarsely(struct image *image, uint64_t now_ns)
{
    uint64_t bytes = wire_level_bytes(image->thrift.level);
    atomic_store(&image->view.header->sample_level, image->thrift.level);
    strbuf_addf(&image->sample_changes, "%s%llu %llu", image->sample_changes.length ? "\n" : "",
                (unsigned long long)(now_ns > image->start.ns ? now_ns - image->start.ns : 0),
                (unsigned long long)bytes);
    if (image->looks)
        looks_lose(image->looks,
                   "recording was over its budget (--budget-cpu) and went on by samples: what of the "
                   "heap's pages belongs to live blocks cannot be told");
    if (image->writer)
        tell_budget(image, fact_for_profile);
}

static void see_budget(struct image *image, uint64_t now_ns)
{
    struct clock_scale scale = {image->start.ticks, clock_tick_ns(image->start, clock_read())};
    struct thrift_reading reading = {
        .now_ns = now_ns,
        .recorder_ns = clock_span_ns(scale, merge_cost_ticks(image->merge)),
        .replay_ns = image->replay_ns,
        .program_ns = program_cpu_ns(image)};
    if (thrift_see(&image->thrift, &reading))
        sample_more_coarsely(image, now_ns);
}

static void sample_memory(struct image *image, uint64_t now_ns)
{
    struct process_memory sample;
    if (now_ns < image->next_sample_ns || image->gate.state == GATE_SHUT)
        return;
    if (process_meter_read(&image->meter, &sample) == 0) {
        struct wire_header *header = image->view.header;
        uint64_t private_bytes = atomic_load(&header->private_bytes);
        uint64_t tool = image->looks ? looks_tool_bytes(image->looks)
                                     : view_touched_bytes(&image->view) + private_bytes;
        uint64_t chunks = atomic_load(&header->chunk_count);
        uint64_t tool_virtual = chunks * WIRE_CHUNK_BYTES + private_bytes;
        feed_memory_sample(
            &image->feed, ticks_now(),
            sample.resident_bytes > tool ? sample.resident_bytes - tool : 0,
            sample.virtual_bytes > tool_virtual ? sample.virtual_bytes - tool_virtual : 0, tool);
        image->resident_bytes =
            sample.resident_bytes > tool ? sample.resident_bytes - tool : 0;
        if (image->looks && !image->looked && !image->thrift.millionths)
            looks_see(image->looks, sample.resident_bytes, now_ns);
    }
    if (image->thrift.millionths)
        see_budget(image, now_ns);
    if (image->triggers)
        see_triggers(image, now_ns);
    /* 1 ms at first, then a thousandth of the run so far, at most ten times a second. */
    uint64_t age = now_ns - image->start.ns;
    image->sample_interval_ns = age / 1000 < 1000000     ? 1000000
                                : age / 1000 > 100000000 ? 100000000
                                                         : age / 1000;
    if (image->thrift.millionths)
        image->sample_interval_ns = 100000000;
    if (image->triggers && image->sample_interval_ns > triggers_patience_ns(image->triggers))
        image->sample_interval_ns = triggers_patience_ns(image->triggers);
    image->next_sample_ns = now_ns + image->sample_interval_ns;
}

/* ---- The thread ---- */

/* The program has made a request. */
static bool is_asked(const struct image *image)
{
    return atomic_load(&image->view.header->asked) != image->answered;
}

/* `asked`: a thread may have asked already. */
static void sleep_until_asked(struct image *image, uint64_t ns, bool asked)
{
    struct wire_header *header = image->view.header;
    struct timespec patience = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    atomic_store(&header->asleep, 1);
    if (!atomic_load(&image->ended) && !(asked && merge_is_asked(image->merge)) &&
        !is_asked(image) && !atomic_load(&image->snapshots.any))
        syscall(SYS_futex, &header->asleep, FUTEX_WAIT, 1, &patience, NULL, 0);
    atomic_store(&header->asleep, 0);
}

/* Has the program taken the memory that it was sent? It cannot without a descriptor or address space
 * to spare, and then runs on unrecorded: a profile without events would claim that it did nothing. */
static bool has_joined(const struct image *image)
{
    return atomic_load(&image->view.header->start_ticks) != 0;
}

static void flush_if_due(struct image *image, uint64_t now_ns)
{
    if (!has_joined(image) || image->gate.state == GATE_BEFORE)
        return;
    if (image->flushing && atomic_load(&image->flushed))
        flush_collect(image);
    if (image->flushing || now_ns < image->next_flush_ns)
        return;
    flush_begin(image);
    image->next_flush_ns = now_ns + FLUSH_NS;
}

static void tell_session(struct image *image, enum wire_session_state state)
{
    struct wire_header *header = image->view.header;
    atomic_store(&header->session_state, state);
    syscall(SYS_futex, &header->session_state, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* The program waits in its exit, or lives on without us. Its other threads may still be at work:
 * what they do is recorded as before. */
static void look_last(struct image *image)
{
    enum { PASSES = 16 };
    if (!image->looks || image->looked)
        return;
    for (int pass = 0; pass < PASSES && merge_pass(image->merge, false) > 0;)
        pass++;
    looks_finish(image->looks, clock_read().ns);
    image->looked = true;
    tell_session(image, WIRE_SESSION_LOOKED);
}

/* ---- Requests ---- */

/* All that the program did before it asked. */
static void replay_until_now(struct image *image)
{
    enum { PASSES = 1000 };
    struct timespec pause = {0, 100 * 1000};
    uint64_t now = ticks_now();
    for (int pass = 0; pass < PASSES; pass++) {
        merge_pass(image->merge, false);
        if (merge_reached(image->merge) >= now || atomic_load(&image->ended))
            return;
        if (pass > 10)
            nanosleep(&pause, NULL);
    }
}

static void answer_counters(struct image *image, uint32_t asker)
{
    struct wire_answer *answer = &image->view.header->answer;
    struct replay_counters counters = {0};
    replay_counters(image->feed.replay, asker, &counters); /* of an unknown thread: it has none */
    atomic_store_explicit(&answer->current_bytes, counters.current_bytes, memory_order_relaxed);
    atomic_store_explicit(&answer->peak_bytes, counters.peak_bytes, memory_order_relaxed);
    atomic_store_explicit(&answer->total_bytes, counters.total_bytes, memory_order_relaxed);
    atomic_store_explicit(&answer->count, counters.count, memory_order_relaxed);
    atomic_store_explicit(&answer->live_count, counters.live_count, memory_order_relaxed);
}

/* The look, and the profile as it is now. */
static void answer_snapshot(struct image *image)
{
    if (image->gate.state == GATE_BEFORE)
        return; /* nothing is recorded yet */
    if (image->looks && !image->looked)
        looks_mark(image->looks, clock_read().ns);
    flush_collect(image);
    flush_begin(image);
    image->next_flush_ns = clock_read().ns + FLUSH_NS;
    flush_collect(image);
    if (image->feed.tracer)
        tracer_flush(image->feed.tracer);
}

static void answer(struct image *image)
{
    struct wire_header *header = image->view.header;
    uint32_t asked = atomic_load(&header->asked);
    uint32_t asker = atomic_load_explicit(&header->asker, memory_order_relaxed);
    replay_until_now(image);
    switch (atomic_load_explicit(&header->request, memory_order_relaxed)) {
    case WIRE_REQUEST_COUNTERS:
        answer_counters(image, asker);
        break;
    case WIRE_REQUEST_RESET_PEAK:
        feed_watch_peak(&image->feed, asker);
        break;
    case WIRE_REQUEST_SNAPSHOT:
        answer_snapshot(image);
        break;
    }
    image->answered = asked;
    atomic_store_explicit(&header->answered, asked, memory_order_release);
    syscall(SYS_futex, &header->answered, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* ---- Snapshots ---- */

static const char *begin_snapshot(struct image *image)
{
    if (!has_joined(image) || image->gate.state == GATE_BEFORE)
        return "nothing of the process is recorded yet";
    replay_until_now(image);
    if (image->triggers)
        see_triggers(image, clock_read().ns);
    if (image->looks && !image->looked && !image->request.urgent)
        looks_mark(image->looks, clock_read().ns);
    flush_begin(image);
    image->next_flush_ns = clock_read().ns + FLUSH_NS;
    return image->flushing ? NULL : "its profile cannot be written";
}

/* The program does not wait for it, nor, while the file is written, does the merge. */
static void begin_snapshot_if_asked(struct image *image)
{
    if (image->flushing && atomic_load(&image->flushed))
        flush_collect(image);
    if (image->flushing || !snapshots_take(&image->snapshots, &image->request))
        return;
    const char *why_not = begin_snapshot(image);
    if (!why_not)
        return;
    snapshot_answer(&image->request, NULL, why_not);
    *image->request.why = 0;
}

static bool is_leaving(const struct image *image)
{
    return atomic_load(&image->view.header->exit_waiting);
}

/* What following the events costs is limited; what looking for some costs does not depend on them. */
static size_t pass(struct image *image)
{
    if (!image->thrift.millionths)
        return merge_pass(image->merge, false);
    uint64_t since_ns = thread_cpu_ns();
    size_t bytes = merge_pass(image->merge, false);
    if (bytes)
        image->replay_ns += thread_cpu_ns() - since_ns;
    return bytes;
}

static void drain(struct image *image)
{
    uint64_t sleep_ns = SLEEP_MIN_NS;
    /* A program that waits in its exit for its profile makes no more events. */
    while (!atomic_load(&image->ended) && !has_left(image) &&
           !(is_leaving(image) && image->options.exit_waits)) {
        if (is_leaving(image))
            look_last(image);
        if (is_asked(image))
            answer(image);
        begin_snapshot_if_asked(image);
        size_t bytes = pass(image);
        uint64_t now_ns = clock_read().ns;
        sample_memory(image, now_ns);
        flush_if_due(image, now_ns);
        flush_trace_if_due(image, now_ns);
        if (bytes >= image->options.ring_bytes / 4)
            continue;
        sleep_ns = bytes ? SLEEP_MIN_NS : sleep_ns < SLEEP_MAX_NS ? 2 * sleep_ns : SLEEP_MAX_NS;
        uint64_t nap = sleep_ns < image->sample_interval_ns ? image->sample_interval_ns : sleep_ns;
        /* After a pass that could move nothing the watermark stands: looking again at once would
         * be spinning. */
        sleep_until_asked(image, nap < SLEEP_MAX_NS ? nap : SLEEP_MAX_NS, bytes > 0);
    }
    if (!atomic_load(&image->ended) || image->how == IMAGE_END_DETACHED)
        look_last(image);
    while (merge_pass(image->merge, true) > 0)
        ;
    looks_settle(image->looks);
}

static void say_lost(struct image *image)
{
    feed_lost(&image->feed, atomic_load(&image->view.header->lost_events));
}

static bool is_stub(struct image *image)
{
    struct program_metrics program;
    replay_program(image->feed.replay, &program);
    return image->parent && !image->written && image->how == IMAGE_END_EXEC &&
           program.events < STUB_EVENTS;
}

static bool wait_for_writer(struct image *image)
{
    struct timespec pause = {0, 5 * 1000 * 1000};
    for (int tries = 0; tries < 6000; tries++) {
        if (writer_is_ready(image, true))
            return true;
        if (image->result.error)
            return false;
        nanosleep(&pause, NULL);
    }
    return writer_is_ready(image, false);
}

static void forget_events(struct image *image)
{
    looks_free(image->looks);
    image->looks = NULL;
    merge_free(image->merge);
    tracer_free(image->feed.tracer);
    replay_free(image->feed.replay);
    image->merge = NULL;
    image->feed = (struct feed){.replay = NULL};
}

static void write_last(struct image *image)
{
    tell_end(image, fact_for_profile);
    writer_read_globals(image->writer, &image->origins);
    int status = take_snapshot(image);
    if (status == 0)
        status = writer_write(image->writer, &image->origins, &image->snapshot);
    release_snapshot(image);
    if (status < 0)
        fail(image, "%s", profile_error());
}

static void complete(struct image *image)
{
    struct tracer *tracer = image->feed.tracer;
    image->end_unix_ns = unix_ns();
    flush_collect(image);
    say_lost(image);
    image_entry_note_events(&image->entry, image->feed.replay, &image->view);
    if (!has_joined(image)) {
        fail(image,
             "process %d (%s) is not recorded: it had no descriptor or no address space left for the "
             "memory that it shares with the collector (ulimit -n, -v), or was killed before",
             (int)image->pid, image->program);
        return;
    }
    if (is_stub(image)) {
        image_entry_discard(&image->entry);
        return;
    }
    bool ready = wait_for_writer(image);
    if (ready)
        write_last(image);
    if (tracer) {
        tell_end(image, fact_for_trace);
        tracer_settle(tracer);
    }
    image->feed.tracer = NULL;
    forget_events(image); /* packing wants memory of its own */
    if (ready && writer_finish(image->writer, image->options.pack) < 0)
        fail(image, "%s", profile_error());
    image->writer = NULL;
    if (tracer)
        finish_trace(image, tracer, ready && !image->result.error);
}

static void send_welcome(int socket, int memory, int error)
{
    struct wire_welcome welcome = {.magic = WIRE_MAGIC, .error = error};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {&welcome, sizeof welcome};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (memory >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        *header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
                                   .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(header), &memory, sizeof memory);
    }
    sendmsg(socket, &message, MSG_NOSIGNAL);
    close(socket);
}

static int open_view(struct image *image)
{
    struct wire_header *options = calloc(1, sizeof *options);
    if (!options)
        return -ENOMEM;
    options->ring_bytes = image->options.ring_bytes;
    options->chunk_limit = WIRE_MAX_CHUNKS;
    options->flags = (image->options.follow ? WIRE_FLAG_FOLLOW : 0) |
                     (image->options.free_stacks ? WIRE_FLAG_FREE_STACKS : 0) |
                     (image->options.timed ? WIRE_FLAG_TIMED : 0) |
                     (image->options.looks ? WIRE_FLAG_EXIT_LOOKED : 0) |
                     (image->options.exit_waits ? WIRE_FLAG_EXIT_WAITS : 0);
    options->on_full = image->options.drop ? WIRE_ON_FULL_DROP : WIRE_ON_FULL_WAIT;
    options->stacks = (uint32_t)image->options.stacks;
    options->max_depth = image->options.max_depth;
    options->exit_wait_ms = image->options.exit_wait_ms;
    options->sample_bytes =
        image->options.budget_millionths ? WIRE_SAMPLE_ADAPTS : image->options.sample_bytes;
    int status = view_open(&image->view, options);
    free(options);
    return status;
}

/* Why the replay does not know every live block; NULL: it does. */
static const char *unknown_blocks(const struct image *image)
{
    if (image->options.sample_bytes)
        return "recorded with --sample: what of the heap's pages belongs to live blocks cannot be "
               "told when most of them are not known";
    if (image->pages)
        return "recorded with --events=pages: what of the heap's pages belongs to live blocks cannot "
               "be told when most of them are not known";
    if (image->late)
        return "recorded from an attachment on: which of the heap's pages belong to blocks from before "
               "is not known";
    return image->parent ? "the process was forked: which of the heap's pages belong to blocks that "
                           "it inherited is not known"
                         : NULL;
}

static void begin_replay(struct image *image, double tick_ns)
{
    struct replay *replay = image->feed.replay = replay_new(image->start.ticks, tick_ns);
    if (image->options.free_stacks)
        replay_know_frees(replay);
    if (image->options.timed)
        replay_know_times(replay);
    replay_sample(replay, image->options.sample_bytes);
    if (image->pages)
        replay_pages(replay);
    if (image->options.budget_millionths)
        replay_adapt(replay);
    else
        replay_sample(replay, image->options.sample_bytes);
    if (image->options.trace && take_place(image))
        begin_trace(image, tick_ns);
}

static struct looks *new_looks(struct image *image)
{
    return looks_new(image->pid, image->start.ns, unknown_blocks(image), &image->view,
                     &image->feed);
}

/* ---- The window that is recorded ---- */

static const char *name_of(void *context, uint32_t number)
{
    struct image *image = context;
    if (number >= image->next_name) {
        view_refresh(&image->view);
        view_names(&image->view, &image->next_name, take_name, image);
    }
    return replay_name_of(image->feed.replay, number);
}

/* What was followed until now becomes what was there before. */
static void begin_window(struct image *image, const char *mark, uint64_t ticks)
{
    double tick_ns = clock_tick_ns(image->start, clock_read());
    struct clock_scale scale = {image->start.ticks, tick_ns};
    image->begun_ns = clock_moment_ns(scale, ticks);
    image->begun_on = strdup(mark);
    replay_counters(image->feed.replay, 0, &image->before);
    replay_restart(image->feed.replay, ticks, tick_ns);
    image->start.ticks = ticks;
    image->start.ns += image->begun_ns;
    image->start_unix_ns += (int64_t)image->begun_ns;
    image->next_flush_ns = image->start.ns + FLUSH_NS;
    if (image->looks) {
        looks_free(image->looks);
        image->looks = new_looks(image);
    }
    window_begin(image->options.window, image->start.ns);
}

static void window_changed(void *context, const char *mark, uint64_t ticks)
{
    struct image *image = context;
    if (image->gate.state == GATE_OPEN) {
        begin_window(image, mark, ticks);
        return;
    }
    image->ended_on = strdup(mark);
    atomic_store(&image->view.header->stop, 1); /* nobody answers its questions any more */
    window_end(image->options.window, WINDOW_UNTIL);
}

static void prepare_window(struct image *image)
{
    struct window *window = image->options.window;
    gate_init(&image->gate, window);
    image->gate.name_of = name_of;
    image->gate.changed = window_changed;
    image->gate.context = image;
    image->feed.gate = &image->gate;
    if (window && image->gate.state == GATE_OPEN)
        window_begin(window, image->start.ns);
}

static void say_not_recorded(struct image *image, int error)
{
    if (error == EFBIG)
        fail(image,
             "process %d (%s) is not recorded: files may have %s at most (ulimit -f), and the memory "
             "that it would share with the collector, which counts as one, takes %s: raise the limit",
             (int)image->pid, image->program,
             human_bytes(view_most_bytes()).text,
             human_bytes((uint64_t)VIEW_LEAST_CHUNKS * WIRE_CHUNK_BYTES).text);
    else
        fail(image, "process %d (%s) is not recorded: %s", (int)image->pid, image->program,
             strerror(error));
}

static bool begin(struct image *image)
{
    image->start = clock_read();
    /* Forks get their place when they get a profile, most execute something else at once; unless a
     * trace is kept, which begins at once beside it. */
    if (!image->parent || image->options.trace)
        take_place(image);
    int status = open_view(image);
    if (status == 0)
        begin_replay(image, clock_tick_ns(image->start, image->start));
    image->merge = image->feed.replay ? merge_new(&image->view, &image->feed) : NULL;
    if (image->merge && image->options.looks)
        image->looks = new_looks(image);
    prepare_window(image);
    thrift_init(&image->thrift, image->options.budget_millionths);
    clock_getcpuclockid(image->pid, &image->program_clock);
    image->triggers =
        triggers_new(image->options.triggers, image->options.trigger_count, image->pid);
    image->resident_bytes = UINT64_MAX;
    process_meter_open(&image->meter, image->pid);
    image->sample_interval_ns = 1000000;
    image->next_name = 1;
    image->next_flush_ns = image->start.ns + FLUSH_NS;
    send_welcome(image->socket, image->merge ? image->view.fd : -1, image->merge ? 0 : ENOMEM);
    if (!image->merge)
        say_not_recorded(image, status < 0 ? -status : ENOMEM);
    return image->merge != NULL;
}

static void *image_thread(void *context)
{
    struct image *image = context;
    if (begin(image)) {
        atomic_store(&image->ready, true);
        drain(image);
        atomic_store(&image->left, has_left(image));
        complete(image);
        end_entry(image);
        tell_session(image, WIRE_SESSION_SAFE);
        atomic_store(&image->ready, false);
    } else {
        end_entry(image); /* it goes on unrecorded, and the entry says why */
    }
    process_meter_close(&image->meter);
    forget_events(image);
    atomic_store(&image->done, true);
    return NULL;
}

/* ---- From outside ---- */

static void image_free(struct image *image)
{
    snapshots_release(&image->snapshots);
    triggers_free(image->triggers);
    strbuf_release(&image->sample_changes);
    image_entry_release(&image->entry);
    free(image->boot);
    free(image->executable);
    free(image->command);
    free(image->directory);
    free(image->path);
    free(image->trace_path);
    free(image->begun_on);
    free(image->ended_on);
    free(image->program);
    free(image);
}

/* What else was asked for goes with recordings of every call only. */
static void expect_pages(struct image *image)
{
    image->pages = true;
    image->options.sample_bytes = 0;
    image->options.budget_millionths = 0;
    image->options.free_stacks = image->options.timed = image->options.trace = false;
}

struct image *image_start(const struct collector_options *options, int socket, pid_t pid,
                          pid_t parent, bool pages, bool first, bool late)
{
    struct image *image = calloc(1, sizeof *image);
    if (!image) {
        close(socket);
        return NULL;
    }
    image->options = *options;
    if (pages)
        expect_pages(image);
    image->socket = socket;
    image->pid = pid;
    image->parent = parent;
    image->first = first;
    image->late = late;
    image->view.fd = -1;
    snapshots_init(&image->snapshots);
    image->sample_changes = STRBUF_INIT;
    image->origins = view_origins(&image->view);
    describe(image);
    int error = pthread_create(&image->thread, NULL, image_thread, image);
    if (error == 0)
        return image;
    fprintf(stderr, "tidemark: process %d is not recorded: %s\n", (int)pid, strerror(error));
    close(socket);
    image_free(image);
    return NULL;
}

pid_t image_pid(const struct image *image)
{
    return image->pid;
}

static void wake(struct image *image)
{
    struct wire_header *header = image->view.header;
    atomic_store(&header->asleep, 0);
    syscall(SYS_futex, &header->asleep, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void image_end(struct image *image, enum image_end how, int status)
{
    if (atomic_load(&image->ended))
        return;
    image->how = how;
    image->status = status;
    atomic_store(&image->ended, true);
    if (!atomic_load(&image->ready))
        return; /* not asleep yet, or no more */
    if (how == IMAGE_END_DETACHED)
        atomic_store(&image->view.header->stop, 1);
    wake(image);
}

void image_snapshot(struct image *image, const char *why, int answer)
{
    struct snapshot_request request = {.answer = answer};
    snprintf(request.why, sizeof request.why, "%s", *why ? why : "asked for");
    snapshots_ask(&image->snapshots, &request);
    if (atomic_load(&image->ready))
        wake(image);
}

bool image_has_left(const struct image *image)
{
    return atomic_load(&image->left);
}

bool image_is_done(const struct image *image)
{
    return atomic_load(&image->done);
}

void image_join(struct image *image, struct image_result *result)
{
    pthread_join(image->thread, NULL);
    view_close(&image->view);
    *result = image->result;
    result->pid = image->pid;
    result->first = image->first;
    result->replaced = image->how == IMAGE_END_EXEC;
    result->program = image->program;
    image->program = NULL;
    image_free(image);
}
