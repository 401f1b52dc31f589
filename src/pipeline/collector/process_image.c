/* The thread of one recorded process image (process_image.h). Its loop merges the rings into the
 * replay, samples memory, flushes the profile when that is due, and sleeps on a futex until a ring
 * is half full. */
#include "collector/pool_functions.h"
#include "collector/process_image_parts.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "attach/permission.h"
#include "base/error.h"
#include "profile_build/profile_build.h"
#include "base/human.h"
#include "base/now.h"
#include "base/ticks.h"
#include "collector/name_takeover.h"
#include "collector/node_files.h"
#include "collector/heat.h"
#include "collector/look_schedule.h"
#include "collector/memory_bound.h"
#include "collector/own_group.h"
#include "collector/page_use.h"
#include "collector/thinning.h"
#include "collector/quota.h"
#include "collector/ring_merge.h"
#include "collector/tracer.h"
#include "profile/profile.h"

/* Between passes the thread sleeps until a ring is half full, at most this long. */
#define SLEEP_MIN_NS 2000000u
#define SLEEP_MAX_NS 50000000u

/* Between two readings of the resident set. */
#define SAMPLE_MOST_NS 100000000u

/* A fork that executes another program before it has allocated this often has no profile of its
 * own: shells and build tools fork such children by the thousand. */
#define STUB_EVENTS 1000u

/* The owner's name for memory whose blocks were not recorded one by one. */
#define SAMPLED_BLOCKS "blocks of a sample, and what is free"

void process_image_fail(struct process_image *image, const char *format, ...)
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

bool process_image_take_place(struct process_image *image)
{
    if (!image->options.job)
        return true;
    struct process_image_entry_owner owner = {.job = process_image_job_id(image),
                                              .session = image->options.session,
                                              .program = image->program,
                                              .boot = image->boot,
                                              .launcher = &image->launcher,
                                              .pid = image->pid,
                                              .parent = image->parent,
                                              .start_unix_ns = image->start_unix_ns,
                                              .uses_mpi = image->uses_mpi,
                                              .recorded_ranks = image->options.recorded_ranks,
                                              .nodes = image->options.nodes};
    int status = process_image_entry_take(&image->entry, image->options.job, &owner, &image->path);
    if (status == 0 && image->options.nodes && !image->in_nodes) {
        node_files_enter(image->options.nodes);
        image->in_nodes = true;
    }
    if (status < 0)
        process_image_fail(image, "%s", error_text());
    if (atomic_load(&image->ended))
        process_image_entry_process_ended(&image->entry);
    return status == 0;
}

/* Into the node's file, which then has what its own files had. A process that cannot be told from
 * all others keeps them: somebody who saw both would count it twice. */
static bool process_image_goes_to_node(struct process_image *image,
                                       const struct process_image_entry_end *end)
{
    struct strbuf said = STRBUF_INIT;
    char *operand = NULL;
    if (!image->options.nodes || !image->entry.writer || !image->packed || image->result.error ||
        !image->boot || !image->entry.entry.host || atomic_load(&image->gives))
        return false;
    process_image_entry_say(&image->entry, end, &said);
    int error = node_files_take(image->options.nodes, image->path, image->entry.entry.host,
                                &image->row, said.data, &operand);
    strbuf_release(&said);
    if (error)
        return false;
    process_image_entry_discard(&image->entry);
    free(image->result.path);
    image->result.path = operand;
    return true;
}

static void process_image_end_entry(struct process_image *image)
{
    struct process_image_ending ending = process_image_ending(image);
    struct process_image_entry_end end = {
        .how = process_image_end_names[ending.how],
        .status = process_image_ending_has_status(ending) ? ending.status : -1,
        .duration_ns = image->end_unix_ns ? image->duration_ns : 0,
        .error = image->result.error,
        .trace = image->trace_path};
    if (!process_image_goes_to_node(image, &end) &&
        process_image_entry_finish(&image->entry, &end) < 0)
        process_image_fail(image, "%s", error_text());
    if (image->in_nodes)
        node_files_leave(image->options.nodes);
    image->in_nodes = false;
}

bool process_image_has_joined(const struct process_image *image)
{
    return atomic_load(&image->view.header->start_ticks) != 0;
}

/* ---- What it costs ---- */

static uint64_t process_image_program_cpu_ns(const struct process_image *image)
{
    return now_ns(image->program_clock);
}

/* From now on the recording is a sample of that level. */
static void process_image_note_level(struct process_image *image, unsigned level,
                                     const char *sentence, uint64_t now_ns)
{
    uint64_t bytes = wire_level_bytes(level);
    strbuf_addf(&image->sample_changes, "%s%llu %llu", image->sample_changes.length ? "\n" : "",
                (unsigned long long)(now_ns > image->start.ns ? now_ns - image->start.ns : 0),
                (unsigned long long)bytes);
    if (image->looks)
        look_schedule_lose(image->looks, (struct look_gap){sentence, SAMPLED_BLOCKS, true, false});
    if (image->writer)
        process_image_tell_budget(image, process_image_fact_for_profile);
}

