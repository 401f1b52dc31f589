/* Reads version 2 of DHAT's JSON, of valgrind or of dhat-rs. A program point becomes a call path.
 * What DHAT does not say, such as sizes of single blocks, is unknown. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "import/importers.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/json_reader.h"
#include "import/import_text.h"

enum { STACK_MAX = 100000 };

/* Figures of a program point, by their names in the file. */
enum { TB, TBK, TL, MB, GB, GBK, EB, EBK, FIGURES };
static const char *const figure_names[FIGURES] = {"tb", "tbk", "tl", "mb",
                                                  "gb", "gbk", "eb", "ebk"};

struct import_dhat {
    struct gather *gather;
    struct json_reader json;
    struct import_text points; /* what stands at "pps": read when the frames are known */
    uint32_t *locations;
    size_t location_count, location_capacity;
    uint64_t unit_ns; /* 0: time is not in units of time */
    uint64_t end_time, peak_time;
    bool is_heap;
};

/* ---- Frames -------------------------------------------------------------------------------- */

static void import_dhat_take_frame(struct import_dhat *dhat)
{
    if (!json_reader_string(&dhat->json))
        return;
    array_need_room(&dhat->locations, &dhat->location_capacity, dhat->location_count,
                    sizeof *dhat->locations);
    struct strbuf *text = &dhat->json.text;
    dhat->locations[dhat->location_count++] =
        text_frame(dhat->gather, (struct import_text){text->data, text->data + text->length});
}

static void import_dhat_take_frames(struct import_dhat *dhat)
{
    bool first = true;
    json_reader_array(&dhat->json);
    while (json_reader_item(&dhat->json, &first))
        import_dhat_take_frame(dhat);
}

/* ---- Program points ------------------------------------------------------------------------ */

struct import_dhat_point {
    uint64_t figures[FIGURES];
    uint64_t *stack; /* STACK_MAX */
    size_t depth;
};

static void import_dhat_take_stack(struct import_dhat *dhat, struct import_dhat_point *point)
{
    bool first = true;
    json_reader_array(&dhat->json);
    while (json_reader_item(&dhat->json, &first)) {
        uint64_t index;
        if (!json_reader_unsigned(&dhat->json, &index))
            return;
        if (index >= dhat->location_count || point->depth == STACK_MAX)
            dhat->json.is_wrong = true;
        else
            point->stack[point->depth++] = index;
    }
}

static void import_dhat_add_point(struct import_dhat *dhat, const struct import_dhat_point *point)
{
    uint32_t path = 0;
    for (size_t i = point->depth; i-- > 0;)
        if (point->stack[i]) /* 0: [root] */
            path = gather_path(dhat->gather, path, dhat->locations[point->stack[i]]);
    struct call_metrics *metrics = &gather_site(dhat->gather, path)->metrics;
    const uint64_t *figures = point->figures;
    uint64_t freed_bytes = figures[TB] > figures[EB] ? figures[TB] - figures[EB] : 0;
    uint64_t freed = figures[TBK] > figures[EBK] ? figures[TBK] - figures[EBK] : 0;
    bool is_first = figure_zero(metrics->alloc_count) && figure_zero(metrics->live_count);
    gather_add(&metrics->alloc_bytes, figures[TB]);
    gather_add(&metrics->alloc_count, figures[TBK]);
    gather_add(&metrics->free_bytes, freed_bytes);
    gather_add(&metrics->free_count, freed);
    gather_add(&metrics->live_bytes, figures[EB]);
    gather_add(&metrics->live_count, figures[EBK]);
    gather_add(&metrics->at_peak_bytes, figures[GB]);
    gather_add(&metrics->at_peak_count, figures[GBK]);
    metrics->peak_bytes = is_first ? figure_of(gather_sum(figures[MB], 0)) : FIGURE_UNKNOWN;
}

static void import_dhat_take_point(struct import_dhat *dhat, uint64_t *stack)
{
    struct import_dhat_point point = {.stack = stack};
    bool first = true;
    json_reader_object(&dhat->json);
    while (json_reader_key(&dhat->json, &first)) {
        int figure = 0;
        while (figure < FIGURES && strcmp(dhat->json.text.data, figure_names[figure]))
            figure++;
        if (figure < FIGURES)
            json_reader_unsigned(&dhat->json, &point.figures[figure]);
        else if (!strcmp(dhat->json.text.data, "fs"))
            import_dhat_take_stack(dhat, &point);
        else
            json_reader_skip(&dhat->json);
    }
    if (!dhat->json.is_wrong)
        import_dhat_add_point(dhat, &point);
}

static void import_dhat_take_points(struct import_dhat *dhat)
{
    bool first = true;
    uint64_t *stack = memory_need(calloc(STACK_MAX, sizeof *stack));
    if (dhat->points.at)
        dhat->json.at = dhat->points.at;
    dhat->json.is_wrong |= !dhat->points.at;
    json_reader_array(&dhat->json);
    while (json_reader_item(&dhat->json, &first))
        import_dhat_take_point(dhat, stack);
    free(stack);
}

