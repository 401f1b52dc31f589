/* What is asked for on source lines and through them.
 *
 * The call tree is walked depth first, with one running sum of all metrics met so far. Where a line
 * comes onto the way from the root, the running sum is taken off its inclusive one; where it leaves
 * the way, the running sum is added: what is left is what was met in between. A line that is on the
 * way already (recursion) is only counted. So nothing is kept by node but two links. The sums are
 * unsigned and may wrap below zero for a while; that cancels out. At the end they become figures: a
 * metric that is unknown of one path is unknown of all lines.
 *
 * Metrics that do not add up (the largest block, …) have one extreme for each node of the way
 * instead: that of all that was met below it so far. Where the walk leaves a node its extremes go
 * to its parent and to the lines that leave the way with it. */
#include "aggregate/source_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash.h"

struct link {
    uint32_t child, next; /* 0: none */
};

/* A line and what stands right below it. */
struct source_lines_pair {
    uint64_t key; /* 0: empty slot */
    uint32_t line;
    uint32_t on_way;
    struct frame callee;
    uint64_t value;
};

/* Of the metrics from METRIC_SUMS on. */
struct extremes {
    struct figure of[METRIC_CHOICES - METRIC_SUMS];
};

/* Sums while the walk is under way. */
struct running_sums {
    uint64_t exclusive[METRIC_SUMS], inclusive[METRIC_SUMS];
    struct extremes exclusive_most, inclusive_most;
};

struct source_lines_walk {
    const struct profile *profile;
    const bool *hidden;
    struct source_lines *lines;
    size_t metric;
    struct link *links;    /* by node */
    uint32_t *site_of;     /* by node: index of its site + 1 */
    uint32_t *on_way;      /* by line */
    uint32_t *file_on_way; /* by file */
    uint64_t running[METRIC_SUMS], placed[METRIC_SUMS];
    bool unknown[METRIC_SUMS];                  /* of some path */
    struct extremes placed_most, *below;        /* below: by node of the way, [0] of all */
    size_t depth, below_room;                   /* nodes on the way; room of below */
    struct running_sums *line_sums, *file_sums; /* by line, by file */
    struct source_lines_pair *pairs;            /* open addressing */
    size_t pair_count, pair_room;
};

/* ---- Names --------------------------------------------------------------------------------- */

char *source_lines_path_without_detours(const char *path)
{
    size_t length = strlen(path), at = 0;
    char *clean = malloc(length + 2);
    if (!clean)
        return NULL;
    bool rooted = *path == '/';
    if (rooted)
        clean[at++] = '/';
    size_t root = at;
    while (*path) {
        size_t part = strcspn(path, "/");
        bool up = part == 2 && !strncmp(path, "..", 2);
        bool last_is_up = at >= root + 3 ? !strncmp(clean + at - 3, "../", 3) &&
                                               (at == root + 3 || clean[at - 4] == '/')
                                         : false;
        if (up && at > root && !last_is_up) {
            do
                at--;
            while (at > root && clean[at - 1] != '/');
        } else if (part && !(part == 1 && *path == '.') && !(up && rooted)) {
            memcpy(clean + at, path, part);
            at += part;
            clean[at++] = '/';
        }
        path += part + (path[part] == '/');
    }
    if (at > root)
        at--; /* the last slash */
    clean[at] = 0;
    return clean;
}

/* ---- Files and lines, before anything is known of them --------------------------------------- */

struct spelling {
    const char *path;
    char *name;
    uint32_t file;
};
struct source_lines_entry {
    uint32_t file, number, of;
};

static int source_lines_compare_paths(const void *left, const void *right)
{
    const struct spelling *a = left, *b = right;
    return a->path == b->path ? 0 : strcmp(a->path, b->path);
}

static int source_lines_compare_names(const void *left, const void *right)
{
    const struct spelling *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->path, b->path);
}

static int source_lines_compare_entries(const void *left, const void *right)
{
    const struct source_lines_entry *a = left, *b = right;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return (a->of > b->of) - (a->of < b->of);
}

