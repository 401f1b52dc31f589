/* Reads histories and single answers of `ps --json` (history.h). Members may stand in any order,
 * and what is not known here is passed over. Rows are found by their keys in a hash table, from
 * line to line. */
#include "system_history/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/json_reader.h"
#include "base/memory.h"
#include "base/search.h"

enum { LINE_MOST = 256 << 20 };

const char *const history_members[SYSTEM_HISTORY_FIGURES] = {"pss_bytes", "uss_bytes", "rss_bytes",
                                                             "swap_bytes"};

/* A row as one line says it. */
struct row_said {
    struct strbuf key, name, command;
    uint64_t pid;
    struct figure figures[SYSTEM_HISTORY_FIGURES];
};

/* ---- Rows ---------------------------------------------------------------------------------- */

static bool history_row_is(const void *array, uint32_t number, const void *key)
{
    return !strcmp(((const struct history_row *)array)[number].key, key);
}

static struct history_row *history_row_of(struct history *history, const char *key)
{
    bool is_new;
    array_need_room(&history->rows, &history->row_room, history->row_count, sizeof *history->rows);
    uint32_t number = map_number(&history->numbers, hash_bytes(key, strlen(key)), history_row_is,
                                 history->rows, key, (uint32_t)history->row_count, &is_new);
    if (is_new)
        history->rows[history->row_count++] = (struct history_row){.key = memory_need(strdup(key))};
    return &history->rows[number];
}

static struct history_point *history_add_point(struct history *history, struct history_row *row)
{
    size_t sample = history->sample_count;
    if (row->count && row->points[row->count - 1].sample == sample)
        return &row->points[row->count - 1];
    array_need_room(&row->points, &row->room, row->count, sizeof *row->points);
    row->points[row->count] = (struct history_point){.sample = sample};
    return &row->points[row->count++];
}

static void history_end_row(struct history *history, struct history_row *row)
{
    if (row->count && !row->points[row->count - 1].gone)
        *history_add_point(history, row) =
            (struct history_point){.sample = history->sample_count, .gone = true};
}

/* A process "/usr/bin/python3 x" is "python3 x (4711)"; files keep their paths. */
static char *history_name_of(const struct row_said *said, const char *key)
{
    struct strbuf name = STRBUF_INIT;
    const char *command = said->command.length ? said->command.data : said->name.data;
    const char *from = command + (said->pid && *command == '\'' && command[1] == '/');
    if (said->pid && *from == '/')
        for (const char *at = from, *end = from + strcspn(from, " '"); at < end; at++)
            if (*at == '/' && at + 1 < end)
                from = at + 1;
    strbuf_add_string(&name, *from ? from : key);
    if (said->pid)
        strbuf_addf(&name, " (%llu)", (unsigned long long)said->pid);
    return strbuf_detach(&name);
}

static void history_take_row(struct history *history, const struct row_said *said)
{
    struct strbuf key = STRBUF_INIT;
    if (said->key.length)
        strbuf_add_string(&key, said->key.data);
    else if (said->pid)
        strbuf_addf(&key, "%llu", (unsigned long long)said->pid);
    else
        strbuf_add_string(&key, said->name.data);
    struct history_row *row = history_row_of(history, key.data);
    struct history_point *point = history_add_point(history, row);
    point->gone = false;
    memcpy(point->figures, said->figures, sizeof point->figures);
    if (!row->name)
        row->name = history_name_of(said, key.data);
    strbuf_release(&key);
}

/* ---- Members ------------------------------------------------------------------------------- */

static struct figure history_read_figure(struct json_reader *json)
{
    uint64_t number;
    if (json_reader_null(json) || !json_reader_unsigned(json, &number))
        return FIGURE_UNKNOWN;
    return figure_of(number);
}

static bool history_read_known_figure(struct json_reader *json,
                                      struct figure figures[SYSTEM_HISTORY_FIGURES])
{
    for (size_t i = 0; i < SYSTEM_HISTORY_FIGURES; i++) {
        if (strcmp(json->text.data, history_members[i]) != 0)
            continue;
        figures[i] = history_read_figure(json);
        return true;
    }
    return false;
}

