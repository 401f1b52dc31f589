/* See exporting.h. */
#include "export/exporting.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/room.h"
#include "base/text.h"
#include "present/facts.h"
#include "present/names.h"
#include "views/functions.h"

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
    for (size_t i = 0; i < VOCABULARY_SIZE; i++) {
        const struct vocabulary_entry *entry = &vocabulary[i];
        bool adds_up = entry->merge == VOCABULARY_SUM && entry->unit != VOCABULARY_VARIANCE;
        if ((adds_up || !additive) && vocabulary_is_recorded(entry, &profile->program.total))
            columns->entries[columns->count++] = entry;
    }
}

uint64_t export_total(const struct exporting *exporting, const struct vocabulary_entry *metric)
{
    uint64_t total = 0;
    for (size_t i = 0; i < exporting->profile->site_count; i++)
        if (export_wants(exporting, i))
            total += vocabulary_value(metric, &exporting->profile->sites[i].metrics);
    return total;
}

/* The look whose figures are exported: the highest of those that went over the pages. */
static const struct profile_sample *best_look(const struct profile *profile)
{
    const struct profile_sample *best = NULL;
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct profile_sample *sample = &profile->samples[i];
        if (sample->has_ledger && sample->resident_bytes != UINT64_MAX &&
            (!best || sample->resident_bytes > best->resident_bytes))
            best = sample;
    }
    return best;
}

uint64_t *export_resident(const struct exporting *exporting, uint64_t *time_ns)
{
    const struct profile *profile = exporting->profile;
    const struct profile_sample *look = best_look(profile);
    if (!look || !profile->residency_count)
        return NULL;
    uint64_t *by_node = calloc(profile->node_count + 1, sizeof *by_node);
    uint64_t *by_site = calloc(profile->site_count + 1, sizeof *by_site);
    for (size_t i = 0; by_node && i < profile->residency_count; i++)
        if (profile->residencies[i].sample == look->id)
            by_node[profile->residencies[i].path] += profile->residencies[i].resident_bytes;
    for (size_t i = 0; by_node && by_site && i < profile->site_count; i++)
        by_site[i] = by_node[profile->sites[i].path];
    free(by_node);
    if (time_ns)
        *time_ns = look->time_ns;
    return by_site;
}

/* ---- Frames -------------------------------------------------------------------------------- */

static void push(struct export_stack *stack, struct frame frame)
{
    room_need(&stack->frames, &stack->capacity, stack->count, sizeof *stack->frames);
    stack->frames[stack->count++] = frame;
}

void export_stack_take(struct export_stack *stack, const struct exporting *exporting, uint32_t node)
{
    struct frame_walk walk;
    stack->count = 0;
    struct frame frame = frame_walk_begin(&walk, exporting->profile, exporting->hidden, node);
    do
        push(stack, frame);
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

void export_add_plain(struct strbuf *out, const char *text, const char *reserved, char instead)
{
    for (size_t left = strlen(text), length; left; text += length, left -= length) {
        uint32_t code_point;
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
    uint32_t index;
    switch (function_key_kind(profile, key, &index)) {
    case FUNCTION_KEY_MODULE:
        strbuf_add_char(out, '[');
        export_add_plain(out, name_base(profile->modules[index].path), reserved, instead);
        strbuf_add_char(out, ']');
        break;
    case FUNCTION_KEY_ANONYMOUS:
        strbuf_add_string(out, "[code in no module]");
        break;
    default:
        export_add_line_name(out, profile, frame, reserved, instead);
    }
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
        abort();
    if (is_new)
        *is_new = is_first;
    return number;
}