static bool source_lines_has_file(const struct profile_line *line)
{
    return line->file && *line->file;
}

/* Every path of the profile once, by path. */
static size_t source_lines_collect_spellings(struct spelling *spellings,
                                             const struct profile *profile)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < profile->line_count; i++) {
        const char *path = profile->lines[i].file;
        if (source_lines_has_file(&profile->lines[i]) &&
            (!count || spellings[count - 1].path != path))
            spellings[count++].path = path;
    }
    qsort(spellings, count, sizeof *spellings, source_lines_compare_paths);
    for (size_t i = 0; i < count; i++)
        if (!kept || strcmp(spellings[kept - 1].path, spellings[i].path))
            spellings[kept++] = spellings[i];
    return kept;
}

/* Spellings that mean the same become one file. */
static int source_lines_make_files(struct source_lines *lines, struct spelling *spellings,
                                   size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(spellings[i].name = source_lines_path_without_detours(spellings[i].path))) {
            while (i)
                free(spellings[--i].name);
            return -ENOMEM;
        }
    qsort(spellings, count, sizeof *spellings, source_lines_compare_names);
    for (size_t i = 0; i < count; i++) {
        struct spelling *spelling = &spellings[i];
        size_t files = lines->file_count;
        if (files && !strcmp(lines->files[files - 1].name, spelling->name))
            free(spelling->name);
        else
            lines->files[lines->file_count++] =
                (struct source_file){.path = spelling->path, .name = spelling->name};
        spelling->file = (uint32_t)(lines->file_count - 1);
    }
    qsort(spellings, count, sizeof *spellings, source_lines_compare_paths);
    return 0;
}

static void source_lines_make(struct source_lines *lines, struct source_lines_entry *entries,
                              size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct source_lines_entry *entry = &entries[i];
        if (!i || entry[-1].file != entry->file || entry[-1].number != entry->number)
            lines->lines[lines->line_count++] =
                (struct source_line){.file = entry->file, .number = entry->number, .of = entry->of};
        lines->line_of[entry->of] = (uint32_t)(lines->line_count - 1);
    }
}

static int source_lines_make_places(struct source_lines *lines, const struct profile *profile)
{
    size_t count = profile->line_count, used = 0;
    struct spelling *spellings = calloc(count + 1, sizeof *spellings);
    struct source_lines_entry *entries = calloc(count + 1, sizeof *entries);
    size_t paths = spellings ? source_lines_collect_spellings(spellings, profile) : 0;
    lines->files = calloc(paths + 1, sizeof *lines->files);
    lines->lines = calloc(count + 1, sizeof *lines->lines);
    lines->line_of = malloc((count + 1) * sizeof *lines->line_of);
    int error = spellings && entries && lines->files && lines->lines && lines->line_of
                    ? source_lines_make_files(lines, spellings, paths)
                    : -ENOMEM;
    for (size_t i = 0; !error && i < count; i++) {
        const struct profile_line *line = &profile->lines[i];
        lines->line_of[i] = LINES_NONE;
        if (!source_lines_has_file(line))
            continue;
        struct spelling wanted = {.path = line->file};
        const struct spelling *found =
            bsearch(&wanted, spellings, paths, sizeof *spellings, source_lines_compare_paths);
        entries[used++] = (struct source_lines_entry){found->file, line->line, (uint32_t)i};
    }
    if (!error) {
        qsort(entries, used, sizeof *entries, source_lines_compare_entries);
        source_lines_make(lines, entries, used);
    }
    free(spellings);
    free(entries);
    return error;
}

/* ---- Extremes ------------------------------------------------------------------------------- */

static void source_lines_extremes_clear(struct extremes *extremes)
{
    for (size_t i = 0; i < METRIC_CHOICES - METRIC_SUMS; i++)
        extremes->of[i] = FIGURE_UNKNOWN;
}

