/* Holders as text for people and JSON for programs:
 *
 *   exclusive            inclusive     at peak  function                       file
 *    45.2 MiB  46.0 %     1.20 GiB    12.0 MiB  parse_document                 src/parser.c */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/figure_human.h"
#include "model/figure_json.h"
#include "base/human.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "heap_at/heap_at.h"
#include "heap_at/times.h"
#include "aggregate/frames.h"
#include "format/names.h"
#include "format/style.h"
#include "aggregate/functions.h"

enum { LABEL = 15, FIGURE = 11, SHARE = 8, GAP = 2, WIDE = 100 };

struct show {
    const struct holders *holders;
    const struct holders_options *options;
    const struct profile *profile;
    struct style style;
    struct strbuf out;
    struct json json;
    bool *hidden;
    struct functions functions;
    bool sampled;
    size_t left_out; /* rows that the table last ranked has no room for */
};

/* ---- Order --------------------------------------------------------------------------------- */

struct holders_ranked {
    uint64_t value;
    uint32_t index;
};

static int holders_show_by_value(const void *a, const void *b)
{
    const struct holders_ranked *x = a, *y = b;

    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

/* How many are above 0, the largest first. */
static size_t holders_show_rank(struct show *show, struct holders_ranked *ranked, size_t count)
{
    size_t top = show->options->style.top;
    size_t above = 0;

    if (count)
        qsort(ranked, count, sizeof *ranked, holders_show_by_value);
    while (above < count && ranked[above].value)
        above++;
    show->left_out = top && above > top ? above - top : 0;
    return above - show->left_out;
}

/* What the replay of a trace says is always known. */
static uint64_t holders_show_live_of(const struct merged_metrics *merged)
{
    return merged->paths ? figure_or(merged->metrics.live_bytes, 0) : 0;
}

static struct holders_ranked *holders_show_rank_functions(struct show *show, size_t *count)
{
    const struct functions *functions = &show->functions;
    struct holders_ranked *ranked = malloc((functions->count + 1) * sizeof *ranked);

    for (size_t i = 0; ranked && i < functions->count; i++) {
        const struct merged_metrics *merged = show->options->inclusive
                                                  ? &functions->rows[i].inclusive
                                                  : &functions->rows[i].exclusive;
        ranked[i] = (struct holders_ranked){holders_show_live_of(merged), (uint32_t)i};
    }
    *count = ranked ? holders_show_rank(show, ranked, functions->count) : 0;
    return ranked;
}

static struct holders_ranked *holders_show_rank_paths(struct show *show, size_t *count)
{
    const struct profile *profile = show->profile;
    struct holders_ranked *ranked = malloc((profile->site_count + 1) * sizeof *ranked);

    for (size_t i = 0; ranked && i < profile->site_count; i++)
        ranked[i] = (struct holders_ranked){
            figure_or(profile_site_figure(profile, i, METRIC_ROW(live_bytes)), 0), (uint32_t)i};
    *count = ranked ? holders_show_rank(show, ranked, profile->site_count) : 0;
    return ranked;
}

/* By module of the frame that a path is listed under; the last is "none". */
static uint64_t *holders_show_sum_libraries(const struct show *show)
{
    const struct profile *profile = show->profile;
    uint64_t *sums = calloc(profile->module_count + 1, sizeof *sums);
    struct frame_walk walk;

    for (size_t i = 0; sums && i < profile->site_count; i++) {
        struct frame frame =
            frame_walk_begin(&walk, profile, show->hidden, profile_site_path(profile, i));
        uint32_t module = profile->codes[frame.code].module;
        sums[module == UINT32_MAX ? profile->module_count : module] +=
            figure_or(profile_site_figure(profile, i, METRIC_ROW(live_bytes)), 0);
    }
    return sums;
}

static struct holders_ranked *holders_show_rank_libraries(struct show *show, size_t *count)
{
    size_t modules = show->profile->module_count + 1;
    uint64_t *sums = holders_show_sum_libraries(show);
    struct holders_ranked *ranked = malloc(modules * sizeof *ranked);

    for (size_t i = 0; sums && ranked && i < modules; i++)
        ranked[i] = (struct holders_ranked){sums[i], (uint32_t)i};
    *count = sums && ranked ? holders_show_rank(show, ranked, modules) : 0;
    if (!sums) {
        free(ranked);
        ranked = NULL;
    }
    free(sums);
    return ranked;
}

static const char *holders_show_library_name(const struct show *show, uint32_t index)
{
    return index < show->profile->module_count ? show->profile->modules[index].path : NULL;
}

/* ---- Text ---------------------------------------------------------------------------------- */

static void holders_show_label(struct show *show, const char *name)
{
    char padded[LABEL + 1];

    snprintf(padded, sizeof padded, "  %-*s", LABEL - 2, name);
    style_add(&show->out, &show->style, TONE_DIM, padded);
}

static void holders_show_wrapped(struct show *show, const char *string)
{
    text_add_wrapped(&show->out, string, LABEL, show->style.columns);
    strbuf_add_char(&show->out, '\n');
}

static void holders_show_cell(struct show *show, const char *figure, size_t columns, enum tone tone)
{
    size_t width = text_width(figure);

    strbuf_add_repeated(&show->out, " ", columns > width ? columns - width : 1);
    style_add(&show->out, &show->style, tone, figure);
}

static void holders_show_title(struct show *show, const char *name, const char *rest)
{
    strbuf_add_char(&show->out, '\n');
    style_add(&show->out, &show->style, TONE_TITLE, name);
    if (*rest)
        strbuf_addf(&show->out, "  %s", rest);
    strbuf_add_char(&show->out, '\n');
}

static double holders_show_run_share(const struct holders *holders, uint64_t ticks)
{
    uint64_t run = holders->clock.end_ticks - holders->clock.start_ticks;

    return run ? (double)(ticks - holders->clock.start_ticks) / (double)run : NAN;
}

static void holders_show_add_time(struct strbuf *out, const struct holders *holders, uint64_t ticks)
{
    uint64_t run = holders->clock.end_ticks - holders->clock.start_ticks;

    strbuf_addf(out, "%s", human_duration(heap_at_ns(&holders->clock, ticks)).text);
    if (run && ticks >= holders->clock.start_ticks)
        strbuf_addf(out, " (%s of the run)",
                    human_percent((double)(ticks - holders->clock.start_ticks), (double)run).text);
}

static void holders_show_text_moment(struct show *show)
{
    const struct holders *holders = show->holders;
    struct strbuf line = STRBUF_INIT;

    holders_show_add_time(&line, holders, holders->ticks);
    if (holders->at.event)
        strbuf_addf(&line, ", after event #%llu of %s", (unsigned long long)(holders->at.event - 1),
                    human_exact(holders->events).text);
    else
        strbuf_add_string(&line, ", before the first event");
    holders_show_label(show, "moment");
    holders_show_wrapped(show, line.data);
    strbuf_release(&line);
}

/* "1 block", "2.34 k blocks". */
static void holders_show_add_blocks(struct strbuf *out, enum memory_level of, uint64_t count)
{
    strbuf_addf(out, "%s %s", human_count(count).text, heap_at_words(of, count));
}

static void holders_show_text_level(struct show *show)
{
    const struct holders *holders = show->holders;
    struct strbuf line = STRBUF_INIT;

    strbuf_addf(&line, "%s in ", human_bytes(holders->at.live_bytes).text);
    holders_show_add_blocks(&line, holders->of, heap_at_count(holders, &holders->at));
    strbuf_addf(
        &line, "%s, %s of the peak", show->sampled ? " (estimated from a sample)" : "",
        human_percent((double)holders->at.live_bytes, (double)holders->peak.live_bytes).text);
    holders_show_label(show, "live memory");
    holders_show_wrapped(show, line.data);
    strbuf_reset(&line);
    strbuf_addf(&line, "%s in ", human_bytes(holders->peak.live_bytes).text);
    holders_show_add_blocks(&line, holders->of, heap_at_count(holders, &holders->peak));
    strbuf_add_string(&line, " at ");
    holders_show_add_time(&line, holders, holders->peak.ticks);
    holders_show_label(show, "peak");
    holders_show_wrapped(show, line.data);
    strbuf_release(&line);
}

/* The head's figures are the program's. This line has the sum of what is listed. */
static void holders_show_text_filter(struct show *show)
{
    const struct holders *holders = show->holders;
    struct strbuf line = STRBUF_INIT;
    if (!holders->filter)
        return;
    strbuf_addf(&line, "%s in ", human_bytes(holders->passing_bytes).text);
    holders_show_add_blocks(&line, holders->of, holders->passing_count);
    strbuf_add_string(&line, " of it on call paths that pass ");
    text_add_safe_string(&line, holders->filter);
    holders_show_label(show, "filter");
    holders_show_wrapped(show, line.data);
    strbuf_release(&line);
}

static void holders_show_text_head(struct show *show)
{
    const char *command = profile_get(show->profile, PROFILE_META_COMMAND);
    struct strbuf safe = STRBUF_INIT;

    if (command) {
        text_add_safe_string(&safe, command);
        holders_show_label(show, "command");
        holders_show_wrapped(show, safe.data);
    }
    strbuf_release(&safe);
    if (memory_level_sentence(show->holders->of)) {
        holders_show_label(show, "of");
        holders_show_wrapped(show, memory_level_sentence(show->holders->of));
    }
    holders_show_text_moment(show);
    holders_show_text_level(show);
    holders_show_text_filter(show);
    if (show->holders->at.threads != UINT32_MAX) {
        holders_show_label(show, "threads");
        holders_show_wrapped(show, human_exact(show->holders->at.threads).text);
    }
}

static void holders_show_text_left_out(struct show *show, size_t used, const char *what)
{
    struct strbuf line = STRBUF_INIT;

    if (!show->left_out)
        return;
    strbuf_addf(&line, "%s more %s (--top)\n", human_exact(show->left_out).text, what);
    strbuf_add_repeated(&show->out, " ", used);
    style_add(&show->out, &show->style, TONE_DIM, line.data);
    strbuf_release(&line);
}

static void holders_show_add_function(struct show *show, const struct function_row *row,
                                      size_t used)
{
    const struct profile *profile = show->profile;
    struct frame frame = frame_at(row->code, row->line);
    struct strbuf name = STRBUF_INIT, place = STRBUF_INIT;

    function_key_add_name(&name, profile, row->key, frame);
    if (show->style.columns >= WIDE)
        frame_add_file(&place, profile, frame, show->style.columns / 4);
    frame_add_columns(&show->out, &show->style, name.data, place.data, used, false);
    strbuf_release(&name);
    strbuf_release(&place);
}

static void holders_show_share_cell(struct show *show, uint64_t bytes)
{
    holders_show_cell(show, human_percent((double)bytes, (double)show->holders->at.live_bytes).text,
                      SHARE, TONE_DIM);
}

static uint64_t holders_show_peak_of(const struct merged_metrics *merged)
{
    return merged->paths ? figure_or(merged->metrics.at_peak_bytes, 0) : 0;
}

/* The figure that they are sorted by stands first. */
static void holders_show_text_function(struct show *show, const struct function_row *row)
{
    bool inclusive = show->options->inclusive;
    const struct merged_metrics *first = inclusive ? &row->inclusive : &row->exclusive;
    const struct merged_metrics *second = inclusive ? &row->exclusive : &row->inclusive;

    holders_show_cell(show, human_bytes(holders_show_live_of(first)).text, FIGURE, TONE_FIGURE);
    holders_show_share_cell(show, holders_show_live_of(first));
    holders_show_cell(show, human_bytes(holders_show_live_of(second)).text, FIGURE + 2,
                      TONE_FIGURE);
    holders_show_cell(show, human_bytes(holders_show_peak_of(first)).text, FIGURE, TONE_DIM);
    strbuf_add_repeated(&show->out, " ", GAP);
    holders_show_add_function(show, row, 3 * FIGURE + 2 + SHARE + GAP);
}

static int holders_show_text_functions(struct show *show)
{
    bool inclusive = show->options->inclusive;
    size_t count;
    struct holders_ranked *ranked = holders_show_rank_functions(show, &count);

    if (!ranked)
        return -ENOMEM;
    holders_show_title(show, "Functions that hold memory then",
                       inclusive ? "by all that is held below them"
                                 : "by what they asked for themselves");
    style_add(&show->out, &show->style, TONE_DIM,
              !count      ? "  none\n"
              : inclusive ? "  inclusive           exclusive    at peak  function\n"
                          : "  exclusive           inclusive    at peak  function\n");
    for (size_t i = 0; i < count; i++)
        holders_show_text_function(show, &show->functions.rows[ranked[i].index]);
    holders_show_text_left_out(show, 3 * FIGURE + 2 + SHARE + GAP, "functions");
    free(ranked);
    return 0;
}

static void holders_show_text_path(struct show *show, const struct profile_site *site)
{
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, show->profile, show->hidden, site->path);
    size_t used = 2 * FIGURE + SHARE + GAP;

    holders_show_cell(show, figure_human_bytes(site->metrics.live_bytes).text, FIGURE, TONE_FIGURE);
    holders_show_share_cell(show, figure_or(site->metrics.live_bytes, 0));
    holders_show_cell(show, figure_human_count(site->metrics.live_count).text, FIGURE, TONE_DIM);
    strbuf_add_string(&show->out, "  ");
    frame_add_line(&show->out, &show->style, show->profile, frame, used, true);
    for (size_t i = 0; i < show->options->style.depth && frame_walk_next(&walk, &frame); i++) {
        strbuf_add_repeated(&show->out, " ", used);
        style_add(&show->out, &show->style, TONE_DIM, style_sign(&show->style, "↑ ", "^ "));
        frame_add_line(&show->out, &show->style, show->profile, frame, used + 2, false);
    }
}

