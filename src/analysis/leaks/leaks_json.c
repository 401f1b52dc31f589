/* Leaks as JSON (doc/LEAKS.md): sums of each class, and the islands by call path, all of them. */
#include "aggregate/facts.h"
#include "leaks/leaks.h"

#include "base/json.h"
#include "model/figure_json.h"

static void leaks_json_sum(struct json *json, const char *name, uint64_t count, uint64_t bytes)
{
    json_object(json, name);
    json_unsigned(json, "blocks", count);
    json_unsigned(json, "bytes", bytes);
    json_end(json);
}

static void leaks_json_figures(struct json *json, const char *name, struct figure count,
                               struct figure bytes)
{
    json_object(json, name);
    json_figure(json, "blocks", count);
    json_figure(json, "bytes", bytes);
    json_end(json);
}

static void leaks_json_stack(struct json *json, const struct leaks *leaks, uint32_t node)
{
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, leaks->profile, leaks->hidden, node);
    json_array(json, "stack");
    do {
        json_object(json, NULL);
        frame_write(json, leaks->profile, frame);
        json_end(json);
    } while (frame_walk_next(&walk, &frame));
    json_end(json);
}

static void leaks_json_group(struct json *json, const struct leaks *leaks,
                             const struct leaks_group *group)
{
    json_object(json, NULL);
    frame_write(json, leaks->profile, group->frame);
    json_unsigned(json, "count", group->heads.count);
    json_unsigned(json, "bytes", group->heads.bytes);
    json_unsigned(json, "indirect_blocks", group->below.count);
    json_unsigned(json, "indirect_bytes", group->below.bytes);
    json_figure(json, "oldest_ns", group->oldest_ns);
    json_figure(json, "newest_ns", group->newest_ns);
    leaks_json_stack(json, leaks, group->node);
    json_end(json);
}

int leaks_json(FILE *out, const struct leaks *leaks)
{
    const struct profile_sample *sample = leaks->sample;
    struct json json = json_begin(out, true);
    json_object(&json, NULL);
    json_string(&json, "at", facts_moment(sample));
    json_unsigned(&json, "time_ns", sample->time_ns);
    leaks_json_sum(&json, "lost", leaks->lost.count, leaks->lost.bytes);
    leaks_json_sum(&json, "indirect", leaks->indirect.count, leaks->indirect.bytes);
    leaks_json_figures(&json, "possible", sample->possible_count, sample->possible_bytes);
    leaks_json_figures(&json, "reachable", sample->reachable_count, sample->reachable_bytes);
    leaks_json_sum(&json, "suppressed", leaks->suppressed.count, leaks->suppressed.bytes);
    json_string(&json, "filter", leaks->filter);
    leaks_json_sum(&json, "elsewhere", leaks->elsewhere.count, leaks->elsewhere.bytes);
    json_array(&json, "islands");
    for (size_t i = 0; i < leaks->group_count; i++)
        leaks_json_group(&json, leaks, &leaks->groups[i]);
    json_end(&json);
    json_end(&json);
    return json_finish(&json);
}
