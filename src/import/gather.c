/* See gather.h. */
#include "import/gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/room.h"

enum { BUCKETS_MAX = 1000 };

struct gather *gather_new(void)
{
    struct gather *gather = calloc(1, sizeof *gather);
    if (!gather)
        abort();
    memset(&gather->blank, 0xff, sizeof gather->blank);
    memset(&gather->program.total, 0xff, sizeof gather->program.total);
    gather->program.live_peak_count = UINT64_MAX;
    gather->program.unmap_count = gather->program.unmap_bytes = UINT64_MAX;
    gather->program.brk_count = gather->program.brk_bytes = UINT64_MAX;
    gather->duration_ns = UINT64_MAX;
    room_need(&gather->path_list, &gather->path_capacity, 0, sizeof *gather->path_list);
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
    memset((char *)&gather->blank + offset, 0, sizeof(uint64_t));
}

/* ---- Facts --------------------------------------------------------------------------------- */

static void add_fact(struct gather *gather, const char *key, char *value, bool is_number)
{
    room_need(&gather->facts, &gather->fact_capacity, gather->fact_count, sizeof *gather->facts);
    struct gather_fact *fact = &gather->facts[gather->fact_count++];
    *fact = (struct gather_fact){strdup(key), value, is_number};
    if (!fact->key || !fact->value)
        abort();
}

void gather_fact(struct gather *gather, const char *key, const char *value, size_t length)
{
    if (length)
        add_fact(gather, key, strndup(value, length), false);
}

void gather_number_fact(struct gather *gather, const char *key, uint64_t value)
{
    struct strbuf text = STRBUF_INIT;
    strbuf_addf(&text, "%llu", (unsigned long long)value);
    add_fact(gather, key, strbuf_detach(&text), true);
}

/* ---- Names --------------------------------------------------------------------------------- */

static uint32_t number_of(struct intern *intern, const void *key, size_t bytes, bool *is_new)
{
    uint32_t number = intern_number(intern, key, bytes, is_new);
    if (!number)
        abort();
    return number;
}

static uint32_t string_number(struct gather *gather, const char *text, size_t length)
{
    bool is_new;
    if (!text || !length)
        return 0;
    uint32_t number = number_of(&gather->strings, text, length, &is_new);
    if (is_new) {
        room_need(&gather->texts, &gather->text_capacity, number - 1, sizeof *gather->texts);
        gather->texts[number - 1] = STRBUF_INIT;
        strbuf_add(&gather->texts[number - 1], text, strnlen(text, length));
    }
    return number;
}

static const char *text_of(const struct gather *gather, uint32_t number)
{
    return number ? gather->texts[number - 1].data : NULL;
}

int64_t gather_module(struct gather *gather, const char *path, size_t length, uint64_t start,
                      uint64_t end, uint64_t bias)
{
    bool is_new;
    uint32_t text = string_number(gather, path, length);
    uint64_t key[] = {text, start};
    if (!text)
        return -1;
    uint32_t number = number_of(&gather->modules, key, sizeof key, &is_new);
    if (is_new) {
        room_need(&gather->module_list, &gather->module_capacity, number - 1,
                  sizeof *gather->module_list);
        gather->module_list[number - 1] = (struct profile_module){
            .id = (int64_t)number - 1, .start = start, .end = end, .bias = bias, .quality = 3};
        /* The path, until it is written: strings move while they are gathered. */
        gather->module_list[number - 1].build_id_bytes = text;
    }
    return (int64_t)number - 1;
}

/* ---- Locations and paths ------------------------------------------------------------------- */

static void add_frame(struct gather *gather, const struct gather_frame *frame)
{
    room_need(&gather->frames, &gather->frame_capacity, gather->frame_count,
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
            string_number(gather, frames[i].function, frames[i].function_length),
            string_number(gather, frames[i].file, frames[i].file_length), frames[i].line};
        strbuf_add(&key, &frame, sizeof frame);
        add_frame(gather, &frame);
    }
    uint32_t number = number_of(&gather->locations, key.data, key.length, &is_new);
    strbuf_release(&key);
    if (!is_new) {
        gather->frame_count = first;
        return number;
    }
    room_need(&gather->location_list, &gather->location_capacity, number - 1,
              sizeof *gather->location_list);
    gather->location_list[number - 1] =
        (struct gather_location){module, address, first, (uint32_t)count};
    return number;
}

