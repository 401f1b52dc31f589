/* Global and thread-local variables: what a program takes before it asks for anything. */
#include "report/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "present/names.h"
#include "views/threads.h"

enum { CELL = 11, SECTION = 9 };

static const char *const section_names[PROFILE_SECTIONS] = {
    [PROFILE_SECTION_DATA] = ".data",     [PROFILE_SECTION_BSS] = ".bss",
    [PROFILE_SECTION_RODATA] = ".rodata", [PROFILE_SECTION_RELRO] = ".relro",
    [PROFILE_SECTION_TDATA] = ".tdata",   [PROFILE_SECTION_TBSS] = ".tbss",
};
static const char *section_name(int section)
{
    return section >= 0 && section < PROFILE_SECTIONS ? section_names[section] : "?";
}

static const char *module_path(const struct profile *profile, int64_t module)
{
    return module >= 0 && (uint64_t)module < profile->module_count ? profile->modules[module].path
                                                                   : NULL;
}

/* ---- Sections ------------------------------------------------------------------------------ */

static void add_section(struct text *text, int section)
{
    uint64_t bytes = 0, named = 0, variables = 0;
    for (size_t i = 0; i < text->profile->section_count; i++) {
        const struct profile_section_total *total = &text->profile->sections[i];
        if (total->section != section)
            continue;
        bytes += total->bytes;
        named += total->named_bytes;
        variables += total->variables;
    }
    if (!bytes && !variables)
        return;
    part_figure(text, human_bytes(bytes).text, CELL);
    strbuf_add_string(&text->out, "  ");
    part_name(text, section_name(section), SECTION);
    strbuf_addf(&text->out, "%s in %s variable%s", human_bytes(named).text,
                human_exact(variables).text, variables == 1 ? "" : "s");
    strbuf_add_char(&text->out, '\n');
}

static void add_thread_storage(struct text *text)
{
    struct thread_storage storage = threads_storage(text->profile);
    size_t threads = threads_peak(text->profile);
    struct strbuf line = STRBUF_INIT;
    if (!storage.per_thread)
        return;
    strbuf_addf(&line, "thread-local: %s ", human_bytes(storage.per_thread).text);
    strbuf_addf(&line, "x %zu threads + %s of the image's own", threads ? threads : 1,
                human_bytes(storage.image).text);
    strbuf_addf(&line, " = %s", human_bytes(storage.total).text);
    part_note(text, line.data);
    strbuf_release(&line);
}

static bool exported_only(const struct profile *profile)
{
    for (size_t i = 0; i < profile->section_count; i++)
        if (profile->sections[i].exported_only)
            return true;
    return false;
}

/* ---- Variables ----------------------------------------------------------------------------- */

static void add_variable(struct text *text, const struct profile_variable *variable)
{
    struct strbuf name = STRBUF_INIT, place = STRBUF_INIT;
    const char *module = module_path(text->profile, variable->module_id);
    size_t room = text->style.columns - CELL - SECTION - 2;
    if (variable->file)
        name_add_place(&place, variable->file, variable->line, room * 9 / 20);
    else if (module)
        name_add_place(&place, name_base(module), 0, room * 9 / 20);
    name_add_short(&name, variable->name ? variable->name : "?", room - text_width(place.data) - 2);
    part_figure(text, human_bytes(variable->bytes).text, CELL);
    strbuf_add_string(&text->out, "  ");
    part_name(text, section_name(variable->section), SECTION);
    strbuf_add_string(&text->out, name.data);
    if (place.length) {
        strbuf_add_repeated(&text->out, " ", room - text_width(name.data) - text_width(place.data));
        style_add(&text->out, &text->style, TONE_DIM, place.data);
    }
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&name);
    strbuf_release(&place);
}

static int add_variables(struct text *text)
{
    const struct profile *profile = text->profile;
    uint64_t *bytes = calloc(profile->variable_count + 1, sizeof *bytes);
    for (size_t i = 0; bytes && i < profile->variable_count; i++)
        bytes[i] = profile->variables[i].bytes;
    uint32_t *order = bytes ? order_values(bytes, profile->variable_count) : NULL;
    free(bytes);
    if (!order)
        return -ENOMEM;
    if (profile->variable_count)
        part_title(text, "Largest variables", NULL);
    for (size_t i = 0; i < profile->variable_count && i < text->options->top; i++)
        add_variable(text, &profile->variables[order[i]]);
    free(order);
    return 0;
}

int section_globals(struct text *text)
{
    const struct profile *profile = text->profile;
    bool known = profile->section_count || profile->variable_count;
    part_title(text, "Globals and thread-local variables",
               known ? "virtual size, of all modules" : NULL);
    if (!known) {
        part_note(text, "not recorded");
        return 0;
    }
    for (int i = 0; i < PROFILE_SECTIONS; i++)
        add_section(text, i);
    add_thread_storage(text);
    if (exported_only(profile))
        part_note(text, "of some modules only the exported variables have names");
    return add_variables(text);
}
