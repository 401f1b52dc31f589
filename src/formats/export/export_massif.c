/* Massif's output: the heap over time, and who held it at its peak and at the other peaks.
 *
 *   time     snapshots: the highest requested bytes of an interval each, and each peak
 *   tree     from the allocating call outwards (callers below), down to parts of 1 % of it
 *
 * Extra bytes and stacks are not known over time and stand as 0, which the header says. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "export/exporting.h"
#include "format/names.h"
#include "base/memory.h"

#define NEVER UINT64_MAX /* of moments: later than all */
enum { SNAPSHOTS = 96, DEEPEST = 200, THRESHOLD_PARTS = 100 };

/* One site's share, and how far from the allocating call its path was followed. */
struct export_massif_part {
    uint64_t bytes;
    struct frame_walk walk;
    struct frame frame; /* the next to be shown */
    bool is_over;
};
struct export_massif {
    struct exporting *exporting;
    unsigned number;  /* of the next snapshot */
    uint64_t last_ns; /* of the one before: time never goes back … */
    uint64_t end_ns;  /* … nor beyond the end, where the last interval's does */
};

/* ---- The tree ------------------------------------------------------------------------------ */

static uint64_t export_massif_sum_of(const struct export_massif_part *parts, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += parts[i].bytes;
    return sum;
}

static int export_massif_compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int export_massif_by_frame(const void *a, const void *b, void *context)
{
    const struct export_massif_part *left = a, *right = b;
    if (left->is_over != right->is_over)
        return left->is_over ? 1 : -1;
    return export_massif_compare(frame_key(context, left->frame), frame_key(context, right->frame));
}

struct export_massif_group {
    struct export_massif_part *parts;
    size_t count;
    uint64_t bytes;
};

static int export_massif_by_falling_bytes(const void *a, const void *b)
{
    const struct export_massif_group *left = a, *right = b;
    int order = export_massif_compare(right->bytes, left->bytes);
    return order ? order : left->parts < right->parts ? -1 : left->parts > right->parts;
}

/* The parts, sorted, as groups of one frame each; those whose path is over are left out. */
static struct export_massif_group *export_massif_groups_of(const struct profile *profile,
                                                           struct export_massif_part *parts,
                                                           size_t count, size_t *group_count)
{
    struct export_massif_group *groups = memory_need(calloc(count + 1, sizeof *groups));
    *group_count = 0;
    qsort_r(parts, count, sizeof *parts, export_massif_by_frame, (void *)profile);
    for (size_t i = 0; i < count && !parts[i].is_over; i++) {
        bool is_same =
            i && frame_key(profile, parts[i].frame) == frame_key(profile, parts[i - 1].frame);
        struct export_massif_group *group = &groups[*group_count - is_same];
        *group_count += !is_same;
        if (!group->count)
            group->parts = &parts[i];
        group->count++;
        group->bytes += parts[i].bytes;
    }
    qsort(groups, *group_count, sizeof *groups, export_massif_by_falling_bytes);
    return groups;
}

static void export_massif_write_frame(const struct exporting *exporting, struct frame frame)
{
    const struct profile *profile = exporting->profile;
    const struct profile_code *code = &profile->codes[frame.code];
    const char *module = frame_module(profile, frame);
    struct strbuf text = STRBUF_INIT;
    uint32_t line;
    const char *file = frame_file(profile, frame, &line);
    uint64_t bias = code->module == UINT32_MAX ? 0 : profile->modules[code->module].bias;
    strbuf_addf(&text, "0x%llX: ", (unsigned long long)(code->address + bias));
    if (frame_has_name(profile, frame) || !module)
        export_add_line_name(&text, profile, frame, NULL, 0);
    else
        strbuf_add_string(&text, "???");
    if (file) {
        struct strbuf path = STRBUF_INIT;
        export_add_file(&path, exporting, file);
        strbuf_add_string(&text, " (");
        export_add_plain(&text, path.data, NULL, 0);
        strbuf_addf(&text, ":%u)", line);
        strbuf_release(&path);
    } else if (module) {
        strbuf_add_string(&text, " (in ");
        export_add_plain(&text, module, NULL, 0);
        strbuf_add_char(&text, ')');
    }
    fputs(text.data, exporting->out);
    strbuf_release(&text);
}

