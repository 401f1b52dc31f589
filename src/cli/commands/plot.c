/* The command `tidemark plot`. It opens each run, chooses the view, has the plot room make a chart
 * of all of them, and draws the chart on the terminal, as SVG, or by gnuplot, as the output's name
 * ends. */
#include "commands/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/options.h"
#include "base/strbuf.h"
#include "base/term.h"
#include "base/term_guard.h"

#include "commands/filter_options.h"
#include "commands/level_options.h"
#include "commands/output.h"
#include "commands/showing.h"
#include "commands/whole_file.h"
#include "plot/plot.h"

enum { USUAL_ROWS = 18, MOST_RUNS = 64 };
#define NOT_GIVEN UINT64_MAX /* of numbers, of which 0 is one */

struct arguments {
    struct plot_options plot;
    const char *output, *id;
    uint64_t paths, sites, functions, processes, width, height;
    int level, colour, of, figure; /* of: enum memory_level */
    struct labels {
        const char *names[MOST_RUNS];
        size_t count;
    } labels;
    bool memory, machine, ranks, nodes, sizes, lifetimes, terminal, force;
};

#define TO(field) OPTION_TO(struct arguments, field)

static int cmd_plot_take_label(void *target, const char *value)
{
    struct labels *labels = &((struct arguments *)target)->labels;
    if (labels->count == MOST_RUNS)
        return output_complain("plot", "more labels than files can be given"), -EINVAL;
    labels->names[labels->count++] = value;
    return 0;
}

static const struct option_entry entries[] = {
    OPTION_GROUP("What to draw"),
    {"memory", 'm', OPTION_FLAG, NULL,
     "memory over time, of all files over each other (default; of a job's profile: --ranks)",
     TO(memory), false, NULL},
    {"level", 'l', OPTION_CHOICE, "both|requested|resident", "of --memory (default: both)",
     TO(level), false, NULL},
    LEVEL_ENTRY(TO),
    {"relative", 'r', OPTION_FLAG, NULL, "time in percent of each run's own", TO(plot.relative),
     false, NULL},
    {"paths", 'p', OPTION_NUMBER, "N", "live memory of N call paths over time", TO(paths), false,
     NULL},
    {"sites", 's', OPTION_NUMBER, "N", "of N call sites: function and line", TO(sites), false,
     NULL},
    {"functions", 'f', OPTION_NUMBER, "N", "of N functions", TO(functions), false, NULL},
    {"stacked", 0, OPTION_FLAG, NULL, "these on each other, as areas", TO(plot.stacked), false,
     NULL},
    {"filter", 0, OPTION_STRING, "REGEX", "only paths whose function, file or module matches",
     TO(plot.filter), false, NULL},
    {"hide-std", 0, OPTION_SWITCH, NULL,
     "leave out frames of the C, C++, Rust and Python libraries (default: yes)", TO(plot.hide_std),
     true, NULL},
    {"machine", 0, OPTION_FLAG, NULL, "what the whole machine had: available, cached, swapped",
     TO(machine), false, NULL},
    {"ranks", 0, OPTION_FLAG, NULL, "ranks of a job over time", TO(ranks), false, NULL},
    {"nodes", 0, OPTION_FLAG, NULL, "what each node's ranks held at once", TO(nodes), true, NULL},
    {"id", 0, OPTION_STRING, "ID", "the job of that id, where a directory has several", TO(id),
     true, NULL},
    {"processes", 0, OPTION_NUMBER, "N", "of what `tidemark ps` wrote, N processes", TO(processes),
     false, NULL},
    {"figure", 0, OPTION_CHOICE, PLOT_FIGURE_CHOICE, "of these processes (default: pss)",
     TO(figure), true, NULL},
    {"sizes", 0, OPTION_FLAG, NULL, "how many blocks of which size", TO(sizes), false, NULL},
    {"lifetimes", 0, OPTION_FLAG, NULL, "how long blocks lived", TO(lifetimes), false, NULL},
    {"bytes", 0, OPTION_FLAG, NULL, "both by the bytes in the blocks, not by their number",
     TO(plot.bytes), true, NULL},
    OPTION_GROUP("How to draw it"),
    {"output", 'o', OPTION_STRING, "FILE",
     ".svg, .png or .pdf (by gnuplot), .gp (a script for it) or .txt (default: the terminal)",
     TO(output), false, NULL},
    {"terminal", 't', OPTION_FLAG, NULL, "with characters, on stdout", TO(terminal), true, NULL},
    {"label", 0, OPTION_CALL, "NAME", "what the next file is called; once for each, in order", 0,
     false, cmd_plot_take_label},
    {"from", 0, OPTION_DURATION, "TIME", "draw from this time on", TO(plot.from_ns), true, NULL},
    {"to", 0, OPTION_DURATION, "TIME", "draw until then", TO(plot.to_ns), true, NULL},
    {"most", 0, OPTION_BYTES, "SIZE", "the upper end of the axis of sizes", TO(plot.most_bytes),
     true, NULL},
    {"title", 0, OPTION_STRING, "TEXT", "instead of its own", TO(plot.title), true, NULL},
    {"color", 0, OPTION_CHOICE, TERM_COLOUR_CHOICE,
     "on the terminal (default: auto; NO_COLOR is respected)", TO(colour), true, NULL},
    {"width", 'w', OPTION_NUMBER, "COLUMNS", "of the text (default: the terminal, else 80)",
     TO(width), true, NULL},
    {"height", 0, OPTION_NUMBER, "ROWS", "of the plot in the text (default: 18)", TO(height), true,
     NULL},
    {"force", 0, OPTION_FLAG, NULL, "replace FILE if it is there", TO(force), true, NULL},
    WRAPPER_ENTRIES,
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "plot",
    .synopsis = "[options] FILE…",
    .purpose =
        "Draws memory over time of one or several runs, of call paths or of a job's ranks, "
        "or how large "
        "blocks are and how long they live. FILE is a profile, finished or not, a directory "
        "of a job, a trace, lines of time and size as malloc_count's memprofile writes, or what "
        "`tidemark ps` wrote with --record or --json.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark plot run.tmk\n"
                "  tidemark plot before.tmk after.tmk --relative -o compared.svg\n"
                "  tidemark plot run.tmk --functions 6 --stacked -o functions.svg\n"
                "  tidemark plot --label old --label new a.tmk b.tmk -o both.pdf\n"
                "  tidemark plot runs/ -o ranks.svg\n"
                "  tidemark ps --json | tidemark plot - -o now.svg\n"
                "  tidemark plot map.txt btree.txt -o maps.gp && gnuplot -p maps.gp\n",
};

