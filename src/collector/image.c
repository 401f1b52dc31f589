#include "collector/image_parts.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "assembly/writer.h"
#include "base/human.h"
#include "base/ticks.h"
#include "collector/handover.h"
#include "collector/looks.h"
#include "collector/merge.h"
#include "collector/tracer.h"
#include "profile/profile.h"

/* Between passes the thread sleeps until a ring is half full, at most this long. */
#define SLEEP_MIN_NS 2000000u
#define SLEEP_MAX_NS 50000000u

/* A fork that executes another program before it has allocated this often has no profile of its
 * own: shells and build tools fork such children by the thousand. */
#define STUB_EVENTS 1000u

void image_fail(struct image *image, const char *format, ...)
{
    if (image->result.error)
        return; /* the first failure is the one that explains the others */
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&image->result.error, format, arguments) < 0)
        image->result.error = NULL;
    va_end(arguments);
}

/* ---- Its entry in a directory of jobs ---- */

bool image_take_place(struct image *image)
{
    if (!image->options.job)
        return true;
    struct image_entry_owner owner = {.job = image_job_id(image),
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
        image_fail(image, "%s", profile_error());
    return status == 0;
}

static void end_entry(struct image *image)
{
    struct image_ending ending = image_ending(image);
    struct image_entry_end end = {
        .how = image_end_names[ending.how],
        .status = image_ending_has_status(ending) ? ending.status : -1,
        .duration_ns = image->end_unix_ns ? image->end_unix_ns - image->start_unix_ns : 0,
        .error = image->result.error,
        .trace = image->trace_path};
    if (image_entry_finish(&image->entry, &end) < 0)
        image_fail(image, "%s", profile_error());
}

bool image_has_joined(const struct image *image)
{
    return atomic_load(&image->view.header->start_ticks) != 0;
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
        image_tell_budget(image, image_fact_for_profile);
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
        image_see_triggers(image, now_ns);
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

/* `asked`: a thread may have asked already. */
static void sleep_until_asked(struct image *image, uint64_t ns, bool asked)
{
    struct wire_header *header = image->view.header;
    struct timespec patience = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    atomic_store(&header->asleep, 1);
    if (!atomic_load(&image->ended) && !(asked && merge_is_asked(image->merge)) &&
        !image_is_asked(image) && !atomic_load(&image->snapshots.any))
        syscall(SYS_futex, &header->asleep, FUTEX_WAIT, 1, &patience, NULL, 0);
    atomic_store(&header->asleep, 0);
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

/* What following the events costs is limited; what looking for some costs does not depend on them. */
static size_t pass(struct image *image)
{
    if (!image->thrift.millionths)
        return merge_pass(image->merge, false);
    uint64_t since_ns = image_thread_cpu_ns();
    size_t bytes = merge_pass(image->merge, false);
    if (bytes)
        image->replay_ns += image_thread_cpu_ns() - since_ns;
    return bytes;
}

static void drain(struct image *image)
{
    uint64_t sleep_ns = SLEEP_MIN_NS;
    /* A program that waits in its exit for its profile makes no more events. */
    while (!atomic_load(&image->ended) && !image_recorder_left(image) &&
           !(is_leaving(image) && image->options.exit_waits)) {
        if (is_leaving(image))
            look_last(image);
        if (image_is_asked(image))
            image_answer(image);
        image_begin_snapshot_if_asked(image);
        size_t bytes = pass(image);
        uint64_t now_ns = clock_read().ns;
        sample_memory(image, now_ns);
        image_flush_if_due(image, now_ns);
        image_flush_trace_if_due(image, now_ns);
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

static bool is_stub(const struct image *image, const struct program_metrics *program)
{
    return image->parent && !image->written && image->how == IMAGE_END_EXEC &&
           program->events < STUB_EVENTS;
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

static void complete(struct image *image)
{
    struct tracer *tracer = image->feed.tracer;
    struct program_metrics program;
    image->end_unix_ns = image_unix_ns();
    image_flush_collect(image);
    say_lost(image);
    replay_program(image->feed.replay, &program);
    image->result.peak_bytes = program.total.peak_bytes;
    image_entry_note_events(&image->entry, image->feed.replay, &image->view);
    if (!image_has_joined(image)) {
        image_fail(image,
             "process %d (%s) is not recorded: it had no descriptor or no address space left for the "
             "memory that it shares with the collector (ulimit -n, -v), or was killed before",
             (int)image->pid, image->program);
        return;
    }
    if (is_stub(image, &program)) {
        image_entry_discard(&image->entry);
        return;
    }
    bool ready = image_wait_for_writer(image);
    if (ready)
        image_write_last(image);
    if (tracer) {
        image_tell_end(image, image_fact_for_trace);
        tracer_settle(tracer);
    }
    image->feed.tracer = NULL;
    forget_events(image); /* packing wants memory of its own */
    if (ready && writer_finish(image->writer, image->options.pack) < 0)
        image_fail(image, "%s", profile_error());
    image->writer = NULL;
    if (tracer)
        image_finish_trace(image, tracer, ready && !image->result.error);
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
    if (image->pages)
        replay_pages(replay);
    if (image->options.budget_millionths)
        replay_adapt(replay);
    else
        replay_sample(replay, image->options.sample_bytes);
    if (image->options.trace && image_take_place(image))
        image_begin_trace(image, tick_ns);
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
        view_names(&image->view, &image->next_name, image_take_name, image);
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
    image->next_flush_ns = image->start.ns + IMAGE_FLUSH_NS;
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
        image_fail(image,
             "process %d (%s) is not recorded: files may have %s at most (ulimit -f), and the memory "
             "that it would share with the collector, which counts as one, takes %s: raise the limit",
             (int)image->pid, image->program,
             human_bytes(view_most_bytes()).text,
             human_bytes((uint64_t)VIEW_LEAST_CHUNKS * WIRE_CHUNK_BYTES).text);
    else
        image_fail(image, "process %d (%s) is not recorded: %s", (int)image->pid, image->program,
             strerror(error));
}

static bool begin(struct image *image)
{
    image->start = clock_read();
    /* Forks get their place when they get a profile, most execute something else at once; unless a
     * trace is kept, which begins at once beside it. */
    if (!image->parent || image->options.trace)
        image_take_place(image);
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
    oom_watch_follow(&image->oom, image->pid);
    image->resident_bytes = UINT64_MAX;
    process_meter_open(&image->meter, image->pid);
    image->sample_interval_ns = 1000000;
    image->next_name = 1;
    image->next_flush_ns = image->start.ns + IMAGE_FLUSH_NS;
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
        atomic_store(&image->left, image_recorder_left(image));
        complete(image);
        image_hand_over(image);
        end_entry(image);
        tell_session(image, WIRE_SESSION_SAFE);
        atomic_store(&image->ready, false);
    } else {
        end_entry(image); /* it goes on unrecorded, and the entry says why */
    }
    process_meter_close(&image->meter);
    forget_events(image);
    atomic_store(&image->done, true);
    if (atomic_load(&image->gives)) /* it may have come since we looked, or there was no profile */
        handover_complete(image->gives);
    return NULL;
}

/* ---- From outside ---- */

static void image_free(struct image *image)
{
    snapshots_release(&image->snapshots);
    triggers_free(image->triggers);
    strbuf_release(&image->sample_changes);
    image_entry_release(&image->entry);
    handover_release(image->takes);
    handover_release(image->gives);
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
                          pid_t parent, bool pages, bool first, bool late,
                          struct image *replaced)
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
    image_describe(image, replaced);
    int error = pthread_create(&image->thread, NULL, image_thread, image);
    if (error == 0)
        return image;
    fprintf(stderr,
            "tidemark: process %d is not recorded: there is no thread or no memory to collect with "
            "(ulimit -u, -v, -d): %s\n",
            (int)pid, strerror(error));
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

