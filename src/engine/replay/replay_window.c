/* Begins a window: clears counts, peaks and the timeline, and keeps the live blocks. The sites of
 * live blocks are numbered anew, and one pass over the live table writes the new numbers. */
#include <stdlib.h>
#include "replay/life.h"

/* The site of every block that is counted as alive. */
static void replay_window_each_site(struct replay *replay,
                                    void (*visit)(uint32_t *site, void *context), void *context)
{
    struct threads *threads = &replay->threads;

    for (struct live_slot *slot = replay->live.slots; slot < live_table_end(&replay->live); slot++)
        if (slot->key)
            visit(&slot->site, context);
    for (size_t i = 0; i < threads->count; i++)
        for (size_t k = 0; k < threads->all[i].pending_count; k++)
            if (threads->all[i].pending[k].old == REALLOC_OLD_LIVE)
                visit(&threads->all[i].pending[k].block.site, context);
}

struct keep {
    const struct regions *regions;
    bool *sites, *labels;
};

static void replay_window_keep_site(uint32_t *site, void *context)
{
    struct keep *keep = context;

    keep->sites[regions_site(keep->regions, *site)] = true;
    if (*site & REGIONS_LABEL)
        keep->labels[*site & ~REGIONS_LABEL] = true;
}

static void replay_window_renumber(uint32_t *site, void *context)
{
    const uint32_t *numbers = context;

    if (!(*site & REGIONS_LABEL)) /* labels keep their numbers */
        *site = numbers[*site];
}

static void replay_window_restart_sites(struct replay *replay, uint64_t start_ticks)
{
    struct regions *regions = &replay->regions;
    struct keep keep = {regions, arena_calloc(replay->sites.count + (size_t)1, sizeof(bool)),
                        arena_calloc(regions->label_count + (size_t)1, sizeof(bool))};
    uint32_t *numbers;

    replay_window_each_site(replay, replay_window_keep_site, &keep);
    numbers = sites_restart(&replay->sites, keep.sites, start_ticks);
    replay_window_each_site(replay, replay_window_renumber, numbers);
    regions_restart(regions, keep.labels, numbers, &replay->threads, start_ticks,
                    replay->live_bytes);
    free(numbers);
    free(keep.labels);
    free(keep.sites);
}

static void replay_window_forget_newest_blocks(struct threads *threads)
{
    for (size_t i = 0; i < threads->count; i++)
        for (size_t k = 0; k < threads->all[i].pending_count; k++)
            threads->all[i].pending[k].newest = false;
}

/* Frees that are owed stay owed in the window. */
static uint64_t replay_window_owed_frees(const struct replay *replay)
{
    uint64_t count = 0;

    for (const struct live_slot *debt = replay->owed.slots; debt < live_table_end(&replay->owed);
         debt++)
        if (debt->key)
            count += live_table_read(&replay->owed, debt).size_bytes;
    return count;
}

static void replay_window_restart_details(struct replay *replay, uint64_t start_ticks,
                                          double tick_ns)
{
    uint64_t noise_bytes = replay->curves.noise_bytes;
    curves_release(&replay->curves);
    replay->curves = (struct curves){.noise_bytes = noise_bytes, .is_brief = noise_bytes};
    timeline_restart(&replay->timeline, start_ticks, tick_ns);
    peaks_init(&replay->peaks);
    exchanges_release(&replay->exchanges);
    exchanges_init(&replay->exchanges);
    distributions_free(replay->distributions);
    replay->distributions = distributions_new(start_ticks, replay->timeline.shift);
}

void replay_restart(struct replay *replay, uint64_t start_ticks, double tick_ns)
{
    uint64_t owed = replay_window_owed_frees(replay);

    replay_window_restart_sites(replay, start_ticks);
    replay_window_forget_newest_blocks(&replay->threads);
    replay_window_restart_details(replay, start_ticks, tick_ns);
    mapped_restart(replay, start_ticks);
    devices_restart(&replay->devices, start_ticks);
    threads_restart(&replay->threads, start_ticks);
    marks_restart(&replay->marks);
    replay->program = (struct program_counts){.replaced_blocks = owed};
    replay->alloc_rest = replay->free_rest = 0;
    if (replay->last_ticks < start_ticks)
        replay->last_ticks = start_ticks;
    for (uint32_t site = 0; site < replay->sites.count; site++)
        if (!site_is_quiet(&replay->sites, site))
            curves_see(&replay->curves, &replay->sites, site, start_ticks);
    if (replay->last_ticks >= replay->timeline.end_ticks)
        levels_begin_interval(replay);
    replay->peak_bytes = replay->live_bytes;
    replay->peak_ticks = start_ticks;
    replay->running = NULL; /* the next run sets it */
    life_listen_to_levels(replay);
    life_see_levels(replay, replay_state_mode_of(replay));
}
