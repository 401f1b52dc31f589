/* See lines.h.
 *
 * The call tree is walked depth first, with one running sum of all metrics met so far. Where a line
 * comes onto the way from the root, the running sum is taken off its inclusive one; where it leaves
 * the way, the running sum is added: what is left is what was met in between. A line that is on the
 * way already (recursion) is only counted. So nothing is kept by node but two links. The sums are
 * unsigned: that they are below zero for a while does no harm. */
#include "report/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"

struct link {
    uint32_t child, next; /* 0: none */
};

/* A line and what stands right below it. */
struct pair {
    uint64_t key; /* 0: empty slot */
    uint32_t line;
    uint32_t on_way;
    struct frame callee;
    uint64_t value;
};

struct walk {
    const struct profile *profile;
    const bool *hidden;
    struct source_lines *lines;
    size_t metric;
    struct link *links;    /* by node */
    uint32_t *site_of;     /* by node: index of its site + 1 */
    uint32_t *on_way;      /* by line */
    uint32_t *file_on_way; /* by file */
    uint64_t running[METRIC_COUNT];
    struct pair *pairs; /* open addressing */
    size_t pair_count, pair_room;
};

/* ---- Names --------------------------------------------------------------------------------- */

char *path_without_detours(const char *path)
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
struct entry {
    uint32_t file, number, of;
};

static int compare_paths(const void *left, const void *right)
{
    const struct spelling *a = left, *b = right;
    return a->path == b->path ? 0 : strcmp(a->path, b->path);
}

static int compare_names(const void *left, const void *right)
{
    const struct spelling *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->path, b->path);
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return (a->of > b->of) - (a->of < b->of);
}

static bool has_file(const struct profile_line *line)
{
    return line->file && *line->file;
}

/* Every path of the profile once, by path. */
static size_t collect_spellings(struct spelling *spellings, const struct profile *profile)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < profile->line_count; i++) {
        const char *path = profile->lines[i].file;
        if (has_file(&profile->lines[i]) && (!count || spellings[count - 1].path != path))
            spellings[count++].path = path;
    }
    qsort(spellings, count, sizeof *spellings, compare_paths);
    for (size_t i = 0; i < count; i++)
        if (!kept || strcmp(spellings[kept - 1].path, spellings[i].path))
            spellings[kept++] = spellings[i];
    return kept;
}

/* Spellings that mean the same become one file. */
static int make_files(struct source_lines *lines, struct spelling *spellings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(spellings[i].name = path_without_detours(spellings[i].path))) {
            while (i)
                free(spellings[--i].name);
            return -ENOMEM;
        }
    qsort(spellings, count, sizeof *spellings, compare_names);
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
    qsort(spellings, count, sizeof *spellings, compare_paths);
    return 0;
}

static void make_lines(struct source_lines *lines, struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct entry *entry = &entries[i];
        if (!i || entry[-1].file != entry->file || entry[-1].number != entry->number)
            lines->lines[lines->line_count++] =
                (struct source_line){.file = entry->file, .number = entry->number, .of = entry->of};
        lines->line_of[entry->of] = (uint32_t)(lines->line_count - 1);
    }
}

static int make_places(struct source_lines *lines, const struct profile *profile)
{
    size_t count = profile->line_count, used = 0;
    struct spelling *spellings = calloc(count + 1, sizeof *spellings);
    struct entry *entries = calloc(count + 1, sizeof *entries);
    size_t paths = spellings ? collect_spellings(spellings, profile) : 0;
    lines->files = calloc(paths + 1, sizeof *lines->files);
    lines->lines = calloc(count + 1, sizeof *lines->lines);
    lines->line_of = malloc((count + 1) * sizeof *lines->line_of);
    int error = spellings && entries && lines->files && lines->lines && lines->line_of
                    ? make_files(lines, spellings, paths)
                    : -ENOMEM;
    for (size_t i = 0; !error && i < count; i++) {
        const struct profile_line *line = &profile->lines[i];
        lines->line_of[i] = LINES_NONE;
        if (!has_file(line))
            continue;
        struct spelling wanted = {.path = line->file};
        const struct spelling *found =
            bsearch(&wanted, spellings, paths, sizeof *spellings, compare_paths);
        entries[used++] = (struct entry){found->file, line->line, (uint32_t)i};
    }
    if (!error) {
        qsort(entries, used, sizeof *entries, compare_entries);
        make_lines(lines, entries, used);
    }
    free(spellings);
    free(entries);
    return error;
}