static void history_read_text(struct json_reader *json, struct strbuf *to)
{
    strbuf_reset(to);
    if (!json_reader_null(json) && json_reader_string(json))
        strbuf_add_string(to, json->text.data);
}

static void history_read_row(struct history *history, struct json_reader *json)
{
    struct row_said said = {STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, 0, {{0}}};
    bool first = true;
    for (size_t i = 0; i < SYSTEM_HISTORY_FIGURES; i++)
        said.figures[i] = FIGURE_UNKNOWN;
    json_reader_object(json);
    while (json_reader_key(json, &first)) {
        const char *member = json->text.data;
        if (history_read_known_figure(json, said.figures))
            continue;
        if (!strcmp(member, "key"))
            history_read_text(json, &said.key);
        else if (!strcmp(member, "command"))
            history_read_text(json, &said.command);
        else if (!strcmp(member, "name") || !strcmp(member, history->by))
            history_read_text(json, &said.name);
        else if (!strcmp(member, "pid"))
            json_reader_unsigned(json, &said.pid);
        else
            json_reader_skip(json);
    }
    if (!json->is_wrong)
        history_take_row(history, &said);
    strbuf_release(&said.key);
    strbuf_release(&said.name);
    strbuf_release(&said.command);
}

static void history_read_rows(struct history *history, struct json_reader *json)
{
    bool first = true;
    json_reader_array(json);
    while (json_reader_item(json, &first))
        history_read_row(history, json);
}

static void history_read_gone(struct history *history, struct json_reader *json)
{
    bool first = true;
    json_reader_array(json);
    while (json_reader_item(json, &first) && json_reader_string(json))
        history_end_row(history, history_row_of(history, json->text.data));
}

static void history_read_total(struct history_sample *sample, struct json_reader *json)
{
    bool first = true;
    json_reader_object(json);
    while (json_reader_key(json, &first))
        if (!strcmp(json->text.data, "processes"))
            sample->processes = history_read_figure(json);
        else if (!history_read_known_figure(json, sample->total))
            json_reader_skip(json);
}

static void history_read_machine(struct history_sample *sample, struct json_reader *json)
{
    bool first = true;
    if (json_reader_null(json))
        return;
    json_reader_object(json);
    while (json_reader_key(json, &first))
        if (!strcmp(json->text.data, "available_bytes"))
            sample->available_bytes = history_read_figure(json);
        else
            json_reader_skip(json);
}

/* ---- Lines --------------------------------------------------------------------------------- */

/* Ends all rows that are there, unless this line has listed them already: a whole line lists every
 * row. */
static void history_begin_whole(struct history *history)
{
    for (size_t i = 0; i < history->row_count; i++) {
        struct history_row *row = &history->rows[i];
        if (row->count && row->points[row->count - 1].sample != history->sample_count)
            history_end_row(history, row);
    }
}

static void history_read_by(struct history *history, struct json_reader *json)
{
    if (json_reader_string(json) && json->text.length < sizeof history->by)
        memcpy(history->by, json->text.data, json->text.length + 1);
}

static bool history_read_true(struct json_reader *json)
{
    bool is_true = json->end - json->at > 4 && memchr(json->at, 't', 3) != NULL;
    json_reader_skip(json);
    return is_true;
}

static void history_read_member(struct history *history, struct history_sample *sample,
                                struct json_reader *json)
{
    const char *member = json->text.data;
    if (!strcmp(member, "rows"))
        history_read_rows(history, json);
    else if (!strcmp(member, "gone"))
        history_read_gone(history, json);
    else if (!strcmp(member, "total"))
        history_read_total(sample, json);
    else if (!strcmp(member, "machine"))
        history_read_machine(sample, json);
    else if (!strcmp(member, "by"))
        history_read_by(history, json);
    else if (!strcmp(member, "time_unix_ns"))
        json_reader_unsigned(json, &sample->time_unix_ns);
    else if (strcmp(member, "whole") != 0)
        json_reader_skip(json);
    else if (history_read_true(json))
        history_begin_whole(history);
}