/* ---- What is asked for --------------------------------------------------------------------- */

/* -1: more than one. */
static int cmd_plot_choose_view(struct arguments *arguments)
{
    const struct {
        bool wanted;
        enum plot_view view;
        uint64_t top;
    } views[] = {{arguments->memory, PLOT_MEMORY, 0},
                 {arguments->paths != NOT_GIVEN, PLOT_PATHS, arguments->paths},
                 {arguments->sites != NOT_GIVEN, PLOT_SITES, arguments->sites},
                 {arguments->functions != NOT_GIVEN, PLOT_FUNCTIONS, arguments->functions},
                 {arguments->processes != NOT_GIVEN, PLOT_SYSTEM, arguments->processes},
                 {arguments->machine, PLOT_MACHINE, 0},
                 {arguments->ranks, PLOT_RANKS, 0},
                 {arguments->nodes, PLOT_NODES, 0},
                 {arguments->sizes, PLOT_SIZES, 0},
                 {arguments->lifetimes, PLOT_LIFETIMES, 0}};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        if (!views[i].wanted)
            continue;
        if (arguments->plot.view)
            return -1;
        arguments->plot.view = views[i].view;
        arguments->plot.top = views[i].top < 1000 ? views[i].top : 1000;
    }
    return 0;
}

/* What does not go with what is drawn: NULL, or a sentence. */
static const char *cmd_plot_misfit(const struct arguments *arguments)
{
    enum plot_view view = arguments->plot.view;
    bool curves = view == PLOT_PATHS || view == PLOT_SITES || view == PLOT_FUNCTIONS;
    if (curves && !arguments->plot.top)
        return "--paths, --sites and --functions take how many are drawn: 1 or more";
    if (arguments->level && view && view != PLOT_MEMORY)
        return "--level goes with --memory";
    if (view == PLOT_SYSTEM && !arguments->plot.top)
        return "--processes takes how many are drawn: 1 or more";
    if (arguments->plot.stacked && !curves && view && view != PLOT_SYSTEM)
        return "--stacked goes with --paths, --sites, --functions or --processes";
    if (arguments->plot.filter && !curves)
        return "--filter goes with --paths, --sites or --functions";
    if (arguments->plot.bytes && view != PLOT_SIZES && view != PLOT_LIFETIMES)
        return "--bytes goes with --sizes or --lifetimes";
    if (arguments->plot.relative && view && view != PLOT_MEMORY)
        return "--relative goes with --memory";
    if (arguments->terminal && arguments->output)
        return "--terminal writes to stdout: give it or -o, not both";
    return NULL;
}

