/* Decides whether a process that has ended was small, and appends it as a row to the session's file
 * in place of a profile of its own (process_image_parts.h). The row is made in memory first. If the
 * row cannot be written, the process has no profile, and its result has the error. */
#include "collector/process_image_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/memory.h"
#include "profile_build/profile_build.h"
#include "collector/session_rows.h"
#include "profile/profile.h"

bool process_image_is_small(const struct process_image *image,
                            const struct program_metrics *program)
{
    return image->options.rows && !image->keeps_file && !image->written &&
           session_rows_is_small(figure_or(program->total.peak_bytes, UINT64_MAX), program->events);
}

static int process_image_session_end(enum process_image_end how)
{
    static const int ends[] = {[IMAGE_END_UNKNOWN] = SESSION_END_UNKNOWN,
                               [IMAGE_END_EXIT] = SESSION_END_EXIT,
                               [IMAGE_END_SIGNAL] = SESSION_END_SIGNAL,
                               [IMAGE_END_EXEC] = SESSION_END_EXEC,
                               [IMAGE_END_DETACHED] = SESSION_END_DETACHED};
    return ends[how];
}

/* The highest resident set that was read. */
static struct figure process_image_resident_peak(const struct snapshot *snapshot)
{
    struct figure peak = FIGURE_UNKNOWN;
    for (size_t i = 0; i < snapshot->bucket_count; i++)
        if (figure_known(snapshot->buckets[i].physical.max))
            peak = figure_known(peak) ? figure_max(peak, snapshot->buckets[i].physical.max)
                                      : snapshot->buckets[i].physical.max;
    return peak;
}

/* A figure of a process without allocations is unknown if events were lost or an allocator could
 * not be recorded. */
static struct figure process_image_seen(const struct process_image *image,
                                        const struct program_metrics *program, struct figure figure)
{
    bool lacks = program->lost_events || atomic_load(&image->view.header->unseen_count);
    return lacks && figure_zero(program->total.alloc_count) ? FIGURE_UNKNOWN : figure;
}

struct session_row process_image_row(const struct process_image *image,
                                     const struct program_metrics *program)
{
    struct process_image_ending ending = process_image_ending(image);
    return (struct session_row){
        .pid = image->pid,
        .parent = image->parent,
        .start_unix_ns = (uint64_t)image->start_unix_ns,
        .duration_ns = figure_of(image->snapshot.duration_ns),
        .peak_bytes = process_image_seen(image, program, program->total.peak_bytes),
        .resident_bytes = process_image_resident_peak(&image->snapshot),
        .alloc_count = process_image_seen(image, program, program->total.alloc_count),
        .alloc_bytes = process_image_seen(image, program, program->total.alloc_bytes),
        .end = process_image_session_end(ending.how),
        .end_status = process_image_ending_has_status(ending) ? ending.status : 0,
        .lossy = program->lost_events || program->late_events || image->snapshot.damaged_rings,
        .program = image->program,
        .command = image->command};
}

static int process_image_append_row(struct process_image *image,
                                    const struct program_metrics *program)
{
    struct session_row row;
    struct strbuf body = STRBUF_INIT;
    int status = process_image_write_end(image);
    row = process_image_row(image, program);
    process_image_release_snapshot(image);
    int finished = profile_build_finish_memory(image->writer, &body);
    image->writer = NULL;
    status = status ? status : finished;
    if (status == 0)
        status = session_rows_append(image->options.rows, &row, body.data, body.length);
    process_image_note_saved(image);
    strbuf_release(&body);
    return status;
}

void process_image_write_row(struct process_image *image, const struct program_metrics *program)
{
    struct session_rows *rows = image->options.rows;
    int status = profile_build_open_memory(&image->writer, session_rows_path(rows), image->pid,
                                           image->executable);
    if (status == 0) {
        process_image_tell_description(image, process_image_fact_for_profile);
        status = process_image_append_row(image, program);
    }
    if (status < 0) {
        process_image_fail(image, "%s", error_text());
        return;
    }
    image->result.small = true;
    if (asprintf(&image->result.path, "%s@%d", session_rows_path(rows), (int)image->pid) < 0)
        memory_exhausted();
}