static void source_lines_extremes_add(struct extremes *into, const struct extremes *from)
{
    for (size_t i = 0; i < METRIC_CHOICES - METRIC_SUMS; i++)
        into->of[i] = metric_join(&metrics[METRIC_SUMS + i], into->of[i], from->of[i]);
}

static struct extremes source_lines_extremes_of(const struct call_metrics *site)
{
    struct extremes of;
    for (size_t i = 0; i < METRIC_CHOICES - METRIC_SUMS; i++)
        of.of[i] = metric_of(&metrics[METRIC_SUMS + i], site);
    return of;
}

/* A node comes onto the way. */
static bool source_lines_extremes_enter(struct source_lines_walk *walk)
{
    if (!array_make_room(&walk->below, &walk->below_room, ++walk->depth, sizeof *walk->below))
        return false;
    source_lines_extremes_clear(&walk->below[walk->depth]);
    return true;
}

static void source_lines_extremes_leave(struct source_lines_walk *walk)
{
    walk->depth--;
    source_lines_extremes_add(&walk->below[walk->depth], &walk->below[walk->depth + 1]);
}

/* ---- What stands below a line -------------------------------------------------------------- */

static uint64_t source_lines_pair_key(const struct profile *profile, uint32_t line,
                                      struct frame callee)
{
    uint32_t function = profile->lines[callee.line].function;
    return (uint64_t)(line + 1) << 32 | (function ? function : 1u << 31 | callee.code);
}

static struct source_lines_pair *source_lines_pair_slot(struct source_lines_pair *pairs,
                                                        size_t room, uint64_t key)
{
    size_t at = hash_u64(key) & (room - 1);
    while (pairs[at].key && pairs[at].key != key)
        at = (at + 1) & (room - 1);
    return &pairs[at];
}

static bool source_lines_pairs_grow(struct source_lines_walk *walk)
{
    size_t room = walk->pair_room ? 2 * walk->pair_room : 1 << 12;
    struct source_lines_pair *pairs = calloc(room, sizeof *pairs);
    if (!pairs)
        return false;
    for (size_t i = 0; i < walk->pair_room; i++)
        if (walk->pairs[i].key)
            *source_lines_pair_slot(pairs, room, walk->pairs[i].key) = walk->pairs[i];
    free(walk->pairs);
    walk->pairs = pairs;
    walk->pair_room = room;
    return true;
}

static bool source_lines_pair_pass(struct source_lines_walk *walk, uint32_t line,
                                   struct frame callee, bool entering)
{
    if (walk->metric >= METRIC_SUMS) /* it does not add up over callees */
        return true;
    if (2 * walk->pair_count >= walk->pair_room && !source_lines_pairs_grow(walk))
        return false;
    uint64_t key = source_lines_pair_key(walk->profile, line, callee);
    struct source_lines_pair *pair = source_lines_pair_slot(walk->pairs, walk->pair_room, key);
    if (!pair->key) {
        *pair = (struct source_lines_pair){.key = key, .line = line, .callee = callee};
        walk->pair_count++;
    }
    if (entering ? pair->on_way++ : --pair->on_way)
        return true;
    uint64_t running = walk->running[walk->metric];
    pair->value += entering ? -running : running;
    return true;
}

static struct figure source_lines_figure(const struct source_lines_walk *walk, size_t metric,
                                         uint64_t sum)
{
    return walk->unknown[metric] ? FIGURE_UNKNOWN : figure_of(sum);
}

static void source_lines_choose_callees(struct source_lines_walk *walk)
{
    for (size_t i = 0; i < walk->pair_room; i++) {
        const struct source_lines_pair *pair = &walk->pairs[i];
        struct source_line *line = &walk->lines->lines[pair->line];
        struct figure value = source_lines_figure(walk, walk->metric, pair->value);
        bool more = pair->key && figure_positive(value) && !figure_less(value, line->callee_value);
        /* Equal ones: the first in the profile, whatever the hash says. */
        if (!more ||
            (figure_equal(value, line->callee_value) && pair->callee.line > line->callee.line))
            continue;
        line->callee = pair->callee;
        line->callee_value = value;
    }
}

