/* A job at a moment as text for people and JSON for programs:
 *
 *   live memory  1.20 GiB in 12.3 M blocks, in 64 of 64 ranks
 *   a rank       19.2 MiB on average, from 18.0 MiB (rank 3) to 20.1 MiB (rank 17) */
#include "heap_at/job_at.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "aggregate/frames.h"
#include "base/human.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/text_table.h"
#include "format/names.h"
#include "format/style.h"
#include "heap_at/times.h"

struct job_at_text {
    const struct job_at *at;
    const struct job_at_options *options;
    struct style style;
    struct strbuf out;
    size_t states[JOB_AT_UNKNOWN + 1]; /* ranks */
    uint64_t bytes, count, filtered_bytes, peak_sum;
    size_t least, most; /* indices of ranks that are alive */
    bool estimated;
};

static const char *const job_at_state_names[] = {"alive", "not begun", "ended", "unknown"};

static void job_at_show_add_up(struct job_at_text *text)
{
    const struct job_at_rank *ranks = text->at->ranks;
    text->least = text->most = SIZE_MAX;
    for (size_t i = 0; i < text->at->rank_count; i++) {
        text->states[ranks[i].state]++;
        text->bytes += ranks[i].bytes;
        text->count += ranks[i].count;
        text->filtered_bytes += ranks[i].filtered_bytes;
        text->peak_sum += ranks[i].peak_bytes;
        text->estimated |= ranks[i].estimated;
        if (ranks[i].state != JOB_AT_ALIVE)
            continue;
        if (text->least == SIZE_MAX || ranks[i].bytes < ranks[text->least].bytes)
            text->least = i;
        if (text->most == SIZE_MAX || ranks[i].bytes > ranks[text->most].bytes)
            text->most = i;
    }
}

/* "rank 17", or of a process of none its program. */
static void job_at_show_add_rank(struct strbuf *out, const struct job_at_rank *rank)
{
    const struct entry *entry = &rank->process->entry;
    if (entry->rank >= 0)
        strbuf_addf(out, "rank %lld", (long long)entry->rank);
    else
        text_add_safe_string(out, entry->program ? entry->program : "a process");
}

/* ---- Text ---------------------------------------------------------------------------------- */

static void job_at_show_line(struct job_at_text *text, const char *label, const char *said)
{
    enum { LABEL = 15 };
    char padded[LABEL + 1];
    snprintf(padded, sizeof padded, "  %-*s", LABEL - 2, label);
    style_add(&text->out, &text->style, TONE_DIM, padded);
    text_add_wrapped(&text->out, said, LABEL, text->style.columns);
    strbuf_add_char(&text->out, '\n');
}

static void job_at_show_moment(struct job_at_text *text)
{
    static const char *const said[] = {
        [OFFLINE_TIME] = " after the job's first process began, by the clocks of the machines",
        [OFFLINE_PERCENT] = " of the run of each",
        [OFFLINE_PEAK] = ": each at its own, which need not be at the same time",
        [OFFLINE_MARK] = ": each at its own",
        [OFFLINE_NODE_PEAK] = ": when the ranks of a machine held most together, of each its own",
        [OFFLINE_JOB_PEAK] = ": when all ranks held most together, by the clocks of the machines",
    };
    struct strbuf line = STRBUF_INIT;
    text_add_safe_string(&line, text->options->moment_text);
    strbuf_add_string(&line, said[text->options->moment.kind]);
    job_at_show_line(text, "moment", line.data);
    strbuf_reset(&line);
    if (memory_level_sentence(text->options->of))
        job_at_show_line(text, "of", memory_level_sentence(text->options->of));
    strbuf_release(&line);
}

static void job_at_show_ranks_line(struct job_at_text *text)
{
    struct strbuf line = STRBUF_INIT;
    size_t missing = text->at->job->missing;
    strbuf_addf(&line, "%zu, of which %zu %s alive then", text->at->rank_count,
                text->states[JOB_AT_ALIVE], text->states[JOB_AT_ALIVE] == 1 ? "is" : "are");
    for (size_t state = JOB_AT_NOT_BEGUN; state <= JOB_AT_ENDED; state++)
        if (text->states[state])
            strbuf_addf(&line, ", %zu had %s", text->states[state], job_at_state_names[state]);
    if (text->states[JOB_AT_UNKNOWN])
        strbuf_addf(&line, ", and of %zu it is unknown: no sum has them",
                    text->states[JOB_AT_UNKNOWN]);
    if (missing)
        strbuf_addf(&line, "; nothing is here of %zu more", missing);
    job_at_show_line(text, text->at->job->rank_count ? "ranks" : "processes", line.data);
    strbuf_release(&line);
}

