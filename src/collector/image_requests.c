/* What is asked of a recording while it runs: by the program (tidemark.h), by people, by triggers; see
 * image_parts.h. */
#include "collector/image_parts.h"

#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/ticks.h"
#include "collector/looks.h"
#include "collector/merge.h"
#include "collector/tracer.h"

/* ---- Triggers ---- */

void image_see_triggers(struct image *image, uint64_t now_ns)
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

/* ---- The program's ---- */

bool image_is_asked(const struct image *image)
{
    return atomic_load(&image->view.header->asked) != image->answered;
}

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
    image_flush_collect(image);
    image_flush_begin(image);
    image->next_flush_ns = clock_read().ns + IMAGE_FLUSH_NS;
    image_flush_collect(image);
    if (image->feed.tracer)
        tracer_flush(image->feed.tracer);
}

void image_answer(struct image *image)
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

/* ---- Snapshots, whoever wants them ---- */

static const char *begin_snapshot(struct image *image)
{
    if (!image_has_joined(image) || image->gate.state == GATE_BEFORE)
        return "nothing of the process is recorded yet";
    replay_until_now(image);
    if (image->triggers)
        image_see_triggers(image, clock_read().ns);
    if (image->looks && !image->looked && !image->request.urgent)
        looks_mark(image->looks, clock_read().ns);
    image_flush_begin(image);
    image->next_flush_ns = clock_read().ns + IMAGE_FLUSH_NS;
    return image->flushing ? NULL : "its profile cannot be written";
}

void image_begin_snapshot_if_asked(struct image *image)
{
    if (image->flushing && atomic_load(&image->flushed))
        image_flush_collect(image);
    if (image->flushing || !snapshots_take(&image->snapshots, &image->request))
        return;
    const char *why_not = begin_snapshot(image);
    if (!why_not)
        return;
    snapshot_answer(&image->request, NULL, why_not);
    *image->request.why = 0;
}
