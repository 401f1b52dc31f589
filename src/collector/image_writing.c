/* The profile's writing, while the process runs and when it has ended; see image_parts.h. */
#include "collector/image_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "assembly/writer.h"
#include "base/old_file.h"
#include "collector/handover.h"
#include "collector/looks.h"
#include "collector/merge.h"
#include "profile/profile.h"

/* ---- The writer ---- */

static bool writer_is_ready(struct image *image, bool patient)
{
    if (image->writer)
        return true;
    if (image->takes && !handover_is_complete(image->takes))
        return false;
    if (image->written || image->result.error || !image_take_place(image))
        return false;
    int status = writer_open(&image->writer, image->path, image->pid, image->executable);
    /* Another session may still be completing a profile of that name; then we try again later. */
    if (status < 0 && !(status == -EBUSY && patient))
        image_fail(image, "%s", profile_error());
    if (status < 0)
        return false;
    image->result.path = strdup(image->path);
    image->written = true;
    if (image->options.embed_sources)
        writer_keep_sources(image->writer);
    image_tell_description(image, image_fact_for_profile);
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

uint64_t image_thread_cpu_ns(void)
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
    atomic_store(&image->flush_cpu_ns, image_thread_cpu_ns());
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
                image->request.why, basename(image->request_path));
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
    uint64_t writing_ns = atomic_load(&image->flush_cpu_ns);
    uint64_t pause_ns = IMAGE_FLUSH_PART * (image->snapshot_cpu_ns + writing_ns);
    if (pause_ns > IMAGE_FLUSH_MOST_NS)
        pause_ns = IMAGE_FLUSH_MOST_NS;
    if (pause_ns < thrift_pause_ns(&image->thrift, writing_ns))
        pause_ns = thrift_pause_ns(&image->thrift, writing_ns);
    uint64_t due_ns = clock_read().ns + pause_ns;
    if (due_ns > image->next_flush_ns)
        image->next_flush_ns = due_ns;
}

void image_flush_collect(struct image *image)
{
    if (!image->flushing)
        return;
    pthread_join(image->flusher, NULL);
    delay_flush(image);
    release_snapshot(image);
    image->flushing = false;
    if (image->flush_status < 0)
        image_fail(image, "%s", image->flush_error ? image->flush_error : strerror(-image->flush_status));
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

/* ---- What is written ---- */

void image_take_name(void *context, uint32_t number, const char *name)
{
    struct image *image = context;
    feed_name(&image->feed, number, name);
}

int image_take_snapshot(struct image *image)
{
    struct clock_reading now = clock_read();
    struct snapshot_moment moment = {
        .scale = {image->start.ticks, clock_tick_ns(image->start, now)},
        .now_ticks = image->gate.state == GATE_SHUT ? image->gate.ticks : now.ticks,
        .damaged_rings = merge_damaged_rings(image->merge)};
    uint64_t wait_ticks, lost_events;
    view_refresh(&image->view); /* what was replayed has its nodes in chunks that may be new */
    moment.node_count = view_node_count(&image->view);
    view_names(&image->view, &image->next_name, image_take_name, image);
    merge_tell_stacks(image->merge);
    merge_tell_waits(image->merge, &moment.waits, &wait_ticks, &lost_events);
    moment.wait_ns = clock_span_ns(moment.scale, wait_ticks);
    int status = snapshot_take(&image->snapshot, image->feed.replay, &moment);
    if (image->feed.tracer) {
        image_tell_trace_moment(image, &moment);
        image_tell_trace_said(image);
    }
    if (status == 0 && image->looks)
        take_looks(image);
    return status;
}

void image_flush_begin(struct image *image)
{
    uint64_t since_ns = image_thread_cpu_ns();
    if (!writer_is_ready(image, true) || image_take_snapshot(image) < 0)
        return;
    image->snapshot_cpu_ns = image_thread_cpu_ns() - since_ns;
    atomic_store(&image->flushed, false);
    image->request_ns = image->snapshot.duration_ns;
    image->flushing = pthread_create(&image->flusher, NULL, flush_thread, image) == 0;
    if (!image->flushing)
        release_snapshot(image);
}

void image_flush_if_due(struct image *image, uint64_t now_ns)
{
    if (!image_has_joined(image) || image->gate.state == GATE_BEFORE)
        return;
    if (image->flushing && atomic_load(&image->flushed))
        image_flush_collect(image);
    if (image->flushing || now_ns < image->next_flush_ns)
        return;
    image_flush_begin(image);
    oom_watch_follow(&image->oom, image->pid);
    image->next_flush_ns = now_ns + IMAGE_FLUSH_NS;
}

/* ---- At the end ---- */

bool image_wait_for_writer(struct image *image)
{
    struct timespec pause = {0, 5 * 1000 * 1000};
    handover_wait(image->takes);
    for (int tries = 0; tries < 6000; tries++) {
        if (writer_is_ready(image, true))
            return true;
        if (image->result.error)
            return false;
        nanosleep(&pause, NULL);
    }
    return writer_is_ready(image, false);
}

void image_write_last(struct image *image)
{
    image_tell_end(image, image_fact_for_profile);
    writer_read_globals(image->writer, &image->origins);
    int status = image_take_snapshot(image);
    if (status == 0)
        status = writer_write(image->writer, &image->origins, &image->snapshot);
    release_snapshot(image);
    if (status < 0)
        image_fail(image, "%s", profile_error());
}

/* ---- Stepping aside ---- */

/* `*path` moves to `to`; NULL: there is nothing to move. */
static void move(struct image *image, char **path, const char *to)
{
    int error = *path ? old_file_move(*path, to) : 0;
    if (error < 0)
        image_fail(image, "cannot rename %s to %s: %s", *path, to, strerror(-error));
    if (error < 0 || !*path)
        return;
    free(*path);
    *path = strdup(to);
}

/* What could not be completed stays where it is, with its log: the next writer keeps it as .old. */
void image_hand_over(struct image *image)
{
    struct handover *gives = atomic_load(&image->gives);
    if (!gives)
        return;
    if (!image->result.error) {
        char *trace = image_trace_name(handover_aside(gives));
        move(image, &image->result.path, handover_aside(gives));
        move(image, &image->result.trace, trace);
        free(trace);
    }
    handover_complete(gives);
}
