/* What top shows: the profile as it was last read, its call sites, and how they have changed since
 * the look before. */
#ifndef TIDEMARK_TOP_TOP_MODEL_H
#define TIDEMARK_TOP_TOP_MODEL_H

#include "profile/profile.h"
#include "aggregate/call_sites.h"
#include "model/figure_human.h"
#include "model/metrics.h"
#include "top/top.h"

struct top_row {
    uint64_t key;       /* identifies the site across readings */
    char *name, *place; /* safe; the place may be "" */
    char *wrapper;      /* the wrapper that it allocates through, safe; "": none */
    size_t group;       /* into sites.groups */
    struct figure live_bytes, live_count, alloc_count, alloc_bytes, at_peak_bytes;
    double growth_bytes, rate; /* NAN: not known, or there is no look before */
};

struct top_before {
    uint64_t key;
    struct figure live_bytes, alloc_count;
};

struct top_model {
    const struct top_options *options;
    uint64_t signature;
    double read_seconds;     /* what the last reading took */
    struct profile *profile; /* NULL: not read yet */
    struct call_sites sites;
    struct top_row *rows;
    size_t row_count;
    struct top_before *before; /* by key; of the reading before */
    size_t before_count;
    /* of the recording, now and at the look before; unknown: there is none */
    struct figure duration_ns, before_ns;
    struct figure before_live, before_allocs;
    /* If the user has chosen so, growth is counted from these rows, not from the reading before. */
    struct top_before *base; /* by key; NULL: none */
    size_t base_count;
    struct figure base_ns, base_live;
};

void top_model_init(struct top_model *model, const struct top_options *options);
void top_model_release(struct top_model *model);

/* Reads the profile if it has changed. 1: it had; 0: it had not; -errno with a sentence in `why`:
 * it cannot be read, and the reading before stays. */
int top_model_look(struct top_model *model, struct strbuf *why);

/* Counts growth from now on, or from the reading before again. */
void top_model_set_base(struct top_model *model);
void top_model_drop_base(struct top_model *model);

void top_model_sort(struct top_model *model, enum top_sort sort, bool ascending);
const struct top_row *top_model_find(const struct top_model *model, uint64_t key); /* or NULL */

/* Of the program; NAN where there is no look before. */
double top_model_growth(const struct top_model *model);
double top_model_rate(const struct top_model *model);

enum { TOP_FIGURE = 11, TOP_FIGURES = 4 }; /* columns of a figure; figures of a row */
/* In narrow lines the site keeps 20 columns. Figures are shown as far as there is room, the one
 * that rows are sorted by first. */
enum { TOP_LEAST_FOR_SITE = 20 };
size_t top_figures_shown(size_t columns);
/* Adds figure or title `column` of a row, if it is shown. */
void top_add_figure(struct strbuf *out, size_t column, enum top_sort sort, size_t columns,
                    const char *text);
/* A figure of a row, or its title, at the right end of its column. */
void top_add_field(struct strbuf *out, const char *text);
/* "+1.2 MiB", "-3.0 KiB", "0", "-" where it is not known */
void top_add_growth(struct strbuf *out, double bytes);
/* "1.2 k/s", "-" where it is not known */
void top_add_rate(struct strbuf *out, double rate);
/* "my_alloc ← parse_header" in at most `room` columns, where that is enough for both. */
void top_add_site(struct strbuf *out, const struct top_row *row, const struct style *style,
                  size_t room);
/* Adds as many whole parts of a line as have room: parts end at a comma, an "in" or two spaces. (A
 * figure that is cut reads as another one.) */
void top_add_whole_parts(struct strbuf *out, const char *line, size_t columns);
/* "live 1.2 GiB in 1,234 blocks, peak …": the state in one line. */
void top_add_state(struct strbuf *out, const struct top_model *model);

#endif
