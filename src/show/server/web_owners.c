/* Writes the owners of resident memory for the page: those of the look with most of it. Owners that
 * are shown alike are one row, as in the text report. The largest have rows; the others of each
 * kind are one row together, so that all rows add up to the resident memory. */
#include "server/web_summary.h"

#include <errno.h>
#include <stdlib.h>
#include "aggregate/facts.h"
#include "aggregate/frames.h"
#include "aggregate/functions.h"
#include "base/hash.h"
#include "base/map.h"
#include "model/figure_json.h"

enum { OWNERS_MOST = 300 };

struct web_owner {
    int kind;
    struct frame frame;               /* of the call path; code 0: there is none */
    const struct profile_owner *most; /* the largest of its owners */
    size_t owners;
    struct figure count, resident_bytes, proportional_bytes, swapped_bytes;
};

struct web_owners {
    const struct resources *resources;
    const struct profile_sample *sample;
    struct web_owner *rows;
    size_t count;
    struct map map; /* of rows with a call path, by kind and frame */
};

static void web_owners_join(struct web_owner *row, const struct profile_owner *owner)
{
    if (!row->most || figure_less(row->most->resident_bytes, owner->resident_bytes))
        row->most = owner;
    row->owners++;
    row->count = figure_add(row->count, owner->count);
    row->resident_bytes = figure_add(row->resident_bytes, owner->resident_bytes);
    row->proportional_bytes = figure_add(row->proportional_bytes, owner->proportional_bytes);
    row->swapped_bytes = figure_add(row->swapped_bytes, owner->swapped_bytes);
}

static struct web_owner web_owners_none(int kind)
{
    struct figure none = figure_of(0);
    return (struct web_owner){.kind = kind,
                              .count = none,
                              .resident_bytes = none,
                              .proportional_bytes = none,
                              .swapped_bytes = none};
}

/* The row of an owner: that of its call site, or one of its own. */
static struct web_owner *web_owners_row(struct web_owners *owners,
                                        const struct profile_owner *owner)
{
    const struct profile *profile = owners->resources->profile;
    struct web_owner *fresh = &owners->rows[owners->count];
    *fresh = web_owners_none(owner->kind);
    if (!owner->path || owner->kind > PROFILE_OWNER_ALLOCATOR) {
        owners->count++;
        return fresh;
    }
    struct frame_walk walk;
    uint32_t row;
    fresh->frame = frame_walk_begin(&walk, profile, owners->resources->hidden, owner->path);
    uint64_t key = frame_key(profile, fresh->frame),
             hash = hash_u64(key * 31 + (uint64_t)owner->kind);
    for (struct map_probe probe = map_probe(&owners->map, hash); map_next(&probe, &row);)
        if (owners->rows[row].kind == owner->kind && owners->rows[row].frame.code &&
            frame_key(profile, owners->rows[row].frame) == key)
            return &owners->rows[row];
    map_add(&owners->map, hash, (uint32_t)owners->count++);
    return fresh;
}

static int web_owners_compare(const void *a, const void *b)
{
    const struct web_owner *one = a, *two = b;
    int order = figure_compare(two->resident_bytes, one->resident_bytes);
    return order ? order : (one->most > two->most) - (one->most < two->most);
}

static int web_owners_gather(struct web_owners *owners)
{
    const struct profile *profile = owners->resources->profile;
    owners->rows = calloc(profile->owner_count + 1, sizeof *owners->rows);
    if (!owners->rows)
        return -ENOMEM;
    for (size_t i = 0; i < profile->owner_count; i++)
        if (profile->owners[i].sample == owners->sample->id)
            web_owners_join(web_owners_row(owners, &profile->owners[i]), &profile->owners[i]);
    qsort(owners->rows, owners->count, sizeof *owners->rows, web_owners_compare);
    return 0;
}

static void web_owners_write_figures(struct json *json, const struct web_owner *row)
{
    json_figure(json, "count", row->count);
    json_figure(json, "resident_bytes", row->resident_bytes);
    json_figure(json, "proportional_bytes", row->proportional_bytes);
    json_figure(json, "swapped_bytes", row->swapped_bytes);
}

static void web_owners_write_row(struct json *json, const struct profile *profile,
                                 const struct web_owner *row)
{
    json_object(json, NULL);
    json_string(json, "kind", profile_owner_names[row->kind]);
    if (row->frame.code) {
        json_unsigned(json, "key", function_key(profile, row->frame.code, row->frame.line));
        json_unsigned(json, "node", row->most->path);
        frame_write(json, profile, row->frame);
    } else {
        json_string(json, "name", row->most->name);
        json_string(json, "module", row->most->module);
        json_figure(json, "thread", row->most->thread);
    }
    web_owners_write_figures(json, row);
    json_end(json);
}

/* Writes the sums of owners without rows, kind by kind. */
static void web_owners_write_rest(struct json *json, const struct web_owners *owners)
{
    for (int kind = 0; kind < PROFILE_OWNER_KINDS; kind++) {
        struct web_owner rest = web_owners_none(kind);
        size_t more = 0;
        for (size_t i = OWNERS_MOST; i < owners->count; i++)
            if (owners->rows[i].kind == kind) {
                const struct web_owner *row = &owners->rows[i];
                rest.count = figure_add(rest.count, row->count);
                rest.resident_bytes = figure_add(rest.resident_bytes, row->resident_bytes);
                rest.proportional_bytes =
                    figure_add(rest.proportional_bytes, row->proportional_bytes);
                rest.swapped_bytes = figure_add(rest.swapped_bytes, row->swapped_bytes);
                more++;
            }
        if (!more)
            continue;
        json_object(json, NULL);
        json_string(json, "kind", profile_owner_names[kind]);
        json_unsigned(json, "more", more);
        web_owners_write_figures(json, &rest);
        json_end(json);
    }
}

int web_owners_write(struct json *json, const struct resources *resources, const char *name)
{
    (void)name;
    const struct profile *profile = resources->profile;
    struct web_owners owners = {.resources = resources, .sample = facts_owners_sample(profile)};
    int error = owners.sample ? web_owners_gather(&owners) : 0;
    if (owners.sample && !error) {
        json_unsigned(json, "owners_sample", owners.sample->id);
        json_figure(json, "time_ns",
                    profile_is_job(resources->profile) ? FIGURE_UNKNOWN
                                                       : figure_of(owners.sample->time_ns));
        json_figure(json, "resident_bytes", owners.sample->resident_bytes);
        json_array(json, "owners");
        for (size_t i = 0; i < owners.count && i < OWNERS_MOST; i++)
            web_owners_write_row(json, profile, &owners.rows[i]);
        web_owners_write_rest(json, &owners);
        json_end(json);
    }
    free(owners.rows);
    map_release(&owners.map);
    return error;
}
