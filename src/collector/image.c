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
#include "base/strbuf.h"
#include "base/ticks.h"
#include "collector/collector.h"
#include "collector/job_place.h"
#include "collector/looks.h"
#include "collector/merge.h"
#include "collector/output_name.h"
#include "assembly/snapshot.h"
#include "collector/view.h"
#include "assembly/writer.h"
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
    int socket;
    pid_t pid, parent;
    bool first;
    char *program, *executable, *command, *directory, *path;
    struct launcher launcher;
    char *boot; /* NULL: not known */
    bool uses_mpi;
    pthread_t thread;
    _Atomic bool ready, ended, done; /* ready: `view` may be used by others */
    enum image_end how;
    int status;
    struct image_result result;

    /* the thread's own from here on */
    struct view view;
    struct origins origins; /* of the view */
    struct replay *replay;
    struct merge *merge;
    struct writer *writer;
    struct clock_reading start;
    int64_t start_unix_ns, end_unix_ns;
    struct process_meter meter;
    struct looks *looks; /* NULL: not wanted */
    bool looked;         /* for the last time */
    uint64_t next_sample_ns, sample_interval_ns, next_flush_ns;
    bool written; /* the profile exists */
    struct entry entry; /* with a directory of jobs */
    struct entry_writer *entry_writer;

    /* a flush under way, on a thread of its own */
    pthread_t flusher;
    bool flushing;
    _Atomic bool flushed;
    struct snapshot snapshot;
    struct look *taken; /* looks of that snapshot */
    size_t taken_count;
    struct sighting *sightings;
    int flush_status;
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

static void describe(struct image *image)
{
    image->executable = ask(process_executable, image->pid);
    image->command = ask(process_command_line, image->pid);
    image->directory = ask(process_directory, image->pid);
    image->program = program_name(image);
    image->start_unix_ns = unix_ns();
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

static void write_rank(struct image *image)
{
    const struct launcher *launcher = &image->launcher;
    if (image->boot)
        writer_fact(image->writer, PROFILE_META_BOOT, image->boot);
    if (image->options.job || launcher->name)
        writer_fact(image->writer, PROFILE_META_JOB, job_id(image));
    if (!launcher->name)
        return;
    writer_fact(image->writer, PROFILE_META_LAUNCHER, launcher->name);
    writer_fact_number(image->writer, PROFILE_META_RANK, launcher->rank);
    if (launcher->ranks >= 0)
        writer_fact_number(image->writer, PROFILE_META_RANKS, launcher->ranks);
    if (launcher->local_rank >= 0)
        writer_fact_number(image->writer, PROFILE_META_LOCAL_RANK, launcher->local_rank);
    if (launcher->node >= 0)
        writer_fact_number(image->writer, PROFILE_META_NODE, launcher->node);
}

static void write_description(struct image *image)
{
    struct utsname machine;
    uname(&machine);
    struct writer *writer = image->writer;
    writer_fact(writer, "tool", "tidemark " TIDEMARK_VERSION);
    writer_fact(writer, "program", image->program);
    writer_fact(writer, "executable", image->executable);
    writer_fact(writer, "command", image->command);
    writer_fact(writer, "directory", image->directory);
    writer_fact(writer, "host", machine.nodename);
    writer_fact(writer, "kernel", machine.release);
    writer_fact(writer, "machine", machine.machine);
    writer_fact_number(writer, "pid", image->pid);
    writer_fact_number(writer, "parent_pid", image->parent);
    writer_fact(writer, "started_by", image->parent ? "fork" : "exec");
    writer_fact_number(writer, "start_unix_ns", image->start_unix_ns);
    write_rank(image);
    writer_fact(writer, "on_full", image->options.drop ? "drop" : "wait");
    if (image->options.sample_bytes)
        writer_fact_number(writer, PROFILE_META_SAMPLE, (int64_t)image->options.sample_bytes);
    if (image->options.free_stacks)
        writer_fact_number(writer, PROFILE_META_FREE_STACKS, 1);
    if (image->options.timed)
        writer_fact_number(writer, PROFILE_META_TIMED, 1);
}

struct ending {
    enum image_end how;
    int status;
};

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
    return ending;
}