/* False: it is no answer of ps. */
static bool history_take_text(struct history *history, const char *text, size_t length)
{
    struct json_reader json = {text, text, text + length, false, STRBUF_INIT};
    struct history_sample sample = {
        .total = {FIGURE_UNKNOWN, FIGURE_UNKNOWN, FIGURE_UNKNOWN, FIGURE_UNKNOWN},
        .processes = FIGURE_UNKNOWN,
        .available_bytes = FIGURE_UNKNOWN};
    bool first = true;
    json_reader_object(&json);
    while (json_reader_key(&json, &first))
        history_read_member(history, &sample, &json);
    bool right = !json.is_wrong && *history->by;
    strbuf_release(&json.text);
    if (!right)
        return false;
    array_need_room(&history->samples, &history->sample_room, history->sample_count,
                    sizeof *history->samples);
    history->samples[history->sample_count++] = sample;
    return true;
}

bool history_begins(const char *bytes, size_t count)
{
    static const char *const beginnings[] = {HISTORY_BEGINNING,
                                             "{\n  \"format\": \"tidemark-ps\",\n"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        size_t length = strlen(beginnings[i]);
        if (count >= length && !memcmp(bytes, beginnings[i], length))
            return true;
    }
    return false;
}

static int history_refuse(struct strbuf *why, const char *name, size_t line)
{
    strbuf_addf(why, "%s, line %zu: this is not as tidemark ps writes it", name, line);
    return -EINVAL;
}

/* `line` is the first, and there may be more. A last line without its end was being written when
 * its writer ended, or is. */
static int history_read_lines(struct history *history, FILE *file, const char *name,
                              struct strbuf *line, struct strbuf *why)
{
    char *text = NULL;
    size_t room = 0;
    int error = 0;
    ssize_t length = 0;
    if (!history_take_text(history, line->data, line->length))
        return history_refuse(why, name, 1);
    for (size_t number = 2; !error && (length = getline(&text, &room, file)) > 0; number++)
        if (text[length - 1] == '\n' && !history_take_text(history, text, (size_t)length))
            error = history_refuse(why, name, number);
        else if (length > LINE_MOST)
            error = -EFBIG;
    free(text);
    return error;
}

static int history_read_single(struct history *history, FILE *file, const char *name,
                               struct strbuf *text, struct strbuf *why)
{
    char block[1 << 16];
    size_t count;
    while ((count = fread(block, 1, sizeof block, file)) && text->length < LINE_MOST)
        strbuf_add(text, block, count);
    history->is_single = true;
    return history_take_text(history, text->data, text->length) ? 0 : history_refuse(why, name, 1);
}

int history_read(struct history *history, FILE *file, const char *name, struct strbuf *why)
{
    struct strbuf text = STRBUF_INIT;
    char *line = NULL;
    size_t room = 0;
    *history = (struct history){0};
    ssize_t length = getline(&line, &room, file);
    if (length > 0)
        strbuf_add(&text, line, (size_t)length);
    free(line);
    size_t beginning = strlen(HISTORY_BEGINNING);
    int error = text.length >= beginning && !memcmp(text.data, HISTORY_BEGINNING, beginning)
                    ? history_read_lines(history, file, name, &text, why)
                    : history_read_single(history, file, name, &text, why);
    if (!error && ferror(file))
        error = -EIO;
    strbuf_release(&text);
    return error;
}

void history_release(struct history *history)
{
    for (size_t i = 0; i < history->row_count; i++) {
        free(history->rows[i].key);
        free(history->rows[i].name);
        free(history->rows[i].points);
    }
    free(history->rows);
    free(history->samples);
    map_release(&history->numbers);
    *history = (struct history){0};
}

const struct history_point *history_at(const struct history_row *row, size_t sample)
{
    size_t first = 0;
    SEARCH_FIRST(first, row->count, at, row->points[at].sample <= sample);
    return first && !row->points[first - 1].gone ? &row->points[first - 1] : NULL;
}