static void process_image_sample_more_coarsely(struct process_image *image, uint64_t now_ns)
{
    atomic_store(&image->view.header->sample_level, image->budget.level);
    process_image_note_level(image, image->budget.level,
                             "recording was over its budget (--budget-cpu) and went on by samples: "
                             "what of the heap's pages belongs to live blocks cannot be told",
                             now_ns);
}

static void process_image_see_budget(struct process_image *image, uint64_t now_ns)
{
    struct clock_scale scale = {image->start.ticks, clock_tick_ns(image->start, clock_read())};
    struct overhead_budget_reading reading = {
        .now_ns = now_ns,
        .recorder_ns = clock_span_ns(scale, ring_merge_cost_ticks(image->merge)),
        .replay_ns = image->replay_ns,
        .program_ns = process_image_program_cpu_ns(image)};
    if (overhead_budget_see(&image->budget, &reading))
        process_image_sample_more_coarsely(image, now_ns);
}

/* ---- The collector's own memory ---- */

/* The longest pause. It is longer on a node with more ranks than processors. A ring with little
 * room, a question and the end wake the thread, so a long pause misses nothing but readings of
 * memory. */
static uint64_t process_image_most_ns(uint64_t most_ns)
{
    enum { CROWD_LEAST = 4, CROWD_MOST = 32 };
    unsigned crowd = quota_crowd() < CROWD_MOST ? quota_crowd() : CROWD_MOST;
    return crowd > CROWD_LEAST ? most_ns * crowd / CROWD_LEAST : most_ns;
}

/* All pauses are longer on such a node. */
static uint64_t process_image_pause_ns(uint64_t pause_ns, uint64_t most_ns)
{
    pause_ns *= quota_crowd();
    most_ns = process_image_most_ns(most_ns);
    return pause_ns < most_ns ? pause_ns : most_ns;
}

/* Whether the collector may go on by samples. Not with a trace, which has every event; not with
 * timed records, each of which belongs to the record before; not if the recording is a sample
 * already. With a budget the recorder draws the sample. */
static bool process_image_can_thin(const struct process_image *image)
{
    return !image->options.trace && !image->options.timed && !image->options.sample_bytes &&
           !image->pages;
}

static unsigned process_image_level(const struct process_image *image)
{
    return image->options.budget_millionths ? image->budget.level
                                            : event_sink_thinned(&image->sink);
}

static char *process_image_bound_text(const struct memory_bound *bound)
{
    static const char *const whose[] = {
        [BOUND_BY_OPTION] = "(--collector-memory)",
        [BOUND_BY_GROUP] = "(an eighth of what its control group allows)",
        [BOUND_BY_MACHINE] = "(a sixteenth of the machine's, of which little was available)"};
    struct strbuf text = STRBUF_INIT;
    strbuf_addf(&text, "to keep the collector within %s %s", human_bytes(bound->bytes).text,
                whose[bound->kind]);
    return strbuf_detach(&text);
}

static void process_image_thin(struct process_image *image, const struct memory_bound *bound,
                               uint64_t now_ns)
{
    unsigned level = process_image_level(image) + 1;
    if (!image->sample_why)
        image->sample_why = process_image_bound_text(bound);
    if (image->options.budget_millionths)
        atomic_store(&image->view.header->sample_level, image->budget.level = level);
    else
        event_sink_thin(&image->sink, level);
    image->bound_had_bytes = replay_memory_bytes(image->sink.replay);
    process_image_note_level(image, level,
                             "the collector was bounded in its memory and recording went on by "
                             "samples: what of the heap's pages belongs to live blocks cannot be "
                             "told",
                             now_ns);
}

/* Whether the bound is reached by memory that a sample would save: not by that of looks and of
 * writing. The next level comes only when the replay has grown in spite of the last one. */
static bool process_image_bound_is_met(const struct process_image *image, size_t growth,
                                       struct memory_bound *bound)
{
    enum { WORTH_PART = 8, GROWN_PART = 16 };
    enum { PATH_BYTES = 512 }; /* of each call path with its names, when the profile is written */
    uint64_t bytes = replay_memory_bytes(image->sink.replay);
    uint64_t needs = bytes + (uint64_t)PATH_BYTES * replay_site_count(image->sink.replay);
    if (!memory_bound_is_met(needs, growth, bound))
        return false;
    return process_image_level(image) ? bytes > image->bound_had_bytes + bound->bytes / GROWN_PART
                                      : needs + growth > bound->bytes / WORTH_PART;
}

static void process_image_see_bound_for(struct process_image *image, size_t growth, uint64_t now_ns)
{
    enum { STEP_NS = 1000000, PAUSE_NS = 20000000 };
    struct memory_bound bound;
    unsigned level = process_image_level(image);
    if (now_ns < (growth ? image->bound_seen_ns + STEP_NS : image->next_bound_ns))
        return;
    image->bound_seen_ns = now_ns;
    image->next_bound_ns = now_ns + process_image_pause_ns(PAUSE_NS, SAMPLE_MOST_NS);
    if (process_image_can_thin(image) && level + 1 < WIRE_LEVELS &&
        process_image_bound_is_met(image, growth, &bound))
        process_image_thin(image, &bound, now_ns);
}

static size_t process_image_growth(const struct process_image *image, size_t births)
{
    return process_image_level(image) ? 0 : replay_growth_bytes(image->sink.replay, births);
}

