/* The lives of mappings (mapped_life.h). A record first takes out what was mapped at its addresses,
 * then puts in what is there now, and looks at the levels once. */
#include "replay/mapped_life.h"

#include <stdlib.h>
#include "model/mapping.h"
#include "replay/life.h"

#define MAX_MAPPED_BYTES (1ull << 56) /* no address space is larger */

void mapped_init(struct mapped_state *mapped)
{
    sites_init(&mapped->sites);
    mapped->curves.begin_exact = true; /* calls of mmap are few */
    sites_know_frees(&mapped->sites);
    sites_know_all_peaks(&mapped->sites);
}

void mapped_release(struct mapped_state *mapped)
{
    curves_release(&mapped->curves);
    sites_release(&mapped->sites);
    mappings_release(&mapped->mappings);
}

size_t mapped_memory_bytes(const struct mapped_state *mapped)
{
    return mappings_memory_bytes(&mapped->mappings) + sites_memory_bytes(&mapped->sites) +
           curves_memory_bytes(&mapped->curves);
}

/* ---- Levels -------------------------------------------------------------------------------- */

static void mapped_look_at_site(struct replay *replay, uint32_t site)
{
    struct mapped_state *mapped = &replay->mapped;

    if (!site_is_quiet(&mapped->sites, site)) {
        struct curve_band band =
            curves_see(&mapped->curves, &mapped->sites, site, replay->last_ticks);
        site_crest(&mapped->sites, site, band.low, band.high, replay->last_ticks);
    }
}

void mapped_see_all(struct replay *replay)
{
    struct mapped_state *mapped = &replay->mapped;
    struct interval *bucket = timeline_current(&replay->timeline);
    uint64_t level = replay->live_bytes + replay->timeline.mapped_bytes;

    timeline_level_see(&bucket->mapped, replay->timeline.mapped_bytes);
    timeline_level_see(&bucket->all, level);
    if (level <= mapped->all_peak_bytes)
        return;
    mapped->all_peak_bytes = level;
    mapped->all_peak_ticks = replay->last_ticks;
    sites_all_peak(&replay->sites);
    sites_all_peak(&mapped->sites);
}

static void mapped_see_levels(struct replay *replay)
{
    struct mapped_state *mapped = &replay->mapped;

    if (replay->timeline.mapped_bytes > mapped->peak_bytes) {
        mapped->peak_bytes = replay->timeline.mapped_bytes;
        mapped->peak_ticks = replay->last_ticks;
        sites_peak(&mapped->sites);
    }
    levels_changed(replay);
}

/* The first mapping. Until now the peak of blocks and mappings together was that of the blocks. */
static void mapped_begin(struct replay *replay)
{
    if (replay->timeline.is_mapped)
        return;
    replay->mapped.all_peak_bytes = replay->peak_bytes;
    replay->mapped.all_peak_ticks = replay->peak_ticks;
    sites_know_all_peaks(&replay->sites);
    if (replay->regions.of_name) {
        sites_follow(&replay->regions.cuts, &replay->sites);
        sites_know_all_peaks(&replay->regions.cuts);
    }
    timeline_know_mapped(&replay->timeline);
}

/* ---- Lives --------------------------------------------------------------------------------- */

/* The call that takes something out. */
struct mapped_taking {
    struct replay *replay;
    uint32_t site; /* of the call */
    uint64_t ticks;
    bool is_free; /* it unmaps; else the memory moves (mremap), or becomes a pool's chunk */
};

static void mapped_credit(const struct mapped_taking *taking, const struct mapping *mapping,
                          struct weight weight, uint64_t lifetime)
{
    struct replay *replay = taking->replay;
    bool elsewhere = mapping->thread != life_thread_number(replay, replay->running);

    if (taking->is_free)
        site_freed(&replay->mapped.sites, taking->site, weight, weight.count ? lifetime : 0,
                   elsewhere);
}

static bool mapped_was_newest(const struct replay *replay, uint32_t number,
                              const struct mapping *mapping)
{
    return mapping->thread == life_thread_number(replay, replay->running) &&
           replay->running->newest_mapping == number + 1;
}

