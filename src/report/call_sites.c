/* See call_sites.h. */
#include "report/call_sites.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "report/estimate.h"
#include "report/names.h"

/* ---- Frames -------------------------------------------------------------------------------- */

const char *frame_function(const struct profile *profile, struct frame frame)
{
    uint32_t function = profile->lines[frame.line].function;
    return function ? profile->functions[function].name : NULL;
}

const char *frame_file(const struct profile *profile, struct frame frame, uint32_t *line)
{
    *line = profile->lines[frame.line].line;
    return profile->lines[frame.line].file;
}

const char *frame_module(const struct profile *profile, struct frame frame)
{
    uint32_t module = profile->codes[frame.code].module;
    return module == UINT32_MAX ? NULL : profile->modules[module].path;
}

void frame_add_name(struct strbuf *out, const struct profile *profile, struct frame frame)
{
    const struct profile_code *code = &profile->codes[frame.code];
    const char *function = frame_function(profile, frame);
    const char *module = frame_module(profile, frame);
    if (!frame.code)
        strbuf_add_string(out, "[no call path]");
    else if (code->mark == 2)
        strbuf_add_string(out, "[deeper than --max-depth]");
    else if (code->mark)
        strbuf_add_string(out, "[stack could not be walked further]");
    else if (function && strcmp(function, "?"))
        strbuf_add_string(out, function);
    else
        strbuf_addf(out, "%s%s0x%llx", module ? name_base(module) : "", module ? "+" : "",
                    (unsigned long long)code->address);
}

/* Frames with the same key are shown as one. */
static uint64_t frame_key(const struct profile *profile, struct frame frame)
{
    const struct profile_line *line = &profile->lines[frame.line];
    if (!line->function)
        return 1ull << 63 | frame.code;
    return (uint64_t)line->function << 31 ^ line->line;
}

/* Walks a path from its innermost frame outwards. */
struct walk {
    const struct call_sites *sites;
    uint32_t node, at; /* the next frame: the at-th line of node's code */
};

static bool walk_raw(struct walk *walk, struct frame *frame)
{
    const struct profile *profile = walk->sites->profile;
    while (walk->node) {
        const struct profile_node *node = &profile->nodes[walk->node];
        const struct profile_code *code = &profile->codes[node->location];
        if (walk->at < code->line_count) {
            *frame = (struct frame){node->location, code->first_line + walk->at++};
            return true;
        }
        walk->node = node->parent;
        walk->at = 0;
    }
    return false;
}

static bool walk_next(struct walk *walk, struct frame *frame)
{
    while (walk_raw(walk, frame))
        if (!walk->sites->hidden[frame->line])
            return true;
    return false;
}

/* The frame that a path is listed under, the walk then stands at its caller. A path of library
 * frames only is listed under its innermost one. */
static struct frame walk_to_site(struct walk *walk, uint32_t node)
{
    struct frame frame = {0, 0};
    *walk = (struct walk){walk->sites, node, 0};
    if (walk_next(walk, &frame))
        return frame;
    struct walk raw = {walk->sites, node, 0};
    return walk_raw(&raw, &frame) ? frame : (struct frame){0, 0};
}

/* ---- Filter and hiding --------------------------------------------------------------------- */

int report_filter_check(const char *filter, char *why, size_t why_bytes)
{
    regex_t regex;
    if (!filter)
        return 0;
    int result = regcomp(&regex, filter, REG_EXTENDED | REG_NOSUB);
    if (result) {
        regerror(result, &regex, why, why_bytes);
        return -EINVAL;
    }
    regfree(&regex);
    return 0;
}

static bool matches(const regex_t *regex, const char *string)
{
    return string && !regexec(regex, string, 0, NULL, 0);
}

static bool code_matches(const regex_t *regex, const struct profile *profile, uint32_t index)
{
    const struct profile_code *code = &profile->codes[index];
    for (uint32_t i = 0; i < code->line_count; i++) {
        const struct profile_line *line = &profile->lines[code->first_line + i];
        if (matches(regex, profile->functions[line->function].name) || matches(regex, line->file))
            return true;
    }
    return matches(regex, frame_module(profile, (struct frame){index, code->first_line}));
}

/* By node: does any frame from it to the root match? Parents come first, so one pass does. */
static int mark_matching(const struct profile *profile, const char *filter, bool **out)
{
    regex_t regex;
    if (regcomp(&regex, filter, REG_EXTENDED | REG_NOSUB))
        return -EINVAL;
    bool *code = calloc(profile->code_count, 1), *node = calloc(profile->node_count, 1);
    for (size_t i = 0; code && i < profile->code_count; i++)
        code[i] = code_matches(&regex, profile, (uint32_t)i);
    for (size_t i = 1; code && node && i < profile->node_count; i++)
        node[i] = node[profile->nodes[i].parent] || code[profile->nodes[i].location];
    regfree(&regex);
    bool complete = code && node;
    free(code);
    *out = node;
    return complete ? 0 : -ENOMEM;
}

