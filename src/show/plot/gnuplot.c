/* Writes a chart as a script for gnuplot with the data in it, and runs gnuplot on the script for a
 * PNG. Names are quoted, so that gnuplot runs nothing that a profile says. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/text.h"
#include "plot/plot.h"
#include "plot/scale.h"

enum { NAME_COLUMNS = 110 };

/* Within single quotes gnuplot interprets nothing but the quote, which is written twice. */
static void plot_gnuplot_add_quoted(struct strbuf *out, const char *text)
{
    struct strbuf safe = STRBUF_INIT, cut = STRBUF_INIT;
    text_add_safe_string(&safe, text);
    text_add_cut(&cut, safe.data, NAME_COLUMNS);
    strbuf_add_char(out, '\'');
    for (const char *at = cut.data; *at; at++)
        strbuf_add_string(out, *at == '\'' ? "''" : (char[]){*at, 0});
    strbuf_add_char(out, '\'');
    strbuf_release(&safe);
    strbuf_release(&cut);
}

/* The value as the data have it: time in seconds, as is usual with gnuplot. */
static double plot_gnuplot_written(const struct chart_axis *axis, double value)
{
    double position = scale_position(axis, value);
    return axis->unit == CHART_TIME && !axis->logarithmic ? position / 1e9 : position;
}

static void plot_gnuplot_add_data(struct strbuf *out, const struct chart *chart, size_t index)
{
    const struct chart_series *series = &chart->series[index];
    strbuf_addf(out, "$data%zu << END\n", index);
    for (size_t i = 0; i < series->count; i++) {
        if (isnan(series->points[i].y))
            strbuf_add_char(out, '\n');
        else
            strbuf_addf(
                out, "%.12g %.12g\n", plot_gnuplot_written(&chart->x, series->points[i].x),
                plot_gnuplot_written(chart_axis_of(chart, index), chart_top(chart, index, i)));
    }
    strbuf_add_string(out, "END\n");
}

static void plot_gnuplot_add_ticks(struct strbuf *out, const struct chart *chart,
                                   const struct chart_axis *axis, const char *name, size_t most)
{
    struct scale_tick ticks[SCALE_TICKS_MAX];
    size_t count = scale_ticks(chart, axis, most, ticks);
    strbuf_addf(out, "set %stics noenhanced (", name);
    for (size_t i = 0; i < count; i++) {
        strbuf_add_string(out, i ? ", " : "");
        plot_gnuplot_add_quoted(out, ticks[i].label);
        strbuf_addf(out, " %.12g", plot_gnuplot_written(axis, ticks[i].value));
    }
    strbuf_addf(out, ")\nset %srange [%.12g:%.12g]\nset %slabel ", name,
                plot_gnuplot_written(axis, axis->low), plot_gnuplot_written(axis, axis->high),
                name);
    plot_gnuplot_add_quoted(out, axis->title);
    strbuf_add_string(out, " noenhanced\n");
}

static void plot_gnuplot_add_series(struct strbuf *out, const struct chart *chart, size_t index,
                                    bool *first)
{
    const struct chart_series *series = &chart->series[index];
    bool stacked = chart->stacked && index < chart->stack_count;
    strbuf_addf(out, "%s$data%zu using 1:2 %swith ", *first ? "plot " : ", \\\n     ", index,
                series->right ? "axes x1y2 " : "");
    *first = false;
    if (stacked || series->shape == CHART_BARS)
        strbuf_addf(out, "fillsteps fillstyle solid %s noborder linecolor rgb '%s'",
                    stacked ? "1.0" : "0.55", plot_colour(series->colour));
    else
        strbuf_addf(out, "%s linecolor rgb '%s%s' linewidth %s%s",
                    series->shape == CHART_LINE ? "lines" : "steps", series->faint ? "#80" : "",
                    plot_colour(series->colour) + series->faint, series->faint ? "1" : "2",
                    series->dashed ? " dashtype 2" : "");
    if (*series->name) {
        strbuf_add_string(out, " title ");
        plot_gnuplot_add_quoted(out, series->name);
        strbuf_add_string(out, " noenhanced");
    } else {
        strbuf_add_string(out, " notitle");
    }
}

/* The stack comes first, from its top down, since each series covers those below it; then faint
 * series, then the others. */
static void plot_gnuplot_add_plot(struct strbuf *out, const struct chart *chart)
{
    bool first = true;
    for (size_t i = chart->stacked ? chart->stack_count : 0; i-- > 0;)
        plot_gnuplot_add_series(out, chart, i, &first);
    for (int faint = 1; faint >= 0; faint--)
        for (size_t i = chart->stacked ? chart->stack_count : 0; i < chart->count; i++)
            if (chart->series[i].faint == faint)
                plot_gnuplot_add_series(out, chart, i, &first);
    strbuf_add_char(out, '\n');
}

static void plot_gnuplot_add_title(struct strbuf *out, const struct chart *chart)
{
    struct strbuf title = STRBUF_INIT;
    if (!chart->title)
        return;
    strbuf_add_string(&title, chart->title);
    strbuf_add_string(out, "set title ");
    plot_gnuplot_add_quoted(out, title.data);
    if (chart->note) {
        strbuf_add_string(out, " .\"\\n\". ");
        plot_gnuplot_add_quoted(out, chart->note);
    }
    strbuf_add_string(out, " noenhanced\n");
    strbuf_release(&title);
}

