/* The trace beside the profile: its beginning, facts and end; see image_parts.h. */
#include "collector/image_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "assembly/supplement.h"
#include "collector/tracer.h"
#include "profile/profile.h"

/* ---- Facts ---- */

void image_fact_for_trace(struct image *image, const char *key, const char *text, int64_t number)
{
    char digits[24];
    char name[64];
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    snprintf(name, sizeof name, TRACE_FACT_META "%s", key);
    tracer_fact(image->feed.tracer, name, text ? text : digits);
}

static void tell_trace_tick(struct image *image, const char *key, double tick_ns)
{
    char exact[40];
    snprintf(exact, sizeof exact, "%a", tick_ns);
    tracer_fact(image->feed.tracer, key, exact);
}

void image_tell_trace_moment(struct image *image, const struct snapshot_moment *moment)
{
    char ticks[24];
    feed_snapshot(&image->feed, moment->now_ticks, moment->scale.tick_ns);
    snprintf(ticks, sizeof ticks, "%llu", (unsigned long long)moment->now_ticks);
    tracer_fact(image->feed.tracer, TRACE_FACT_END_TICKS, ticks);
    tell_trace_tick(image, TRACE_FACT_TICK_NS, moment->scale.tick_ns);
}

void image_tell_trace_marks(struct image *image)
{
    size_t count, first;
    const struct replay_mark *marks = replay_marks(image->feed.replay, &count);
    while (image->marks_in_trace < count) {
        struct strbuf lines = STRBUF_INIT;
        char key[32];
        first = image->marks_in_trace / TRACE_FACT_LINES * TRACE_FACT_LINES;
        snprintf(key, sizeof key, TRACE_FACT_MARKS "%zu", first / TRACE_FACT_LINES);
        size_t end = first + TRACE_FACT_LINES < count ? first + TRACE_FACT_LINES : count;
        for (size_t i = first; i < end; i++)
            if (marks[i].name)
                strbuf_addf(&lines, "%llu %s\n", (unsigned long long)marks[i].ticks,
                            replay_name_of(image->feed.replay, marks[i].name));
        tracer_fact(image->feed.tracer, key, lines.data);
        strbuf_release(&lines);
        image->marks_in_trace = end;
    }
}

void image_tell_trace_names(struct image *image)
{
    uint32_t count = image->next_name, first;
    while (image->names_in_trace < count) {
        struct strbuf lines = STRBUF_INIT;
        char key[32];
        first = image->names_in_trace / TRACE_FACT_LINES * TRACE_FACT_LINES;
        snprintf(key, sizeof key, TRACE_FACT_NAMES "%u", first / TRACE_FACT_LINES);
        uint32_t end = first + TRACE_FACT_LINES < count ? first + TRACE_FACT_LINES : count;
        for (uint32_t i = first ? first : 1; i < end; i++)
            strbuf_addf(&lines, "%u %s\n", i, replay_name_of(image->feed.replay, i));
        tracer_fact(image->feed.tracer, key, lines.data);
        strbuf_release(&lines);
        image->names_in_trace = end;
    }
}

/* ---- Beginning and end ---- */

/* Beside the profile: .tmt instead of .tmk. */
static char *trace_name(const char *profile)
{
    size_t length = strlen(profile);
    bool has_suffix = length > 4 && strcmp(profile + length - 4, ".tmk") == 0;
    char *name = NULL;
    if (asprintf(&name, "%.*s.tmt", (int)(has_suffix ? length - 4 : length), profile) < 0)
        abort();
    return name;
}

void image_begin_trace(struct image *image, double tick_ns)
{
    const struct collector_options *options = &image->options;
    struct trace_options trace = {
        .compression = options->trace_compression,
        .level = options->trace_level,
        .flags = (options->free_stacks ? TRACE_FREE_STACKS : 0) |
                 (options->timed ? TRACE_TIMED : 0),
        .start_ticks = image->start.ticks,
        .sample_bytes = options->sample_bytes,
    };
    image->trace_path = trace_name(image->path);
    image->feed.tracer = tracer_new(image->trace_path, &trace, &image->view);
    image->next_trace_ns = image->start.ns + IMAGE_FLUSH_NS;
    image_tell_description(image, image_fact_for_trace);
    tell_trace_tick(image, TRACE_FACT_FIRST_TICK_NS, tick_ns);
}

void image_flush_trace_if_due(struct image *image, uint64_t now_ns)
{
    if (!image->feed.tracer || now_ns < image->next_trace_ns)
        return;
    tracer_flush(image->feed.tracer);
    image->next_trace_ns = now_ns + IMAGE_FLUSH_NS;
}

void image_finish_trace(struct image *image, struct tracer *tracer, bool has_profile)
{
    const char *error = NULL;
    struct trace_writer *writer = tracer_settle(tracer);
    if (writer && has_profile && supplement_into_trace(writer, image->path, &error) < 0)
        image->result.trace_error = strdup(error);
    tracer_finish(tracer);
    if (tracer_file_bytes(tracer)) {
        image->result.trace = strdup(image->trace_path);
        image->result.trace_bytes = tracer_file_bytes(tracer);
    }
    if (tracer_error(tracer) && !image->result.trace_error)
        image->result.trace_error = strdup(tracer_error(tracer));
    tracer_free(tracer);
}
