/* Columns of detail tables as members of JSON objects. A column's type chooses the form; an unknown
 * figure, a text that is absent and a thread that is not known become null. */
#include "report/detail_json.h"

#include <string.h>
#include "model/figure_json.h"

static void detail_json_number(struct json *json, const char *name,
                               const struct detail_column *column, uint32_t number)
{
    if (column->type == DETAIL_THREAD && number == UINT32_MAX)
        json_null(json, name);
    else if (column->names)
        json_string(json, name, number < column->limit ? column->names[number] : NULL);
    else
        json_unsigned(json, name, number);
}

static void detail_json_text(struct json *json, const char *name,
                             const struct detail_column *column, const char *text)
{
    bool absent = column->type == DETAIL_TEXT && text && !*text;
    json_string(json, name, absent ? NULL : text);
}

static void detail_json_column(struct json *json, const char *name,
                               const struct detail_column *column, const void *field)
{
    switch (column->type) {
    case DETAIL_PLAIN:
        json_unsigned(json, name, *(const uint64_t *)field);
        break;
    case DETAIL_MAYBE:
        json_figure(json, name, *(const struct figure *)field);
        break;
    case DETAIL_SIGNED:
        json_signed(json, name, *(const int64_t *)field);
        break;
    case DETAIL_REAL:
        json_double(json, name, *(const double *)field);
        break;
    case DETAIL_FLAG:
        json_bool(json, name, *(const bool *)field);
        break;
    case DETAIL_SMALL:
    case DETAIL_KIND:
    case DETAIL_THREAD:
    case DETAIL_SAMPLE:
        detail_json_number(json, name, column, *(const uint32_t *)field);
        break;
    case DETAIL_TEXT:
    case DETAIL_NAME:
        detail_json_text(json, name, column, *(const char *const *)field);
        break;
    case DETAIL_NODE:
    case DETAIL_MODULE:
    case DETAIL_BYTES:
        break;
    }
}

/* Writes from the column named `first` to the one named `last`. */
static void detail_json_range(struct json *json, bool named, enum detail table, const char *first,
                              const char *last, const void *row)
{
    const struct detail_table *of = &detail_tables[table];
    bool begun = !first;
    for (size_t i = 0; i < of->count; i++) {
        const struct detail_column *column = &of->columns[i];
        begun |= first && !strcmp(column->name, first);
        if (begun)
            detail_json_column(json, named ? column->name : NULL, column,
                               (const char *)row + column->offset);
        if (last && !strcmp(column->name, last))
            return;
    }
}

void detail_json_columns(struct json *json, enum detail table, const char *first, const char *last,
                         const void *row)
{
    detail_json_range(json, true, table, first, last, row);
}

void detail_json_values(struct json *json, enum detail table, const char *first, const char *last,
                        const void *row)
{
    detail_json_range(json, false, table, first, last, row);
}

void detail_json_rows(struct json *json, const char *name, enum detail table, const void *rows,
                      size_t count)
{
    if (!count) {
        json_null(json, name);
        return;
    }
    json_array(json, name);
    for (size_t i = 0; i < count; i++) {
        json_object(json, NULL);
        detail_json_columns(json, table, NULL, NULL,
                            (const char *)rows + i * detail_tables[table].bytes);
        json_end(json);
    }
    json_end(json);
}
