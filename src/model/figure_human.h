/* Figures as people read them: human.h's texts, and "-" where a figure is unknown. */
#ifndef TIDEMARK_MODEL_FIGURE_HUMAN_H
#define TIDEMARK_MODEL_FIGURE_HUMAN_H

#include "base/human.h"
#include "model/figure.h"

struct human figure_human_bytes(struct figure bytes);
struct human figure_human_count(struct figure count);
struct human figure_human_duration(struct figure ns);
struct human figure_human_exact(struct figure number);

#endif
