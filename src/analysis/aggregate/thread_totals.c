/* How many threads there were, how many ran at once, and what thread-local variables take
 * (thread_totals.h). Beginnings and ends of rows are sorted by time and counted up and down. */
#include "aggregate/thread_totals.h"

#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "model/figure_human.h"

struct thread_totals_step {
    uint64_t ticks;
    int by;
};

/* Who ends and who begins at one moment: the end comes first. */
static int threads_by_time(const void *a, const void *b)
{
    const struct thread_totals_step *left = a, *right = b;
    if (left->ticks != right->ticks)
        return left->ticks < right->ticks ? -1 : 1;
    return left->by - right->by;
}

uint64_t threads_ever(const struct profile *profile)
{
    uint64_t count = profile->thread_count;
    for (size_t i = 0; i < profile->thread_count; i++)
        count += figure_or(profile->threads[i].earlier_count, 0);
    return count;
}

size_t threads_peak(const struct profile *profile)
{
    struct thread_totals_step *steps = calloc(2 * profile->thread_count + 1, sizeof *steps);
    size_t count = 0, now = 0, most = 0;
    for (size_t i = 0; steps && i < profile->thread_count; i++) {
        const struct thread_metrics *thread = &profile->threads[i];
        if (thread->end_ticks && thread->end_ticks <= thread->start_ticks)
            continue;
        steps[count++] = (struct thread_totals_step){thread->start_ticks, 1};
        if (thread->end_ticks)
            steps[count++] = (struct thread_totals_step){thread->end_ticks, -1};
    }
    if (steps)
        qsort(steps, count, sizeof *steps, threads_by_time);
    for (size_t i = 0; i < count; i++) {
        now += (size_t)steps[i].by;
        most = now > most ? now : most;
    }
    free(steps);
    return most;
}

struct thread_storage threads_storage(const struct profile *profile)
{
    struct thread_storage storage = {figure_of(0), figure_of(0), figure_of(0)};
    for (size_t i = 0; i < profile->section_count; i++) {
        const struct profile_section_total *section = &profile->sections[i];
        bool image = section->section == PROFILE_SECTION_TDATA;
        if (image || section->section == PROFILE_SECTION_TBSS)
            storage.per_thread = figure_add(storage.per_thread, section->bytes);
        if (image)
            storage.image = figure_add(storage.image, section->bytes);
    }
    size_t threads = threads_peak(profile);
    storage.total = storage.image;
    for (size_t i = 0; i < (threads ? threads : 1); i++)
        storage.total = figure_add(storage.total, storage.per_thread);
    return storage;
}

void thread_add_name(struct strbuf *out, const struct thread_metrics *thread)
{
    size_t length = strnlen(thread->name, sizeof thread->name);
    text_add_safe(out, thread->name, length);
    strbuf_addf(out, "%s%u", length ? " " : "", thread->tid);
    if (figure_positive(thread->earlier_count))
        strbuf_addf(out, " and %s earlier", figure_human_count(thread->earlier_count).text);
}