/* ---- What stands below a line -------------------------------------------------------------- */

static uint64_t pair_key(const struct profile *profile, uint32_t line, struct frame callee)
{
    uint32_t function = profile->lines[callee.line].function;
    return (uint64_t)(line + 1) << 32 | (function ? function : 1u << 31 | callee.code);
}

static struct pair *pair_slot(struct pair *pairs, size_t room, uint64_t key)
{
    size_t at = hash_u64(key) & (room - 1);
    while (pairs[at].key && pairs[at].key != key)
        at = (at + 1) & (room - 1);
    return &pairs[at];
}

static bool pairs_grow(struct walk *walk)
{
    size_t room = walk->pair_room ? 2 * walk->pair_room : 1 << 12;
    struct pair *pairs = calloc(room, sizeof *pairs);
    if (!pairs)
        return false;
    for (size_t i = 0; i < walk->pair_room; i++)
        if (walk->pairs[i].key)
            *pair_slot(pairs, room, walk->pairs[i].key) = walk->pairs[i];
    free(walk->pairs);
    walk->pairs = pairs;
    walk->pair_room = room;
    return true;
}

static bool pair_pass(struct walk *walk, uint32_t line, struct frame callee, bool entering)
{
    if (2 * walk->pair_count >= walk->pair_room && !pairs_grow(walk))
        return false;
    uint64_t key = pair_key(walk->profile, line, callee);
    struct pair *pair = pair_slot(walk->pairs, walk->pair_room, key);
    if (!pair->key) {
        *pair = (struct pair){.key = key, .line = line, .callee = callee};
        walk->pair_count++;
    }
    if (entering ? pair->on_way++ : --pair->on_way)
        return true;
    uint64_t running = walk->running[walk->metric];
    pair->value += entering ? -running : running;
    return true;
}

static void choose_callees(struct walk *walk)
{
    for (size_t i = 0; i < walk->pair_room; i++) {
        const struct pair *pair = &walk->pairs[i];
        struct source_line *line = &walk->lines->lines[pair->line];
        bool more = pair->key && pair->value && pair->value >= line->callee_value;
        /* Equal ones: the first in the profile, whatever the hash says. */
        if (!more || (pair->value == line->callee_value && pair->callee.line > line->callee.line))
            continue;
        line->callee = pair->callee;
        line->callee_value = pair->value;
    }
}

/* ---- The walk ------------------------------------------------------------------------------ */

static void sums_pass(struct walk *walk, uint32_t *on_way, struct line_sums *sums, bool entering)
{
    if (entering ? (*on_way)++ : --*on_way)
        return;
    for (size_t i = 0; i < METRIC_COUNT; i++)
        sums->inclusive[i] += entering ? -walk->running[i] : walk->running[i];
}

/* The index of the visible line of a frame; LINES_NONE: hidden, or in no file. */
static uint32_t visible_line(const struct walk *walk, uint32_t line)
{
    return walk->hidden && walk->hidden[line] ? LINES_NONE : walk->lines->line_of[line];
}

/* The frames of a node come onto the way, or leave it; outermost first. */
static bool pass(struct walk *walk, uint32_t node, bool entering)
{
    const struct profile *profile = walk->profile;
    uint32_t location = profile->nodes[node].location, parent = profile->nodes[node].parent;
    const struct profile_code *code = &profile->codes[location];
    uint32_t outer = LINES_NONE;
    if (parent)
        outer = visible_line(walk, profile->codes[profile->nodes[parent].location].first_line);
    for (uint32_t i = code->line_count; i-- > 0;) {
        uint32_t index = code->first_line + i, line = visible_line(walk, index);
        if (outer != LINES_NONE && !code->mark &&
            !pair_pass(walk, outer, (struct frame){location, index}, entering))
            return false;
        outer = line;
        if (line == LINES_NONE)
            continue;
        uint32_t file = walk->lines->lines[line].file;
        sums_pass(walk, &walk->on_way[line], &walk->lines->lines[line].sums, entering);
        sums_pass(walk, &walk->file_on_way[file], &walk->lines->files[file].sums, entering);
    }
    return true;
}

static void add(uint64_t *sums, const struct call_metrics *metrics_of_path)
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        sums[i] += metric_of(&metrics[i], metrics_of_path);
}

/* The frame that a path counts for; false: all are hidden, and it is the innermost. */
static bool find_exclusive(const struct walk *walk, uint32_t node, uint32_t *line)
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

