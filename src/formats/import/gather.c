/* Builds a profile from another tool's file (gather.h). Strings, modules, locations and paths are
 * interned by their bytes. Metrics are unknown until the format says that it has them; the totals
 * are sums over the sites. */
#include "import/gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/memory.h"

enum { BUCKETS_MAX = 1000 };

struct gather *gather_new(void)
{
    struct gather *gather = memory_need(calloc(1, sizeof *gather));
    call_metrics_know_nothing(&gather->blank);
    call_metrics_know_nothing(&gather->program.total);
    gather->program.live_peak_count = FIGURE_UNKNOWN;
    gather->program.unmap_count = gather->program.unmap_bytes = FIGURE_UNKNOWN;
    gather->program.brk_count = gather->program.brk_bytes = FIGURE_UNKNOWN;
    program_metrics_forget_mapped(&gather->program);
    gather->duration_ns = FIGURE_UNKNOWN;
    array_need_room(&gather->path_list, &gather->path_capacity, 0, sizeof *gather->path_list);
    return gather;
}

void gather_free(struct gather *gather)
{
    if (!gather)
        return;
    for (size_t i = 0; i < gather->strings.count; i++)
        strbuf_release(&gather->texts[i]);
    for (size_t i = 0; i < gather->fact_count; i++) {
        free(gather->facts[i].key);
        free(gather->facts[i].value);
    }
    intern_release(&gather->strings);
    intern_release(&gather->modules);
    intern_release(&gather->locations);
    intern_release(&gather->paths);
    free(gather->texts);
    free(gather->module_list);
    free(gather->location_list);
    free(gather->frames);
    free(gather->path_list);
    free(gather->sites);
    free(gather->moments);
    free(gather->facts);
    free(gather);
}

void gather_knows(struct gather *gather, size_t offset)
{
    *(struct figure *)((char *)&gather->blank + offset) = figure_of(0);
}

/* ---- Facts --------------------------------------------------------------------------------- */

static void gather_add_fact(struct gather *gather, const char *key, char *value, bool is_number)
{
    array_need_room(&gather->facts, &gather->fact_capacity, gather->fact_count,
                    sizeof *gather->facts);
    struct gather_fact *fact = &gather->facts[gather->fact_count++];
    *fact = (struct gather_fact){strdup(key), value, is_number};
    if (!fact->key || !fact->value)
        memory_exhausted();
}

void gather_fact(struct gather *gather, const char *key, const char *value, size_t length)
{
    if (length)
        gather_add_fact(gather, key, strndup(value, length), false);
}

void gather_number_fact(struct gather *gather, const char *key, uint64_t value)
{
    struct strbuf text = STRBUF_INIT;
    strbuf_addf(&text, "%llu", (unsigned long long)value);
    gather_add_fact(gather, key, strbuf_detach(&text), true);
}

/* ---- Names --------------------------------------------------------------------------------- */

static uint32_t gather_number_of(struct intern *intern, const void *key, size_t bytes, bool *is_new)
{
    uint32_t number = intern_number(intern, key, bytes, is_new);
    if (!number)
        memory_exhausted();
    return number;
}

static uint32_t gather_string_number(struct gather *gather, const char *text, size_t length)
{
    bool is_new;
    if (!text || !length)
        return 0;
    uint32_t number = gather_number_of(&gather->strings, text, length, &is_new);
    if (is_new) {
        array_need_room(&gather->texts, &gather->text_capacity, number - 1, sizeof *gather->texts);
        gather->texts[number - 1] = STRBUF_INIT;
        strbuf_add(&gather->texts[number - 1], text, strnlen(text, length));
    }
    return number;
}

static const char *gather_text_of(const struct gather *gather, uint32_t number)
{
    return number ? gather->texts[number - 1].data : NULL;
}

int64_t gather_module(struct gather *gather, const char *path, size_t length, uint64_t start,
                      uint64_t end, uint64_t bias)
{
    bool is_new;
    uint32_t text = gather_string_number(gather, path, length);
    uint64_t key[] = {text, start};
    if (!text)
        return -1;
    uint32_t number = gather_number_of(&gather->modules, key, sizeof key, &is_new);
    if (is_new) {
        array_need_room(&gather->module_list, &gather->module_capacity, number - 1,
                        sizeof *gather->module_list);
        gather->module_list[number - 1] = (struct profile_module){
            .id = (int64_t)number - 1, .start = start, .end = end, .bias = bias, .quality = 3};
        /* The path, until it is written: strings move while they are gathered. */
        gather->module_list[number - 1].build_id_bytes = text;
    }
    return (int64_t)number - 1;
}

/* ---- Locations and paths ------------------------------------------------------------------- */

static void gather_add_frame(struct gather *gather, const struct gather_frame *frame)
{
    array_need_room(&gather->frames, &gather->frame_capacity, gather->frame_count,
                    sizeof *gather->frames);
    gather->frames[gather->frame_count++] = *frame;
}