/* `bytes` of a mapping have ended, and the whole mapping if `is_over`. */
static void mapped_shrink(const struct mapped_taking *taking, uint32_t number,
                          const struct mapping *mapping, uint64_t bytes, bool is_over)
{
    struct replay *replay = taking->replay;
    struct sites *sites = &replay->mapped.sites;
    struct weight weight = {is_over, bytes, 0, 0};
    uint64_t lifetime = taking->ticks > mapping->born ? taking->ticks - mapping->born : 0;

    replay->timeline.mapped_bytes -= bytes;
    if (is_over)
        site_ended(sites, mapping->site, weight, lifetime, lifetime);
    else
        site_shrunk(sites, mapping->site, bytes);
    if (is_over && taking->is_free && mapped_was_newest(replay, number, mapping))
        site_temporary(sites, mapping->site, 1);
    mapped_credit(taking, mapping, weight, lifetime);
    mapped_look_at_site(replay, mapping->site);
}

static void mapped_reserve(struct replay *replay, uint32_t site, uint64_t bytes)
{
    site_change(&replay->mapped.sites, site);
    site_rare(&replay->mapped.sites, site)->reserved_bytes += bytes;
}

static void mapped_gone(void *context, uint32_t number, const struct mapping *mapping,
                        uint64_t bytes)
{
    const struct mapped_taking *taking = context;
    struct replay *replay = taking->replay;

    if (mapping->is_allocators)
        return;
    replay->running->unmapped_kind = mapping->kind;
    replay->running->unmapped_reserved = mapping->is_reserved;
    if (mapping->is_reserved)
        mapped_reserve(replay, mapping->site, 0 - bytes);
    else if (!mapping->is_chunk)
        mapped_shrink(taking, number, mapping, bytes, mapping->bytes == 0);
}

static struct mapped_taking mapped_taking_of(struct replay *replay,
                                             const struct wire_record *record)
{
    uint32_t site = sites_of_node(&replay->mapped.sites, wire_detail_node(record->detail));

    return (struct mapped_taking){replay, site, record->ticks, true};
}

static void mapped_born(struct replay *replay, struct mapping made, uint64_t end, bool is_moved)
{
    struct sites *sites = &replay->mapped.sites;
    uint64_t bytes = end - made.start;
    uint32_t number = mappings_add(&replay->mapped.mappings, &made, end);

    if (made.is_reserved) {
        mapped_reserve(replay, made.site, bytes);
        return;
    }
    replay->running->newest_mapping = number + 1;
    replay->timeline.mapped_bytes += bytes;
    site_born(sites, made.site, bytes, (struct weight){1, bytes, 0, 0});
    if (is_moved) {
        site_rare(sites, made.site)->realloc_count++;
        site_rare(sites, made.site)->realloc_bytes += bytes;
    }
    mapped_look_at_site(replay, made.site);
}

/* ---- Records ------------------------------------------------------------------------------- */

static struct mapping mapped_made_by(const struct replay *replay, const struct wire_record *record,
                                     uint32_t site)
{
    uint32_t said = wire_detail_slack(record->detail);
    unsigned kind = wire_mapping_kind(said);

    return (struct mapping){
        .start = life_address_of(record),
        .born = record->ticks,
        .site = site,
        .thread = life_thread_number(replay, replay->running),
        .kind = kind && kind < MAPPING_KINDS ? (uint8_t)kind : MAPPING_ANONYMOUS,
        .is_reserved = wire_mapping_is_reserved(said),
    };
}

/* Nothing becomes known of what the program maps. */
static void mapped_on_allocators(struct replay *replay, struct mapping made, uint64_t end)
{
    struct mapped_taking taking = {replay, 0, made.born, false};

    made.is_allocators = true;
    replay->mapped.has_allocators = true;
    mappings_cut(&replay->mapped.mappings, made.start, end, UINT64_MAX, mapped_gone, &taking);
    mappings_add(&replay->mapped.mappings, &made, end);
    if (replay->timeline.is_mapped)
        mapped_see_levels(replay);
}

bool mapped_is_allocators(const struct mapped_state *mapped, uint64_t address)
{
    struct mapping_piece piece;

    return mapped->has_allocators && mappings_above(&mapped->mappings, address, &piece) &&
           piece.start <= address && mapped->mappings.all[piece.mapping].is_allocators;
}