enum format { FORMAT_TEXT = 0, FORMAT_SVG, FORMAT_PNG, FORMAT_PDF, FORMAT_GNUPLOT, FORMAT_NONE };

static enum format cmd_plot_format_of(const char *name)
{
    static const struct {
        const char *suffix;
        enum format format;
    } formats[] = {{".svg", FORMAT_SVG},    {".png", FORMAT_PNG},     {".pdf", FORMAT_PDF},
                   {".gp", FORMAT_GNUPLOT}, {".plt", FORMAT_GNUPLOT}, {".gnuplot", FORMAT_GNUPLOT},
                   {".txt", FORMAT_TEXT}};
    const char *dot = name ? strrchr(name, '.') : ".txt";
    for (size_t i = 0; dot && i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(dot, formats[i].suffix))
            return formats[i].format;
    return FORMAT_NONE;
}

/* ---- Writing ------------------------------------------------------------------------------- */

static void cmd_plot_add_text(struct strbuf *out, const struct chart *chart,
                              const struct arguments *arguments)
{
    size_t columns = arguments->output ? 80 : term_columns(stdout);
    struct style style = {
        .colour =
            !arguments->output && term_wants_colour((enum term_colour)arguments->colour, stdout),
        .utf8 = term_is_utf8(),
        .columns = arguments->width ? arguments->width
                   : columns > 160  ? 160
                                    : columns,
    };
    style.columns = style.columns < 30 ? 30 : style.columns > 400 ? 400 : style.columns;
    plot_terminal(out, chart, &style, arguments->height ? arguments->height : USUAL_ROWS);
}

static int cmd_plot_write_text(FILE *out, const struct strbuf *text, const char *name)
{
    fwrite(text->data, 1, text->length, out);
    if (fflush(out) && errno != EPIPE)
        return whole_file_complain_of("plot", "cannot write", name, errno);
    return 0;
}

static int cmd_plot_draw(FILE *out, const struct chart *chart, const struct arguments *arguments,
                         enum format format)
{
    struct strbuf text = STRBUF_INIT;
    int status = 0;
    if (format == FORMAT_PNG || format == FORMAT_PDF) {
        if (plot_picture(fileno(out), chart, format == FORMAT_PDF ? PLOT_PDF : PLOT_PNG, &text))
            status = output_complain("plot", text.data);
    } else {
        if (format == FORMAT_SVG)
            plot_svg(&text, chart);
        else if (format == FORMAT_GNUPLOT)
            plot_gnuplot(&text, chart);
        else
            cmd_plot_add_text(&text, chart, arguments);
        status =
            cmd_plot_write_text(out, &text, arguments->output ? arguments->output : "to stdout");
    }
    strbuf_release(&text);
    return status;
}

static int cmd_plot_draw_where_asked(const struct chart *chart, const struct arguments *arguments)
{
    struct whole_file file;
    enum format format = cmd_plot_format_of(arguments->output);
    if (!arguments->output)
        return cmd_plot_draw(stdout, chart, arguments, format);
    int status = whole_file_spare_ours("plot", arguments->output);
    status = status ? status : whole_file_open(&file, "plot", arguments->output, arguments->force);
    return status ? status
                  : whole_file_close(&file, cmd_plot_draw(file.out, chart, arguments, format));
}