static int holders_show_text_paths(struct show *show)
{
    size_t count;
    struct holders_ranked *ranked = holders_show_rank_paths(show, &count);

    if (!ranked)
        return -ENOMEM;
    holders_show_title(show, "Call paths that hold memory then", "");
    style_add(&show->out, &show->style, TONE_DIM,
              count ? "       held               blocks  call path\n" : "  none\n");
    for (size_t i = 0; i < count; i++)
        holders_show_text_path(show, &show->profile->sites[ranked[i].index]);
    holders_show_text_left_out(show, 2 * FIGURE + SHARE + GAP, "call paths");
    free(ranked);
    return 0;
}

static int holders_show_text_libraries(struct show *show)
{
    size_t count;
    struct holders_ranked *ranked = holders_show_rank_libraries(show, &count);
    struct strbuf safe = STRBUF_INIT;

    if (!ranked)
        return -ENOMEM;
    holders_show_title(show, "Programs and libraries that hold memory then", "");
    for (size_t i = 0; i < count; i++) {
        const char *name = holders_show_library_name(show, ranked[i].index);
        holders_show_cell(show, human_bytes(ranked[i].value).text, FIGURE, TONE_FIGURE);
        holders_show_share_cell(show, ranked[i].value);
        strbuf_reset(&safe);
        text_add_safe_string(&safe, name ? name : "no module");
        strbuf_add_repeated(&show->out, " ", GAP);
        text_add_cut(&show->out, safe.data, show->style.columns - FIGURE - SHARE - GAP);
        strbuf_add_char(&show->out, '\n');
    }
    holders_show_text_left_out(show, FIGURE + SHARE + GAP, "programs and libraries");
    strbuf_release(&safe);
    free(ranked);
    return 0;
}

