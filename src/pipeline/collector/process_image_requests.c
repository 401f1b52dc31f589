/* Does what is asked of a recording while it runs (process_image_parts.h): marks, snapshots, pauses
 * and the end, asked by the program (tidemark.h), by people or by triggers. */
#include "collector/process_image_parts.h"

#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/now.h"
#include "base/ticks.h"
#include "collector/look_schedule.h"
#include "collector/ring_merge.h"
#include "collector/tracer.h"
#include "procfs/usage.h"

/* ---- Triggers ---- */

static bool process_image_has_nothing(const struct process_image *image)
{
    return !process_image_has_joined(image) || image->gate.state == GATE_BEFORE;
}

/* The machine's memory, if a trigger asks for it. */
static void process_image_see_machine(struct process_image *image, struct trigger_levels *levels)
{
    struct cgroup_machine machine;
    levels->machine_bytes = levels->machine_available_bytes = FIGURE_UNKNOWN;
    if (!triggers_want(image->triggers, TRIGGER_FREE) || cgroup_machine_read(&machine) != 0)
        return;
    levels->machine_bytes = machine.total_bytes;
    levels->machine_available_bytes = machine.available_bytes;
}

void process_image_see_triggers(struct process_image *image, uint64_t now_ns)
{
    struct replay_counters counters = {0};
    const struct trigger *trigger;
    /* A snapshot would be refused, and the trigger would be used up. */
    if (process_image_has_nothing(image))
        return;
    replay_counters(image->sink.replay, 0, &counters);
    struct trigger_levels levels = {
        .resident_bytes = image->resident_bytes,
        .requested_bytes = figure_of(counters.current_bytes),
        .allocated_bytes = figure_of(counters.total_bytes),
        .allocated_count = figure_of(counters.count),
        .stack_bytes = ring_merge_deepest_stack(image->merge),
        .age_ns = figure_of(now_ns - image->start.ns),
    };
    process_image_see_machine(image, &levels);
    while ((trigger = triggers_see(image->triggers, &levels, now_ns))) {
        struct snapshot_request request = {.answer = -1, .urgent = trigger->kind == TRIGGER_OOM};
        char name[64];
        trigger_name(trigger, name);
        snprintf(request.why, sizeof request.why, "%s", name);
        snapshots_ask(&image->snapshots, &request);
    }
}

/* ---- The program's ---- */

bool process_image_is_asked(const struct process_image *image)
{
    return atomic_load(&image->view.header->asked) != image->answered;
}

/* Replays all that the program did before it asked. */
static void process_image_replay_until_now(struct process_image *image)
{
    enum { PASSES = 1000 };
    struct timespec pause = {0, 100 * 1000};
    uint64_t now = ticks_now();
    for (int pass = 0; pass < PASSES; pass++) {
        process_image_merge(image);
        if (ring_merge_reached(image->merge) >= now || atomic_load(&image->ended))
            return;
        if (pass > 10)
            nanosleep(&pause, NULL);
    }
}

/* The resident set as the kernel counts it. It is not known of a single thread. */
static void process_image_answer_resident(struct process_image *image, uint32_t asker)
{
    struct wire_answer *answer = &image->view.header->answer;
    struct usage usage = {.resident_bytes = FIGURE_UNKNOWN, .peak_resident_bytes = FIGURE_UNKNOWN};
    if (!asker)
        usage_read(image->pid, &usage); /* what it cannot read stays unknown */
    atomic_store_explicit(&answer->resident_bytes, figure_or(usage.resident_bytes, UINT64_MAX),
                          memory_order_relaxed);
    atomic_store_explicit(&answer->resident_peak_bytes,
                          figure_or(usage.peak_resident_bytes, UINT64_MAX), memory_order_relaxed);
}