static void export_massif_step_outwards(struct export_massif_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        group->parts[i].is_over = !frame_walk_next(&group->parts[i].walk, &group->parts[i].frame);
}

static void export_massif_write_node(struct exporting *exporting, struct export_massif_part *parts,
                                     size_t count, const struct frame *frame, unsigned depth,
                                     uint64_t threshold);

static void export_massif_write_rest(struct exporting *exporting,
                                     const struct export_massif_group *groups, size_t count,
                                     unsigned depth)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += groups[i].bytes;
    fprintf(exporting->out, "%*sn0: %llu in %zu place%s, %sbelow massif's threshold (1.00%%)\n",
            (int)depth, "", (unsigned long long)bytes, count, count == 1 ? "" : "s",
            count == 1 ? "" : "all ");
}

/* Massif's lines say how many lines of the next level follow: those above the threshold, and one
 * for all others. */
static void export_massif_write_below(struct exporting *exporting,
                                      struct export_massif_group *groups, size_t count,
                                      unsigned depth, uint64_t threshold, size_t above)
{
    for (size_t i = 0; i < above; i++) {
        struct frame frame = groups[i].parts[0].frame;
        export_massif_step_outwards(&groups[i]);
        export_massif_write_node(exporting, groups[i].parts, groups[i].count, &frame, depth,
                                 threshold);
    }
    if (above < count)
        export_massif_write_rest(exporting, groups + above, count - above, depth);
}

static void export_massif_write_node(struct exporting *exporting, struct export_massif_part *parts,
                                     size_t count, const struct frame *frame, unsigned depth,
                                     uint64_t threshold)
{
    size_t group_count = 0, above = 0;
    struct export_massif_group *groups =
        depth < DEEPEST ? export_massif_groups_of(exporting->profile, parts, count, &group_count)
                        : NULL;
    while (above < group_count && groups[above].bytes >= threshold)
        above++;
    fprintf(exporting->out, "%*sn%zu: %llu ", (int)depth, "", above + (above < group_count),
            (unsigned long long)export_massif_sum_of(parts, count));
    if (frame)
        export_massif_write_frame(exporting, *frame);
    else
        fputs("(heap allocation functions) malloc/new/new[], --alloc-fns, etc.", exporting->out);
    fputc('\n', exporting->out);
    export_massif_write_below(exporting, groups, group_count, depth + 1, threshold, above);
    free(groups);
}

/* ---- Who held it --------------------------------------------------------------------------- */

static void export_massif_add_part(struct exporting *exporting, struct export_massif_part *part,
                                   uint32_t node, uint64_t bytes)
{
    part->bytes = bytes;
    part->is_over = false;
    part->frame = frame_walk_begin(&part->walk, exporting->profile, exporting->hidden, node);
}

/* At the highest peak every path's share is known. */
static struct export_massif_part *export_massif_parts_at_peak(struct exporting *exporting,
                                                              size_t *count)
{
    const struct profile *profile = exporting->profile;
    struct export_massif_part *parts = memory_need(calloc(profile->site_count + 1, sizeof *parts));
    uint64_t bytes;
    *count = 0;
    for (size_t i = 0; i < profile->site_count; i++)
        if (export_wants(exporting, i) &&
            figure_get(profile_site_figure(profile, i, METRIC_ROW(at_peak_bytes)), &bytes) && bytes)
            export_massif_add_part(exporting, &parts[(*count)++], profile_site_path(profile, i),
                                   bytes);
    return parts;
}