static void process_image_see_bound(struct process_image *image, uint64_t now_ns)
{
    process_image_see_bound_for(image, process_image_growth(image, 0), now_ns);
}

/* A pass over full rings takes long, and the table of live blocks can grow within it. */
static void process_image_expect(void *bounder, size_t births)
{
    struct process_image *image = bounder;
    size_t growth = process_image_growth(image, births);
    if (growth)
        process_image_see_bound_for(image, growth, now_monotonic_ns());
}

static void process_image_sample_memory(struct process_image *image, uint64_t now_ns)
{
    struct process_memory sample;
    if (now_ns < image->next_sample_ns || image->gate.state == GATE_SHUT ||
        window_gate_is_late(&image->gate) || process_image_has_executed(image))
        return;
    if (process_meter_read(&image->meter, &sample) == 0) {
        struct wire_header *header = image->view.header;
        uint64_t private_bytes = atomic_load(&header->private_bytes);
        uint64_t tool = image->looks ? look_schedule_tool_bytes(image->looks)
                                     : shared_view_touched_bytes(&image->view) + private_bytes;
        uint64_t chunks = atomic_load(&header->chunk_count);
        uint64_t tool_virtual = chunks * WIRE_CHUNK_BYTES + private_bytes;
        event_sink_memory_sample(
            &image->sink, ticks_now(),
            sample.resident_bytes > tool ? sample.resident_bytes - tool : 0,
            sample.virtual_bytes > tool_virtual ? sample.virtual_bytes - tool_virtual : 0, tool);
        image->resident_bytes =
            figure_of(sample.resident_bytes > tool ? sample.resident_bytes - tool : 0);
        if (image->looks && !image->looked && !image->budget.millionths)
            look_schedule_see(image->looks, sample.resident_bytes, now_ns);
    }
    if (image->looks && !image->looked)
        machine_memory_see(&image->machine, image->pid, now_ns - image->start.ns);
    if (own_group_is_short(now_ns, process_image_can_thin(image)))
        window_end(image->options.window, WINDOW_MEMORY);
    if (image->budget.millionths)
        process_image_see_budget(image, now_ns);
    if (image->triggers)
        process_image_see_triggers(image, now_ns);
    /* 1 ms at first, then a thousandth of the run so far, at most ten times a second. */
    uint64_t age = now_ns - image->start.ns;
    image->sample_interval_ns =
        process_image_pause_ns(age / 1000 < 1000000 ? 1000000 : age / 1000, SAMPLE_MOST_NS);
    if (image->budget.millionths)
        image->sample_interval_ns = 100000000;
    if (image->triggers && image->sample_interval_ns > triggers_patience_ns(image->triggers))
        image->sample_interval_ns = triggers_patience_ns(image->triggers);
    image->next_sample_ns = now_ns + image->sample_interval_ns;
}

/* ---- The thread ---- */

/* `asked`: a thread may have asked for room already. */
static void process_image_sleep_until_asked(struct process_image *image, uint64_t ns, bool asked)
{
    struct wire_header *header = image->view.header;
    struct timespec patience = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    atomic_store(&header->asleep, 1);
    if (!atomic_load(&image->ended) && !(asked && ring_merge_is_asked(image->merge)) &&
        !process_image_is_asked(image) && !atomic_load(&image->snapshots.any))
        syscall(SYS_futex, &header->asleep, FUTEX_WAIT, 1, &patience, NULL, 0);
    atomic_store(&header->asleep, 0);
}