static void process_image_answer_counters(struct process_image *image, uint32_t asker)
{
    struct wire_answer *answer = &image->view.header->answer;
    struct replay_counters counters = {.mapped_bytes = UINT64_MAX, .mapped_peak_bytes = UINT64_MAX};
    replay_counters(image->sink.replay, asker, &counters); /* for an unknown thread all are 0 */
    atomic_store_explicit(&answer->current_bytes, counters.current_bytes, memory_order_relaxed);
    atomic_store_explicit(&answer->peak_bytes, counters.peak_bytes, memory_order_relaxed);
    atomic_store_explicit(&answer->total_bytes, counters.total_bytes, memory_order_relaxed);
    atomic_store_explicit(&answer->count, counters.count, memory_order_relaxed);
    atomic_store_explicit(&answer->live_count, counters.live_count, memory_order_relaxed);
    atomic_store_explicit(&answer->mapped_bytes, counters.mapped_bytes, memory_order_relaxed);
    atomic_store_explicit(&answer->mapped_peak_bytes, counters.mapped_peak_bytes,
                          memory_order_relaxed);
    process_image_answer_resident(image, asker);
}

/* Makes a look, and writes the profile as it is now. */
static void process_image_answer_snapshot(struct process_image *image)
{
    if (image->gate.state == GATE_BEFORE)
        return; /* nothing is recorded yet */
    if (image->looks && !image->looked)
        look_schedule_mark(image->looks, &(struct wire_wish){0}, now_monotonic_ns());
    atomic_store(&image->hurried, true);
    process_image_flush_collect(image);
    process_image_flush_begin(image);
    image->next_flush_ns = now_monotonic_ns() + IMAGE_FLUSH_NS;
    process_image_flush_collect(image);
    atomic_store(&image->hurried, false);
    if (image->sink.tracer)
        tracer_flush(image->sink.tracer);
}

static void process_image_look_before_end(struct process_image *image)
{
    bool lost_now = atomic_load_explicit(&image->view.header->request, memory_order_relaxed) ==
                    WIRE_REQUEST_LOOK_LOST;
    if (image->gate.state != GATE_BEFORE && image->looks && !image->looked)
        look_schedule_before_end(image->looks, now_monotonic_ns(), lost_now);
}

void process_image_answer(struct process_image *image)
{
    struct wire_header *header = image->view.header;
    uint32_t asked = atomic_load(&header->asked);
    uint32_t asker = atomic_load_explicit(&header->asker, memory_order_relaxed);
    process_image_replay_until_now(image);
    switch (atomic_load_explicit(&header->request, memory_order_relaxed)) {
    case WIRE_REQUEST_COUNTERS:
        process_image_answer_counters(image, asker);
        break;
    case WIRE_REQUEST_RESET_PEAK:
        event_sink_watch_peak(&image->sink, asker);
        break;
    case WIRE_REQUEST_SNAPSHOT:
        process_image_answer_snapshot(image);
        break;
    case WIRE_REQUEST_LOOK:
    case WIRE_REQUEST_LOOK_LOST:
        process_image_look_before_end(image);
        break;
    }
    image->answered = asked;
    atomic_store_explicit(&header->answered, asked, memory_order_release);
    syscall(SYS_futex, &header->answered, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* ---- Snapshots, whoever wants them ---- */

static const char *process_image_begin_snapshot(struct process_image *image)
{
    if (process_image_has_nothing(image))
        return "nothing of the process is recorded yet";
    process_image_replay_until_now(image);
    if (image->triggers)
        process_image_see_triggers(image, now_monotonic_ns());
    if (image->looks && !image->looked && !image->request.urgent)
        look_schedule_mark(image->looks, &image->request.wish, now_monotonic_ns());
    process_image_flush_begin(image);
    image->next_flush_ns = now_monotonic_ns() + IMAGE_FLUSH_NS;
    return image->flushing ? NULL : "its profile cannot be written";
}

void process_image_begin_snapshot_if_asked(struct process_image *image)
{
    if (image->flushing && atomic_load(&image->flushed))
        process_image_flush_collect(image);
    if (image->flushing || !snapshots_take(&image->snapshots, &image->request))
        return;
    const char *why_not = process_image_begin_snapshot(image);
    if (!why_not)
        return;
    snapshot_answer(&image->request, NULL, why_not);
    *image->request.why = 0;
}
