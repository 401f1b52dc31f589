/* Profiles as pictures: memory over time, call paths over time, ranks of a job, distributions. A
 * chart (chart.h) is made of one or several runs. Then it is drawn as SVG, as a script for gnuplot
 * with its data in it, or as text for a terminal. Of a recording only struct profile is read.
 *
 * Functions return 0 or -errno with a sentence in `why`.
 *
 * plot_memory.c, plot_curves.c, plot_job.c, plot_machine.c and distribution.c make a chart of
 * profiles, samples.c of files of times and sizes, plot_system.c of what ps wrote. A stack of
 * curves shows each column at the moment when its sum was highest, because levels of different
 * moments must not be added up. */
#ifndef TIDEMARK_PLOT_PLOT_H
#define TIDEMARK_PLOT_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "base/strbuf.h"
#include "plot/chart.h"
#include "format/style.h"
#include "profile/profile.h"

struct history;

/* ---- What is drawn ------------------------------------------------------------------------- */

/* Of a file with lines "seconds bytes …", as malloc_count's memprofile writes, or "func=NAME
 * ts=SECONDS mem=BYTES": one series per function. A line without numbers is a gap. */
struct plot_samples {
    char *function;             /* NULL: the file names none */
    struct chart_point *points; /* ns, bytes; y NAN: a gap */
    size_t count, capacity;
    bool is_dense; /* the greatest number of points, none of which can be left out */
};
struct plot_run {
    const char *path;        /* the caller's; "-": standard input, which has samples */
    const char *label;       /* the caller's name for it; NULL: the program's or the file's */
    struct profile *profile; /* NULL: samples, or a history */
    struct history *history; /* what ps wrote; NULL: profile or samples */
    struct plot_samples *samples;
    size_t sample_count, sample_room;
};
int plot_run_open(struct plot_run *run, const char *path, struct strbuf *why);
void plot_run_close(struct plot_run *run);

/* plot_run_open() of an open file of samples; `name` is for sentences. -EINVAL: it is no such file.
 */
int plot_samples_read(struct plot_run *run, FILE *file, const char *name, struct strbuf *why);

enum plot_view {
    PLOT_USUAL = 0, /* ranks for the profile of a job, else memory */
    PLOT_MEMORY,
    PLOT_PATHS, /* by call path, call site or function, from the curves */
    PLOT_SITES,
    PLOT_FUNCTIONS,
    PLOT_RANKS,
    PLOT_NODES,
    PLOT_MACHINE, /* what the machine had */
    PLOT_SIZES,
    PLOT_LIFETIMES,
    PLOT_SYSTEM /* processes, of what ps wrote */
};
#define PLOT_FIGURE_CHOICE "pss|uss|rss|swap" /* of processes, in the order of a history */
enum plot_level { PLOT_BOTH = 0, PLOT_REQUESTED, PLOT_RESIDENT };

struct plot_options {
    enum plot_view view;
    enum plot_level level;   /* of memory over time */
    size_t top;              /* paths, sites, functions, processes; 0: 8 (bars: 20) */
    size_t figure;           /* of processes: SYSTEM_HISTORY_PSS … */
    const char *title;       /* NULL: of its own */
    const char *filter;      /* regular expression for call paths; NULL: all */
    const bool *wanted;      /* used instead of `filter`, by node; NULL: all */
    uint64_t from_ns, to_ns; /* of time, what is drawn; to_ns 0: to the end */
    uint64_t most_bytes;     /* the upper end of the axis of sizes; 0: what there is */
    bool relative;           /* time in percent of each run's own */
    bool stacked;            /* paths, sites, functions on each other */
    bool bytes;              /* distributions weigh blocks by their bytes */
    bool hide_std;
};

/* The caller passes an empty chart and releases it. */
int plot_chart(struct chart *chart, const struct plot_run *runs, size_t count,
               const struct plot_options *options, struct strbuf *why);

/* Memory over time as in plot_chart(), of one profile, which may still be written. */
void plot_memory(struct chart *chart, const struct profile *profile, enum plot_level level);

/* ---- How it is drawn ----------------------------------------------------------------------- */

/* A document of its own that loads nothing and runs no script. Names are escaped. */
void plot_svg(struct strbuf *out, const struct chart *chart);

/* A script for gnuplot 5 with the data in it. It sets no terminal and no output. */
void plot_gnuplot(struct strbuf *out, const struct chart *chart);

/* Has gnuplot write the chart to `fd`, as PNG or as PDF. -ENOENT: there is no gnuplot. */
enum plot_picture { PLOT_PNG, PLOT_PDF };
int plot_picture(int fd, const struct chart *chart, enum plot_picture picture, struct strbuf *why);

/* Lines of at most style->columns columns: title, `rows` rows of plot, axis, legend. Series can be
 * told apart without colour: each is marked with a letter of its own. */
void plot_terminal(struct strbuf *out, const struct chart *chart, const struct style *style,
                   size_t rows);

/* ---- Inside the room ----------------------------------------------------------------------- */

enum { PLOT_COLOURS = 8 };
/* "#0072b2"; distinct for colour-blind eyes as well (Okabe and Ito, 2008). */
const char *plot_colour(unsigned colour);

int plot_curves(struct chart *chart, const struct profile *profile,
                const struct plot_options *options, struct strbuf *why);
int plot_ranks(struct chart *chart, const struct profile *profile, struct strbuf *why);
int plot_nodes(struct chart *chart, const struct profile *profile, struct strbuf *why);
int plot_machine(struct chart *chart, const struct plot_run *run, struct strbuf *why);
int plot_distribution(struct chart *chart, const struct plot_run *runs, size_t count,
                      const struct plot_options *options, struct strbuf *why);
int plot_system(struct chart *chart, const struct plot_run *run, const struct plot_options *options,
                struct strbuf *why);
/* Bars that lie across: the whole SVG, the lines below the headings, and a block of gnuplot's data.
 */
void plot_across_svg(struct strbuf *out, const struct chart *chart);
void plot_across_terminal(struct strbuf *out, const struct chart *chart, const struct style *style);
void plot_across_gnuplot_data(struct strbuf *out, const struct chart *chart, size_t series);
/* The name of a run among others: the program, or the file where several have the same program. */
void plot_run_name(struct strbuf *out, const struct plot_run *runs, size_t count, size_t index);

#endif