static void process_image_tell_session(struct process_image *image, enum wire_session_state state)
{
    struct wire_header *header = image->view.header;
    atomic_store(&header->session_state, state);
    syscall(SYS_futex, &header->session_state, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* --for counts from the moment at which the recorder is ready: on a busy machine a short time may
 * pass completely between its hello and that moment. */
static void process_image_begin_time(struct process_image *image, struct clock_reading now)
{
    uint64_t ticks = atomic_load(&image->view.header->start_ticks);
    if (image->has_begun_window || image->gate.state != GATE_OPEN || !ticks)
        return;
    struct clock_scale scale = {image->start.ticks, clock_tick_ns(image->start, now)};
    uint64_t joined_ns = image->start.ns + clock_moment_ns(scale, ticks);
    window_begin(image->options.window, joined_ns < now.ns ? joined_ns : now.ns);
    image->has_begun_window = true;
}

/* Events pass until --for is over, to the tick. The collector's thread ends the recording a little
 * later. */
static void process_image_see_time(struct process_image *image)
{
    struct window *window = image->options.window;
    if (!window || !window->for_ns)
        return;
    struct clock_reading now = clock_read();
    process_image_begin_time(image, now);
    uint64_t end_ns = atomic_load(&window->began_ns) + window->for_ns;
    if (end_ns > window->for_ns && end_ns > image->start.ns)
        image->gate.end_ticks = image->start.ticks + (uint64_t)((double)(end_ns - image->start.ns) /
                                                                clock_tick_ns(image->start, now));
}

/* Whether --for was given and its end is not known yet, because the recorder was not ready. The
 * recorder may become ready during a pass, which would then take events from after that end. */
static bool process_image_awaits_time(const struct process_image *image)
{
    const struct window *window = image->options.window;
    return window && window->for_ns && image->gate.state == GATE_OPEN && !image->gate.end_ticks;
}

size_t process_image_merge(struct process_image *image)
{
    process_image_see_time(image);
    return process_image_awaits_time(image) ? 0 : ring_merge_pass(image->merge, false);
}

static void process_image_go_on(void *context)
{
    process_image_merge(context);
}

/* The last look: the program waits in its exit, or runs on without us. Its other threads may still
 * work, and their events are recorded as before. */
static void process_image_look_last(struct process_image *image)
{
    enum { PASSES = 16 };
    if (!image->looks || image->looked)
        return;
    process_image_read_title(image);
    quota_begin_work(process_image_go_on, image);
    for (int pass = 0; pass < PASSES && process_image_merge(image) > 0;)
        pass++;
    look_schedule_finish(image->looks, now_monotonic_ns());
    quota_end_work();
    image->looked = true;
    image->looked_ticks = clock_read().ticks;
    process_image_tell_session(image, WIRE_SESSION_LOOKED);
}

static bool process_image_is_leaving(const struct process_image *image)
{
    return atomic_load(&image->view.header->exit_waiting);
}

/* The budget counts the time of passes that found events. The cost of looking for events does not
 * depend on them. */
static size_t process_image_pass(struct process_image *image)
{
    if (!image->budget.millionths)
        return process_image_merge(image);
    uint64_t since_ns = now_thread_cpu_ns();
    size_t bytes = process_image_merge(image);
    if (bytes)
        image->replay_ns += now_thread_cpu_ns() - since_ns;
    return bytes;
}

/* Closes a watch that was handed over, and gives back its descriptors' quota. */
static void process_image_drop_watch(int fd)
{
    if (fd < 0)
        return;
    close(fd);
    quota_release(QUOTA_HEAT);
}

static void process_image_end_heat(struct process_image *image)
{
    process_image_drop_watch(atomic_exchange(&image->watch, 0) - 1);
    if (!image->heat)
        return;
    heat_end(image->heat);
    quota_release(QUOTA_HEAT);
    image->heat = NULL;
}

/* Begins heat with the watch that the recorder has handed over. */
static void process_image_begin_heat(struct process_image *image)
{
    int fd = atomic_exchange(&image->watch, 0) - 1;
    if (fd < 0)
        return;
    if (image->heat || !image->looks) {
        process_image_drop_watch(fd);
        return;
    }
    image->heat = heat_begin(image->pid, fd, image->options.heat_ns);
    if (!image->heat)
        quota_release(QUOTA_HEAT); /* it has closed the watch */
    if (image->heat && image->use)
        page_use_begin(image->use, image->heat);
    look_schedule_use_heat(image->looks, image->heat);
}

static void process_image_end_time(struct process_image *image)
{
    struct window *window = image->options.window;
    if (image->how == IMAGE_END_DETACHED && window && window->end == WINDOW_FOR &&
        window_gate_is_late(&image->gate))
        window_gate_time_out(&image->gate);
}

static void process_image_drain(struct process_image *image)
{
    uint64_t sleep_ns = SLEEP_MIN_NS, most_ns = SLEEP_MAX_NS;
    /* A program that waits in its exit for its profile makes no more events. */
    while (!atomic_load(&image->ended) && !process_image_recorder_left(image) &&
           !(process_image_is_leaving(image) && image->options.exit_waits)) {
        process_image_begin_heat(image);
        if (process_image_is_leaving(image))
            process_image_look_last(image);
        if (process_image_is_asked(image))
            process_image_answer(image);
        process_image_begin_snapshot_if_asked(image);
        size_t bytes = process_image_pass(image);
        uint64_t now_ns = now_monotonic_ns();
        process_image_see_bound(image, now_ns);
        process_image_sample_memory(image, now_ns);
        process_image_flush_if_due(image, now_ns);
        process_image_flush_trace_if_due(image, now_ns);
        if (bytes >= image->options.ring_bytes / 4)
            continue;
        most_ns = process_image_most_ns(SLEEP_MAX_NS);
        sleep_ns = bytes                ? process_image_pause_ns(SLEEP_MIN_NS, SLEEP_MAX_NS)
                   : sleep_ns < most_ns ? 2 * sleep_ns
                                        : most_ns;
        uint64_t nap = sleep_ns < image->sample_interval_ns ? image->sample_interval_ns : sleep_ns;
        /* A pass that took nothing will take nothing until the watermark moves, so the thread
         * sleeps even if it is asked. */
        process_image_sleep_until_asked(image, nap < most_ns ? nap : most_ns, bytes > 0);
    }
    if (!atomic_load(&image->ended) || image->how == IMAGE_END_DETACHED)
        process_image_look_last(image);
    process_image_see_time(image);
    while (ring_merge_pass(image->merge, true) > 0)
        ;
    process_image_end_time(image);
    look_schedule_settle(image->looks);
    shared_view_refresh(&image->view);
    shared_view_leave_rings(&image->view);
}

static void process_image_say_lost(struct process_image *image)
{
    event_sink_lost(&image->sink, atomic_load(&image->view.header->lost_events) +
                                      ring_merge_untold_events(image->merge));
}

static bool process_image_is_stub(const struct process_image *image,
                                  const struct program_metrics *program)
{
    return image->parent && !image->written && image->how == IMAGE_END_EXEC &&
           program->events < STUB_EVENTS;
}

static void process_image_forget_events(struct process_image *image)
{
    look_schedule_free(image->looks);
    image->looks = NULL;
    process_image_end_heat(image);
    page_use_free(image->use);
    image->use = NULL;
    ring_merge_free(image->merge);
    tracer_free(image->sink.tracer);
    replay_free(image->sink.replay);
    thinning_free(image->sink.thinning);
    image->merge = NULL;
    image->sink = (struct event_sink){.replay = NULL};
}

/* A profile that could not be begun does not exist, so the result has no path. */
static void process_image_say_unfinished(struct process_image *image)
{
    process_image_fail(image, "%s", error_text());
    if (!image->result.path || access(image->result.path, F_OK) == 0)
        return;
    free(image->result.path);
    image->result.path = NULL;
}

static void process_image_write_file(struct process_image *image)
{
    struct tracer *tracer = image->sink.tracer;
    bool ready = process_image_wait_for_writer(image);
    if (ready)
        process_image_write_last(image);
    if (tracer) {
        process_image_tell_end(image, process_image_fact_for_trace);
        tracer_settle(tracer);
    }
    image->sink.tracer = NULL;
    process_image_forget_events(image); /* packing wants memory of its own */
    if (ready && profile_build_finish(image->writer, image->options.pack) < 0)
        process_image_say_unfinished(image);
    else
        image->packed = ready && image->options.pack;
    if (image->packed && image->options.packed)
        image->options.packed(image->path);
    image->writer = NULL;
    if (tracer)
        process_image_finish_trace(image, tracer, ready && !image->result.error);
}

static void process_image_write_file_in_quota(struct process_image *image)
{
    size_t taken = image->keeps_writer ? 0 : QUOTA_PROFILE;
    if (image->sink.tracer)
        taken += QUOTA_TRACE;
    if (taken)
        quota_take(taken);
    tracer_lend(image->sink.tracer);
    process_image_write_file(image);
    quota_give(taken);
    if (image->keeps_writer)
        quota_release(QUOTA_PROFILE);
    image->keeps_writer = false;
}

static void process_image_say_unjoined(struct process_image *image)
{
    const char *why =
        image->how == IMAGE_END_DETACHED
            ? "recording ended before it had begun"
            : "it had no descriptor or no address space left for the memory that it shares with "
              "the collector (ulimit -n, -v), or was killed before";
    process_image_fail(image, "process %d (%s) is not recorded: %s", (int)image->pid,
                       image->program, why);
}

static void process_image_complete(struct process_image *image)
{
    struct program_metrics program;
    image->end_unix_ns = process_image_unix_ns();
    for (enum wire_unfollowed kind = 0; kind < WIRE_UNFOLLOWED_KINDS; kind++)
        image->result.unfollowed[kind] = process_image_unfollowed(image, kind);
    process_image_flush_collect(image);
    process_image_say_lost(image);
    replay_program(image->sink.replay, &program);
    image->result.peak_bytes = figure_or(program.total.peak_bytes, 0);
    process_image_entry_note_events(&image->entry, image->sink.replay, &image->view);
    if (!process_image_has_joined(image)) {
        process_image_say_unjoined(image);
        return;
    }
    if (process_image_is_stub(image, &program)) {
        process_image_entry_discard(&image->entry);
        return;
    }
    if (process_image_is_small(image, &program))
        process_image_write_row(image, &program);
    else
        process_image_write_file_in_quota(image);
}

static void process_image_send_welcome(int socket, int memory, int error)
{
    struct wire_welcome welcome = {.magic = WIRE_MAGIC,
                                   .error = error,
                                   .tracer = permission_must_be_given() ? (uint32_t)getpid() : 0};
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
        *header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(header), &memory, sizeof memory);
    }
    sendmsg(socket, &message, MSG_NOSIGNAL);
    close(socket);
}

