/* Reads lists of words in options: sections to show, and columns of a table. An unknown word is
 * given back, so that the command can name it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "aggregate/metric_choice.h"
#include "report/report.h"
#include "aggregate/derived.h"

const char *const report_section_names[REPORT_SECTIONS] = {
    [REPORT_SITES] = "sites",         [REPORT_FUNCTIONS] = "functions",
    [REPORT_LIBRARIES] = "libraries", [REPORT_TREE] = "tree",
    [REPORT_MEMORY] = "memory",       [REPORT_PEAKS] = "peaks",
    [REPORT_PATHS] = "paths",         [REPORT_SIZES] = "sizes",
    [REPORT_LIFETIMES] = "lifetimes", [REPORT_REALLOCS] = "reallocs",
    [REPORT_THREADS] = "threads",     [REPORT_STACKS] = "stacks",
    [REPORT_GLOBALS] = "globals",     [REPORT_RESIDENCY] = "residency",
    [REPORT_REGIONS] = "regions",     [REPORT_TYPES] = "types",
    [REPORT_FILL] = "fill",           [REPORT_HEAT] = "heat",
    [REPORT_NUMA] = "numa",           [REPORT_DEVICES] = "devices",
};

static bool report_choice_is_word(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && !memcmp(name, word, length);
}

static int report_choice_refuse(const char *word, size_t length, char *wrong, size_t wrong_bytes)
{
    snprintf(wrong, wrong_bytes, "%.*s", (int)(length < 60 ? length : 60), word);
    return -EINVAL;
}

int report_show_parse(const char *list, unsigned *show, char *wrong, size_t wrong_bytes)
{
    for (size_t length; *list; list += length + (list[length] == ',')) {
        length = strcspn(list, ",");
        size_t i = 0;
        while (i < REPORT_SECTIONS && !report_choice_is_word(list, length, report_section_names[i]))
            i++;
        if (report_choice_is_word(list, length, "all"))
            *show |= REPORT_SHOW_ALL;
        else if (i < REPORT_SECTIONS)
            *show |= 1u << i;
        else
            return report_choice_refuse(list, length, wrong, wrong_bytes);
    }
    return *show ? 0 : report_choice_refuse("", 0, wrong, wrong_bytes);
}

const char *report_column_name(size_t position)
{
    if (position < METRICS)
        return metric_rows[position].column;
    position -= METRICS;
    if (position < DERIVED_COUNT)
        return derived[position].name;
    position -= DERIVED_COUNT;
    return position < METRIC_CHOICES ? metrics[position].name : NULL;
}

int report_columns_parse(const char *list, struct report_columns *columns, char *wrong,
                         size_t wrong_bytes)
{
    for (size_t length; *list; list += length + (list[length] == ',')) {
        length = strcspn(list, ",");
        size_t i = 0;
        while (report_column_name(i) && !report_choice_is_word(list, length, report_column_name(i)))
            i++;
        if (!report_column_name(i) || columns->count == REPORT_COLUMNS_MAX)
            return report_choice_refuse(list, length, wrong, wrong_bytes);
        columns->at[columns->count++] = (uint8_t)i;
    }
    return 0;
}