/* ---- The walk ------------------------------------------------------------------------------ */

static void source_lines_sums_pass(struct source_lines_walk *walk, uint32_t *on_way,
                                   struct running_sums *sums, bool entering)
{
    if (entering ? (*on_way)++ : --*on_way)
        return;
    for (size_t i = 0; i < METRIC_SUMS; i++)
        sums->inclusive[i] += entering ? -walk->running[i] : walk->running[i];
    if (!entering)
        source_lines_extremes_add(&sums->inclusive_most, &walk->below[walk->depth]);
}

/* The index of the visible line of a frame; LINES_NONE: hidden, or in no file. */
static uint32_t source_lines_visible(const struct source_lines_walk *walk, uint32_t line)
{
    return walk->hidden && walk->hidden[line] ? LINES_NONE : walk->lines->line_of[line];
}

/* The frames of a node come onto the way, or leave it; outermost first. */
static bool source_lines_pass(struct source_lines_walk *walk, uint32_t node, bool entering)
{
    const struct profile *profile = walk->profile;
    uint32_t location = profile->nodes[node].location, parent = profile->nodes[node].parent;
    const struct profile_code *code = &profile->codes[location];
    uint32_t outer = LINES_NONE;
    if (parent)
        outer =
            source_lines_visible(walk, profile->codes[profile->nodes[parent].location].first_line);
    for (uint32_t i = code->line_count; i-- > 0;) {
        uint32_t index = code->first_line + i, line = source_lines_visible(walk, index);
        if (outer != LINES_NONE && !code->mark &&
            !source_lines_pair_pass(walk, outer, frame_at(location, index), entering))
            return false;
        outer = line;
        if (line == LINES_NONE)
            continue;
        uint32_t file = walk->lines->lines[line].file;
        source_lines_sums_pass(walk, &walk->on_way[line], &walk->line_sums[line], entering);
        source_lines_sums_pass(walk, &walk->file_on_way[file], &walk->file_sums[file], entering);
    }
    return true;
}

static void source_lines_add(uint64_t *sums, const struct call_metrics *metrics_of_path)
{
    for (size_t i = 0; i < METRIC_SUMS; i++)
        sums[i] += figure_or(metric_of(&metrics[i], metrics_of_path), 0);
}

/* The frame that a path counts for; false: all are hidden, and it is the innermost. */
static bool source_lines_find_exclusive(const struct source_lines_walk *walk, uint32_t node,
                                        uint32_t *line)
{
    const struct profile *profile = walk->profile;
    *line = profile->codes[profile->nodes[node].location].first_line;
    for (; node; node = profile->nodes[node].parent) {
        const struct profile_code *code = &profile->codes[profile->nodes[node].location];
        for (uint32_t i = 0; i < code->line_count; i++)
            if (!walk->hidden || !walk->hidden[code->first_line + i]) {
                *line = code->first_line + i;
                return true;
            }
    }
    return false;
}

static void source_lines_add_site(struct source_lines_walk *walk, uint32_t node)
{
    if (!walk->site_of[node])
        return;
    struct profile_site room;
    const struct call_metrics *site =
        &profile_site_at(walk->profile, walk->site_of[node] - 1, &room)->metrics;
    const struct extremes most = source_lines_extremes_of(site);
    for (size_t i = 0; i < METRIC_SUMS; i++)
        walk->unknown[i] |=
            metrics[i].row->merge == METRIC_SUM && !metric_is_known(&metrics[i], site);
    source_lines_add(walk->running, site);
    source_lines_extremes_add(&walk->below[walk->depth], &most);
    uint32_t frame;
    bool visible = node && source_lines_find_exclusive(walk, node, &frame);
    uint32_t index = node ? walk->lines->line_of[frame] : LINES_NONE;
    if (index == LINES_NONE)
        return;
    struct running_sums *line = &walk->line_sums[index];
    struct running_sums *file = &walk->file_sums[walk->lines->lines[index].file];
    source_lines_add(walk->placed, site);
    source_lines_add(line->exclusive, site);
    source_lines_add(file->exclusive, site);
    source_lines_extremes_add(&walk->placed_most, &most);
    source_lines_extremes_add(&line->exclusive_most, &most);
    source_lines_extremes_add(&file->exclusive_most, &most);
    if (visible)
        return;
    source_lines_add(line->inclusive, site);
    source_lines_add(file->inclusive, site);
    source_lines_extremes_add(&line->inclusive_most, &most);
    source_lines_extremes_add(&file->inclusive_most, &most);
}