static int process_image_open_view(struct process_image *image)
{
    /* Only the part before session_state has options; the rest of the header, mostly tables, is not
     * copied. */
    struct wire_header *options = malloc(sizeof *options);
    if (!options)
        return -ENOMEM;
    memset(options, 0, offsetof(struct wire_header, session_state));
    options->ring_bytes = image->options.ring_bytes;
    options->chunk_limit = WIRE_MAX_CHUNKS;
    options->flags = (image->options.follow ? WIRE_FLAG_FOLLOW : 0) |
                     (image->options.free_stacks ? WIRE_FLAG_FREE_STACKS : 0) |
                     (image->options.timed ? WIRE_FLAG_TIMED : 0) |
                     (image->options.native ? WIRE_FLAG_NATIVE : 0) |
                     (image->options.devices ? WIRE_FLAG_DEVICES : 0) |
                     (image->options.heat_ns ? WIRE_FLAG_HEAT : 0) |
                     (image->options.looks ? WIRE_FLAG_EXIT_LOOKED : 0) |
                     (image->options.exit_waits ? WIRE_FLAG_EXIT_WAITS : 0);
    options->on_full = image->options.drop ? WIRE_ON_FULL_DROP : WIRE_ON_FULL_WAIT;
    options->stacks = (uint32_t)image->options.stacks;
    options->max_depth = image->options.max_depth;
    options->exit_wait_ms = image->options.exit_wait_ms;
    options->heat_ticks =
        (uint64_t)((double)image->options.heat_ns / clock_tick_ns(image->start, clock_read()));
    options->sample_bytes =
        image->options.budget_millionths ? WIRE_SAMPLE_ADAPTS : image->options.sample_bytes;
    int status = shared_view_open(&image->view, options);
    free(options);
    if (status == 0 && image->options.pool_functions)
        pool_functions_put(image->options.pool_functions, image->view.header);
    return status;
}

