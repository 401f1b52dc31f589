/* DHAT's JSON, version 2: a program point for each call path. What it wants and a profile does not
 * have: how many blocks a path had at its own peak (mbk), estimated by its mean size; and the lives
 * of blocks that were never freed, which are not in tl. Reads and writes were not counted (bkacc).
 * Profiles made of other tools' files may not know lives (tl is 0 then) or the peak (the end stands
 * for it).
 */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/json.h"
#include "base/memory.h"
#include "export/exporting.h"

struct export_dhat {
    struct exporting *exporting;
    struct json json;
    struct intern frames; /* number n stands at ftbl[n]; ftbl[0] is the root */
    struct strbuf *texts; /* by number - 1 */
    size_t capacity;
    uint32_t *of_line; /* by line: the number of its frame, 0: not known yet */
};

static void export_dhat_frame_text(struct export_dhat *dhat, struct strbuf *text,
                                   struct frame frame)
{
    const struct profile *profile = dhat->exporting->profile;
    const struct profile_code *code = &profile->codes[frame.code];
    const char *module = frame_module(profile, frame);
    uint32_t line;
    const char *file = frame_file(profile, frame, &line);
    uint64_t bias = code->module == UINT32_MAX ? 0 : profile->modules[code->module].bias;
    strbuf_addf(text, "0x%llX: ", (unsigned long long)(code->address + bias));
    if (frame_has_name(profile, frame) || !module)
        frame_add_name(text, profile, frame);
    else
        strbuf_add_string(text, "???");
    if (file) {
        strbuf_add_string(text, " (");
        export_add_file(text, dhat->exporting, file);
        strbuf_addf(text, ":%u)", line);
    } else if (module) {
        strbuf_addf(text, " (in %s)", module);
    }
}

static uint32_t export_dhat_frame_number(struct export_dhat *dhat, struct frame frame)
{
    if (frame.line && dhat->of_line[frame.line])
        return dhat->of_line[frame.line];
    struct strbuf text = STRBUF_INIT;
    bool is_new;
    export_dhat_frame_text(dhat, &text, frame);
    uint32_t number = export_intern(&dhat->frames, text.data, text.length, &is_new);
    if (is_new)
        array_need_bare_room(&dhat->texts, &dhat->capacity, number - 1, sizeof *dhat->texts);
    if (is_new)
        dhat->texts[number - 1] = text;
    else
        strbuf_release(&text);
    return dhat->of_line[frame.line] = number;
}

/* ---- Program points ------------------------------------------------------------------------ */

/* As DHAT has them: exporters.c has made sure that what was allocated and what is left is known. */
struct export_dhat_point {
    uint64_t bytes, blocks, lifetime_us, own_peak;
    uint64_t peak_bytes, peak_blocks, live_bytes, live_blocks;
};

static struct export_dhat_point export_dhat_point_of(const struct call_metrics *metrics)
{
    struct export_level peak = export_peak_level(metrics);
    struct export_dhat_point point = {.bytes = figure_or(export_bytes(metrics), 0),
                                      .blocks = figure_or(export_blocks(metrics), 0),
                                      .lifetime_us = figure_or(metrics->lifetime_sum, 0) / 1000,
                                      .peak_bytes = peak.bytes,
                                      .peak_blocks = peak.blocks,
                                      .live_bytes = figure_or(metrics->live_bytes, 0),
                                      .live_blocks = figure_or(metrics->live_count, 0)};
    uint64_t least = point.peak_bytes > point.live_bytes ? point.peak_bytes : point.live_bytes;
    point.own_peak = figure_or(metrics->peak_bytes, least);
    return point;
}

static void export_dhat_write_point(struct export_dhat *dhat, size_t site,
                                    struct export_stack *stack)
{
    struct profile_site room;
    const struct profile_site *of = profile_site_at(dhat->exporting->profile, site, &room);
    struct export_dhat_point point = export_dhat_point_of(&of->metrics);
    struct json *json = &dhat->json;
    if (!point.blocks && !point.live_blocks && !point.peak_blocks)
        return;
    json_object(json, NULL);
    json_unsigned(json, "tb", point.bytes);
    json_unsigned(json, "tbk", point.blocks);
    json_unsigned(json, "tl", point.lifetime_us);
    json_unsigned(json, "mb", point.own_peak);
    json_unsigned(json, "mbk", export_blocks_in(&of->metrics, point.own_peak));
    json_unsigned(json, "gb", point.peak_bytes);
    json_unsigned(json, "gbk", point.peak_blocks);
    json_unsigned(json, "eb", point.live_bytes);
    json_unsigned(json, "ebk", point.live_blocks);
    json_array(json, "fs");
    export_stack_take(stack, dhat->exporting, of->path);
    for (size_t i = 0; i < stack->count; i++)
        json_unsigned(json, NULL, export_dhat_frame_number(dhat, stack->frames[i]));
    json_end(json);
    json_end(json);
}

static void export_dhat_write_points(struct export_dhat *dhat)
{
    struct export_stack stack = EXPORT_STACK_INIT;
    json_array(&dhat->json, "pps");
    for (size_t i = 0; i < dhat->exporting->profile->site_count; i++)
        if (export_wants(dhat->exporting, i))
            export_dhat_write_point(dhat, i, &stack);
    json_end(&dhat->json);
    export_stack_release(&stack);
}

static void export_dhat_write_frames(struct export_dhat *dhat)
{
    json_array(&dhat->json, "ftbl");
    json_string(&dhat->json, NULL, "[root]");
    for (size_t i = 0; i < dhat->frames.count; i++)
        json_string(&dhat->json, NULL, dhat->texts[i].data);
    json_end(&dhat->json);
}

static int export_dhat_write_all(struct export_dhat *dhat)
{
    const struct profile *profile = dhat->exporting->profile;
    const char *command = profile_get(profile, PROFILE_META_COMMAND);
    uint64_t end_ns = export_number(profile, PROFILE_META_DURATION);
    uint64_t peak_ns = figure_or(dhat->exporting->peak_ns, end_ns);
    struct json *json = &dhat->json;
    json_object(json, NULL);
    json_unsigned(json, "dhatFileVersion", 2);
    json_string(json, "mode", "heap");
    json_string(json, "verb", "Allocated");
    json_bool(json, "bklt", true);
    json_bool(json, "bkacc", false);
    json_string(json, "tu", "µs");
    json_string(json, "Mtu", "s");
    json_unsigned(json, "tuth", 10);
    json_string(json, "cmd", command ? command : export_title(profile));
    json_unsigned(json, "pid", export_number(profile, PROFILE_META_PID));
    json_unsigned(json, "te", end_ns / 1000);
    json_unsigned(json, "tg", peak_ns / 1000);
    export_dhat_write_points(dhat);
    export_dhat_write_frames(dhat);
    json_end(json);
    return json_finish(json);
}

int export_dhat(struct exporting *exporting)
{
    struct export_dhat dhat = {.exporting = exporting, .json = json_begin(exporting->out, false)};
    dhat.of_line = calloc(exporting->profile->line_count + 1, sizeof *dhat.of_line);
    if (!dhat.of_line)
        memory_exhausted();
    int error = export_dhat_write_all(&dhat);
    for (size_t i = 0; i < dhat.frames.count; i++)
        strbuf_release(&dhat.texts[i]);
    free(dhat.texts);
    free(dhat.of_line);
    intern_release(&dhat.frames);
    return error;
}
