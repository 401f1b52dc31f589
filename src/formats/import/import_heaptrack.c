/* heaptrack's data files, versions 1 to 3: its events are replayed. They name no block, only what
 * kind of block it was (size and call path): lifetimes and reallocations are not known. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "import/importers.h"
#include "base/array.h"
#include "import/import_text.h"

enum { VERSION_MAX = 3 };

struct import_heaptrack {
    struct gather *gather;
    struct strbuf *why;
    struct import_text all;
    size_t line_number;
    uint64_t version;
    struct import_text *strings; /* by index - 1; they lie in the file */
    size_t string_count, string_capacity;
    uint32_t *locations; /* by ip index - 1 */
    size_t ip_count, ip_capacity;
    uint32_t *paths; /* by trace index - 1 */
    size_t trace_count, trace_capacity;
    struct info {
        uint64_t size;
        uint32_t path;
    } * infos; /* by index */
    size_t info_count, info_capacity;
    uint64_t time_ns, live, live_count, peak_live, peak_count, peak_number, last_info;
    uint64_t page_bytes;
    uint64_t alloc_count, alloc_bytes, free_count, free_bytes; /* since the last moment */
};

static int import_heaptrack_fail(struct import_heaptrack *heaptrack, const char *what)
{
    strbuf_reset(heaptrack->why);
    strbuf_addf(heaptrack->why, "line %zu of the heaptrack file %s", heaptrack->line_number, what);
    return -EBADMSG;
}

/* ---- Names --------------------------------------------------------------------------------- */

/* From version 3 on strings have their length before them, and may hold line ends. */
static int import_heaptrack_take_string(struct import_heaptrack *heaptrack, struct import_text line)
{
    uint64_t length = (uint64_t)(line.end - line.at);
    if (heaptrack->version >= 3) {
        if (!text_number(&line, 16, &length) || !text_skip(&line, " "))
            return import_heaptrack_fail(heaptrack, "holds a string without its length");
        if (length > (uint64_t)(heaptrack->all.end - line.at))
            return import_heaptrack_fail(heaptrack, "holds a string that is longer than the file");
        line.end = line.at + length;
        if (line.end > heaptrack->all.at)
            heaptrack->all.at = line.end + (line.end < heaptrack->all.end);
    }
    array_need_room(&heaptrack->strings, &heaptrack->string_capacity, heaptrack->string_count,
                    sizeof *heaptrack->strings);
    heaptrack->strings[heaptrack->string_count++] = line;
    return 0;
}

/* A string by its index; 0 is none. False: there is none of that number. */
static bool import_heaptrack_string_at(struct import_heaptrack *heaptrack, uint64_t index,
                                       const char **text, size_t *length)
{
    *text = NULL;
    *length = 0;
    if (index > heaptrack->string_count)
        return false;
    if (index) {
        *text = heaptrack->strings[index - 1].at;
        *length = (size_t)(heaptrack->strings[index - 1].end - *text);
    }
    return true;
}

static bool import_heaptrack_take_frame(struct import_heaptrack *heaptrack,
                                        struct import_text *line, struct gather_named *frame,
                                        int *error)
{
    uint64_t function, file = 0, number = 0;
    if (!text_number(line, 16, &function))
        return false;
    text_number(line, 16, &file);
    text_number(line, 16, &number);
    if (!import_heaptrack_string_at(heaptrack, function, &frame->function,
                                    &frame->function_length) ||
        !import_heaptrack_string_at(heaptrack, file, &frame->file, &frame->file_length))
        *error = import_heaptrack_fail(heaptrack, "names a string that is not there");
    frame->line = number <= UINT32_MAX ? (uint32_t)number : 0;
    return !*error;
}

static int import_heaptrack_take_ip(struct import_heaptrack *heaptrack, struct import_text line)
{
    uint64_t address, module_index = 0;
    const char *module;
    size_t module_length;
    struct gather_named frames[64];
    size_t count = 0;
    int error = 0;
    if (!text_number(&line, 16, &address))
        return import_heaptrack_fail(heaptrack, "holds an instruction pointer without an address");
    text_number(&line, 16, &module_index);
    if (!import_heaptrack_string_at(heaptrack, module_index, &module, &module_length))
        return import_heaptrack_fail(heaptrack, "names a module that is not there");
    while (count < sizeof frames / sizeof *frames &&
           import_heaptrack_take_frame(heaptrack, &line, &frames[count], &error))
        count++;
    if (error)
        return error;
    int64_t number = gather_module(heaptrack->gather, module, module_length, 0, 0, 0);
    array_need_room(&heaptrack->locations, &heaptrack->ip_capacity, heaptrack->ip_count,
                    sizeof *heaptrack->locations);
    heaptrack->locations[heaptrack->ip_count++] =
        gather_location(heaptrack->gather, number, address, frames, count);
    return 0;
}