bool *frames_of_libraries(const struct profile *profile)
{
    bool *hidden = calloc(profile->line_count + 1, 1);
    for (size_t i = 0; hidden && i < profile->code_count; i++) {
        const struct profile_code *code = &profile->codes[i];
        const char *module = frame_module(profile, (struct frame){(uint32_t)i, 0});
        for (uint32_t j = 0; j < code->line_count; j++) {
            const struct profile_line *line = &profile->lines[code->first_line + j];
            const struct profile_function *function = &profile->functions[line->function];
            hidden[code->first_line + j] =
                !code->mark && name_is_library(line->function ? function->name : NULL,
                                               function->linkage, line->file, module);
        }
    }
    return hidden;
}

/* ---- Grouping ------------------------------------------------------------------------------ */

struct key_table {
    uint64_t *keys;
    uint32_t *groups; /* + 1; 0: empty */
    size_t mask;
};

static uint32_t *key_slot(struct key_table *table, uint64_t key)
{
    size_t at = hash_u64(key) & table->mask;
    while (table->groups[at] && table->keys[at] != key)
        at = (at + 1) & table->mask;
    table->keys[at] = key;
    return &table->groups[at];
}

static void add_to_group(struct call_sites *sites, struct site_group *group,
                         const struct call_metrics *call)
{
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        uint64_t value = metric_of(&metrics[i], call);
        group->totals[i] += value;
        group->variances[i] += metric_variance(&metrics[i], call);
        sites->totals[i] += value;
    }
    if (estimate_is(sites->profile))
        group->sample_count += call->sample_count;
    group->alloc_count += call->alloc_count;
    group->blocks_at_peak += call->at_peak_count;
    group->live_blocks += call->live_count;
    if (call_metrics_know_frees(call)) {
        group->freed_count += call->freed_count;
        group->freed_elsewhere_count += call->freed_elsewhere_count;
        group->freed_lifetime_ns += call->freed_lifetime_sum;
    }
    group->count++;
    sites->path_count++;
}

/* order[]: a counting sort of the sites by group. */
static void sort_by_group(struct call_sites *sites, const uint32_t *group_of)
{
    size_t first = 0;
    for (size_t i = 0; i < sites->group_count; i++) {
        sites->groups[i].first = first;
        first += sites->groups[i].count;
        sites->groups[i].count = 0;
    }
    for (size_t i = 0; i < sites->profile->site_count; i++) {
        if (group_of[i] == UINT32_MAX)
            continue;
        struct site_group *group = &sites->groups[group_of[i]];
        sites->order[group->first + group->count++] = (uint32_t)i;
    }
}

static void group_sites(struct call_sites *sites, struct key_table *table, uint32_t *group_of,
                        const bool *matching)
{
    const struct profile *profile = sites->profile;
    struct walk walk = {.sites = sites};
    for (size_t i = 0; i < profile->site_count; i++) {
        const struct profile_site *site = &profile->sites[i];
        group_of[i] = UINT32_MAX;
        if (matching && !matching[site->path])
            continue;
        struct frame frame = walk_to_site(&walk, site->path);
        uint32_t *slot = key_slot(table, frame_key(profile, frame));
        if (!*slot) {
            sites->groups[sites->group_count++].frame = frame;
            *slot = (uint32_t)sites->group_count;
        }
        group_of[i] = *slot - 1;
        add_to_group(sites, &sites->groups[*slot - 1], &site->metrics);
    }
    sort_by_group(sites, group_of);
}

static size_t table_size(size_t items)
{
    size_t size = 64;
    while (size < 2 * items)
        size *= 2;
    return size;
}

int call_sites_init(struct call_sites *sites, const struct profile *profile,
                    const struct report_options *options)
{
    bool *matching = NULL;
    size_t count = profile->site_count, slots = table_size(count);
    *sites = (struct call_sites){.profile = profile};
    int error = options->filter ? mark_matching(profile, options->filter, &matching) : 0;
    struct key_table table = {calloc(slots, sizeof(uint64_t)), calloc(slots, sizeof(uint32_t)),
                              slots - 1};
    uint32_t *group_of = calloc(count + 1, sizeof *group_of);
    sites->hidden = options->hide_std ? frames_of_libraries(profile)
                                      : calloc(profile->line_count + 1, 1);
    sites->order = calloc(count + 1, sizeof *sites->order);
    sites->groups = calloc(count + 1, sizeof *sites->groups);
    if (!error && (!table.keys || !table.groups || !group_of || !sites->hidden || !sites->order ||
                   !sites->groups))
        error = -ENOMEM;
    if (!error)
        group_sites(sites, &table, group_of, matching);
    free(matching);
    free(table.keys);
    free(table.groups);
    free(group_of);
    if (error)
        call_sites_release(sites);
    return error;
}

