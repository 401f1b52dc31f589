/* What the exporters share (exporting.h): columns of metrics that the profile has, stacks of frames
 * of a path, and names without characters that a format reserves. */
#include "export/exporting.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/text.h"
#include "base/memory.h"
#include "aggregate/facts.h"
#include "format/names.h"
#include "aggregate/functions.h"

int export_fail(struct exporting *exporting, int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    strbuf_reset(exporting->why);
    strbuf_addv(exporting->why, format, arguments);
    va_end(arguments);
    return error;
}

/* ---- Columns ------------------------------------------------------------------------------- */

void export_columns_init(struct export_columns *columns, const struct profile *profile,
                         bool additive)
{
    columns->count = 0;
    for (size_t i = 0; i < METRICS; i++) {
        const struct metric_row *entry = &metric_rows[i];
        bool adds_up = metric_row_adds_up(entry) && entry->unit != METRIC_VARIANCE;
        if ((adds_up || !additive) && metric_is_recorded(entry, &profile->program.total))
            columns->entries[columns->count++] = entry;
    }
}

struct figure export_total(const struct exporting *exporting, const struct metric_row *metric)
{
    struct figure total = figure_of(0);
    for (size_t i = 0; i < exporting->profile->site_count; i++)
        if (export_wants(exporting, i))
            total = figure_add(total, profile_site_figure(exporting->profile, i, metric));
    return total;
}

uint64_t export_blocks_in(const struct call_metrics *metrics, uint64_t bytes)
{
    uint64_t blocks = figure_or(export_blocks(metrics), 0),
             all = figure_or(export_bytes(metrics), 0);
    if (!bytes || !blocks || !all)
        return 0;
    uint64_t mean = (all + blocks / 2) / blocks;
    uint64_t count = (bytes + mean / 2) / (mean ? mean : 1);
    return count > blocks ? blocks : count ? count : 1;
}

static struct export_level exporting_left(const struct call_metrics *metrics)
{
    return (struct export_level){figure_or(metrics->live_count, 0),
                                 figure_or(metrics->live_bytes, 0)};
}

struct export_level export_kept(struct export_level born, struct export_level peak,
                                struct export_level left)
{
    uint64_t blocks = peak.blocks < left.blocks ? peak.blocks : left.blocks;
    uint64_t bytes = peak.bytes < left.bytes ? peak.bytes : left.bytes;
    uint64_t both = peak.bytes + left.bytes;
    if (blocks && ((peak.blocks <= left.blocks && peak.bytes > left.bytes) ||
                   (left.blocks <= peak.blocks && left.bytes > peak.bytes)))
        blocks--;
    if (!blocks)
        return (struct export_level){0, 0};
    bool is_all = peak.blocks + left.blocks - blocks == born.blocks;
    if (is_all && both >= born.bytes && both - born.bytes < bytes)
        bytes = both - born.bytes;
    return (struct export_level){blocks, bytes};
}

/* No blocks have no bytes. */
static bool exporting_is_level(uint64_t blocks, uint64_t bytes)
{
    return blocks || !bytes;
}

/* Can a path that made `born` have had `peak` at the peak and `left` at the end? Then what was at
 * neither, at the peak alone, and at the end alone are levels. */
static bool exporting_fits(struct export_level born, struct export_level peak,
                           struct export_level left)
{
    struct export_level kept = export_kept(born, peak, left);
    uint64_t blocks = peak.blocks + left.blocks - kept.blocks;
    uint64_t bytes = peak.bytes + left.bytes - kept.bytes;
    return blocks <= born.blocks && bytes <= born.bytes &&
           exporting_is_level(born.blocks - blocks, born.bytes - bytes) &&
           exporting_is_level(peak.blocks - kept.blocks, peak.bytes - kept.bytes) &&
           exporting_is_level(left.blocks - kept.blocks, left.bytes - kept.bytes);
}

/* The number of blocks at the peak, near the estimate, that fits with all else. It can only fail to
 * fit where it is about what was left or about what was ever made. */
static uint64_t exporting_fitting(struct export_level born, struct export_level peak,
                                  struct export_level left)
{
    const uint64_t others[] = {left.blocks, left.blocks + 1, left.blocks - 1,
                               born.blocks, born.blocks - 1, 1};
    uint64_t best = peak.blocks, least = peak.blocks + born.blocks + 1;
    if (exporting_fits(born, peak, left))
        return peak.blocks;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        uint64_t other = others[i];
        uint64_t away = other > peak.blocks ? other - peak.blocks : peak.blocks - other;
        if (other <= born.blocks && away < least &&
            exporting_fits(born, (struct export_level){other, peak.bytes}, left)) {
            best = other;
            least = away;
        }
    }
    return best;
}

struct export_level export_peak_level(const struct call_metrics *metrics)
{
    struct export_level left = exporting_left(metrics), peak = {0, 0};
    struct export_level born = {figure_or(export_blocks(metrics), 0),
                                figure_or(export_bytes(metrics), 0)};
    if (!figure_get(metrics->at_peak_bytes, &peak.bytes))
        return left;
    if (figure_get(metrics->at_peak_count, &peak.blocks))
        return peak;
    peak.blocks = export_blocks_in(metrics, peak.bytes);
    peak.blocks = exporting_fitting(born, peak, left);
    return peak;
}