static int import_heaptrack_take_trace(struct import_heaptrack *heaptrack, struct import_text line)
{
    uint64_t ip, parent;
    if (!text_number(&line, 16, &ip) || !text_number(&line, 16, &parent) || !ip ||
        ip > heaptrack->ip_count || parent > heaptrack->trace_count)
        return import_heaptrack_fail(heaptrack, "holds a call path of frames that are not there");
    array_need_room(&heaptrack->paths, &heaptrack->trace_capacity, heaptrack->trace_count,
                    sizeof *heaptrack->paths);
    heaptrack->paths[heaptrack->trace_count] = gather_path(
        heaptrack->gather, parent ? heaptrack->paths[parent - 1] : 0, heaptrack->locations[ip - 1]);
    heaptrack->trace_count++;
    return 0;
}

static int import_heaptrack_take_info(struct import_heaptrack *heaptrack, struct import_text line)
{
    uint64_t size, trace;
    if (!text_number(&line, 16, &size) || !text_number(&line, 16, &trace) ||
        trace > heaptrack->trace_count || size > INT64_MAX)
        return import_heaptrack_fail(heaptrack,
                                     "holds an allocation of a call path that is not there");
    array_need_room(&heaptrack->infos, &heaptrack->info_capacity, heaptrack->info_count,
                    sizeof *heaptrack->infos);
    heaptrack->infos[heaptrack->info_count++] =
        (struct info){size, trace ? heaptrack->paths[trace - 1] : 0};
    return 0;
}

/* ---- Events -------------------------------------------------------------------------------- */

/* A site's share of the highest level is copied before the site next changes. */
static struct gather_site *import_heaptrack_site_to_change(struct import_heaptrack *heaptrack,
                                                           uint32_t path)
{
    struct gather_site *site = gather_site(heaptrack->gather, path);
    if (site->peak_number != heaptrack->peak_number) {
        site->metrics.at_peak_bytes = site->metrics.live_bytes;
        site->metrics.at_peak_count = site->metrics.live_count;
        site->peak_number = heaptrack->peak_number;
    }
    return site;
}

static void import_heaptrack_raise_peak(struct import_heaptrack *heaptrack)
{
    if (heaptrack->live <= heaptrack->peak_live)
        return;
    heaptrack->peak_live = heaptrack->live;
    heaptrack->peak_number++;
    heaptrack->gather->program.total.peak_ticks = figure_of(heaptrack->time_ns);
    gather_moment(heaptrack->gather,
                  &(struct gather_moment){.time_ns = heaptrack->time_ns,
                                          .requested_bytes = figure_of(heaptrack->live),
                                          .resident_bytes = FIGURE_UNKNOWN});
    /* Only the last of a moment counts. */
    struct gather *gather = heaptrack->gather;
    size_t count = gather->moment_count;
    if (count > 1 && gather->moments[count - 2].time_ns == heaptrack->time_ns &&
        !figure_known(gather->moments[count - 2].resident_bytes) &&
        !gather->moments[count - 2].alloc_count) {
        gather->moments[count - 2] = gather->moments[count - 1];
        gather->moment_count--;
    }
}

static int import_heaptrack_take_allocation(struct import_heaptrack *heaptrack,
                                            struct import_text line)
{
    uint64_t index;
    if (!text_number(&line, 16, &index) || index >= heaptrack->info_count)
        return import_heaptrack_fail(heaptrack, "allocates what was not announced");
    const struct info *info = &heaptrack->infos[index];
    struct call_metrics *metrics = &import_heaptrack_site_to_change(heaptrack, info->path)->metrics;
    gather_add(&metrics->alloc_count, 1);
    gather_add(&metrics->alloc_bytes, info->size);
    gather_add(&metrics->live_count, 1);
    gather_add(&metrics->live_bytes, info->size);
    metrics->size_min = figure_min(metrics->size_min, figure_of(info->size));
    metrics->size_max = figure_max(metrics->size_max, figure_of(info->size));
    if (figure_less(metrics->peak_bytes, metrics->live_bytes)) {
        metrics->peak_bytes = metrics->live_bytes;
        metrics->peak_ticks = figure_of(heaptrack->time_ns);
    }
    heaptrack->live = gather_sum(heaptrack->live, info->size);
    heaptrack->live_count++;
    if (heaptrack->live_count > heaptrack->peak_count)
        heaptrack->peak_count = heaptrack->live_count;
    heaptrack->last_info = index;
    heaptrack->alloc_count++;
    heaptrack->alloc_bytes = gather_sum(heaptrack->alloc_bytes, info->size);
    heaptrack->gather->program.events++;
    import_heaptrack_raise_peak(heaptrack);
    return 0;
}