static bool source_lines_walk_tree(struct source_lines_walk *walk)
{
    const struct profile_node *nodes = walk->profile->nodes;
    for (size_t i = walk->profile->node_count; i-- > 1;) {
        walk->links[i].next = walk->links[nodes[i].parent].child;
        walk->links[nodes[i].parent].child = (uint32_t)i;
    }
    uint32_t node = 0;
    source_lines_add_site(walk, 0);
    for (;;) {
        uint32_t child = walk->links[node].child;
        if (child) {
            walk->links[node].child = walk->links[child].next; /* seen */
            node = child;
            if (!source_lines_extremes_enter(walk) || !source_lines_pass(walk, node, true))
                return false;
            source_lines_add_site(walk, node);
        } else if (node) {
            if (!source_lines_pass(walk, node, false))
                return false;
            source_lines_extremes_leave(walk);
            node = nodes[node].parent;
        } else {
            return true;
        }
    }
}

/* ---- The answer ---------------------------------------------------------------------------- */

static void source_lines_settle_sums(const struct source_lines_walk *walk, struct line_sums *sums,
                                     const struct running_sums *running)
{
    for (size_t i = 0; i < METRIC_SUMS; i++) {
        sums->exclusive[i] = source_lines_figure(walk, i, running->exclusive[i]);
        sums->inclusive[i] = source_lines_figure(walk, i, running->inclusive[i]);
    }
    memcpy(sums->exclusive + METRIC_SUMS, &running->exclusive_most, sizeof(struct extremes));
    memcpy(sums->inclusive + METRIC_SUMS, &running->inclusive_most, sizeof(struct extremes));
}

static void source_lines_settle(struct source_lines_walk *walk)
{
    struct source_lines *lines = walk->lines;
    for (size_t i = 0; i < METRIC_SUMS; i++) {
        walk->unknown[i] |= !metric_is_known(&metrics[i], &walk->profile->program.total);
        lines->totals[i] = source_lines_figure(walk, i, walk->running[i]);
        lines->placed[i] = source_lines_figure(walk, i, walk->placed[i]);
    }
    memcpy(lines->totals + METRIC_SUMS, &walk->below[0], sizeof(struct extremes));
    memcpy(lines->placed + METRIC_SUMS, &walk->placed_most, sizeof(struct extremes));
    for (size_t i = 0; i < lines->line_count; i++)
        source_lines_settle_sums(walk, &lines->lines[i].sums, &walk->line_sums[i]);
    for (size_t i = 0; i < lines->file_count; i++)
        source_lines_settle_sums(walk, &lines->files[i].sums, &walk->file_sums[i]);
}

static bool source_lines_is_used(const struct line_sums *sums)
{
    for (size_t i = 0; i < METRIC_CHOICES; i++)
        if (metric_is_any(&metrics[i], sums->inclusive[i]))
            return true;
    return false;
}