static void job_at_show_add_extreme(struct job_at_text *text, struct strbuf *line, size_t index)
{
    strbuf_addf(line, "%s (", human_bytes(text->at->ranks[index].bytes).text);
    job_at_show_add_rank(line, &text->at->ranks[index]);
    strbuf_add_string(line, ")");
}

static void job_at_show_levels(struct job_at_text *text)
{
    struct strbuf line = STRBUF_INIT;
    size_t alive = text->states[JOB_AT_ALIVE];
    bool is_bound = text->states[JOB_AT_UNKNOWN] || text->at->job->missing;
    strbuf_addf(&line, "%s%s in %s %s%s", is_bound ? "at least " : "",
                human_bytes(text->bytes).text, human_count(text->count).text,
                heap_at_words(text->options->of, text->count),
                text->estimated ? " (estimated from a sample)" : "");
    if (text->options->moment.kind != OFFLINE_PEAK && text->peak_sum)
        strbuf_addf(&line, ", %s of what their own peaks add up to",
                    human_percent((double)text->bytes, (double)text->peak_sum).text);
    job_at_show_line(text, "live memory", line.data);
    strbuf_reset(&line);
    if (alive) {
        strbuf_addf(&line, "%s on average, from ", human_bytes(text->bytes / alive).text);
        job_at_show_add_extreme(text, &line, text->least);
        strbuf_add_string(&line, " to ");
        job_at_show_add_extreme(text, &line, text->most);
        job_at_show_line(text, text->at->job->rank_count ? "a rank" : "a process", line.data);
    }
    strbuf_reset(&line);
    if (text->options->filter) {
        strbuf_addf(&line, "%s of it on call paths that pass ",
                    human_bytes(text->filtered_bytes).text);
        text_add_safe_string(&line, text->options->filter);
        job_at_show_line(text, "filter", line.data);
    }
    strbuf_release(&line);
}

/* The first rank with something to say, and how many more there are. */
static void job_at_show_doubts(struct job_at_text *text)
{
    size_t first = SIZE_MAX, count = 0;
    struct strbuf line = STRBUF_INIT, safe = STRBUF_INIT;
    for (size_t i = 0; i < text->at->rank_count; i++)
        if (text->at->ranks[i].why) {
            first = first == SIZE_MAX ? i : first;
            count++;
        }
    if (count) {
        const struct job_at_rank *rank = &text->at->ranks[first];
        text_add_safe_string(&safe, rank->why);
        job_at_show_add_rank(&line, rank);
        strbuf_addf(&line, ": %.*s", (int)strcspn(safe.data, "\n"), safe.data);
        if (count > 1)
            strbuf_addf(&line, "; and %zu more (--json)", count - 1);
        style_begin(&text->out, &text->style, TONE_WARNING);
        job_at_show_line(text, "warning", line.data);
        style_end(&text->out, &text->style);
    }
    strbuf_release(&safe);
    strbuf_release(&line);
}

static size_t job_at_show_rows(const struct job_at_text *text, size_t count)
{
    size_t top = text->options->style.top;
    return top && count > top ? top : count;
}

static void job_at_show_title(struct job_at_text *text, const char *title, const char *rest)
{
    strbuf_add_char(&text->out, '\n');
    style_add(&text->out, &text->style, TONE_TITLE, title);
    strbuf_addf(&text->out, "  %s\n", rest);
}

static void job_at_show_more(struct job_at_text *text, size_t all, size_t shown)
{
    if (all > shown)
        strbuf_addf(&text->out, "  %zu more (--top)\n", all - shown);
}