void mapped_on_mmap(struct replay *replay, const struct wire_record *record)
{
    bool is_allocators = wire_mapping_is_allocators(wire_detail_slack(record->detail));
    struct mapped_taking taking = {replay, 0, record->ticks, true};
    if (!is_allocators)
        taking = mapped_taking_of(replay, record);
    struct mapping made = mapped_made_by(replay, record, taking.site);
    uint64_t end = mappings_end_of(made.start, record->size_bytes);
    bool is_moved = wire_mapping_is_moved(wire_detail_slack(record->detail));

    if (made.start >= end || end - made.start >= MAX_MAPPED_BYTES)
        return;
    if (is_allocators) {
        mapped_on_allocators(replay, made, end);
        return;
    }
    if (is_moved && replay->running->unmapped_kind) {
        made.kind = replay->running->unmapped_kind;
        made.is_reserved = replay->running->unmapped_reserved;
    }
    mapped_begin(replay);
    mappings_cut(&replay->mapped.mappings, made.start, end, UINT64_MAX, mapped_gone, &taking);
    mapped_born(replay, made, end, is_moved);
    mapped_see_levels(replay);
}

/* Unmaps the segment of System V that begins at the address. */
static void mapped_detach(struct replay *replay, struct mapped_taking *taking, uint64_t address)
{
    struct mappings *mappings = &replay->mapped.mappings;
    struct mapping_piece piece;

    for (uint64_t from = address; mappings_above(mappings, from, &piece); from = piece.end) {
        const struct mapping *mapping = &mappings->all[piece.mapping];
        if (mapping->start > address)
            return;
        if (mapping->kind == MAPPING_SYSV && mapping->start == address) {
            mappings_end(mappings, piece.mapping, address, mapped_gone, taking);
            return;
        }
    }
}

void mapped_on_munmap(struct replay *replay, const struct wire_record *record, bool is_allocators)
{
    struct mapped_taking taking = {replay, 0, record->ticks, false};
    uint64_t address = life_address_of(record);

    if (!is_allocators)
        taking = mapped_taking_of(replay, record);
    taking.is_free &= !wire_detail_ticks(record->detail); /* else an mremap's record follows */
    replay->running->unmapped_kind = MAPPING_UNKNOWN;
    if (record->size_bytes == 0)
        mapped_detach(replay, &taking, address);
    else
        mappings_cut(&replay->mapped.mappings, address,
                     mappings_end_of(address, record->size_bytes),
                     record->ticks - wire_detail_ticks(record->detail), mapped_gone, &taking);
    if (replay->timeline.is_mapped)
        mapped_see_levels(replay);
}

/* A part of a mapping becomes reserved, or usable memory: a mapping of its own. What becomes usable
 * counts for the call path of mprotect; what becomes reserved stays with its call path. */
static void mapped_protect(struct replay *replay, struct mapped_taking *taking, struct mapping made,
                           uint64_t end)
{
    mappings_cut(&replay->mapped.mappings, made.start, end, UINT64_MAX, mapped_gone, taking);
    made.is_reserved = !made.is_reserved;
    if (!made.is_reserved) {
        made.site = taking->site;
        made.born = taking->ticks;
        made.thread = life_thread_number(replay, replay->running);
    }
    mapped_born(replay, made, end, false);
}

void mapped_on_mprotect(struct replay *replay, const struct wire_record *record)
{
    struct mapped_taking taking = mapped_taking_of(replay, record);
    bool is_reserved = wire_detail_slack(record->detail) & 1;
    uint64_t at = life_address_of(record), end = mappings_end_of(at, record->size_bytes);
    struct mapping_piece piece;

    while (at < end && mappings_above(&replay->mapped.mappings, at, &piece) && piece.start < end) {
        struct mapping made = replay->mapped.mappings.all[piece.mapping];
        uint64_t to = piece.end < end ? piece.end : end;
        made.start = piece.start > at ? piece.start : at;
        if (made.is_reserved != is_reserved && !made.is_chunk && !made.is_allocators)
            mapped_protect(replay, &taking, made, to);
        at = to;
    }
    if (replay->timeline.is_mapped)
        mapped_see_levels(replay);
}