/* Lines and files that nothing was asked for through are left out. */
static void source_lines_keep_used(struct source_lines_walk *walk)
{
    struct source_lines *lines = walk->lines;
    uint32_t *moved = walk->on_way; /* all zero by now */
    size_t line_count = 0, file_count = 0, at = 0;
    for (uint32_t old = 0; old < lines->file_count; old++) {
        struct source_file file = lines->files[old];
        file.first = line_count;
        for (; at < lines->line_count && lines->lines[at].file == old; at++) {
            moved[at] = LINES_NONE;
            if (!source_lines_is_used(&lines->lines[at].sums))
                continue;
            moved[at] = (uint32_t)line_count;
            lines->lines[line_count] = lines->lines[at];
            lines->lines[line_count++].file = (uint32_t)file_count;
        }
        file.count = line_count - file.first;
        if (file.count)
            lines->files[file_count++] = file;
        else
            free(file.name);
    }
    lines->line_count = line_count;
    lines->file_count = file_count;
    for (size_t i = 0; i < walk->profile->line_count; i++)
        if (lines->line_of[i] != LINES_NONE)
            lines->line_of[i] = moved[lines->line_of[i]];
}

static void source_lines_begin_extremes(struct source_lines_walk *walk)
{
    source_lines_extremes_clear(&walk->below[0]);
    source_lines_extremes_clear(&walk->placed_most);
    for (size_t i = 0; i < walk->lines->line_count; i++) {
        source_lines_extremes_clear(&walk->line_sums[i].exclusive_most);
        source_lines_extremes_clear(&walk->line_sums[i].inclusive_most);
    }
    for (size_t i = 0; i < walk->lines->file_count; i++) {
        source_lines_extremes_clear(&walk->file_sums[i].exclusive_most);
        source_lines_extremes_clear(&walk->file_sums[i].inclusive_most);
    }
}

int source_lines_init(struct source_lines *lines, const struct profile *profile, const bool *hidden,
                      const bool *passes, size_t metric)
{
    *lines = (struct source_lines){0};
    struct source_lines_walk walk = {
        .profile = profile, .hidden = hidden, .lines = lines, .metric = metric};
    int error = source_lines_make_places(lines, profile);
    walk.links = calloc(profile->node_count + 1, sizeof *walk.links);
    walk.site_of = calloc(profile->node_count + 1, sizeof *walk.site_of);
    walk.on_way = calloc(lines->line_count + 1, sizeof *walk.on_way);
    walk.file_on_way = calloc(lines->file_count + 1, sizeof *walk.file_on_way);
    walk.line_sums = calloc(lines->line_count + 1, sizeof *walk.line_sums);
    walk.file_sums = calloc(lines->file_count + 1, sizeof *walk.file_sums);
    walk.below = calloc(1, sizeof *walk.below);
    walk.below_room = 1;
    if (!error && !(walk.below && walk.links && walk.site_of && walk.on_way && walk.file_on_way &&
                    walk.line_sums && walk.file_sums))
        error = -ENOMEM;
    if (!error)
        source_lines_begin_extremes(&walk);
    for (size_t i = 0; !error && i < profile->site_count; i++)
        if (!passes || passes[profile_site_path(profile, i)])
            walk.site_of[profile_site_path(profile, i)] = (uint32_t)i + 1;
    if (!error && !source_lines_walk_tree(&walk))
        error = -ENOMEM;
    if (!error) {
        source_lines_settle(&walk);
        source_lines_choose_callees(&walk);
        source_lines_keep_used(&walk);
    }
    free(walk.links);
    free(walk.site_of);
    free(walk.on_way);
    free(walk.file_on_way);
    free(walk.line_sums);
    free(walk.file_sums);
    free(walk.pairs);
    free(walk.below);
    if (error)
        source_lines_release(lines);
    return error;
}

void source_lines_release(struct source_lines *lines)
{
    for (size_t i = 0; i < lines->file_count; i++)
        free(lines->files[i].name);
    free(lines->files);
    free(lines->lines);
    free(lines->line_of);
    *lines = (struct source_lines){0};
}

static int source_lines_compare_numbers(const void *left, const void *right)
{
    uint32_t number = *(const uint32_t *)left;
    const struct source_line *line = right;
    return (number > line->number) - (number < line->number);
}

const struct source_line *source_lines_find(const struct source_lines *lines,
                                            const struct source_file *file, uint32_t number)
{
    return bsearch(&number, lines->lines + file->first, file->count, sizeof *lines->lines,
                   source_lines_compare_numbers);
}