/* Why not every live block is known, if so. */
static struct look_gap process_image_gap(const struct process_image *image)
{
    if (image->options.sample_bytes)
        return (struct look_gap){
            "recorded with --sample: what of the heap's pages belongs to live blocks cannot be "
            "told when most of them are not known",
            SAMPLED_BLOCKS, true, false};
    if (image->pages)
        return (struct look_gap){
            "recorded with --events=pages: what of the heap's pages belongs to live blocks cannot "
            "be told when most of them are not known",
            SAMPLED_BLOCKS, true, false};
    if (image->late)
        return (struct look_gap){
            "recorded from an attachment on: which of the heap's pages belong to blocks from "
            "before is not known",
            "before the recording", false, false};
    if (image->parent)
        return (struct look_gap){
            "the process was forked: which of the heap's pages belong to blocks that it inherited "
            "is not known",
            "from the parent", false, image->knows_mappings};
    return (struct look_gap){NULL, NULL, false, false};
}

static void process_image_begin_replay(struct process_image *image, double tick_ns)
{
    struct replay *replay = image->sink.replay = replay_new(image->start.ticks, tick_ns);
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
    if (image->options.trace && process_image_take_place(image))
        process_image_begin_trace(image, tick_ns);
    if (image->options.heat_ns && !image->pages && !image->options.budget_millionths &&
        !image->options.sample_bytes)
        image->use = page_use_new(image->start);
    image->sink.expect = process_image_expect;
    image->sink.bounder = image;
    if (image->use) {
        image->sink.follow = page_use_runs;
        image->sink.follower = image->use;
    }
}

static struct look_schedule *process_image_new_looks(struct process_image *image)
{
    struct look_schedule *looks = look_schedule_new(
        image->pid, image->start.ns, process_image_gap(image), &image->view, &image->sink);
    if (looks && image->options.page_content)
        look_schedule_want_content(looks);
    if (looks && image->options.held)
        look_schedule_want_held(looks);
    if (looks && image->options.types)
        look_schedule_want_types(looks);
    if (looks)
        look_schedule_use_heat(looks, image->heat);
    return looks;
}

/* ---- The window that is recorded ---- */

static const char *process_image_name_of(void *context, uint32_t number)
{
    struct process_image *image = context;
    if (number >= image->next_name) {
        shared_view_refresh(&image->view);
        shared_view_names(&image->view, &image->next_name, process_image_take_name, image);
    }
    return replay_name_of(image->sink.replay, number);
}

/* The recording begins anew at the mark. Blocks and bytes from before are kept as totals only. */
static void process_image_begin_window(struct process_image *image, const char *mark,
                                       uint64_t ticks)
{
    double tick_ns = clock_tick_ns(image->start, clock_read());
    struct clock_scale scale = {image->start.ticks, tick_ns};
    image->begun_ns = clock_moment_ns(scale, ticks);
    image->begun_on = strdup(mark);
    replay_counters(image->sink.replay, 0, &image->before);
    replay_restart(image->sink.replay, ticks, tick_ns);
    if (image->use)
        page_use_restart(image->use);
    image->machine = (struct machine_memory){0};
    image->start.ticks = ticks;
    image->start.ns += image->begun_ns;
    image->start_unix_ns += (int64_t)image->begun_ns;
    image->next_flush_ns = image->start.ns + IMAGE_FLUSH_NS;
    if (image->looks) {
        look_schedule_free(image->looks);
        image->looks = process_image_new_looks(image);
    }
    window_begin(image->options.window, image->start.ns);
}

static void process_image_window_changed(void *context, const char *mark, uint64_t ticks)
{
    struct process_image *image = context;
    if (image->gate.state == GATE_OPEN) {
        process_image_begin_window(image, mark, ticks);
        return;
    }
    image->ended_on = strdup(mark);
    /* The recorder stops, because its requests are not answered any more. */
    atomic_store(&image->view.header->stop, 1);
    window_end(image->options.window, WINDOW_UNTIL);
}

static void process_image_prepare_window(struct process_image *image)
{
    struct window *window = image->options.window;
    window_gate_init(&image->gate, window);
    image->gate.name_of = process_image_name_of;
    image->gate.changed = process_image_window_changed;
    image->gate.context = image;
    image->sink.gate = &image->gate;
}

