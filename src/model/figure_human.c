/* Figures as texts. A known figure is a plain number, which human.h writes; an unknown one is "-",
 * whatever its unit is. */
#include "model/figure_human.h"

static const struct human figure_human_unknown = {"-"};

struct human figure_human_bytes(struct figure bytes)
{
    return figure_known(bytes) ? human_bytes(figure_or(bytes, 0)) : figure_human_unknown;
}

struct human figure_human_count(struct figure count)
{
    return figure_known(count) ? human_count(figure_or(count, 0)) : figure_human_unknown;
}

struct human figure_human_duration(struct figure ns)
{
    return figure_known(ns) ? human_duration(figure_or(ns, 0)) : figure_human_unknown;
}

struct human figure_human_exact(struct figure number)
{
    return figure_known(number) ? human_exact(figure_or(number, 0)) : figure_human_unknown;
}