static bool has_status(struct ending ending)
{
    return ending.how == IMAGE_END_EXIT || ending.how == IMAGE_END_SIGNAL;
}

static const char *const end_names[] = {"unknown", "exit", "signal", "exec", "detached"};

static void write_end(struct image *image)
{
    struct ending ending = ending_of(image);
    writer_fact(image->writer, PROFILE_META_END, end_names[ending.how]);
    if (has_status(ending))
        writer_fact_number(image->writer, PROFILE_META_END_STATUS, ending.status);
}

/* ---- Its entry in a directory of jobs ---- */

static char *copy_of(const char *text)
{
    return text ? strdup(text) : NULL;
}

static void describe_entry(struct image *image)
{
    const struct launcher *launcher = &image->launcher;
    struct entry *entry = &image->entry;
    entry_init(entry);
    entry->job = strdup(job_id(image));
    entry->session = strdup(image->options.session);
    entry->launcher = copy_of(launcher->name);
    entry->rank = launcher->rank;
    entry->ranks = launcher->ranks;
    entry->local_rank = launcher->local_rank;
    entry->node = launcher->node;
    entry->is_launcher = launcher->is_launcher;
    process_host_name(&entry->host);
    entry->boot = copy_of(image->boot);
    entry->pid = image->pid;
    entry->parent_pid = image->parent;
    entry->program = strdup(image->program);
    entry->start_unix_ns = image->start_unix_ns;
    entry->uses_mpi = image->uses_mpi;
}

/* Its place in the directory; false, with a failure noted, if there is none to be had. */
static bool take_place(struct image *image)
{
    if (!image->options.job || image->entry_writer)
        return true;
    describe_entry(image);
    int status = job_place_take(image->options.job, &image->entry, &image->entry_writer,
                                &image->path);
    if (status < 0)
        fail(image, "%s", profile_error());
    return status == 0;
}

static void see_module(void *context, const struct wire_module *module)
{
    struct entry *entry = context;
    if (job_place_is_mpi(module->path))
        entry->uses_mpi = 1; /* opened after the start, as Python does */
}

static void note_peak(struct image *image)
{
    struct program_metrics program;
    size_t cursor = 0;
    if (!image->entry_writer)
        return;
    replay_program(image->replay, &program);
    image->entry.peak_bytes = (int64_t)program.total.peak_bytes;
    image->entry.alloc_count = (int64_t)program.total.alloc_count;
    view_modules(&image->view, &cursor, see_module, &image->entry);
}

/* The trace has the profile's name with another suffix. */
static void note_trace(struct image *image)
{
    struct strbuf name = STRBUF_INIT;
    size_t stem = strlen(image->path) - strlen(".tmk");
    strbuf_add(&name, image->path, stem);
    strbuf_add_string(&name, ".tmt");
    if (access(name.data, F_OK) == 0)
        image->entry.trace = strdup(strrchr(name.data, '/') + 1);
    strbuf_release(&name);
}

/* A fork that did next to nothing before it executed something else leaves nothing. */
static void drop_entry(struct image *image)
{
    entry_writer_discard(image->entry_writer);
    image->entry_writer = NULL;
}

static void end_entry(struct image *image)
{
    if (!image->entry_writer)
        return;
    struct ending ending = ending_of(image);
    struct entry *entry = &image->entry;
    entry->end = strdup(end_names[ending.how]);
    if (has_status(ending))
        entry->end_status = ending.status;
    if (image->end_unix_ns)
        entry->duration_ns = image->end_unix_ns - image->start_unix_ns;
    entry->error = copy_of(image->result.error);
    note_trace(image);
    if (entry_writer_update(image->entry_writer, entry) < 0)
        fail(image, "%s", profile_error());
    entry_writer_close(image->entry_writer);
    image->entry_writer = NULL;
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
    write_description(image);
    return true;
}

