/* Writes a number or null, so that no reader of JSON takes the unknown for the number 2^64 - 1. */
#include "model/figure_json.h"

void json_figure(struct json *json, const char *name, struct figure figure)
{
    uint64_t number;
    if (figure_get(figure, &number))
        json_unsigned(json, name, number);
    else
        json_null(json, name);
}