void heap_at_add_doubts(struct strbuf *out, const struct holders *holders)
{
    const char *names = offline_names_doubt(holders->profile);
    uint64_t missing = holders->at.missing_blocks > holders->peak.missing_blocks
                           ? holders->at.missing_blocks
                           : holders->peak.missing_blocks;
    struct trace_damage damage;
    char sentence[300];

    trace_damage(holders->trace, &damage, sentence, sizeof sentence);
    if (*sentence)
        strbuf_addf(out, "%s\n", sentence);
    if (holders->at.is_rough)
        strbuf_add_string(out,
                          "the events around this moment cannot be read: this is the state before "
                          "them\n");
    if (missing)
        strbuf_addf(out,
                    "%llu blocks of events cannot be read: figures of functions lack what these "
                    "changed, totals do not\n",
                    (unsigned long long)missing);
    if (names)
        strbuf_addf(out, "%s\n", names);
}

static void holders_show_text_doubts(struct show *show)
{
    struct strbuf lines = STRBUF_INIT, safe = STRBUF_INIT;
    char *rest = NULL;

    heap_at_add_doubts(&lines, show->holders);
    if (lines.length)
        for (char *line = strtok_r(lines.data, "\n", &rest); line;
             line = strtok_r(NULL, "\n", &rest)) {
            holders_show_label(show, "warning");
            strbuf_reset(&safe);
            text_add_safe_string(&safe, line);
            style_add_wrapped(&show->out, &show->style, TONE_WARNING, safe.data, LABEL);
        }
    strbuf_release(&lines);
    strbuf_release(&safe);
}