uint32_t gather_location(struct gather *gather, int64_t module, uint64_t address,
                         const struct gather_named *frames, size_t count)
{
    struct strbuf key = STRBUF_INIT;
    uint32_t first = (uint32_t)gather->frame_count;
    bool is_new;
    strbuf_add(&key, &module, sizeof module);
    strbuf_add(&key, &address, sizeof address);
    for (size_t i = 0; i < count; i++) {
        struct gather_frame frame = {
            gather_string_number(gather, frames[i].function, frames[i].function_length),
            gather_string_number(gather, frames[i].file, frames[i].file_length), frames[i].line};
        strbuf_add(&key, &frame, sizeof frame);
        gather_add_frame(gather, &frame);
    }
    uint32_t number = gather_number_of(&gather->locations, key.data, key.length, &is_new);
    strbuf_release(&key);
    if (!is_new) {
        gather->frame_count = first;
        return number;
    }
    array_need_room(&gather->location_list, &gather->location_capacity, number - 1,
                    sizeof *gather->location_list);
    gather->location_list[number - 1] =
        (struct gather_location){module, address, first, (uint32_t)count};
    return number;
}

uint32_t gather_path(struct gather *gather, uint32_t parent, uint32_t location)
{
    uint32_t key[] = {parent, location};
    bool is_new;
    uint32_t number = gather_number_of(&gather->paths, key, sizeof key, &is_new);
    if (is_new) {
        array_need_room(&gather->path_list, &gather->path_capacity, number,
                        sizeof *gather->path_list);
        gather->path_list[number] = (struct gather_path){.parent = parent, .location = location};
    }
    return number;
}

struct gather_site *gather_site(struct gather *gather, uint32_t path)
{
    struct gather_path *of = &gather->path_list[path];
    if (!of->site) {
        array_need_room(&gather->sites, &gather->site_capacity, gather->site_count,
                        sizeof *gather->sites);
        gather->sites[gather->site_count++] =
            (struct gather_site){.path = path, .metrics = gather->blank};
        of->site = (uint32_t)gather->site_count;
    }
    return &gather->sites[of->site - 1];
}

void gather_moment(struct gather *gather, const struct gather_moment *moment)
{
    array_need_room(&gather->moments, &gather->moment_capacity, gather->moment_count,
                    sizeof *gather->moments);
    gather->moments[gather->moment_count++] = *moment;
}

/* ---- Sums ---------------------------------------------------------------------------------- */

static void gather_limit(struct call_metrics *metrics)
{
    for (size_t i = 0; i < METRICS; i++) {
        struct figure *value = metric_field(&metric_rows[i], metrics);
        if (figure_less(figure_of(GATHER_MOST), *value))
            *value = figure_of(GATHER_MOST);
    }
}

void gather_settle(struct gather *gather)
{
    struct call_metrics *total = &gather->program.total;
    struct figure peak_bytes = total->peak_bytes, peak_ticks = total->peak_ticks;
    call_metrics_clear(total, &gather->blank);
    for (size_t i = 0; i < gather->site_count; i++) {
        call_metrics_merge(total, &gather->sites[i].metrics);
        gather_limit(total);
    }
    total->peak_bytes = figure_known(peak_bytes) ? peak_bytes : total->at_peak_bytes;
    total->peak_ticks = peak_ticks;
}

/* ---- Writing ------------------------------------------------------------------------------- */

static int gather_put_facts(struct gather *gather, struct profile_writer *writer)
{
    uint64_t duration_ns;
    int error = 0;
    for (size_t i = 0; i < gather->fact_count && !error; i++) {
        const struct gather_fact *fact = &gather->facts[i];
        error = fact->is_number ? profile_put_integer(writer, fact->key,
                                                      (int64_t)strtoull(fact->value, NULL, 10))
                                : profile_put_text(writer, fact->key, fact->value);
    }
    if (!error && figure_get(gather->duration_ns, &duration_ns))
        error = profile_put_integer(writer, PROFILE_META_DURATION, (int64_t)duration_ns);
    return error;
}

static int gather_put_modules(struct gather *gather, struct profile_writer *writer)
{
    int error = 0;
    for (size_t i = 0; i < gather->modules.count && !error; i++) {
        struct profile_module module = gather->module_list[i];
        module.path = gather_text_of(gather, (uint32_t)module.build_id_bytes);
        module.build_id_bytes = 0;
        error = profile_put_module(writer, &module);
    }
    return error;
}

static int gather_put_location(struct gather *gather, struct profile_writer *writer,
                               uint32_t number)
{
    const struct gather_location *of = &gather->location_list[number - 1];
    struct profile_frame *frames = memory_need(calloc(of->frame_count + 1, sizeof *frames));
    for (uint32_t i = 0; i < of->frame_count; i++) {
        const struct gather_frame *frame = &gather->frames[of->first_frame + i];
        frames[i] = (struct profile_frame){.function = gather_text_of(gather, frame->function),
                                           .file = gather_text_of(gather, frame->file),
                                           .line = frame->line};
    }
    int error =
        profile_put_location(writer, &(struct profile_location){
                                         .id = number,
                                         .module_id = of->module,
                                         .address = of->address,
                                         .frames = frames,
                                         .frame_count = of->frame_count ? of->frame_count : 1,
                                     });
    free(frames);
    return error;
}