uint32_t gather_path(struct gather *gather, uint32_t parent, uint32_t location)
{
    uint32_t key[] = {parent, location};
    bool is_new;
    uint32_t number = number_of(&gather->paths, key, sizeof key, &is_new);
    if (is_new) {
        room_need(&gather->path_list, &gather->path_capacity, number, sizeof *gather->path_list);
        gather->path_list[number] = (struct gather_path){.parent = parent, .location = location};
    }
    return number;
}

struct gather_site *gather_site(struct gather *gather, uint32_t path)
{
    struct gather_path *of = &gather->path_list[path];
    if (!of->site) {
        room_need(&gather->sites, &gather->site_capacity, gather->site_count,
                  sizeof *gather->sites);
        gather->sites[gather->site_count++] =
            (struct gather_site){.path = path, .metrics = gather->blank};
        of->site = (uint32_t)gather->site_count;
    }
    return &gather->sites[of->site - 1];
}

void gather_moment(struct gather *gather, const struct gather_moment *moment)
{
    room_need(&gather->moments, &gather->moment_capacity, gather->moment_count,
              sizeof *gather->moments);
    gather->moments[gather->moment_count++] = *moment;
}

/* ---- Sums ---------------------------------------------------------------------------------- */

static uint64_t known_sum(uint64_t a, uint64_t b)
{
    return a == UINT64_MAX || b == UINT64_MAX ? UINT64_MAX : gather_sum(a, b);
}

/* The fields that merge otherwise than by sum keep what they are in the total. */
static bool is_summed(size_t offset)
{
    static const size_t others[] = {
        offsetof(struct call_metrics, size_min),     offsetof(struct call_metrics, size_max),
        offsetof(struct call_metrics, lifetime_min), offsetof(struct call_metrics, lifetime_max),
        offsetof(struct call_metrics, peak_bytes),   offsetof(struct call_metrics, peak_ticks)};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] == offset)
            return false;
    return true;
}

static void add_site(struct call_metrics *total, const struct call_metrics *metrics)
{
    for (size_t offset = 0; offset < sizeof *total; offset += sizeof(uint64_t)) {
        uint64_t sum, value;
        memcpy(&sum, (char *)total + offset, sizeof sum);
        memcpy(&value, (const char *)metrics + offset, sizeof value);
        sum = known_sum(sum, value);
        if (is_summed(offset))
            memcpy((char *)total + offset, &sum, sizeof sum);
    }
    if (metrics->size_min < total->size_min)
        total->size_min = metrics->size_min;
    if (metrics->size_max != UINT64_MAX &&
        (total->size_max == UINT64_MAX || metrics->size_max > total->size_max))
        total->size_max = metrics->size_max;
}

void gather_settle(struct gather *gather)
{
    struct call_metrics *total = &gather->program.total;
    uint64_t peak_bytes = total->peak_bytes, peak_ticks = total->peak_ticks;
    *total = gather->blank;
    total->size_min = total->size_max = UINT64_MAX;
    total->lifetime_min = total->lifetime_max = UINT64_MAX;
    for (size_t i = 0; i < gather->site_count; i++)
        add_site(total, &gather->sites[i].metrics);
    total->peak_bytes = peak_bytes != UINT64_MAX ? peak_bytes : total->at_peak_bytes;
    total->peak_ticks = peak_ticks;
}

/* ---- Writing ------------------------------------------------------------------------------- */

static int put_facts(struct gather *gather, struct profile_writer *writer)
{
    int error = 0;
    for (size_t i = 0; i < gather->fact_count && !error; i++) {
        const struct gather_fact *fact = &gather->facts[i];
        error = fact->is_number ? profile_put_integer(writer, fact->key,
                                                      (int64_t)strtoull(fact->value, NULL, 10))
                                : profile_put_text(writer, fact->key, fact->value);
    }
    if (!error && gather->duration_ns != UINT64_MAX)
        error = profile_put_integer(writer, PROFILE_META_DURATION, (int64_t)gather->duration_ns);
    return error;
}