static int cmd_plot_complain_why(const struct strbuf *why, int error)
{
    return output_complain("plot", why->length ? why->data : strerror(-error));
}

static int cmd_plot_take_level(struct plot_run *run, int of)
{
    if (run->profile)
        return level_take("plot", run->profile, of, NULL);
    return of ? output_complain("plot", "--of is for profiles: a file of samples has no levels")
              : 0;
}

static int cmd_plot_open_run(struct plot_run *run, const char *path, int of)
{
    struct strbuf why = STRBUF_INIT;
    int error = plot_run_open(run, path, &why);
    int status = error ? cmd_plot_complain_why(&why, error) : cmd_plot_take_level(run, of);
    if (!error && status)
        plot_run_close(run);
    strbuf_release(&why);
    return status;
}

/* Opens all runs; each is called as it was given. The caller closes those opened in any case. */
static int cmd_plot_open_runs(struct plot_run *runs, size_t *opened, char **paths, size_t count,
                              const struct arguments *arguments)
{
    struct showing showing;
    struct showing_options to_show = {.command = "plot", .id = arguments->id};
    int status = showing_open(&showing, &to_show, (const char *const *)paths, count);
    for (*opened = 0; !status && *opened < count;) {
        status = cmd_plot_open_run(&runs[*opened], showing.shown[*opened].path, arguments->of);
        if (status)
            break;
        if (runs[*opened].profile &&
            !filter_suits("plot", runs[*opened].profile, arguments->plot.filter))
            status = OPTIONS_EXIT_FAILURE;
        runs[*opened].path = paths[*opened];
        if (*opened < arguments->labels.count)
            runs[*opened].label = arguments->labels.names[*opened];
        else if (!strcmp(paths[*opened], "-"))
            runs[*opened].label = "standard input";
        ++*opened;
    }
    showing_release(&showing);
    return status;
}

static int cmd_plot_write(char **paths, size_t count, const struct arguments *arguments)
{
    struct plot_run runs[MOST_RUNS];
    struct chart chart = {0};
    struct strbuf why = STRBUF_INIT;
    size_t opened = 0;
    int status = arguments->output ? whole_file_spare("plot", arguments->output,
                                                      (const char *const *)paths, count)
                                   : 0;
    status = status ? status : cmd_plot_open_runs(runs, &opened, paths, count, arguments);
    int error = status ? 0 : plot_chart(&chart, runs, count, &arguments->plot, &why);
    if (error)
        status = cmd_plot_complain_why(&why, error);
    else if (!status)
        status = cmd_plot_draw_where_asked(&chart, arguments);
    chart_release(&chart);
    while (opened)
        plot_run_close(&runs[--opened]);
    strbuf_release(&why);
    return status;
}

int cmd_plot(int argc, char **argv)
{
    struct arguments arguments = {.plot.hide_std = true,
                                  .paths = NOT_GIVEN,
                                  .sites = NOT_GIVEN,
                                  .functions = NOT_GIVEN,
                                  .processes = NOT_GIVEN};
    int operand = options_parse(&command, argc, argv, &arguments);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (operand == argc)
        return options_usage_error(&command, "no file given");
    if (argc - operand > MOST_RUNS)
        return options_usage_error(&command, "more than %d files given", MOST_RUNS);
    if (arguments.labels.count > (size_t)(argc - operand))
        return options_usage_error(&command, "more labels than files");
    if (cmd_plot_choose_view(&arguments))
        return options_usage_error(&command, "more than one thing to draw: choose one");
    arguments.plot.level = (enum plot_level)arguments.level;
    arguments.plot.figure = (size_t)arguments.figure;
    const char *wrong = cmd_plot_misfit(&arguments);
    if (wrong)
        return options_usage_error(&command, "%s", wrong);
    if (!filter_is_right(&command, arguments.plot.filter, NULL))
        return OPTIONS_EXIT_FAILURE;
    if (cmd_plot_format_of(arguments.output) == FORMAT_NONE)
        return options_usage_error(
            &command,
            "'%s' has none of the endings .svg, .png, .pdf, .gp and .txt, which say what to write",
            arguments.output);
    return cmd_plot_write(argv + operand, (size_t)(argc - operand), &arguments);
}