static void process_image_say_not_recorded(struct process_image *image, int error)
{
    if (error == EFBIG)
        process_image_fail(image,
                           "process %d (%s) is not recorded: files may have %s at most (ulimit "
                           "-f), and the memory "
                           "that it would share with the collector, which counts as one, takes %s: "
                           "raise the limit",
                           (int)image->pid, image->program,
                           human_bytes(shared_view_most_bytes()).text,
                           human_bytes((uint64_t)VIEW_LEAST_CHUNKS * WIRE_CHUNK_BYTES).text);
    else
        process_image_fail(image, "process %d (%s) is not recorded: %s", (int)image->pid,
                           image->program, strerror(error));
}

/* Keeps one descriptor open while the process lives, if there is one to spare. */
static void process_image_begin_metering(struct process_image *image)
{
    image->keeps_meter = quota_keep(1);
    process_meter_open(&image->meter, image->pid, image->keeps_meter);
}

static void process_image_end_metering(struct process_image *image)
{
    process_meter_close(&image->meter);
    if (image->keeps_meter)
        quota_release(1);
    image->keeps_meter = false;
}

static bool process_image_begin(struct process_image *image)
{
    image->start = clock_read();
    /* Forked processes get their place with their profile, because most execute another program at
     * once. With a trace they get it now, because the trace begins now, beside the profile. */
    if (!image->parent || image->options.trace)
        process_image_take_place(image);
    int status = process_image_open_view(image);
    if (status == 0)
        process_image_begin_replay(image, clock_tick_ns(image->start, image->start));
    image->merge = image->sink.replay ? ring_merge_new(&image->view, &image->sink) : NULL;
    if (image->merge && image->options.looks)
        image->looks = process_image_new_looks(image);
    process_image_prepare_window(image);
    overhead_budget_init(&image->budget, image->options.budget_millionths);
    clock_getcpuclockid(image->pid, &image->program_clock);
    image->triggers =
        triggers_new(image->options.triggers, image->options.trigger_count, image->pid);
    oom_watch_follow(&image->oom, image->pid);
    image->resident_bytes = FIGURE_UNKNOWN;
    process_image_begin_metering(image);
    image->sample_interval_ns = 1000000;
    image->next_name = 1;
    image->next_flush_ns = image->start.ns + IMAGE_FLUSH_NS;
    image->next_bound_ns = image->start.ns + 10000000; /* short ones are not looked at */
    process_image_send_welcome(image->socket, image->merge ? image->view.fd : -1,
                               image->merge ? 0 : ENOMEM);
    shared_view_close_descriptor(&image->view);
    quota_give(QUOTA_NEWCOMER);
    if (!image->merge)
        process_image_say_not_recorded(image, status < 0 ? -status : ENOMEM);
    return image->merge != NULL;
}

/* Only a few images complete at a time, so the memory for it does not grow with the processes that
 * have ended. The image whose name this one takes must complete first. That wait comes before the
 * turn, because no image may wait for another during its turn. */
static void process_image_complete_in_turn(struct process_image *image)
{
    name_takeover_wait(image->takes);
    quota_begin_completion();
    process_image_complete(image);
    process_image_hand_over(image);
    process_image_end_entry(image);
    process_image_forget_events(image);
    quota_end_completion();
}

static void process_image_finish(struct process_image *image)
{
    uint64_t one = 1;
    int finished = image->options.finished;
    process_image_note_saved(image);
    atomic_store(&image->done, true);
    /* The takeover may be newer than our last check, or there was no profile. */
    if (atomic_load(&image->gives))
        name_takeover_complete(image->gives);
    if (finished >= 0 && write(finished, &one, sizeof one) < 0)
        return; /* the eventfd's counter is full, so the collector wakes up anyway */
}

static void process_image_run(void *context)
{
    struct process_image *image = context;
    if (process_image_begin(image)) {
        atomic_store(&image->ready, true);
        quota_begin_life();
        process_image_drain(image);
        quota_end_life();
        process_image_entry_process_ended(&image->entry);
        process_image_end_metering(image);
        atomic_store(&image->left, process_image_recorder_left(image));
        process_image_complete_in_turn(image);
        if (image->how == IMAGE_END_DETACHED)
            atomic_store(&image->view.header->stop, 1);
        process_image_tell_session(image, WIRE_SESSION_SAFE);
        atomic_store(&image->ready, false);
    } else {
        process_image_end_metering(image);
        process_image_end_entry(image); /* it goes on unrecorded, and the entry says why */
        process_image_forget_events(image);
    }
    shared_view_leave(&image->view);
    process_image_finish(image);
}

/* ---- From outside ---- */

static void process_image_free(struct process_image *image)
{
    process_image_drop_watch(atomic_load(&image->watch) - 1); /* it came too late */
    snapshots_release(&image->snapshots);
    triggers_free(image->triggers);
    strbuf_release(&image->sample_changes);
    process_image_entry_release(&image->entry);
    name_takeover_release(image->takes);
    name_takeover_release(image->gives);
    free(image->boot);
    free(image->executable);
    free(image->command);
    free(image->directory);
    free(image->path);
    free(image->trace_path);
    free(image->sample_why);
    free(image->begun_on);
    free(image->ended_on);
    free(image->program);
    free(image);
}