/* At the others the largest shares. */
static struct export_massif_part *export_massif_parts_of(struct exporting *exporting,
                                                         const struct peak *peak, size_t *count)
{
    struct export_massif_part *parts = memory_need(calloc(peak->share_count + 1, sizeof *parts));
    *count = 0;
    for (size_t i = 0; i < peak->share_count; i++)
        if (!exporting->wanted || exporting->wanted[peak->shares[i].node])
            export_massif_add_part(exporting, &parts[(*count)++], peak->shares[i].node,
                                   peak->shares[i].bytes);
    return parts;
}

/* ---- Snapshots ----------------------------------------------------------------------------- */

static void export_massif_begin_snapshot(struct export_massif *massif, uint64_t time_ns,
                                         uint64_t bytes, const char *tree)
{
    if (time_ns > massif->end_ns)
        time_ns = massif->end_ns;
    if (time_ns < massif->last_ns)
        time_ns = massif->last_ns;
    massif->last_ns = time_ns;
    fprintf(massif->exporting->out,
            "#-----------\nsnapshot=%u\n#-----------\ntime=%llu\nmem_heap_B=%llu\n"
            "mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
            massif->number++, (unsigned long long)(time_ns / 1000000), (unsigned long long)bytes,
            tree);
}

static void export_massif_write_peak(struct export_massif *massif, uint64_t time_ns, uint64_t bytes,
                                     struct export_massif_part *parts, size_t count,
                                     bool is_highest)
{
    export_massif_begin_snapshot(massif, time_ns, bytes, is_highest ? "peak" : "detailed");
    export_massif_write_node(massif->exporting, parts, count, NULL, 0, bytes / THRESHOLD_PARTS + 1);
    free(parts);
}

/* What of a peak's bytes is in no share that was kept is a place of its own. In a damaged profile
 * the shares may have more than the peak: then nothing is. */
static void export_massif_write_other_peak(struct export_massif *massif, const struct peak *peak)
{
    struct exporting *exporting = massif->exporting;
    size_t count, group_count, above = 0;
    uint64_t threshold = peak->bytes / THRESHOLD_PARTS + 1;
    struct export_massif_part *parts = export_massif_parts_of(exporting, peak, &count);
    struct export_massif_group *groups =
        export_massif_groups_of(exporting->profile, parts, count, &group_count);
    uint64_t shared = export_massif_sum_of(parts, count);
    uint64_t rest = shared < peak->bytes ? peak->bytes - shared : 0;
    while (above < group_count && groups[above].bytes >= threshold)
        above++;
    for (size_t i = above; i < group_count; i++)
        rest += groups[i].bytes;
    export_massif_begin_snapshot(massif, peak->ticks, peak->bytes, "detailed");
    fprintf(exporting->out,
            "n%zu: %llu (heap allocation functions) malloc/new/new[], "
            "--alloc-fns, etc.\n",
            above + (rest > 0), (unsigned long long)peak->bytes);
    export_massif_write_below(exporting, groups, above, 1, threshold, above);
    if (rest)
        fprintf(exporting->out, " n0: %llu in 1 place, below massif's threshold (1.00%%)\n",
                (unsigned long long)rest);
    free(groups);
    free(parts);
}

/* The highest level of buckets `from` to `to` - 1; unknown: none was seen. */
static struct figure export_massif_highest(const struct profile *profile, size_t from, size_t to)
{
    struct figure bytes = FIGURE_UNKNOWN;
    for (size_t i = from; i < to && i < profile->bucket_count; i++)
        bytes = figure_max(bytes, profile->buckets[i].requested.max);
    return bytes;
}

/* Without a known moment the highest peak comes last. */
static uint64_t export_massif_highest_ns(const struct export_massif *massif)
{
    return figure_or(massif->exporting->peak_ns, NEVER);
}