/* The look whose figures are exported: the highest of those that went over the pages. */
static const struct profile_sample *exporting_best_look(const struct profile *profile)
{
    const struct profile_sample *best = NULL;
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct profile_sample *sample = &profile->samples[i];
        if (sample->has_ledger && figure_known(sample->resident_bytes) &&
            (!best || figure_less(best->resident_bytes, sample->resident_bytes)))
            best = sample;
    }
    return best;
}

struct figure *export_resident(const struct exporting *exporting, uint64_t *time_ns)
{
    const struct profile *profile = exporting->profile;
    const struct profile_sample *look = exporting_best_look(profile);
    if (!look || !profile->residency_count)
        return NULL;
    struct figure *by_node = calloc(profile->node_count + 1, sizeof *by_node);
    struct figure *by_site = calloc(profile->site_count + 1, sizeof *by_site);
    for (size_t i = 0; by_node && i < profile->residency_count; i++) {
        const struct profile_residency *row = &profile->residencies[i];
        if (row->sample == look->id)
            by_node[row->path] = figure_add(by_node[row->path], row->resident_bytes);
    }
    for (size_t i = 0; by_node && by_site && i < profile->site_count; i++)
        by_site[i] = by_node[profile_site_path(profile, i)];
    free(by_node);
    if (time_ns)
        *time_ns = look->time_ns;
    return by_site;
}

/* ---- Frames -------------------------------------------------------------------------------- */

static void exporting_push(struct export_stack *stack, struct frame frame)
{
    array_need_room(&stack->frames, &stack->capacity, stack->count, sizeof *stack->frames);
    stack->frames[stack->count++] = frame;
}

void export_stack_take(struct export_stack *stack, const struct exporting *exporting, uint32_t node)
{
    struct frame_walk walk;
    stack->count = 0;
    struct frame frame = frame_walk_begin(&walk, exporting->profile, exporting->hidden, node);
    do
        exporting_push(stack, frame);
    while (frame_walk_next(&walk, &frame));
}

void export_stack_release(struct export_stack *stack)
{
    free(stack->frames);
    *stack = (struct export_stack)EXPORT_STACK_INIT;
}

/* ---- Text ---------------------------------------------------------------------------------- */

void export_add_file(struct strbuf *out, const struct exporting *exporting, const char *file)
{
    if (file)
        source_paths_apply(exporting->options->paths, file, out);
}

/* Of the `count` bytes the first ones that are written as they are. */
static size_t exporting_plain_bytes(const char *text, size_t count, const char *reserved)
{
    size_t plain = text_plain_bytes(text, count);
    for (; reserved && *reserved; reserved++) {
        const char *hit = memchr(text, *reserved, plain);
        plain = hit ? (size_t)(hit - text) : plain;
    }
    return plain;
}

void export_add_plain(struct strbuf *out, const char *text, const char *reserved, char instead)
{
    for (size_t left = strlen(text), length; left; text += length, left -= length) {
        uint32_t code_point;
        length = exporting_plain_bytes(text, left, reserved);
        if (length) {
            strbuf_add(out, text, length);
            continue;
        }
        length = text_decode(text, left, &code_point);
        if (!length) {
            strbuf_add_string(out, "\xef\xbf\xbd"); /* U+FFFD: there was something */
            length = 1;
        } else if (text_drives_terminal(code_point)) {
            strbuf_add_char(out, ' ');
        } else if (length == 1 && reserved && strchr(reserved, *text)) {
            strbuf_add_char(out, instead);
        } else {
            strbuf_add(out, text, length);
        }
    }
}

void export_add_line_name(struct strbuf *out, const struct profile *profile, struct frame frame,
                          const char *reserved, char instead)
{
    struct strbuf name = STRBUF_INIT;
    frame_add_name(&name, profile, frame);
    export_add_plain(out, name.data, reserved, instead);
    strbuf_release(&name);
}

void export_add_key_name(struct strbuf *out, const struct profile *profile, uint32_t key,
                         struct frame frame, const char *reserved, char instead)
{
    struct strbuf name = STRBUF_INIT;
    function_key_add_name(&name, profile, key, frame);
    export_add_plain(out, name.data, reserved, instead);
    strbuf_release(&name);
}

const char *export_title(const struct profile *profile)
{
    const char *program = profile_get(profile, PROFILE_META_PROGRAM);
    return program && *program ? program : "program";
}

uint64_t export_number(const struct profile *profile, const char *key)
{
    return facts_number(profile, key);
}

uint32_t export_intern(struct intern *intern, const char *bytes, size_t count, bool *is_new)
{
    bool is_first;
    uint32_t number = intern_number(intern, bytes, count, &is_first);
    if (!number)
        memory_exhausted();
    if (is_new)
        *is_new = is_first;
    return number;
}

/* ---- Levels of memory ---------------------------------------------------------------------- */

bool export_is_of(const struct exporting *exporting, enum memory_level level)
{
    return facts_is_of(exporting->profile, level);
}

const char *export_level_words(const struct exporting *exporting)
{
    return export_is_of(exporting, MEMORY_MAPPED)     ? "mapped"
           : export_is_of(exporting, MEMORY_ALL)      ? "requested and mapped"
           : export_is_of(exporting, MEMORY_RESIDENT) ? "resident"
                                                      : "requested";
}

bool export_has_mapped(const struct exporting *exporting)
{
    return !profile_get(exporting->profile, PROFILE_META_LEVEL) &&
           figure_positive(exporting->profile->program.mapped.peak_bytes);
}