static int holders_show_text(struct show *show, FILE *file)
{
    int error;

    holders_show_text_head(show);
    holders_show_text_doubts(show);
    error = holders_show_text_functions(show);
    if (!error && show->options->paths)
        error = holders_show_text_paths(show);
    if (!error && show->options->libraries)
        error = holders_show_text_libraries(show);
    if (!error &&
        (fwrite(show->out.data, 1, show->out.length, file) != show->out.length || fflush(file)))
        error = -errno;
    return error;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void holders_show_json_state(struct show *show, const char *key,
                                    const struct trace_state *state, uint64_t ticks)
{
    struct json *json = &show->json;

    json_object(json, key);
    json_unsigned(json, "time_ns", heap_at_ns(&show->holders->clock, ticks));
    json_double(json, "run_share", holders_show_run_share(show->holders, ticks));
    json_unsigned(json, "events_before", state->event);
    json_unsigned(json, "live_bytes", state->live_bytes);
    json_unsigned(json, "live_count", heap_at_count(show->holders, state));
    if (state->threads == UINT32_MAX)
        json_null(json, "threads");
    else
        json_unsigned(json, "threads", state->threads);
    json_end(json);
}

static void holders_show_json_merged(struct json *json, const char *key,
                                     const struct merged_metrics *merged)
{
    const struct call_metrics none = {0}, *metrics = merged->paths ? &merged->metrics : &none;

    json_object(json, key);
    json_figure(json, "live_bytes", metrics->live_bytes);
    json_figure(json, "live_count", metrics->live_count);
    json_figure(json, "at_peak_bytes", metrics->at_peak_bytes);
    json_figure(json, "at_peak_count", metrics->at_peak_count);
    json_end(json);
}

static int holders_show_json_functions(struct show *show)
{
    struct json *json = &show->json;
    size_t count;
    struct holders_ranked *ranked = holders_show_rank_functions(show, &count);

    if (!ranked)
        return -ENOMEM;
    json_array(json, "functions");
    for (size_t i = 0; i < count; i++) {
        const struct function_row *row = &show->functions.rows[ranked[i].index];
        json_object(json, NULL);
        frame_write(json, show->profile, frame_at(row->code, row->line));
        holders_show_json_merged(json, "exclusive", &row->exclusive);
        holders_show_json_merged(json, "inclusive", &row->inclusive);
        json_end(json);
    }
    json_end(json);
    free(ranked);
    return 0;
}

static void holders_show_json_path(struct show *show, const struct profile_site *site)
{
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, show->profile, show->hidden, site->path);
    struct json *json = &show->json;
    bool more = true;

    json_object(json, NULL);
    json_unsigned(json, "node", site->path);
    json_figure(json, "live_bytes", site->metrics.live_bytes);
    json_figure(json, "live_count", site->metrics.live_count);
    json_figure(json, "at_peak_bytes", site->metrics.at_peak_bytes);
    json_array(json, "frames");
    for (; more; more = frame_walk_next(&walk, &frame)) {
        json_object(json, NULL);
        frame_write(json, show->profile, frame);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static int holders_show_json_paths(struct show *show)
{
    size_t count;
    struct holders_ranked *ranked = holders_show_rank_paths(show, &count);

    if (!ranked)
        return -ENOMEM;
    json_array(&show->json, "paths");
    for (size_t i = 0; i < count; i++)
        holders_show_json_path(show, &show->profile->sites[ranked[i].index]);
    json_end(&show->json);
    free(ranked);
    return 0;
}

static int holders_show_json_libraries(struct show *show)
{
    size_t count;
    struct holders_ranked *ranked = holders_show_rank_libraries(show, &count);

    if (!ranked)
        return -ENOMEM;
    json_array(&show->json, "libraries");
    for (size_t i = 0; i < count; i++) {
        json_object(&show->json, NULL);
        json_string(&show->json, "path", holders_show_library_name(show, ranked[i].index));
        json_unsigned(&show->json, "live_bytes", ranked[i].value);
        json_end(&show->json);
    }
    json_end(&show->json);
    free(ranked);
    return 0;
}

static void holders_show_json_doubts(struct show *show)
{
    struct strbuf lines = STRBUF_INIT;
    char *rest = NULL;

    heap_at_add_doubts(&lines, show->holders);
    json_array(&show->json, "warnings");
    if (lines.length)
        for (char *line = strtok_r(lines.data, "\n", &rest); line;
             line = strtok_r(NULL, "\n", &rest))
            json_string(&show->json, NULL, line);
    json_end(&show->json);
    strbuf_release(&lines);
}

static int holders_show_json(struct show *show, FILE *file)
{
    struct json *json = &show->json;
    int error;

    *json = json_begin(file, true);
    json_object(json, NULL);
    json_string(json, "format", "tidemark-at");
    json_unsigned(json, "version", 1);
    json_string(json, "command", profile_get(show->profile, PROFILE_META_COMMAND));
    json_bool(json, "estimated", show->sampled);
    json_string(json, "of", memory_level_name(show->holders->of));
    json_string(json, "filter", show->holders->filter);
    if (show->holders->filter)
        json_unsigned(json, "filtered_bytes", show->holders->passing_bytes);
    json_unsigned(json, "events", show->holders->events);
    json_unsigned(json, "duration_ns",
                  heap_at_ns(&show->holders->clock, show->holders->clock.end_ticks));
    holders_show_json_state(show, "at", &show->holders->at, show->holders->ticks);
    holders_show_json_state(show, "peak", &show->holders->peak, show->holders->peak.ticks);
    holders_show_json_doubts(show);
    error = holders_show_json_functions(show);
    if (!error && show->options->paths)
        error = holders_show_json_paths(show);
    if (!error && show->options->libraries)
        error = holders_show_json_libraries(show);
    if (error)
        return error;
    json_end(json);
    return json_finish(json);
}

/* ---- The whole ----------------------------------------------------------------------------- */

int holders_show(FILE *out, const struct holders *holders, const struct holders_options *options)
{
    const struct heap_at_style *how = &options->style;
    struct show show = {.holders = holders,
                        .options = options,
                        .profile = holders->profile,
                        .style = {how->colour, how->utf8, how->columns},
                        .out = STRBUF_INIT};
    struct trace_options trace;
    int error = -ENOMEM;

    trace_options(holders->trace, &trace);
    show.sampled = trace.sample_bytes != 0;
    show.hidden = how->hide_std ? frames_of_libraries(holders->profile)
                                : calloc(holders->profile->line_count + 1, 1);
    if (show.hidden)
        error = functions_init(&show.functions, holders->profile, show.hidden, NULL);
    if (!error) {
        error = how->json ? holders_show_json(&show, out) : holders_show_text(&show, out);
        functions_release(&show.functions);
    }
    free(show.hidden);
    strbuf_release(&show.out);
    if (error == -ENOMEM)
        error_set(error, "out of memory while looking at a trace");
    return error;
}
