/* Writes the profile while the process runs and when it has ended (process_image_parts.h). The
 * image's thread takes a snapshot, and another thread writes it, so that a slow disk does not stop
 * the reading of events. */
#include "collector/process_image_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include "base/error.h"
#include "base/now.h"
#include "profile_build/profile_build.h"
#include "base/old_file.h"
#include "collector/name_takeover.h"
#include "collector/look_schedule.h"
#include "collector/page_use.h"
#include "collector/quota.h"
#include "collector/ring_merge.h"
#include "profile/profile.h"

/* ---- Patience with a full disk ---- */

/* After the program's end: waits for room for five seconds, which all processes share. Otherwise a
 * thousand of them would wait for a full disk one after the other. */
static bool process_image_waits_at_end(void)
{
    enum { MOMENT_S = 5, LATER_S = 30 };
    static _Atomic uint64_t since_ns;
    uint64_t now_ns = now_monotonic_ns(), began_ns = atomic_load(&since_ns);
    if (!began_ns || now_ns - began_ns > LATER_S * 1000000000ull)
        atomic_store(&since_ns, began_ns = now_ns);
    return now_ns - began_ns < MOMENT_S * 1000000000ull;
}

/* While the program runs, it waits for room without limit. Events go into the replay meanwhile, and
 * the next flush has them. */
static bool process_image_is_patient(void *context)
{
    struct process_image *image = context;
    if (atomic_load(&image->hurried))
        return false;
    if (image->options.exit_waits && process_image_has_joined(image) &&
        atomic_load(&image->view.header->exit_waiting))
        return false; /* the program would wait in its exit */
    return !atomic_load(&image->ended) || process_image_waits_at_end();
}

/* ---- The writer ---- */

/* Errors that may pass: another session is still completing a profile of that name, or descriptors
 * or memory are short. */
static bool process_image_may_pass(int error)
{
    return error == -EBUSY || error == -EMFILE || error == -ENFILE || error == -EAGAIN;
}

/* The profile of an ended process with few nodes is written once: without a log, and in memory
 * until it is complete. */
static int process_image_open_writer(struct process_image *image)
{
    bool at_once = image->end_unix_ns && shared_view_node_count(&image->view) < IMAGE_AT_ONCE_NODES;
    return at_once ? profile_build_open_at_once(&image->writer, image->path, image->pid,
                                                image->executable)
                   : profile_build_open(&image->writer, image->path, image->pid, image->executable);
}