static void add_site(struct walk *walk, uint32_t node)
{
    if (!walk->site_of[node])
        return;
    const struct call_metrics *site = &walk->profile->sites[walk->site_of[node] - 1].metrics;
    add(walk->running, site);
    uint32_t frame;
    bool visible = node && find_exclusive(walk, node, &frame);
    uint32_t index = node ? walk->lines->line_of[frame] : LINES_NONE;
    if (index == LINES_NONE)
        return;
    struct source_line *line = &walk->lines->lines[index];
    struct source_file *file = &walk->lines->files[line->file];
    add(walk->lines->placed, site);
    add(line->sums.exclusive, site);
    add(file->sums.exclusive, site);
    if (visible)
        return;
    add(line->sums.inclusive, site);
    add(file->sums.inclusive, site);
}

static bool walk_tree(struct walk *walk)
{
    const struct profile_node *nodes = walk->profile->nodes;
    for (size_t i = walk->profile->node_count; i-- > 1;) {
        walk->links[i].next = walk->links[nodes[i].parent].child;
        walk->links[nodes[i].parent].child = (uint32_t)i;
    }
    uint32_t node = 0;
    add_site(walk, 0);
    for (;;) {
        uint32_t child = walk->links[node].child;
        if (child) {
            walk->links[node].child = walk->links[child].next; /* seen */
            node = child;
            if (!pass(walk, node, true))
                return false;
            add_site(walk, node);
        } else if (node) {
            if (!pass(walk, node, false))
                return false;
            node = nodes[node].parent;
        } else {
            return true;
        }
    }
}

/* ---- The answer ---------------------------------------------------------------------------- */

static bool is_used(const struct line_sums *sums)
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (sums->inclusive[i])
            return true;
    return false;
}

/* Lines and files that nothing was asked for through are left out. */
static void keep_used(struct walk *walk)
{
    struct source_lines *lines = walk->lines;
    uint32_t *moved = walk->on_way; /* all zero by now */
    size_t line_count = 0, file_count = 0, at = 0;
    for (uint32_t old = 0; old < lines->file_count; old++) {
        struct source_file file = lines->files[old];
        file.first = line_count;
        for (; at < lines->line_count && lines->lines[at].file == old; at++) {
            moved[at] = LINES_NONE;
            if (!is_used(&lines->lines[at].sums))
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

int lines_init(struct source_lines *lines, const struct profile *profile, const bool *hidden,
               size_t metric)
{
    *lines = (struct source_lines){0};
    struct walk walk = {.profile = profile, .hidden = hidden, .lines = lines, .metric = metric};
    int error = make_places(lines, profile);
    walk.links = calloc(profile->node_count + 1, sizeof *walk.links);
    walk.site_of = calloc(profile->node_count + 1, sizeof *walk.site_of);
    walk.on_way = calloc(lines->line_count + 1, sizeof *walk.on_way);
    walk.file_on_way = calloc(lines->file_count + 1, sizeof *walk.file_on_way);
    if (!error && !(walk.links && walk.site_of && walk.on_way && walk.file_on_way))
        error = -ENOMEM;
    for (size_t i = 0; !error && i < profile->site_count; i++)
        walk.site_of[profile->sites[i].path] = (uint32_t)i + 1;
    if (!error && !walk_tree(&walk))
        error = -ENOMEM;
    if (!error) {
        memcpy(lines->totals, walk.running, sizeof lines->totals);
        choose_callees(&walk);
        keep_used(&walk);
    }
    free(walk.links);
    free(walk.site_of);
    free(walk.on_way);
    free(walk.file_on_way);
    free(walk.pairs);
    if (error)
        lines_release(lines);
    return error;
}

void lines_release(struct source_lines *lines)
{
    for (size_t i = 0; i < lines->file_count; i++)
        free(lines->files[i].name);
    free(lines->files);
    free(lines->lines);
    free(lines->line_of);
    *lines = (struct source_lines){0};
}

static int compare_numbers(const void *left, const void *right)
{
    uint32_t number = *(const uint32_t *)left;
    const struct source_line *line = right;
    return (number > line->number) - (number < line->number);
}

const struct source_line *lines_find(const struct source_lines *lines,
                                     const struct source_file *file, uint32_t number)
{
    return bsearch(&number, lines->lines + file->first, file->count, sizeof *lines->lines,
                   compare_numbers);
}