static int import_heaptrack_take_free(struct import_heaptrack *heaptrack, struct import_text line)
{
    uint64_t index;
    if (!text_number(&line, 16, &index) || index >= heaptrack->info_count)
        return import_heaptrack_fail(heaptrack, "frees what was not announced");
    const struct info *info = &heaptrack->infos[index];
    bool is_temporary = heaptrack->last_info == index;
    heaptrack->last_info = UINT64_MAX; /* the index of none */
    if (!info->size && !info->path)
        return 0; /* our own export parts events by the end of a block of nothing */
    struct call_metrics *metrics = &import_heaptrack_site_to_change(heaptrack, info->path)->metrics;
    struct figure left_count = figure_sub(metrics->live_count, figure_of(1));
    struct figure left_bytes = figure_sub(metrics->live_bytes, figure_of(info->size));
    if (!figure_known(left_count) || !figure_known(left_bytes))
        return import_heaptrack_fail(heaptrack, "frees more than was allocated");
    metrics->live_count = left_count;
    metrics->live_bytes = left_bytes;
    gather_add(&metrics->free_count, 1);
    gather_add(&metrics->free_bytes, info->size);
    gather_add(&metrics->temporary_count, is_temporary);
    heaptrack->live -= info->size < heaptrack->live ? info->size : heaptrack->live;
    heaptrack->live_count -= heaptrack->live_count > 0;
    heaptrack->free_count++;
    heaptrack->free_bytes = gather_sum(heaptrack->free_bytes, info->size);
    heaptrack->gather->program.events++;
    return 0;
}

/* What has happened since the last moment. */
static void import_heaptrack_end_moment(struct import_heaptrack *heaptrack, struct figure resident)
{
    gather_moment(heaptrack->gather, &(struct gather_moment){
                                         .time_ns = heaptrack->time_ns,
                                         .requested_bytes = figure_of(heaptrack->live),
                                         .resident_bytes = resident,
                                         .alloc_count = heaptrack->alloc_count,
                                         .alloc_bytes = heaptrack->alloc_bytes,
                                         .free_count = heaptrack->free_count,
                                         .free_bytes = heaptrack->free_bytes,
                                     });
    heaptrack->alloc_count = heaptrack->alloc_bytes = 0;
    heaptrack->free_count = heaptrack->free_bytes = 0;
}

static int import_heaptrack_take_time(struct import_heaptrack *heaptrack, struct import_text line)
{
    uint64_t ms;
    if (!text_number(&line, 16, &ms) || ms > INT64_MAX / 2000000)
        return import_heaptrack_fail(heaptrack, "holds no time");
    import_heaptrack_end_moment(heaptrack, FIGURE_UNKNOWN);
    if (ms * 1000000 > heaptrack->time_ns)
        heaptrack->time_ns = ms * 1000000;
    return 0;
}

static int import_heaptrack_take_resident(struct import_heaptrack *heaptrack,
                                          struct import_text line)
{
    uint64_t pages, bytes;
    if (!text_number(&line, 16, &pages) ||
        __builtin_mul_overflow(pages, heaptrack->page_bytes, &bytes) || bytes > INT64_MAX)
        return import_heaptrack_fail(heaptrack, "holds no resident size");
    import_heaptrack_end_moment(heaptrack, figure_of(bytes));
    return 0;
}

/* ---- Lines --------------------------------------------------------------------------------- */

static int import_heaptrack_take_version(struct import_heaptrack *heaptrack,
                                         struct import_text line)
{
    uint64_t tool;
    if (!text_number(&line, 16, &tool))
        return import_heaptrack_fail(heaptrack, "holds no version");
    if (!text_number(&line, 16, &heaptrack->version))
        heaptrack->version = tool == 0x010200;
    if (heaptrack->version < 1 || heaptrack->version > VERSION_MAX)
        return import_heaptrack_fail(heaptrack,
                                     "says a version that is not known here: 1 to 3 are");
    return 0;
}