void call_sites_release(struct call_sites *sites)
{
    free(sites->hidden);
    free(sites->order);
    free(sites->groups);
    *sites = (struct call_sites){0};
}

size_t call_sites_top(const struct call_sites *sites, size_t metric, const struct site_group **top,
                      size_t max)
{
    size_t count = 0, filled = 0;
    for (size_t i = 0; i < sites->group_count; i++) {
        const struct site_group *group = &sites->groups[i];
        uint64_t value = group->totals[metric];
        if (!value)
            continue;
        count++;
        size_t at = filled;
        while (at && top[at - 1]->totals[metric] < value)
            at--;
        if (at >= max)
            continue;
        filled += filled < max;
        memmove(&top[at + 1], &top[at], (filled - 1 - at) * sizeof *top);
        top[at] = group;
    }
    return count;
}

/* ---- Callers ------------------------------------------------------------------------------- */

/* The child of `parent` for a frame; made if it is not there. 0: out of memory. */
static uint32_t child_for(struct callers *callers, const struct profile *profile, uint32_t parent,
                          struct frame frame)
{
    uint64_t key = frame_key(profile, frame);
    uint32_t *link = &callers->nodes[parent].first_child;
    for (; *link; link = &callers->nodes[*link].next) {
        uint32_t found = *link;
        if (frame_key(profile, callers->nodes[found].frame) != key)
            continue;
        /* To the front: the next path is likely to come the same way. */
        *link = callers->nodes[found].next;
        callers->nodes[found].next = callers->nodes[parent].first_child;
        callers->nodes[parent].first_child = found;
        return found;
    }
    if (callers->count == callers->capacity) {
        size_t capacity = callers->capacity * 2;
        struct caller *nodes = realloc(callers->nodes, capacity * sizeof *nodes);
        if (!nodes)
            return 0;
        callers->nodes = nodes;
        callers->capacity = capacity;
    }
    uint32_t made = (uint32_t)callers->count++;
    callers->nodes[made] =
        (struct caller){.frame = frame, .next = callers->nodes[parent].first_child};
    callers->nodes[parent].first_child = made;
    return made;
}

static int add_path(struct callers *callers, const struct call_sites *sites, uint32_t path,
                    uint64_t value, size_t depth)
{
    struct walk walk = {.sites = sites};
    struct frame frame = walk_to_site(&walk, path);
    uint64_t last = frame_key(sites->profile, frame);
    uint32_t at = 0;
    callers->nodes[0].value += value;
    while (walk_next(&walk, &frame)) {
        uint64_t key = frame_key(sites->profile, frame);
        if (key == last) /* recursion: once is enough */
            continue;
        last = key;
        if (!depth--) {
            callers->nodes[at].continues = true;
            break;
        }
        at = child_for(callers, sites->profile, at, frame);
        if (!at)
            return -ENOMEM;
        callers->nodes[at].value += value;
    }
    return 0;
}

/* Children by falling value; insertion, as the lists are short. */
static void sort_children(struct callers *callers, uint32_t parent)
{
    uint32_t sorted = 0;
    for (uint32_t child = callers->nodes[parent].first_child, next; child; child = next) {
        next = callers->nodes[child].next;
        uint32_t *link = &sorted;
        while (*link && callers->nodes[*link].value >= callers->nodes[child].value)
            link = &callers->nodes[*link].next;
        callers->nodes[child].next = *link;
        *link = child;
    }
    callers->nodes[parent].first_child = sorted;
}

int callers_build(struct callers *callers, const struct call_sites *sites,
                  const struct site_group *group, size_t metric, size_t depth)
{
    *callers = (struct callers){calloc(64, sizeof *callers->nodes), 1, 64};
    if (!callers->nodes)
        return -ENOMEM;
    callers->nodes[0].frame = group->frame;
    for (size_t i = 0; i < group->count; i++) {
        const struct profile_site *site = &sites->profile->sites[sites->order[group->first + i]];
        uint64_t value = metric_of(&metrics[metric], &site->metrics);
        int error = value ? add_path(callers, sites, site->path, value, depth) : 0;
        if (error) {
            callers_release(callers);
            return error;
        }
    }
    for (size_t i = 0; i < callers->count; i++)
        sort_children(callers, (uint32_t)i);
    return 0;
}

void callers_release(struct callers *callers)
{
    free(callers->nodes);
    *callers = (struct callers){0};
}