void mapped_on_madvise(struct replay *replay, const struct wire_record *record)
{
    uint32_t site = sites_of_node(&replay->mapped.sites, wire_detail_node(record->detail));
    uint64_t address = life_address_of(record);
    uint64_t bytes = mappings_end_of(address, record->size_bytes) - address;

    site_change(&replay->mapped.sites, site);
    site_rare(&replay->mapped.sites, site)->discarded_bytes += bytes;
    replay->mapped.discard_count++;
    replay->mapped.discard_bytes += bytes;
}

/* The record's address is the new break. */
void mapped_on_break(struct replay *replay, const struct wire_record *record, bool has_grown)
{
    struct mapped_taking taking = mapped_taking_of(replay, record);
    uint64_t now = life_address_of(record), bytes = record->size_bytes;
    struct mapping made = {.start = now - bytes,
                           .born = record->ticks,
                           .site = taking.site,
                           .thread = life_thread_number(replay, replay->running),
                           .kind = MAPPING_BREAK};

    if (!bytes || bytes >= MAX_MAPPED_BYTES || (has_grown && bytes > now))
        return;
    mapped_begin(replay);
    if (has_grown) {
        mappings_cut(&replay->mapped.mappings, made.start, now, UINT64_MAX, mapped_gone, &taking);
        mapped_born(replay, made, now, false);
    } else {
        mappings_cut(&replay->mapped.mappings, now, now + bytes, UINT64_MAX, mapped_gone, &taking);
    }
    mapped_see_levels(replay);
}

void mapped_on_chunk(struct replay *replay, const struct wire_record *record)
{
    struct mapped_state *mapped = &replay->mapped;
    struct mapped_taking taking = {replay, 0, record->ticks, false};
    uint64_t address = life_address_of(record);
    struct mapping_piece piece;
    struct mapping *mapping;

    if (!mappings_above(&mapped->mappings, address, &piece) || piece.start > address)
        return;
    mapping = &mapped->mappings.all[piece.mapping];
    if (mapping->is_reserved || mapping->is_chunk || mapping->is_allocators)
        return;
    mapping->is_chunk = true;
    mapped_shrink(&taking, piece.mapping, mapping, mapping->bytes, true);
    mapped_see_levels(replay);
}

/* ---- Windows ------------------------------------------------------------------------------- */

static void mapped_renumber(struct mapped_state *mapped, const uint32_t *numbers)
{
    for (uint32_t i = 0; i < mapped->mappings.used; i++) {
        struct mapping *mapping = &mapped->mappings.all[i];
        if (!mapping->pieces || mapping->is_allocators)
            continue;
        mapping->site = numbers[mapping->site];
        if (mapping->is_reserved)
            site_rare(&mapped->sites, mapping->site)->reserved_bytes += mapping->bytes;
    }
}

static void mapped_restart_sites(struct mapped_state *mapped, uint64_t start_ticks)
{
    bool *keep = arena_calloc(mapped->sites.count + (size_t)1, sizeof *keep);
    uint32_t *numbers;

    for (uint32_t i = 0; i < mapped->mappings.used; i++)
        if (mapped->mappings.all[i].pieces && !mapped->mappings.all[i].is_allocators)
            keep[mapped->mappings.all[i].site] = true;
    numbers = sites_restart(&mapped->sites, keep, start_ticks);
    mapped_renumber(mapped, numbers);
    free(numbers);
    free(keep);
}

void mapped_restart(struct replay *replay, uint64_t start_ticks)
{
    struct mapped_state *mapped = &replay->mapped;

    mapped_restart_sites(mapped, start_ticks);
    curves_release(&mapped->curves);
    mapped->curves = (struct curves){.begin_exact = true};
    for (uint32_t site = 0; site < mapped->sites.count; site++)
        mapped_look_at_site(replay, site);
    mapped->peak_bytes = replay->timeline.mapped_bytes;
    mapped->all_peak_bytes = replay->live_bytes + replay->timeline.mapped_bytes;
    mapped->peak_ticks = mapped->all_peak_ticks = start_ticks;
    mapped->discard_count = mapped->discard_bytes = 0;
}