static const struct text_column job_at_node_columns[] = {{"live", 12, TEXT_RIGHT, 0},
                                                         {"of its peaks", 13, TEXT_RIGHT, 0},
                                                         {"after", 10, TEXT_RIGHT, 0},
                                                         {"ranks", 8, TEXT_RIGHT, 0},
                                                         {"", 0, TEXT_LEFT, 2}};
static const struct text_column job_at_rank_columns[] = {{"live", 12, TEXT_RIGHT, 0},
                                                         {"of its peak", 13, TEXT_RIGHT, 0},
                                                         {"after", 10, TEXT_RIGHT, 0},
                                                         {"", 0, TEXT_LEFT, 2}};
static const struct text_column job_at_function_columns[] = {{"live", 12, TEXT_RIGHT, 0},
                                                             {"", 8, TEXT_RIGHT, 0},
                                                             {"most in one", 13, TEXT_RIGHT, 0},
                                                             {"", 12, TEXT_LEFT, 1},
                                                             {"in", 6, TEXT_RIGHT, 0}};
enum { JOB_AT_FUNCTION_USED = 54 };

static void job_at_show_headings(struct job_at_text *text, const struct text_column *columns,
                                 size_t count)
{
    style_begin(&text->out, &text->style, TONE_DIM);
    text_row_add_headings(&text->out, columns, count);
    style_end(&text->out, &text->style);
    strbuf_add_char(&text->out, '\n');
}

static void job_at_show_node(struct job_at_text *text, const struct job_at_node *node)
{
    struct text_row row = text_row_begin(&text->out, job_at_node_columns);
    struct strbuf cell = STRBUF_INIT;
    if (node->unknown == node->ranks)
        strbuf_add_char(&cell, '-');
    else
        strbuf_addf(&cell, "%s%s",
                    !node->unknown     ? ""
                    : text->style.utf8 ? "≥ "
                                       : ">= ",
                    human_bytes(node->bytes).text);
    text_row_add(&row, cell.data);
    text_row_add(&row, human_percent((double)node->bytes, (double)node->peak_sum).text);
    text_row_add(&row, figure_known(node->moment_ns)
                           ? human_duration(figure_or(node->moment_ns, 0)).text
                           : "");
    text_row_add(&row, human_exact(node->alive).text);
    strbuf_reset(&cell);
    text_add_safe_string(&cell, node->name ? node->name : "not known which");
    text_row_add(&row, cell.data);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&cell);
}

static void job_at_show_nodes(struct job_at_text *text)
{
    const struct job_at *at = text->at;
    size_t rows = job_at_show_rows(text, at->node_count);
    bool is_together = text->options->moment.kind == OFFLINE_NODE_PEAK ||
                       text->options->moment.kind == OFFLINE_JOB_PEAK;
    if (at->node_count < 2 && !is_together)
        return;
    job_at_show_title(text, "Machines", "by what their ranks hold together");
    job_at_show_headings(text, job_at_node_columns, 4);
    for (size_t i = 0; i < rows; i++)
        job_at_show_node(text, &at->nodes[i]);
    job_at_show_more(text, at->node_count, rows);
}

static void job_at_show_rank(struct job_at_text *text, const struct job_at_rank *rank)
{
    struct text_row row = text_row_begin(&text->out, job_at_rank_columns);
    struct strbuf cell = STRBUF_INIT;
    text_row_add(&row, human_bytes(rank->bytes).text);
    text_row_add(&row, human_percent((double)rank->bytes, (double)rank->peak_bytes).text);
    text_row_add(&row, human_duration(rank->time_ns).text);
    job_at_show_add_rank(&cell, rank);
    if (rank->process->entry.host) {
        strbuf_add_string(&cell, " on ");
        text_add_safe_string(&cell, rank->process->entry.host);
    }
    text_row_add(&row, cell.data);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&cell);
}

static int job_at_show_by_live(const void *left, const void *right)
{
    const struct job_at_rank *a = *(const struct job_at_rank *const *)left;
    const struct job_at_rank *b = *(const struct job_at_rank *const *)right;
    return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1) : (a > b) - (a < b);
}

