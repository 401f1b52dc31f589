/* Writes the trace beside the profile: its beginning, its facts and its end
 * (process_image_parts.h). Facts that grow, such as marks and names, are written in pieces of a
 * fixed number of lines. Only the last piece is written again when it grows. */
#include "collector/process_image_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "profile_build/supplement.h"
#include "collector/tracer.h"
#include "profile/profile.h"

/* ---- Facts ---- */

void process_image_fact_for_trace(struct process_image *image, const char *key, const char *text,
                                  int64_t number)
{
    char digits[24];
    char name[64];
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    snprintf(name, sizeof name, TRACE_FACT_META "%s", key);
    tracer_fact(image->sink.tracer, name, text ? text : digits);
}

static void process_image_tell_trace_tick(struct process_image *image, const char *key,
                                          double tick_ns)
{
    char exact[40];
    snprintf(exact, sizeof exact, "%a", tick_ns);
    tracer_fact(image->sink.tracer, key, exact);
}

void process_image_tell_trace_moment(struct process_image *image,
                                     const struct snapshot_moment *moment)
{
    char ticks[24];
    event_sink_snapshot(&image->sink, moment->now_ticks, moment->scale.tick_ns);
    snprintf(ticks, sizeof ticks, "%llu", (unsigned long long)moment->now_ticks);
    tracer_fact(image->sink.tracer, TRACE_FACT_END_TICKS, ticks);
    process_image_tell_trace_tick(image, TRACE_FACT_TICK_NS, moment->scale.tick_ns);
}

/* Adds the line of one mark or name of the program; none if it has no name. */
typedef void add_line(const struct process_image *image, size_t number, struct strbuf *lines);

/* Writes facts of TRACE_FACT_LINES lines each. The last one is written again if it has more lines
 * now. */
static void process_image_tell_lines(struct process_image *image, const char *facts, size_t *told,
                                     size_t count, add_line *add)
{
    while (*told < count) {
        struct strbuf lines = STRBUF_INIT;
        char key[32];
        size_t fact = *told / TRACE_FACT_LINES, end = (fact + 1) * TRACE_FACT_LINES;
        end = end < count ? end : count;
        snprintf(key, sizeof key, "%s%zu", facts, fact);
        for (size_t i = fact * TRACE_FACT_LINES; i < end; i++)
            add(image, i, &lines);
        tracer_fact(image->sink.tracer, key, lines.data);
        strbuf_release(&lines);
        *told = end;
    }
}

static void process_image_add_mark(const struct process_image *image, size_t number,
                                   struct strbuf *lines)
{
    size_t count;
    const struct replay_mark *mark = &replay_marks(image->sink.replay, &count)[number];
    if (mark->name)
        strbuf_addf(lines, "%llu %s\n", (unsigned long long)mark->ticks,
                    replay_name_of(image->sink.replay, mark->name));
}

static void process_image_add_name(const struct process_image *image, size_t number,
                                   struct strbuf *lines)
{
    if (number > 0)
        strbuf_addf(lines, "%zu %s\n", number,
                    replay_name_of(image->sink.replay, (uint32_t)number));
}

void process_image_tell_trace_said(struct process_image *image)
{
    size_t marks;
    replay_marks(image->sink.replay, &marks);
    process_image_tell_lines(image, TRACE_FACT_MARKS, &image->marks_in_trace, marks,
                             process_image_add_mark);
    if (image->next_name > 1)
        process_image_tell_lines(image, TRACE_FACT_NAMES, &image->names_in_trace, image->next_name,
                                 process_image_add_name);
}

/* ---- Beginning and end ---- */

/* Beside the profile: .tmt instead of .tmk. */
char *process_image_trace_name(const char *profile)
{
    size_t length = strlen(profile);
    bool has_suffix = length > 4 && strcmp(profile + length - 4, ".tmk") == 0;
    char *name = NULL;
    if (asprintf(&name, "%.*s.tmt", (int)(has_suffix ? length - 4 : length), profile) < 0)
        memory_exhausted();
    return name;
}

void process_image_begin_trace(struct process_image *image, double tick_ns)
{
    const struct collector_options *options = &image->options;
    struct trace_options trace = {
        .compression = options->trace_compression,
        .level = options->trace_level,
        .flags =
            (options->free_stacks ? TRACE_FREE_STACKS : 0) | (options->timed ? TRACE_TIMED : 0),
        .start_ticks = image->start.ticks,
        .sample_bytes = options->sample_bytes,
    };
    image->trace_path = process_image_trace_name(image->path);
    image->sink.tracer = tracer_new(image->trace_path, &trace, &image->view, image->takes);
    image->next_trace_ns = image->start.ns + IMAGE_FLUSH_NS;
    process_image_tell_description(image, process_image_fact_for_trace);
    process_image_tell_trace_tick(image, TRACE_FACT_FIRST_TICK_NS, tick_ns);
}

void process_image_flush_trace_if_due(struct process_image *image, uint64_t now_ns)
{
    if (!image->sink.tracer || now_ns < image->next_trace_ns)
        return;
    tracer_flush(image->sink.tracer);
    image->next_trace_ns = now_ns + IMAGE_FLUSH_NS;
}

void process_image_finish_trace(struct process_image *image, struct tracer *tracer,
                                bool has_profile)
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