/* The other options need a recording of every call. */
static void process_image_expect_pages(struct process_image *image)
{
    image->pages = true;
    image->options.sample_bytes = 0;
    image->options.budget_millionths = 0;
    image->options.free_stacks = image->options.timed = image->options.trace = false;
}

/* A forked child begins with its parent's mappings. They are not known if the parent was attached
 * to. */
static bool process_image_knows_mappings(bool late)
{
    static _Atomic bool some_came_late;
    if (late)
        atomic_store(&some_came_late, true);
    return !atomic_load(&some_came_late);
}

struct process_image *process_image_new(const struct collector_options *options, int socket,
                                        pid_t pid, pid_t parent, bool pages, bool first, bool named,
                                        bool late, struct process_image *replaced)
{
    struct process_image *image = calloc(1, sizeof *image);
    if (!image)
        return NULL;
    image->options = *options;
    if (pages)
        process_image_expect_pages(image);
    image->socket = socket;
    image->pid = pid;
    image->parent = parent;
    image->first = first;
    image->late = late;
    image->knows_mappings = process_image_knows_mappings(late);
    image->keeps_file = named || late || options->trace || options->embed_sources;
    image->view.fd = -1;
    image->meter.statm_fd = -1;
    snapshots_init(&image->snapshots);
    image->sample_changes = STRBUF_INIT;
    image->origins = shared_view_origins(&image->view);
    process_image_describe(image, replaced);
    if (named)
        process_image_tell_file(image, COLLECTOR_FILE_MEANT);
    else
        image->unsaved = unsaved_begin(options->unsaved, image->program, now_ns(CLOCK_REALTIME));
    return image;
}

void process_image_take_rank(struct process_image *image, const struct launcher *launcher)
{
    if (launcher && !image->launcher.name && !image->launcher.is_launcher)
        image->launcher = *launcher;
}

int process_image_launch(struct process_image *image)
{
    image->job = (struct worker_job){.run = process_image_run, .context = image};
    int error = worker_begin(&image->job);
    image->launched = error == 0;
    return error;
}

void process_image_refuse(struct process_image *image, int error)
{
    if (!image->parent)
        process_image_take_place(image); /* the entry of a job's rank says why */
    process_image_fail(image,
                       "process %d (%s) is not recorded: there is no thread or no memory to "
                       "collect with (ulimit -u, -v, -d): %s",
                       (int)image->pid, image->program, strerror(error));
    close(image->socket);
    quota_give(QUOTA_NEWCOMER);
    process_image_end_entry(image);
    process_image_finish(image);
}

pid_t process_image_pid(const struct process_image *image)
{
    return image->pid;
}

const char *process_image_program(const struct process_image *image)
{
    return image->program;
}

/* In a directory of jobs the image's own thread chooses it. */
const char *process_image_path(const struct process_image *image)
{
    return image->path;
}

static void process_image_wake(struct process_image *image)
{
    struct wire_header *header = image->view.header;
    atomic_store(&header->asleep, 0);
    syscall(SYS_futex, &header->asleep, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Where a shared memory limit ends the recording, a program that waits for room in its rings waits
 * until our memory is freed. */
static bool process_image_frees_first(const struct process_image *image)
{
    const struct window *window = image->options.window;
    return window && atomic_load(&window->end) == WINDOW_MEMORY;
}

void process_image_end(struct process_image *image, enum process_image_end how, int status)
{
    if (atomic_load(&image->ended))
        return;
    image->how = how;
    image->status = status;
    atomic_store(&image->ended, true);
    if (!atomic_load(&image->ready))
        return; /* the thread is not asleep: it has not begun, or is past its loop */
    if (how == IMAGE_END_DETACHED && !process_image_frees_first(image))
        atomic_store(&image->view.header->stop, 1);
    process_image_wake(image);
}

void process_image_note_unfollowed(struct process_image *image, enum wire_unfollowed kind,
                                   int difference)
{
    atomic_fetch_add(&image->forks_unfollowed[kind], (uint32_t)difference);
}

void process_image_take_watch(struct process_image *image, int fd)
{
    process_image_drop_watch(atomic_exchange(&image->watch, fd + 1) - 1);
    if (atomic_load(&image->ready))
        process_image_wake(image);
}

void process_image_snapshot(struct process_image *image, const char *why,
                            const struct wire_wish *wish, int answer)
{
    struct snapshot_request request = {.answer = answer, .wish = *wish};
    snprintf(request.why, sizeof request.why, "%s", *why ? why : "asked for");
    snapshots_ask(&image->snapshots, &request);
    if (atomic_load(&image->ready))
        process_image_wake(image);
}

bool process_image_has_left(const struct process_image *image)
{
    return atomic_load(&image->left);
}

bool process_image_is_done(const struct process_image *image)
{
    return atomic_load(&image->done);
}

void process_image_join(struct process_image *image, struct process_image_result *result)
{
    if (image->launched)
        worker_wait(&image->job);
    shared_view_close(&image->view);
    *result = image->result;
    result->pid = image->pid;
    result->first = image->first;
    result->replaced = image->how == IMAGE_END_EXEC;
    result->program = image->program;
    image->program = NULL;
    process_image_free(image);
}
