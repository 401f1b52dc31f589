/* Writes the head's line "names" if functions of one module without symbols have most of the
 * memory: which file lacks symbols, and how to get them. Code of no file, and functions with names,
 * do not count. */
#include "report/report_text.h"

#include <stdlib.h>
#include "aggregate/facts.h"
#include "base/text.h"
#include "format/names.h"

enum { EXPORTS_ONLY = 2 }; /* enum symbols_quality of profile_module.quality */
#define NAMELESS_SHARE 0.5 /* of what is held, at addresses of one module */

/* What each module has at call sites without a name, by index of profile->modules. */
struct nameless {
    double *bytes;
    double whole;
};

static void report_names_count(struct nameless *nameless, const struct profile *profile,
                               struct frame frame, struct figure bytes)
{
    uint32_t module = profile->codes[frame.code].module;
    if (!frame_function(profile, frame) && module < profile->module_count &&
        profile->modules[module].quality == EXPORTS_ONLY)
        nameless->bytes[module] += figure_or(bytes, 0);
}

/* A heap that is a small part of what is resident does not count. */
static void report_names_count_held(struct nameless *nameless, const struct report_text *text)
{
    if (report_first_heap_is_small(text))
        return;
    nameless->whole = figure_or(text->profile->program.total.at_peak_bytes, 0);
    for (size_t i = 0; i < text->sites.group_count; i++)
        report_names_count(nameless, text->profile, text->sites.groups[i].frame,
                           call_sites_group_value(&text->sites.groups[i], 0));
}

static void report_names_count_resident(struct nameless *nameless, const struct report_text *text)
{
    size_t first, count;
    if (!profile_owners_sample(text->profile, &first, &count))
        return;
    nameless->whole = figure_or(facts_owned_by_program(text->profile), 0);
    for (size_t i = first; i < first + count; i++) {
        const struct profile_owner *owner = &text->profile->owners[i];
        if (owner->path > 0)
            report_names_count(nameless, text->profile, call_sites_frame(&text->sites, owner->path),
                               owner->resident_bytes);
    }
}

/* The module without symbols whose functions have most of the memory. NULL: there is none. */
static const struct profile_module *
report_names_missing(const struct report_text *text,
                     void (*count)(struct nameless *nameless, const struct report_text *text))
{
    const struct profile *profile = text->profile;
    struct nameless nameless = {calloc(profile->module_count + 1, sizeof *nameless.bytes), 0};
    const struct profile_module *found = NULL;
    if (nameless.bytes)
        count(&nameless, text);
    for (size_t i = 0; nameless.bytes && nameless.whole > 0 && i < profile->module_count; i++)
        if (nameless.bytes[i] >= NAMELESS_SHARE * nameless.whole)
            found = &profile->modules[i];
    free(nameless.bytes);
    return found;
}

void report_text_add_names(struct report_text *text)
{
    const struct profile_module *module = report_names_missing(text, report_names_count_resident);
    struct strbuf line = STRBUF_INIT;
    if (!module)
        module = report_names_missing(text, report_names_count_held);
    if (!module)
        return;
    report_part_label(text, "names");
    text_add_safe_string(&line, name_base(module->path));
    strbuf_add_string(&line, " has no symbols: install its debug package, or set DEBUGINFOD_URLS, "
                             "and record again");
    report_part_wrapped(text, line.data);
    strbuf_release(&line);
}