static void *flush_thread(void *context)
{
    struct image *image = context;
    image->flush_status = writer_write(image->writer, &image->origins, &image->snapshot);
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

static void flush_collect(struct image *image)
{
    if (!image->flushing)
        return;
    pthread_join(image->flusher, NULL);
    release_snapshot(image);
    image->flushing = false;
    if (image->flush_status < 0)
        fail(image, "%s", profile_error());
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

static int take_snapshot(struct image *image)
{
    struct clock_reading now = clock_read();
    struct snapshot_moment moment = {
        .scale = {image->start.ticks, clock_tick_ns(image->start, now)},
        .now_ticks = now.ticks,
        .damaged_rings = merge_damaged_rings(image->merge)};
    uint64_t lost_events;
    view_refresh(&image->view); /* what was replayed has its nodes in chunks that may be new */
    moment.node_count = view_node_count(&image->view);
    merge_tell_stacks(image->merge);
    merge_tell_waits(image->merge, &moment.waits, &moment.wait_ticks, &lost_events);
    int status = snapshot_take(&image->snapshot, image->replay, &moment);
    if (status == 0 && image->looks)
        take_looks(image);
    return status;
}

static void flush_begin(struct image *image)
{
    if (!writer_is_ready(image, true) || take_snapshot(image) < 0)
        return;
    atomic_store(&image->flushed, false);
    image->flushing = pthread_create(&image->flusher, NULL, flush_thread, image) == 0;
    if (!image->flushing)
        release_snapshot(image);
}

/* ---- /proc ---- */

static void sample_memory(struct image *image, uint64_t now_ns)
{
    struct process_memory sample;
    if (now_ns < image->next_sample_ns)
        return;
    if (process_meter_read(&image->meter, &sample) == 0) {
        struct wire_header *header = image->view.header;
        uint64_t private_bytes = atomic_load(&header->private_bytes);
        uint64_t tool = image->looks ? looks_tool_bytes(image->looks)
                                     : view_touched_bytes(&image->view) + private_bytes;
        uint64_t chunks = atomic_load(&header->chunk_count);
        uint64_t tool_virtual = chunks * WIRE_CHUNK_BYTES + private_bytes;
        replay_memory_sample(
            image->replay, ticks_now(),
            sample.resident_bytes > tool ? sample.resident_bytes - tool : 0,
            sample.virtual_bytes > tool_virtual ? sample.virtual_bytes - tool_virtual : 0, tool);
        if (image->looks && !image->looked)
            looks_see(image->looks, sample.resident_bytes, now_ns);
    }
    /* 1 ms at first, then a thousandth of the run so far, at most ten times a second. */
    uint64_t age = now_ns - image->start.ns;
    image->sample_interval_ns = age / 1000 < 1000000     ? 1000000
                                : age / 1000 > 100000000 ? 100000000
                                                         : age / 1000;
    image->next_sample_ns = now_ns + image->sample_interval_ns;
}

/* ---- The thread ---- */

/* `asked`: a thread may have asked already. */
static void sleep_until_asked(struct image *image, uint64_t ns, bool asked)
{
    struct wire_header *header = image->view.header;
    struct timespec patience = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    atomic_store(&header->asleep, 1);
    if (!atomic_load(&image->ended) && !(asked && merge_is_asked(image->merge)))
        syscall(SYS_futex, &header->asleep, FUTEX_WAIT, 1, &patience, NULL, 0);
    atomic_store(&header->asleep, 0);
}

static void flush_if_due(struct image *image, uint64_t now_ns)
{
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

static bool is_leaving(const struct image *image)
{
    return atomic_load(&image->view.header->exit_waiting);
}

static void drain(struct image *image)
{
    uint64_t sleep_ns = SLEEP_MIN_NS;
    /* A program that waits in its exit for its profile makes no more events. */
    while (!atomic_load(&image->ended) && !(is_leaving(image) && image->options.exit_waits)) {
        if (is_leaving(image))
            look_last(image);
        size_t bytes = merge_pass(image->merge, false);
        uint64_t now_ns = clock_read().ns;
        sample_memory(image, now_ns);
        flush_if_due(image, now_ns);
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
    replay_lost(image->replay, atomic_load(&image->view.header->lost_events));
}

static bool is_stub(struct image *image)
{
    struct program_metrics program;
    replay_program(image->replay, &program);
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

static void write_complaint(struct image *image)
{
    if (image->looks && looks_complaint(image->looks))
        writer_fact(image->writer, PROFILE_META_NO_LEDGER, looks_complaint(image->looks));
}

static void forget_events(struct image *image)
{
    looks_free(image->looks);
    image->looks = NULL;
    merge_free(image->merge);
    replay_free(image->replay);
    image->merge = NULL;
    image->replay = NULL;
}

static void complete(struct image *image)
{
    image->end_unix_ns = unix_ns();
    flush_collect(image);
    say_lost(image);
    note_peak(image);
    if (is_stub(image)) {
        drop_entry(image);
        return;
    }
    if (!wait_for_writer(image))
        return;
    write_end(image);
    write_complaint(image);
    writer_read_globals(image->writer, &image->origins);
    int status = take_snapshot(image);
    if (status == 0)
        status = writer_write(image->writer, &image->origins, &image->snapshot);
    release_snapshot(image);
    if (status < 0)
        fail(image, "%s", profile_error());
    forget_events(image); /* packing wants memory of its own */
    if (writer_finish(image->writer, image->options.pack) < 0)
        fail(image, "%s", profile_error());
    image->writer = NULL;
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
    options->sample_bytes = image->options.sample_bytes;
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
    return image->parent ? "the process was forked: which of the heap's pages belong to blocks that "
                           "it inherited is not known"
                         : NULL;
}

static bool begin(struct image *image)
{
    image->start = clock_read();
    /* Forks get their place when they get a profile: most execute something else at once. */
    if (!image->parent)
        take_place(image);
    int status = open_view(image);
    double tick_ns = clock_tick_ns(image->start, image->start);
    image->replay = status == 0 ? replay_new(image->start.ticks, tick_ns) : NULL;
    if (image->replay && image->options.free_stacks)
        replay_know_frees(image->replay);
    if (image->replay && image->options.timed)
        replay_know_times(image->replay);
    if (image->replay)
        replay_sample(image->replay, image->options.sample_bytes);
    image->merge = image->replay ? merge_new(&image->view, image->replay) : NULL;
    if (image->merge && image->options.looks)
        image->looks = looks_new(image->pid, image->start.ns, unknown_blocks(image), &image->view,
                                 image->replay);
    process_meter_open(&image->meter, image->pid);
    image->sample_interval_ns = 1000000;
    image->next_flush_ns = image->start.ns + FLUSH_NS;
    send_welcome(image->socket, image->merge ? image->view.fd : -1, image->merge ? 0 : ENOMEM);
    if (!image->merge)
        fail(image, "process %d (%s) is not recorded: %s", (int)image->pid, image->program,
             strerror(status < 0 ? -status : ENOMEM));
    return image->merge != NULL;
}

static void *image_thread(void *context)
{
    struct image *image = context;
    if (begin(image)) {
        atomic_store(&image->ready, true);
        drain(image);
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
    entry_release(&image->entry);
    free(image->boot);
    free(image->executable);
    free(image->command);
    free(image->directory);
    free(image->path);
    free(image->program);
    free(image);
}

struct image *image_start(const struct collector_options *options, int socket, pid_t pid,
                          pid_t parent, bool first)
{
    struct image *image = calloc(1, sizeof *image);
    if (!image) {
        close(socket);
        return NULL;
    }
    image->options = *options;
    image->socket = socket;
    image->pid = pid;
    image->parent = parent;
    image->first = first;
    image->view.fd = -1;
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

void image_end(struct image *image, enum image_end how, int status)
{
    if (atomic_load(&image->ended))
        return;
    image->how = how;
    image->status = status;
    atomic_store(&image->ended, true);
    if (!atomic_load(&image->ready))
        return; /* not asleep yet, or no more */
    struct wire_header *header = image->view.header;
    if (how == IMAGE_END_DETACHED)
        atomic_store(&header->stop, 1);
    atomic_store(&header->asleep, 0);
    syscall(SYS_futex, &header->asleep, FUTEX_WAKE, 1, NULL, NULL, 0);
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