static void job_at_show_ranks(struct job_at_text *text)
{
    const struct job_at *at = text->at;
    const struct job_at_rank **order = memory_resize(NULL, at->rank_count, sizeof *order);
    size_t count = 0;
    for (size_t i = 0; i < at->rank_count; i++)
        if (at->ranks[i].state == JOB_AT_ALIVE)
            order[count++] = &at->ranks[i];
    if (count)
        qsort(order, count, sizeof *order, job_at_show_by_live);
    size_t rows = job_at_show_rows(text, count);
    job_at_show_title(text, at->job->rank_count ? "Ranks" : "Processes",
                      count ? "that hold most then" : "none is alive then");
    if (count)
        job_at_show_headings(text, job_at_rank_columns, 3);
    for (size_t i = 0; i < rows; i++)
        job_at_show_rank(text, order[i]);
    job_at_show_more(text, count, rows);
    free(order);
}

static uint64_t job_at_show_bytes_of(const struct job_at_text *text,
                                     const struct job_at_function *function)
{
    return text->options->inclusive ? function->inclusive : function->exclusive;
}

/* Those that hold something; they come first. */
static size_t job_at_show_holding(const struct job_at_text *text)
{
    size_t count = 0;
    while (count < text->at->function_count &&
           job_at_show_bytes_of(text, &text->at->functions[count]))
        count++;
    return count;
}

static void job_at_show_function(struct job_at_text *text, const struct job_at_function *function)
{
    struct text_row row = text_row_begin(&text->out, job_at_function_columns);
    struct strbuf cell = STRBUF_INIT;
    uint64_t shown = job_at_show_bytes_of(text, function);
    text_row_add(&row, human_bytes(shown).text);
    text_row_add(&row, human_percent((double)shown, (double)text->bytes).text);
    text_row_add(&row, human_bytes(function->most).text);
    strbuf_add_char(&cell, '(');
    job_at_show_add_rank(&cell, &text->at->ranks[function->most_rank]);
    strbuf_add_char(&cell, ')');
    text_row_add(&row, cell.data);
    text_row_add(&row, human_exact(function->ranks).text);
    strbuf_add_string(&text->out, "  ");
    strbuf_reset(&cell);
    if (text->style.columns >= 100 && (function->file || function->module))
        name_add_place(&cell, function->file ? function->file : name_base(function->module), 0,
                       text->style.columns / 4);
    frame_add_columns(&text->out, &text->style, function->name, cell.length ? cell.data : "",
                      JOB_AT_FUNCTION_USED, false);
    strbuf_release(&cell);
}

static void job_at_show_functions(struct job_at_text *text)
{
    const struct job_at *at = text->at;
    size_t count = job_at_show_holding(text), rows = job_at_show_rows(text, count);
    job_at_show_title(text, "Functions that hold memory then",
                      text->options->inclusive
                          ? "by all that is held below them, in all of them"
                          : "by what they asked for themselves, in all of them");
    if (rows)
        job_at_show_headings(text, job_at_function_columns, 5);
    else
        strbuf_add_string(&text->out, "  none\n");
    for (size_t i = 0; i < rows; i++)
        job_at_show_function(text, &at->functions[i]);
    job_at_show_more(text, count, rows);
}

