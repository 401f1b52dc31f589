/* Adds to a profile in memory what no file of it says (profile.h). Texts are interned with those
 * that the profile has already, and functions are found by name, so that nothing stands there
 * twice. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/strbuf.h"
#include "profile/intern.h"
#include "profile/profile.h"
#include "profile/profile_reading.h"

struct profile_builder {
    struct reader reader;
    struct intern functions;
    uint32_t *function_of; /* index by number in `functions` */
    size_t function_room;
};

/* ---- Functions ----------------------------------------------------------------------------- */

static void profile_builder_key_of(struct strbuf *key, const char *name, const char *linkage,
                                   const char *file)
{
    strbuf_reset(key);
    strbuf_addf(key, "%s%c%s%c%s", name ? name : "?", 0, linkage ? linkage : "", 0,
                file ? file : "");
}

/* The number's place for an index, 0 at first; NULL: no memory. */
static uint32_t *profile_builder_index_place(struct profile_builder *builder,
                                             const struct strbuf *key)
{
    bool is_new;
    uint32_t number = intern_number(&builder->functions, key->data, key->length, &is_new);
    if (!array_make_room(&builder->function_of, &builder->function_room, number,
                         sizeof *builder->function_of))
        return NULL;
    return number ? &builder->function_of[number] : NULL;
}

static const char *profile_builder_keep(struct profile_builder *builder, const char *text)
{
    return text ? profile_reading_keep(&builder->reader, text, strlen(text)) : NULL;
}

static uint32_t profile_builder_add_function(struct profile_builder *builder,
                                             const struct profile_frame *frame)
{
    struct profile *profile = builder->reader.profile;
    struct strbuf key = STRBUF_INIT;
    if (!frame->function && !frame->file)
        return 0;
    profile_builder_key_of(&key, frame->function, frame->linkage, frame->file);
    uint32_t *index = profile_builder_index_place(builder, &key);
    strbuf_release(&key);
    if (!index)
        builder->reader.no_memory = true;
    if (!index || *index)
        return index ? *index : 0;
    struct profile_function *function =
        APPEND(&builder->reader, profile->functions, profile->function_count,
               builder->reader.own->functions.capacity);
    if (!function)
        return 0;
    *function = (struct profile_function){
        .name = profile_builder_keep(builder, frame->function ? frame->function : "?"),
        .linkage = profile_builder_keep(builder, frame->linkage),
        .file = profile_builder_keep(builder, frame->file)};
    return *index = (uint32_t)profile->function_count - 1;
}

static void profile_builder_learn_functions(struct profile_builder *builder)
{
    const struct profile *profile = builder->reader.profile;
    struct strbuf key = STRBUF_INIT;
    for (size_t i = 1; i < profile->function_count && !builder->reader.no_memory; i++) {
        const struct profile_function *function = &profile->functions[i];
        profile_builder_key_of(&key, function->name, function->linkage, function->file);
        uint32_t *index = profile_builder_index_place(builder, &key);
        builder->reader.no_memory |= !index;
        if (index && !*index)
            *index = (uint32_t)i;
    }
    strbuf_release(&key);
}

/* ---- From outside -------------------------------------------------------------------------- */

struct profile_builder *profile_builder_new(struct profile *profile)
{
    struct profile_builder *builder = calloc(1, sizeof *builder);
    if (!builder)
        return NULL;
    builder->reader = (struct reader){.profile = profile, .own = profile->own};
    profile_reading_capacities(&builder->reader);
    profile_builder_learn_functions(builder);
    return builder;
}

int profile_builder_free(struct profile_builder *builder)
{
    if (!builder)
        return -ENOMEM;
    int error = builder->reader.no_memory ? -ENOMEM : 0;
    intern_release(&builder->functions);
    free(builder->function_of);
    free(builder);
    return error;
}

void profile_builder_fact(struct profile_builder *builder, const char *key, const char *value)
{
    struct reader *reader = &builder->reader;
    struct profile *profile = reader->profile;
    struct profile_meta *meta = NULL;
    for (size_t i = 0; i < profile->meta_count && !meta; i++)
        if (!strcmp(profile->meta[i].key, key))
            meta = &profile->meta[i];
    if (!meta)
        meta = APPEND(reader, profile->meta, profile->meta_count, reader->own->capacity[META]);
    if (meta)
        *meta = (struct profile_meta){profile_builder_keep(builder, key),
                                      profile_builder_keep(builder, value), false};
}

uint32_t profile_builder_module(struct profile_builder *builder,
                                const struct profile_module *module)
{
    struct reader *reader = &builder->reader;
    struct profile *profile = reader->profile;
    struct profile_module *added =
        APPEND(reader, profile->modules, profile->module_count, reader->own->modules.capacity);
    if (!added)
        return UINT32_MAX;
    *added = *module;
    added->path = profile_builder_keep(builder, module->path);
    added->build_id = NULL;
    if (module->build_id_bytes)
        added->build_id = (const uint8_t *)profile_reading_keep_bytes(reader, module->build_id,
                                                                      module->build_id_bytes);
    return (uint32_t)profile->module_count - 1;
}

uint32_t profile_builder_code(struct profile_builder *builder, const struct profile_code *code)
{
    struct reader *reader = &builder->reader;
    struct profile *profile = reader->profile;
    struct profile_code *added =
        APPEND(reader, profile->codes, profile->code_count, reader->own->codes.capacity);
    if (!added)
        return 0;
    *added = *code;
    added->line_count = 0;
    profile_builder_frames(builder, (uint32_t)profile->code_count - 1, &(struct profile_frame){0},
                           1);
    return (uint32_t)profile->code_count - 1;
}

void profile_builder_frames(struct profile_builder *builder, uint32_t code,
                            const struct profile_frame *frames, size_t count)
{
    struct reader *reader = &builder->reader;
    struct profile *profile = reader->profile;
    uint32_t first = (uint32_t)profile->line_count;
    for (size_t i = 0; i < count; i++) {
        uint32_t function = profile_builder_add_function(builder, &frames[i]);
        struct profile_line *line =
            APPEND(reader, profile->lines, profile->line_count, reader->own->capacity[LINES]);
        if (!line)
            return;
        *line = (struct profile_line){frames[i].function ? function : 0,
                                      profile->functions[function].file, frames[i].line};
    }
    if (!count)
        return;
    profile->codes[code].first_line = first;
    profile->codes[code].line_count = (uint32_t)count;
}
