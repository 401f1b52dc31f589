/* A figure in JSON: a number, or null where it is unknown. */
#ifndef TIDEMARK_MODEL_FIGURE_JSON_H
#define TIDEMARK_MODEL_FIGURE_JSON_H

#include "base/json.h"
#include "model/figure.h"

void json_figure(struct json *json, const char *name, struct figure figure);

#endif