static int job_at_show_text(struct job_at_text *text, FILE *out)
{
    job_at_show_moment(text);
    job_at_show_ranks_line(text);
    job_at_show_levels(text);
    job_at_show_doubts(text);
    job_at_show_nodes(text);
    job_at_show_ranks(text);
    job_at_show_functions(text);
    if (fwrite(text->out.data, 1, text->out.length, out) != text->out.length || fflush(out))
        return -errno;
    return 0;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void job_at_show_json_unsigned(struct json *json, const char *key, uint64_t value,
                                      bool is_known)
{
    if (is_known)
        json_unsigned(json, key, value);
    else
        json_null(json, key);
}

static void job_at_show_json_rank(struct json *json, const struct job_at_rank *rank)
{
    const struct entry *entry = &rank->process->entry;
    bool is_alive = rank->state == JOB_AT_ALIVE, is_known = rank->state != JOB_AT_UNKNOWN;
    json_object(json, NULL);
    job_at_show_json_unsigned(json, "rank", (uint64_t)entry->rank, entry->rank >= 0);
    json_string(json, "program", entry->program);
    json_string(json, "node", entry->host);
    json_string(json, "state", job_at_state_names[rank->state]);
    job_at_show_json_unsigned(json, "time_ns", rank->time_ns, is_alive);
    job_at_show_json_unsigned(json, "duration_ns", rank->run_ns, is_alive);
    job_at_show_json_unsigned(json, "live_bytes", rank->bytes, is_known);
    job_at_show_json_unsigned(json, "live_count", rank->count, is_known);
    job_at_show_json_unsigned(json, "peak_bytes", rank->peak_bytes, is_alive);
    json_string(json, "why", rank->why);
    json_end(json);
}

static void job_at_show_json_function(struct json *json, const struct job_at *at,
                                      const struct job_at_function *function)
{
    const struct entry *most = &at->ranks[function->most_rank].process->entry;
    json_object(json, NULL);
    json_string(json, "function", function->name);
    json_string(json, "file", function->file);
    json_string(json, "module", function->module);
    json_unsigned(json, "exclusive_bytes", function->exclusive);
    json_unsigned(json, "exclusive_count", function->count);
    json_unsigned(json, "inclusive_bytes", function->inclusive);
    json_unsigned(json, "most_bytes", function->most);
    job_at_show_json_unsigned(json, "most_rank", (uint64_t)most->rank, most->rank >= 0);
    json_unsigned(json, "ranks", function->ranks);
    json_end(json);
}

static void job_at_show_json_lists(struct job_at_text *text, struct json *json)
{
    const struct job_at *at = text->at;
    json_array(json, "ranks");
    for (size_t i = 0; i < at->rank_count; i++)
        job_at_show_json_rank(json, &at->ranks[i]);
    json_end(json);
    json_array(json, "nodes");
    for (size_t i = 0; i < at->node_count; i++) {
        json_object(json, NULL);
        json_string(json, "node", at->nodes[i].name);
        job_at_show_json_unsigned(json, "time_ns", figure_or(at->nodes[i].moment_ns, 0),
                                  figure_known(at->nodes[i].moment_ns));
        job_at_show_json_unsigned(json, "live_bytes", at->nodes[i].bytes,
                                  at->nodes[i].unknown < at->nodes[i].ranks);
        json_unsigned(json, "alive", at->nodes[i].alive);
        json_unsigned(json, "unknown", at->nodes[i].unknown);
        json_end(json);
    }
    json_end(json);
    json_array(json, "functions");
    for (size_t i = 0; i < job_at_show_rows(text, job_at_show_holding(text)); i++)
        job_at_show_json_function(json, at, &at->functions[i]);
    json_end(json);
}

static int job_at_show_json(struct job_at_text *text, FILE *out)
{
    const struct job_at *at = text->at;
    struct json json = json_begin(out, true);
    json_object(&json, NULL);
    json_string(&json, "format", "tidemark-at-job");
    json_unsigned(&json, "version", 1);
    json_string(&json, "id", at->job->id);
    json_string(&json, "moment", text->options->moment_text);
    json_string(&json, "of", memory_level_name(text->options->of));
    json_bool(&json, "estimated", text->estimated);
    json_string(&json, "filter", text->options->filter);
    if (text->options->filter)
        json_unsigned(&json, "filtered_bytes", text->filtered_bytes);
    json_unsigned(&json, "live_bytes", text->bytes);
    json_unsigned(&json, "live_count", text->count);
    json_bool(&json, "at_least", text->states[JOB_AT_UNKNOWN] || at->job->missing);
    json_unsigned(&json, "alive_ranks", text->states[JOB_AT_ALIVE]);
    json_unsigned(&json, "unknown_ranks", text->states[JOB_AT_UNKNOWN]);
    json_unsigned(&json, "missing_ranks", at->job->missing);
    job_at_show_json_lists(text, &json);
    json_end(&json);
    return json_finish(&json);
}

int job_at_show(FILE *out, const struct job_at *at, const struct job_at_options *options)
{
    const struct heap_at_style *how = &options->style;
    struct job_at_text text = {.at = at,
                               .options = options,
                               .style = {how->colour, how->utf8, how->columns},
                               .out = STRBUF_INIT};
    job_at_show_add_up(&text);
    int error = how->json ? job_at_show_json(&text, out) : job_at_show_text(&text, out);
    strbuf_release(&text.out);
    return error;
}
