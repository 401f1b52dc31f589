/* Writes the section on global and thread-local variables: what a program takes before it asks
 * for anything. Modules with their sections come first, then the largest variables. */
#include "report/report_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "format/names.h"
#include "aggregate/thread_totals.h"
#include "model/figure_human.h"

enum { CELL = 11, SECTION = 9 };
static const struct text_column report_text_globals_columns[] = {
    {NULL, CELL, TEXT_RIGHT, 0}, {NULL, SECTION, TEXT_LEFT, 2}, {NULL, 0, TEXT_LEFT, 0}};

static const char *const section_names[PROFILE_SECTIONS] = {
    [PROFILE_SECTION_DATA] = ".data",     [PROFILE_SECTION_BSS] = ".bss",
    [PROFILE_SECTION_RODATA] = ".rodata", [PROFILE_SECTION_RELRO] = ".relro",
    [PROFILE_SECTION_TDATA] = ".tdata",   [PROFILE_SECTION_TBSS] = ".tbss",
};
static const char *report_text_globals_section_name(int section)
{
    return section >= 0 && section < PROFILE_SECTIONS ? section_names[section] : "?";
}

static const char *report_text_globals_module_path(const struct profile *profile, int64_t module)
{
    return module >= 0 && (uint64_t)module < profile->module_count ? profile->modules[module].path
                                                                   : NULL;
}

/* ---- Sections ------------------------------------------------------------------------------ */

static void report_text_globals_add_section(struct report_text *text, int section)
{
    struct figure bytes = figure_of(0), named = bytes, variables = bytes;
    for (size_t i = 0; i < text->profile->section_count; i++) {
        const struct profile_section_total *total = &text->profile->sections[i];
        if (total->section != section)
            continue;
        bytes = figure_add(bytes, total->bytes);
        named = figure_add(named, total->named_bytes);
        variables = figure_add(variables, total->variables);
    }
    if (figure_zero(bytes) && figure_zero(variables))
        return;
    report_part_row(text, report_text_globals_columns);
    report_part_next_figure(text, figure_human_bytes(bytes).text);
    report_part_next(text, report_text_globals_section_name(section));
    strbuf_addf(&text->out, "%s in %s variable%s", figure_human_bytes(named).text,
                figure_human_exact(variables).text, human_plural(figure_or(variables, 0)));
    strbuf_add_char(&text->out, '\n');
}

static void report_text_globals_add_thread_storage(struct report_text *text)
{
    struct thread_storage storage = threads_storage(text->profile);
    size_t threads = threads_peak(text->profile);
    struct strbuf line = STRBUF_INIT;
    if (figure_zero(storage.per_thread))
        return;
    strbuf_addf(&line, "thread-local: %s ", figure_human_bytes(storage.per_thread).text);
    strbuf_addf(&line, "x %zu threads + %s of the image's own", threads ? threads : 1,
                figure_human_bytes(storage.image).text);
    strbuf_addf(&line, " = %s", figure_human_bytes(storage.total).text);
    report_part_note(text, line.data);
    strbuf_release(&line);
}

static bool report_text_globals_exported_only(const struct profile *profile)
{
    for (size_t i = 0; i < profile->section_count; i++)
        if (profile->sections[i].exported_only)
            return true;
    return false;
}

/* ---- Variables ----------------------------------------------------------------------------- */

static void report_text_globals_add_variable(struct report_text *text,
                                             const struct profile_variable *variable)
{
    struct strbuf name = STRBUF_INIT, place = STRBUF_INIT;
    const char *module = report_text_globals_module_path(text->profile, variable->module_id);
    size_t room = text->style.columns - CELL - SECTION - 2;
    if (variable->file)
        name_add_place(&place, variable->file, variable->line, room * 9 / 20);
    else if (module)
        name_add_place(&place, name_base(module), 0, room * 9 / 20);
    name_add_short(&name, variable->name ? variable->name : "?", room - text_width(place.data) - 2);
    report_part_row(text, report_text_globals_columns);
    report_part_next_figure(text, human_bytes(variable->bytes).text);
    report_part_next(text, report_text_globals_section_name(variable->section));
    report_part_next(text, name.data);
    if (place.length) {
        strbuf_add_repeated(&text->out, " ", room - text_width(name.data) - text_width(place.data));
        style_add(&text->out, &text->style, TONE_DIM, place.data);
    }
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&name);
    strbuf_release(&place);
}

static int report_text_globals_add_variables(struct report_text *text)
{
    const struct profile *profile = text->profile;
    struct figure *bytes = calloc(profile->variable_count + 1, sizeof *bytes);
    for (size_t i = 0; bytes && i < profile->variable_count; i++)
        bytes[i] = figure_of(profile->variables[i].bytes);
    uint32_t *order = bytes ? order_values(bytes, profile->variable_count) : NULL;
    free(bytes);
    if (!order)
        return -ENOMEM;
    if (profile->variable_count)
        report_part_title(text, "Largest variables", NULL);
    for (size_t i = 0; i < profile->variable_count && i < text->options->top; i++)
        report_text_globals_add_variable(text, &profile->variables[order[i]]);
    free(order);
    return 0;
}

int report_section_globals(struct report_text *text)
{
    const struct profile *profile = text->profile;
    bool known = profile->section_count || profile->variable_count;
    report_part_title(text, "Globals and thread-local variables",
                      known ? "virtual size, of all modules" : NULL);
    if (!known) {
        report_part_note(text, "not recorded");
        return 0;
    }
    for (int i = 0; i < PROFILE_SECTIONS; i++)
        report_text_globals_add_section(text, i);
    report_text_globals_add_thread_storage(text);
    if (report_text_globals_exported_only(profile))
        report_part_note(text, "of some modules only the exported variables have names");
    return report_text_globals_add_variables(text);
}