static int gather_put_paths(struct gather *gather, struct profile_writer *writer)
{
    int error = 0;
    for (size_t i = 1; i <= gather->locations.count && !error; i++)
        error = gather_put_location(gather, writer, (uint32_t)i);
    for (size_t i = 1; i <= gather->paths.count && !error; i++)
        error = profile_put_path(writer, (uint32_t)i, gather->path_list[i].parent,
                                 gather->path_list[i].location);
    return error;
}

static int gather_put_sites(struct gather *gather, struct profile_writer *writer)
{
    struct replay_site *block = calloc(PROFILE_BLOCK_SITES, sizeof *block);
    struct strbuf body = STRBUF_INIT;
    int error = 0;
    if (!block)
        memory_exhausted();
    for (size_t first = 0; first < gather->site_count && !error; first += PROFILE_BLOCK_SITES) {
        size_t count = gather->site_count - first;
        count = count < PROFILE_BLOCK_SITES ? count : PROFILE_BLOCK_SITES;
        for (size_t i = 0; i < count; i++)
            block[i] = (struct replay_site){gather->sites[first + i].path,
                                            gather->sites[first + i].metrics};
        strbuf_reset(&body);
        profile_encode_sites(&body, block, count);
        error = profile_put_sites(writer, (uint32_t)first, count, body.data, body.length);
    }
    free(block);
    strbuf_release(&body);
    return error;
}

static void gather_widen(struct timeline_level *level, struct figure value)
{
    level->min = figure_min(level->min, value);
    level->max = figure_max(level->max, value);
}

/* Levels are unknown until a moment says them; so are calls where the format does not count them.
 */
static struct timeline_bucket gather_empty_bucket(const struct gather *gather)
{
    struct timeline_level unknown = {FIGURE_UNKNOWN, FIGURE_UNKNOWN};
    struct timeline_bucket bucket = {unknown,      unknown,      unknown,     unknown,
                                     unknown,      unknown,      unknown,     figure_of(0),
                                     figure_of(0), figure_of(0), figure_of(0)};
    if (!figure_known(gather->blank.alloc_count))
        timeline_bucket_forget_calls(&bucket);
    return bucket;
}

static void gather_add_moment(struct timeline_bucket *bucket, const struct gather_moment *moment)
{
    gather_widen(&bucket->requested, moment->requested_bytes);
    gather_widen(&bucket->physical, moment->resident_bytes);
    gather_add(&bucket->alloc_count, moment->alloc_count);
    gather_add(&bucket->alloc_bytes, moment->alloc_bytes);
    gather_add(&bucket->free_count, moment->free_count);
    gather_add(&bucket->free_bytes, moment->free_bytes);
}

static int gather_put_timeline(struct gather *gather, struct profile_writer *writer)
{
    uint64_t duration_ns;
    if (!gather->moment_count || !figure_get(gather->duration_ns, &duration_ns))
        return 0;
    uint64_t width = duration_ns / BUCKETS_MAX + 1;
    size_t count = (size_t)(duration_ns / width) + 1;
    struct timeline_bucket *buckets = memory_need(calloc(count, sizeof *buckets));
    for (size_t i = 0; i < count; i++)
        buckets[i] = gather_empty_bucket(gather);
    for (size_t i = 0; i < gather->moment_count; i++)
        if (gather->moments[i].time_ns <= duration_ns)
            gather_add_moment(&buckets[gather->moments[i].time_ns / width], &gather->moments[i]);
    int error = profile_put_timeline(writer, buckets, count, width);
    free(buckets);
    return error;
}

static int gather_put_all(struct gather *gather, struct profile_writer *writer, const char *tool)
{
    int error = profile_writer_begin(writer);
    if (!error)
        error = profile_put_text(writer, PROFILE_META_TOOL, "tidemark " TIDEMARK_VERSION);
    if (!error)
        error = profile_put_text(writer, PROFILE_META_IMPORTED, tool);
    if (!error)
        error = gather_put_facts(gather, writer);
    if (!error)
        error = gather_put_modules(gather, writer);
    if (!error)
        error = gather_put_paths(gather, writer);
    if (!error)
        error = gather_put_sites(gather, writer);
    if (!error)
        error = profile_put_program(writer, &gather->program);
    if (!error)
        error = gather_put_timeline(gather, writer);
    return error ? error : profile_writer_commit(writer);
}

int gather_write(struct gather *gather, const char *path, const char *tool)
{
    struct profile_writer *writer;
    int error = profile_writer_open_at_once(&writer, path);
    if (error)
        return error;
    error = gather_put_all(gather, writer, tool);
    if (error) {
        profile_writer_discard(writer);
        return error;
    }
    return profile_writer_finish(writer, true);
}