static int import_heaptrack_take_command(struct import_heaptrack *heaptrack,
                                         struct import_text line)
{
    size_t length = (size_t)(line.end - line.at);
    const char *space = memchr(line.at, ' ', length);
    size_t first = space ? (size_t)(space - line.at) : length;
    const char *slash = memrchr(line.at, '/', first);
    const char *name = slash ? slash + 1 : line.at;
    gather_fact(heaptrack->gather, PROFILE_META_COMMAND, line.at, length);
    gather_fact(heaptrack->gather, PROFILE_META_PROGRAM, name, first - (size_t)(name - line.at));
    return 0;
}

static int import_heaptrack_take_system(struct import_heaptrack *heaptrack, struct import_text line)
{
    uint64_t bytes;
    if (text_number(&line, 16, &bytes) && bytes && bytes <= 1 << 30)
        heaptrack->page_bytes = bytes;
    return 0;
}

static const struct {
    char mode;
    int (*take)(struct import_heaptrack *heaptrack, struct import_text line);
} modes[] = {
    {'+', import_heaptrack_take_allocation}, {'-', import_heaptrack_take_free},
    {'t', import_heaptrack_take_trace},      {'i', import_heaptrack_take_ip},
    {'a', import_heaptrack_take_info},       {'s', import_heaptrack_take_string},
    {'c', import_heaptrack_take_time},       {'R', import_heaptrack_take_resident},
    {'v', import_heaptrack_take_version},    {'X', import_heaptrack_take_command},
    {'I', import_heaptrack_take_system},
};

static int import_heaptrack_take_line(struct import_heaptrack *heaptrack, struct import_text line)
{
    if (line.at == line.end || *line.at == '#')
        return 0;
    char mode = *line.at++;
    if (line.at < line.end && *line.at == ' ')
        line.at++;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (modes[i].mode == mode && (heaptrack->version || mode == 'v' || mode == 'X'))
            return modes[i].take(heaptrack, line);
    return heaptrack->version ? 0 : import_heaptrack_fail(heaptrack, "comes before the version");
}

/* ---- All of it ----------------------------------------------------------------------------- */

static void import_heaptrack_know(struct gather *gather)
{
    GATHER_KNOWS(gather, alloc_count);
    GATHER_KNOWS(gather, alloc_bytes);
    GATHER_KNOWS(gather, free_count);
    GATHER_KNOWS(gather, free_bytes);
    GATHER_KNOWS(gather, temporary_count);
    GATHER_KNOWS(gather, live_count);
    GATHER_KNOWS(gather, live_bytes);
    GATHER_KNOWS(gather, at_peak_count);
    GATHER_KNOWS(gather, at_peak_bytes);
    GATHER_KNOWS(gather, peak_bytes);
    GATHER_KNOWS(gather, peak_ticks);
}

static int import_heaptrack_read_lines(struct import_heaptrack *heaptrack)
{
    struct import_text line;
    int error = 0;
    while (!error && text_line(&heaptrack->all, &line)) {
        heaptrack->line_number++;
        error = import_heaptrack_take_line(heaptrack, line);
    }
    return error;
}

static void import_heaptrack_finish(struct import_heaptrack *heaptrack)
{
    struct gather *gather = heaptrack->gather;
    import_heaptrack_end_moment(heaptrack, FIGURE_UNKNOWN);
    for (size_t i = 0; i < gather->site_count; i++)
        import_heaptrack_site_to_change(heaptrack, gather->sites[i].path);
    gather->program.total.peak_bytes = figure_of(heaptrack->peak_live);
    gather->program.live_peak_count = figure_of(heaptrack->peak_count);
    gather->duration_ns = figure_of(heaptrack->time_ns);
}

bool import_is_heaptrack(const char *bytes, size_t count)
{
    return count > 4 && !memcmp(bytes, "v 1", 3) && memchr(bytes, '\n', count < 64 ? count : 64);
}

int import_heaptrack(struct gather *gather, const char *bytes, size_t count, struct strbuf *why)
{
    struct import_heaptrack heaptrack = {.gather = gather,
                                         .why = why,
                                         .all = {bytes, bytes + count},
                                         .last_info = UINT64_MAX,
                                         .page_bytes = 4096};
    import_heaptrack_know(gather);
    int error = import_heaptrack_read_lines(&heaptrack);
    if (!error)
        import_heaptrack_finish(&heaptrack);
    free(heaptrack.strings);
    free(heaptrack.locations);
    free(heaptrack.paths);
    free(heaptrack.infos);
    return error;
}