/* The receiver is another process, which may not be reading at the moment. */
void process_image_tell_file(const struct process_image *image, char what)
{
    int socket = image->options.begun;
    struct strbuf text = STRBUF_INIT;
    if (socket < 0 || !image->path)
        return;
    strbuf_addf(&text, "%c%s", what, image->path);
    if (send(socket, text.data, text.length + 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        /* The receiver then leaves the file's log beside it, and the file can be opened all the
         * same. */
        errno = 0;
    strbuf_release(&text);
}

void process_image_note_saved(struct process_image *image)
{
    unsaved_end(image->options.unsaved, atomic_exchange(&image->unsaved, 0));
}

static bool process_image_writer_is_ready(struct process_image *image, bool patient)
{
    if (image->writer)
        return true;
    if (image->takes && !name_takeover_is_complete(image->takes))
        return false;
    if (image->written || image->result.error || !process_image_take_place(image))
        return false;
    process_image_tell_file(image, COLLECTOR_FILE_SOON);
    int status = process_image_open_writer(image);
    /* Another session may still be completing a profile of that name, or the disk be full for a
     * moment; then we try again later. */
    bool later =
        process_image_may_pass(status) || (status == -ENOSPC && process_image_is_patient(image));
    if (status < 0 && !(later && patient))
        process_image_fail(image, "%s", error_text());
    if (status < 0)
        return false;
    profile_build_be_patient(image->writer, process_image_is_patient, image);
    image->result.path = strdup(image->path);
    image->written = true;
    process_image_tell_file(image, COLLECTOR_FILE_BEGUN);
    process_image_note_saved(image);
    if (image->options.embed_sources)
        profile_build_keep_sources(image->writer);
    process_image_tell_description(image, process_image_fact_for_profile);
    return true;
}

/* Writes what was just committed as a snapshot. */
static void process_image_write_requested(struct process_image *image)
{
    int status = image->flush_status;
    if (status == 0)
        status = snapshots_write(&image->snapshots, image->writer, image->path, &image->request,
                                 &image->request_path);
    if (status < 0)
        image->request_error = strdup(error_text());
}

static void *process_image_flush_thread(void *context)
{
    struct process_image *image = context;
    image->flush_status = profile_build_write(image->writer, &image->origins, &image->snapshot);
    if (image->flush_status < 0)
        image->flush_error = strdup(error_text()); /* which is this thread's */
    if (*image->request.why)
        process_image_write_requested(image);
    profile_build_rest(image->writer);
    atomic_store(&image->flush_cpu_ns, now_thread_cpu_ns());
    if (image->flushes_in_turn)
        quota_end_work();
    atomic_store(&image->flushed, true);
    return NULL;
}

void process_image_release_snapshot(struct process_image *image)
{
    snapshot_release(&image->snapshot);
    for (size_t i = 0; i < image->taken_count; i++)
        look_release(&image->taken[i]);
    free(image->taken);
    free(image->proc_samples);
    image->taken = NULL;
    image->proc_samples = NULL;
    image->taken_count = 0;
}

/* Notes the snapshot in the profile, which lists all of them. */
static void process_image_tell_snapshot(struct process_image *image)
{
    struct strbuf line = STRBUF_INIT;
    char key[40];
    snprintf(key, sizeof key, PROFILE_META_SNAPSHOT_OF "%zu", image->snapshots.written);
    strbuf_addf(&line, "%llu\t%s\t%s", (unsigned long long)image->request_ns, image->request.why,
                basename(image->request_path));
    profile_build_fact(image->writer, key, line.data);
    profile_build_fact_number(image->writer, PROFILE_META_SNAPSHOTS,
                              (int64_t)image->snapshots.written);
    strbuf_release(&line);
}

/* Notes in the profile why there is no snapshot. */
static void process_image_tell_no_snapshot(struct process_image *image)
{
    if (!image->request_error)
        image->request_error = strdup(strerror(ENOMEM));
    profile_build_fact(image->writer, PROFILE_META_SNAPSHOT_ERROR, image->request_error);
}

static void process_image_end_request(struct process_image *image)
{
    if (image->request_path)
        process_image_tell_snapshot(image);
    else
        process_image_tell_no_snapshot(image);
    snapshot_answer(&image->request, image->request_path, image->request_error);
    free(image->request_path);
    free(image->request_error);
    image->request_path = image->request_error = NULL;
    *image->request.why = 0;
}

/* The longest pause that keeps the committed profile younger than IMAGE_FLUSH_MOST_NS: what was
 * written before is the newest until the next write has ended. */
static uint64_t process_image_longest_pause_ns(uint64_t cost_ns)
{
    return 3 * cost_ns < IMAGE_FLUSH_MOST_NS ? IMAGE_FLUSH_MOST_NS - 2 * cost_ns : cost_ns;
}

/* All ranks of a crowded node together write in an eighth of the time. */
static uint64_t process_image_crowded_pause_ns(uint64_t cost_ns)
{
    enum { PART = 8 };
    unsigned crowd = quota_crowd();
    uint64_t pause_ns = crowd > 1 ? crowd * PART * cost_ns : 0;
    return pause_ns < IMAGE_FLUSH_CROWD_NS ? pause_ns : IMAGE_FLUSH_CROWD_NS;
}

/* Postpones the next flush by the cost of this one. With a budget, writing has a share of it. */
static void process_image_delay_flush(struct process_image *image)
{
    uint64_t writing_ns = atomic_load(&image->flush_cpu_ns);
    uint64_t cost_ns = image->snapshot_cpu_ns + writing_ns;
    uint64_t pause_ns = IMAGE_FLUSH_PART * cost_ns;
    if (pause_ns > process_image_longest_pause_ns(cost_ns))
        pause_ns = process_image_longest_pause_ns(cost_ns);
    if (pause_ns < overhead_budget_pause_ns(&image->budget, writing_ns))
        pause_ns = overhead_budget_pause_ns(&image->budget, writing_ns);
    if (pause_ns < process_image_crowded_pause_ns(cost_ns))
        pause_ns = process_image_crowded_pause_ns(cost_ns);
    uint64_t due_ns = now_monotonic_ns() + pause_ns;
    if (due_ns > image->next_flush_ns)
        image->next_flush_ns = due_ns;
}

void process_image_flush_collect(struct process_image *image)
{
    if (!image->flushing)
        return;
    pthread_join(image->flusher, NULL);
    process_image_delay_flush(image);
    process_image_release_snapshot(image);
    image->flushing = image->flushes_in_turn = false;
    if (image->flush_status < 0)
        process_image_fail(
            image, "%s", image->flush_error ? image->flush_error : strerror(-image->flush_status));
    free(image->flush_error);
    image->flush_error = NULL;
    if (*image->request.why)
        process_image_end_request(image);
}

/* Moves the looks since the last snapshot into this one. */
static void process_image_take_looks(struct process_image *image, struct clock_scale scale)
{
    image->taken = look_schedule_take(image->looks, &image->taken_count);
    image->proc_samples = calloc(image->taken_count + 1, sizeof *image->proc_samples);
    if (!image->proc_samples)
        return;
    for (size_t i = 0; i < image->taken_count; i++) {
        look_scale_times(&image->taken[i], scale);
        image->proc_samples[i] = look_proc_sample(&image->taken[i]);
    }
    image->snapshot.proc_samples = image->proc_samples;
    image->snapshot.proc_sample_count = image->taken_count;
}

/* ---- What is written ---- */

void process_image_take_name(void *context, uint32_t number, const char *name)
{
    struct process_image *image = context;
    event_sink_name(&image->sink, number, name);
}

/* The end of the program's own time. Its wait for us in its exit does not count, nor does the
 * program that it executed. Other threads may have gone on after the exit began. */
static uint64_t process_image_end_ticks(const struct process_image *image, uint64_t now_ticks)
{
    uint64_t executed_ticks = atomic_load(&image->view.header->executed_ticks);
    uint64_t end_ticks =
        executed_ticks ? executed_ticks : atomic_load(&image->view.header->exit_ticks);
    if (image->gate.state == GATE_SHUT)
        return image->gate.ticks;
    if (!end_ticks || end_ticks > now_ticks)
        return now_ticks;
    uint64_t last_ticks = replay_last_ticks(image->sink.replay);
    return last_ticks > end_ticks && last_ticks < now_ticks ? last_ticks : end_ticks;
}

static uint64_t process_image_exit_wait_ns(const struct process_image *image,
                                           struct clock_scale scale)
{
    uint64_t exit_ticks = atomic_load(&image->view.header->exit_ticks);
    return exit_ticks && image->looked_ticks > exit_ticks
               ? clock_span_ns(scale, image->looked_ticks - exit_ticks)
               : 0;
}

/* The same scale for all that is written, because unchanged rows are not written again. By a later
 * rate one moment would have two times: the peak of a curve would lie beside that of the
 * program. */
static struct clock_scale process_image_scale(struct process_image *image, struct clock_reading now)
{
    if (!image->tick_ns)
        image->tick_ns = clock_tick_ns(image->start, now);
    return (struct clock_scale){image->start.ticks, image->tick_ns};
}

int process_image_take_snapshot(struct process_image *image)
{
    struct clock_reading now = clock_read();
    struct snapshot_moment moment = {.scale = process_image_scale(image, now),
                                     .now_ticks = process_image_end_ticks(image, now.ticks),
                                     .damaged_rings = ring_merge_damaged_rings(image->merge)};
    uint64_t wait_ticks;
    shared_view_refresh(&image->view); /* the replayed records may have nodes in new chunks */
    moment.node_count = shared_view_node_count(&image->view);
    shared_view_names(&image->view, &image->next_name, process_image_take_name, image);
    ring_merge_tell_stacks(image->merge);
    ring_merge_tell_waits(image->merge, &moment.waits, &wait_ticks);
    moment.wait_ns = clock_span_ns(moment.scale, wait_ticks);
    moment.exit_wait_ns = process_image_exit_wait_ns(image, moment.scale);
    int status = snapshot_take(&image->snapshot, image->sink.replay, &moment);
    if (status == 0)
        image->duration_ns = (int64_t)image->snapshot.duration_ns;
    if (status == 0 && image->use)
        image->snapshot.page_uses =
            page_use_take(image->use, moment.now_ticks, &image->snapshot.page_use_count);
    if (status == 0)
        image->snapshot.machine_moments =
            machine_memory_take(&image->machine, &image->snapshot.machine_moment_count);
    if (image->sink.tracer) {
        process_image_tell_trace_moment(image, &moment);
        process_image_tell_trace_said(image);
    }
    if (status == 0 && image->looks)
        process_image_take_looks(image, moment.scale);
    return status;
}

/* Without descriptors to spare, a live process has no file yet. It gets one when it ends. */
static bool process_image_keeps_writer(struct process_image *image)
{
    if (!image->keeps_writer)
        image->keeps_writer = quota_keep(QUOTA_PROFILE);
    return image->keeps_writer;
}

void process_image_flush_begin(struct process_image *image)
{
    uint64_t since_ns = now_thread_cpu_ns();
    if (!process_image_keeps_writer(image) || !process_image_writer_is_ready(image, true) ||
        process_image_take_snapshot(image) < 0)
        return;
    process_image_tell_unseen(image, process_image_fact_for_profile);
    process_image_read_title(image);
    process_image_tell_title(image, process_image_fact_for_profile);
    image->snapshot_cpu_ns = now_thread_cpu_ns() - since_ns;
    atomic_store(&image->flushed, false);
    image->request_ns = image->snapshot.duration_ns;
    image->flushing = pthread_create(&image->flusher, NULL, process_image_flush_thread, image) == 0;
    if (!image->flushing)
        process_image_release_snapshot(image);
}

/* Whether the process waits in its exit and will be a row in a moment: a file of its own would cost
 * more. */
static bool process_image_ends_as_row(const struct process_image *image)
{
    struct program_metrics program;
    if (image->writer || !image->options.rows || !atomic_load(&image->view.header->exit_waiting))
        return false;
    replay_program(image->sink.replay, &program);
    return process_image_is_small(image, &program);
}

static void process_image_flush_in_turn(struct process_image *image)
{
    image->flushes_in_turn = true;
    process_image_flush_begin(image);
    if (image->flushing)
        return; /* its thread gives the turn back */
    image->flushes_in_turn = false;
    quota_end_work();
}

void process_image_flush_if_due(struct process_image *image, uint64_t now_ns)
{
    if (!process_image_has_joined(image) || image->gate.state == GATE_BEFORE)
        return;
    if (image->flushing && atomic_load(&image->flushed))
        process_image_flush_collect(image);
    if (image->flushing || now_ns < image->next_flush_ns || process_image_ends_as_row(image) ||
        !quota_try_work())
        return;
    process_image_flush_in_turn(image);
    oom_watch_follow(&image->oom, image->pid);
    image->next_flush_ns = now_ns + IMAGE_FLUSH_NS;
}

/* ---- At the end ---- */

bool process_image_wait_for_writer(struct process_image *image)
{
    struct timespec pause = {0, 5 * 1000 * 1000};
    name_takeover_wait(image->takes);
    for (int tries = 0; tries < 6000; tries++) {
        if (process_image_writer_is_ready(image, true))
            return true;
        if (image->result.error)
            return false;
        nanosleep(&pause, NULL);
    }
    return process_image_writer_is_ready(image, false);
}

int process_image_write_end(struct process_image *image)
{
    process_image_tell_end(image, process_image_fact_for_profile);
    profile_build_read_globals(image->writer, &image->origins);
    int status = process_image_take_snapshot(image);
    if (status == 0)
        status = profile_build_write(image->writer, &image->origins, &image->snapshot);
    profile_build_rest(image->writer);
    return status;
}

void process_image_write_last(struct process_image *image)
{
    int status = process_image_write_end(image);
    struct program_metrics program;
    if (image->options.nodes) {
        replay_program(image->sink.replay, &program);
        image->row = process_image_row(image, &program);
    }
    process_image_release_snapshot(image);
    if (status < 0)
        process_image_fail(image, "%s", error_text());
}

/* ---- Stepping aside ---- */

/* `*path` moves to `to`; NULL: there is nothing to move. */
static void process_image_move(struct process_image *image, char **path, const char *to)
{
    int error = *path ? old_file_move(*path, to) : 0;
    if (error < 0)
        process_image_fail(image, "cannot rename %s to %s: %s", *path, to, strerror(-error));
    if (error < 0 || !*path)
        return;
    free(*path);
    *path = strdup(to);
}

/* A profile that could not be completed keeps its name and its log; the next writer of the name
 * keeps it as .old. */
void process_image_hand_over(struct process_image *image)
{
    struct name_takeover *gives = atomic_load(&image->gives);
    if (!gives)
        return;
    if (!image->result.error && !image->result.small) {
        char *trace = process_image_trace_name(name_takeover_aside(gives));
        process_image_move(image, &image->result.path, name_takeover_aside(gives));
        process_image_move(image, &image->result.trace, trace);
        free(trace);
    }
    name_takeover_complete(gives);
}