/* The peaks up to `until_ns` that were not yet written. */
static void export_massif_write_peaks(struct export_massif *massif, size_t *next, bool *had_highest,
                                      uint64_t until_ns)
{
    struct exporting *exporting = massif->exporting;
    const struct profile *profile = exporting->profile;
    struct figure highest = profile->program.total.peak_bytes;
    uint64_t highest_ns = export_massif_highest_ns(massif);
    for (;;) {
        uint64_t peak_ns = *next < profile->peak_count ? profile->peaks[*next].ticks : NEVER;
        bool is_highest = !*had_highest && highest_ns <= peak_ns;
        uint64_t at_ns = is_highest ? highest_ns : peak_ns;
        if (at_ns > until_ns || (!is_highest && peak_ns == NEVER))
            return;
        if (is_highest) {
            size_t count;
            struct export_massif_part *parts = export_massif_parts_at_peak(exporting, &count);
            export_massif_write_peak(massif, at_ns, export_massif_sum_of(parts, count), parts,
                                     count, true);
            *had_highest = true;
            *next += peak_ns == highest_ns && peak_ns != NEVER;
        } else {
            const struct peak *peak = &profile->peaks[(*next)++];
            if (!exporting->wanted && peak->bytes < figure_or(highest, NEVER))
                export_massif_write_other_peak(massif, peak);
        }
    }
}

static void export_massif_write_snapshots(struct export_massif *massif)
{
    const struct profile *profile = massif->exporting->profile;
    size_t step = profile->bucket_count / SNAPSHOTS + 1, next = 0;
    bool had_highest = false;
    uint64_t highest = figure_or(profile->program.total.peak_bytes, NEVER), bytes;
    export_massif_begin_snapshot(massif, 0, 0, "empty");
    /* Of the paths of a filter no level over time is known: only their peak. */
    for (size_t i = 0; i < profile->bucket_count && !massif->exporting->wanted; i += step) {
        uint64_t until_ns = (i + step) * profile->bucket_ns;
        export_massif_write_peaks(massif, &next, &had_highest, until_ns - 1);
        if (figure_get(export_massif_highest(profile, i, i + step), &bytes) && bytes < highest)
            export_massif_begin_snapshot(massif, until_ns, bytes, "empty");
    }
    export_massif_write_peaks(massif, &next, &had_highest, NEVER);
    if (!massif->exporting->wanted && figure_get(profile->program.total.live_bytes, &bytes))
        export_massif_begin_snapshot(massif, export_number(profile, PROFILE_META_DURATION), bytes,
                                     "empty");
}

/* Where the duration is not known: the last moment that is. */
static uint64_t export_massif_end(const struct exporting *exporting)
{
    const struct profile *profile = exporting->profile;
    uint64_t end_ns = export_number(profile, PROFILE_META_DURATION);
    if (end_ns)
        return end_ns;
    end_ns = profile->bucket_count * profile->bucket_ns;
    if (profile->peak_count && profile->peaks[profile->peak_count - 1].ticks > end_ns)
        end_ns = profile->peaks[profile->peak_count - 1].ticks;
    uint64_t peak_ns = figure_or(exporting->peak_ns, 0);
    return peak_ns > end_ns ? peak_ns : end_ns;
}

int export_massif(struct exporting *exporting)
{
    const struct profile *profile = exporting->profile;
    const char *command = profile_get(profile, PROFILE_META_COMMAND);
    struct export_massif massif = {.exporting = exporting, .end_ns = export_massif_end(exporting)};
    struct strbuf plain = STRBUF_INIT;
    export_add_plain(&plain, command ? command : export_title(profile), NULL, 0);
    fprintf(exporting->out,
            "desc: tidemark " TIDEMARK_VERSION ": %s bytes; extra and stacks are not in it\n"
            "cmd: %s\ntime_unit: ms\n",
            export_level_words(exporting), plain.data);
    export_massif_write_snapshots(&massif);
    strbuf_release(&plain);
    return 0;
}