/* Places are named from the top down. Bars are boxes between their two ends. */
static void plot_gnuplot_add_across(struct strbuf *out, const struct chart *chart)
{
    for (size_t i = 0; i < chart->stack_count; i++)
        plot_across_gnuplot_data(out, chart, i);
    plot_gnuplot_add_title(out, chart);
    plot_gnuplot_add_ticks(out, chart, &chart->y, "x", 7);
    strbuf_add_string(out, "set ytics noenhanced (");
    for (size_t i = 0; i < chart->place_count; i++) {
        struct strbuf cut = STRBUF_INIT, safe = STRBUF_INIT;
        text_add_safe_string(&safe, chart->places[i]);
        text_add_cut(&cut, safe.data, 44);
        strbuf_add_string(out, i ? ", " : "");
        plot_gnuplot_add_quoted(out, cut.data);
        strbuf_addf(out, " %zu", i);
        strbuf_release(&cut);
        strbuf_release(&safe);
    }
    strbuf_addf(out,
                ")\nset yrange [%zu:-1]\nset grid xtics linetype 1 linewidth 1 linecolor rgb "
                "'#dddddd'\nset border 3\nset tics nomirror out\n"
                "set key below left Left reverse samplen 3 noenhanced\n",
                chart->place_count);
    for (size_t i = 0; i < chart->stack_count; i++) {
        strbuf_addf(out,
                    "%s$data%zu using (($1+$2)/2):3:1:2:($3-0.35):($3+0.35) with boxxyerror "
                    "fillstyle solid 1.0 noborder linecolor rgb '%s' title ",
                    i ? ", \\\n     " : "plot ", i, plot_colour(chart->series[i].colour));
        plot_gnuplot_add_quoted(out, chart->series[i].name);
        strbuf_add_string(out, " noenhanced");
    }
    strbuf_add_char(out, '\n');
}

void plot_gnuplot(struct strbuf *out, const struct chart *chart)
{
    strbuf_add_string(out,
                      "# Made by tidemark plot, for gnuplot 5 or later:\n"
                      "#   gnuplot -p THIS\n"
                      "#   gnuplot -e \"set terminal svg size 960,540; set output 'x.svg'\" THIS\n"
                      "set encoding utf8\n");
    if (chart->across) {
        plot_gnuplot_add_across(out, chart);
        return;
    }
    for (size_t i = 0; i < chart->count; i++)
        plot_gnuplot_add_data(out, chart, i);
    plot_gnuplot_add_title(out, chart);
    plot_gnuplot_add_ticks(out, chart, &chart->x, "x", 10);
    plot_gnuplot_add_ticks(out, chart, &chart->y, "y", 7);
    if (chart->right.title)
        plot_gnuplot_add_ticks(out, chart, &chart->right, "y2", 7);
    strbuf_add_string(out, "set grid ytics linetype 1 linewidth 1 linecolor rgb '#dddddd'\n");
    strbuf_add_string(out, chart->right.title ? "set border 11\n" : "set border 3\n");
    strbuf_add_string(out, "set tics nomirror out\n"
                           "set key below height 1 left Left reverse samplen 3 noenhanced\n");
    plot_gnuplot_add_plot(out, chart);
}

/* ---- PNG ----------------------------------------------------------------------------------- */

static FILE *plot_gnuplot_script_of(const struct chart *chart, enum plot_picture picture)
{
    struct strbuf script = STRBUF_INIT;
    FILE *file = tmpfile();
    if (picture == PLOT_PDF)
        strbuf_add_string(&script, "set terminal pdfcairo size 10in,6in font 'sans,11'\n");
    else
        strbuf_add_string(&script,
                          "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) { set terminal pngcairo "
                          "size 1280,760 font 'sans,11' background '#ffffff' } else { set "
                          "terminal png size 1280,760 background '#ffffff' }\n");
    plot_gnuplot(&script, chart);
    bool right = file && fwrite(script.data, 1, script.length, file) == script.length &&
                 !fflush(file) && !fseek(file, 0, SEEK_SET);
    strbuf_release(&script);
    if (file && !right) {
        fclose(file);
        file = NULL;
    }
    return file;
}

/* In the child: does not return. */
static void plot_gnuplot_become(FILE *script, int fd, int said)
{
    if (dup2(fileno(script), 0) >= 0 && dup2(fd, 1) >= 0 && dup2(said, 2) >= 0 && !chdir("/"))
        execlp("gnuplot", "gnuplot", "-d", "-", (char *)NULL);
    _exit(errno == ENOENT ? 127 : 126);
}

static void plot_gnuplot_add_what_it_said(struct strbuf *why, FILE *said)
{
    char line[256];
    rewind(said);
    while (fgets(line, sizeof line, said)) {
        line[strcspn(line, "\n")] = 0;
        if (line[strspn(line, " \t^")]) {
            strbuf_add_string(why, ": ");
            text_add_safe_string(why, line + strspn(line, " \t"));
            return;
        }
    }
}

static int plot_gnuplot_run(FILE *script, int fd, FILE *said, struct strbuf *why)
{
    int status;
    pid_t child = fork();
    if (child < 0)
        return -errno;
    if (!child)
        plot_gnuplot_become(script, fd, fileno(said));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    if (WIFEXITED(status) && !WEXITSTATUS(status))
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        strbuf_add_string(why,
                          "PNG and PDF need gnuplot, which is not installed: install it (Debian: "
                          "gnuplot-nox), or write .svg, which needs nothing");
        return -ENOENT;
    }
    strbuf_add_string(why, "gnuplot failed");
    plot_gnuplot_add_what_it_said(why, said);
    return -EIO;
}

int plot_picture(int fd, const struct chart *chart, enum plot_picture picture, struct strbuf *why)
{
    FILE *script = plot_gnuplot_script_of(chart, picture), *said = tmpfile();
    int error = script && said ? plot_gnuplot_run(script, fd, said, why) : -EIO;
    if (error && !why->length)
        strbuf_add_string(why, "gnuplot could not be started");
    if (script)
        fclose(script);
    if (said)
        fclose(said);
    return error;
}