static int put_modules(struct gather *gather, struct profile_writer *writer)
{
    int error = 0;
    for (size_t i = 0; i < gather->modules.count && !error; i++) {
        struct profile_module module = gather->module_list[i];
        module.path = text_of(gather, (uint32_t)module.build_id_bytes);
        module.build_id_bytes = 0;
        error = profile_put_module(writer, &module);
    }
    return error;
}

static int put_location(struct gather *gather, struct profile_writer *writer, uint32_t number)
{
    const struct gather_location *of = &gather->location_list[number - 1];
    struct profile_frame *frames = calloc(of->frame_count + 1, sizeof *frames);
    if (!frames)
        abort();
    for (uint32_t i = 0; i < of->frame_count; i++) {
        const struct gather_frame *frame = &gather->frames[of->first_frame + i];
        frames[i] = (struct profile_frame){.function = text_of(gather, frame->function),
                                           .file = text_of(gather, frame->file),
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

static int put_paths(struct gather *gather, struct profile_writer *writer)
{
    int error = 0;
    for (size_t i = 1; i <= gather->locations.count && !error; i++)
        error = put_location(gather, writer, (uint32_t)i);
    for (size_t i = 1; i <= gather->paths.count && !error; i++)
        error = profile_put_path(writer, (uint32_t)i, gather->path_list[i].parent,
                                 gather->path_list[i].location);
    return error;
}

static int put_sites(struct gather *gather, struct profile_writer *writer)
{
    struct replay_site *block = calloc(PROFILE_BLOCK_SITES, sizeof *block);
    struct strbuf body = STRBUF_INIT;
    int error = 0;
    if (!block)
        abort();
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

static void widen(struct timeline_level *level, uint64_t value)
{
    if (value == UINT64_MAX)
        return;
    if (level->min > level->max)
        *level = (struct timeline_level){value, value};
    level->min = value < level->min ? value : level->min;
    level->max = value > level->max ? value : level->max;
}

static int put_timeline(struct gather *gather, struct profile_writer *writer)
{
    if (!gather->moment_count || gather->duration_ns == UINT64_MAX)
        return 0;
    uint64_t width = gather->duration_ns / BUCKETS_MAX + 1;
    size_t count = (size_t)(gather->duration_ns / width) + 1;
    struct timeline_bucket *buckets = calloc(count, sizeof *buckets);
    if (!buckets)
        abort();
    for (size_t i = 0; i < count; i++)
        buckets[i].requested.min = buckets[i].blocks.min = buckets[i].physical.min =
            buckets[i].virt.min = buckets[i].tool.min = UINT64_MAX;
    for (size_t i = 0; i < gather->moment_count; i++) {
        const struct gather_moment *moment = &gather->moments[i];
        if (moment->time_ns > gather->duration_ns)
            continue;
        struct timeline_bucket *bucket = &buckets[moment->time_ns / width];
        widen(&bucket->requested, moment->requested_bytes);
        widen(&bucket->physical, moment->resident_bytes);
        bucket->alloc_count = gather_sum(bucket->alloc_count, moment->alloc_count);
        bucket->alloc_bytes = gather_sum(bucket->alloc_bytes, moment->alloc_bytes);
        bucket->free_count = gather_sum(bucket->free_count, moment->free_count);
    }
    int error = profile_put_timeline(writer, buckets, count, width);
    free(buckets);
    return error;
}

static int put_all(struct gather *gather, struct profile_writer *writer, const char *tool)
{
    int error = profile_writer_begin(writer);
    if (!error)
        error = profile_put_text(writer, PROFILE_META_TOOL, "tidemark " TIDEMARK_VERSION);
    if (!error)
        error = profile_put_text(writer, PROFILE_META_IMPORTED, tool);
    if (!error)
        error = put_facts(gather, writer);
    if (!error)
        error = put_modules(gather, writer);
    if (!error)
        error = put_paths(gather, writer);
    if (!error)
        error = put_sites(gather, writer);
    if (!error)
        error = profile_put_program(writer, &gather->program);
    if (!error)
        error = put_timeline(gather, writer);
    return error ? error : profile_writer_commit(writer);
}

int gather_write(struct gather *gather, const char *path, const char *tool)
{
    struct profile_writer *writer;
    int error = profile_writer_open(&writer, path);
    if (error)
        return error;
    error = put_all(gather, writer, tool);
    if (error) {
        profile_writer_discard(writer);
        return error;
    }
    return profile_writer_finish(writer, true);
}