/* ---- The whole ----------------------------------------------------------------------------- */

static void import_dhat_take_command(struct import_dhat *dhat)
{
    if (!json_reader_string(&dhat->json))
        return;
    const char *command = dhat->json.text.data;
    size_t first = strcspn(command, " ");
    const char *slash = memrchr(command, '/', first);
    const char *name = slash ? slash + 1 : command;
    gather_fact(dhat->gather, PROFILE_META_COMMAND, command, dhat->json.text.length);
    gather_fact(dhat->gather, PROFILE_META_PROGRAM, name, first - (size_t)(name - command));
}

static void import_dhat_take_unit(struct import_dhat *dhat)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1}, {"µs", 1000}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    if (!json_reader_string(&dhat->json))
        return;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(dhat->json.text.data, units[i].name))
            dhat->unit_ns = units[i].ns;
}

static void import_dhat_take_member(struct import_dhat *dhat)
{
    const char *key = dhat->json.text.data;
    uint64_t number;
    if (!strcmp(key, "pps")) {
        dhat->points.at = dhat->json.at;
        json_reader_skip(&dhat->json);
    } else if (!strcmp(key, "ftbl")) {
        import_dhat_take_frames(dhat);
    } else if (!strcmp(key, "cmd")) {
        import_dhat_take_command(dhat);
    } else if (!strcmp(key, "tu")) {
        import_dhat_take_unit(dhat);
    } else if (!strcmp(key, "te")) {
        json_reader_unsigned(&dhat->json, &dhat->end_time);
    } else if (!strcmp(key, "tg")) {
        json_reader_unsigned(&dhat->json, &dhat->peak_time);
    } else if (!strcmp(key, "pid")) {
        if (json_reader_unsigned(&dhat->json, &number))
            gather_number_fact(dhat->gather, PROFILE_META_PID, number);
    } else if (!strcmp(key, "mode")) {
        dhat->is_heap =
            json_reader_string(&dhat->json) &&
            (!strcmp(dhat->json.text.data, "heap") || !strcmp(dhat->json.text.data, "rust-heap"));
    } else {
        json_reader_skip(&dhat->json);
    }
}

static void import_dhat_finish(struct import_dhat *dhat)
{
    struct gather *gather = dhat->gather;
    static const char instructions[] =
        "DHAT's time is in instructions: what is shown as 1 ns is one of them";
    uint64_t unit = dhat->unit_ns ? dhat->unit_ns : 1, ns;
    if (!__builtin_mul_overflow(dhat->end_time, unit, &ns) && ns <= GATHER_MOST)
        gather->duration_ns = figure_of(ns);
    if (!__builtin_mul_overflow(dhat->peak_time, unit, &ns) && ns <= GATHER_MOST)
        gather->program.total.peak_ticks = figure_of(ns);
    if (!dhat->unit_ns)
        gather_fact(gather, PROFILE_META_IMPORT_NOTE, instructions, sizeof instructions - 1);
}

static int import_dhat_fail(struct import_dhat *dhat, struct strbuf *why)
{
    strbuf_reset(why);
    if (!dhat->json.is_wrong && !dhat->is_heap)
        strbuf_add_string(why, "the DHAT file is not of a heap (mode copy or ad-hoc)");
    else
        strbuf_addf(why, "the DHAT file makes no sense from byte %zu on",
                    (size_t)(dhat->json.at - dhat->json.begin));
    return -EBADMSG;
}

bool import_is_dhat(const char *bytes, size_t count)
{
    size_t most = count < 4096 ? count : 4096;
    return count && *bytes == '{' && memmem(bytes, most, "\"dhatFileVersion\"", 17);
}

int import_dhat(struct gather *gather, const char *bytes, size_t count, struct strbuf *why)
{
    struct import_dhat dhat = {.gather = gather,
                               .json = {bytes, bytes, bytes + count, false, STRBUF_INIT}};
    bool first = true;
    GATHER_KNOWS(gather, alloc_bytes);
    GATHER_KNOWS(gather, alloc_count);
    GATHER_KNOWS(gather, free_bytes);
    GATHER_KNOWS(gather, free_count);
    GATHER_KNOWS(gather, live_bytes);
    GATHER_KNOWS(gather, live_count);
    GATHER_KNOWS(gather, at_peak_bytes);
    GATHER_KNOWS(gather, at_peak_count);
    json_reader_object(&dhat.json);
    while (json_reader_key(&dhat.json, &first))
        import_dhat_take_member(&dhat);
    if (!dhat.json.is_wrong && dhat.is_heap)
        import_dhat_take_points(&dhat);
    int error = dhat.json.is_wrong || !dhat.is_heap ? import_dhat_fail(&dhat, why) : 0;
    if (!error)
        import_dhat_finish(&dhat);
    free(dhat.locations);
    strbuf_release(&dhat.json.text);
    return error;
}
