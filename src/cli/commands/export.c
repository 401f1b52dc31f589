/* tidemark export: writes a profile in another tool's format, by the export room. A trace or a job
 * is made into a profile first. */
#include "commands/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/allocator.h"
#include "base/error.h"
#include "base/options.h"
#include "base/term_guard.h"
#include "commands/filter_options.h"
#include "commands/level_options.h"
#include "commands/moment_options.h"
#include "commands/output.h"
#include "commands/redaction.h"
#include "commands/showing.h"
#include "commands/source_path.h"
#include "commands/whole_file.h"
#include "export/export.h"
#include "gzip/packing.h"
#include "aggregate/match.h"

#define NO_RANK UINT64_MAX /* the option was not given: 0 is a rank */

struct arguments {
    struct source_paths paths;
    const char *to, *output, *metric, *filter, *region, *id, *from, *until;
    uint64_t rank;
    int rows, of;
    bool force, inclusive, hide_std;
    struct redaction_arguments redaction;
};

#define TO(field) OPTION_TO(struct arguments, field)

static int cmd_export_add_source_path(void *target, const char *value);

static const struct option_entry entries[] = {
    {"to", 't', OPTION_STRING, "FORMAT", "one of those below", TO(to), false, NULL},
    {"output", 'o', OPTION_STRING, "FILE",
     "write to FILE, \"-\" is stdout (default: the profile's name with the format's ending)",
     TO(output), false, NULL},
    {"force", 0, OPTION_FLAG, NULL, "replace FILE if it is there", TO(force), false, NULL},
    OPTION_GROUP("What of it"),
    {"metric", 'm', OPTION_STRING, "METRIC",
     "of formats that have one: peak, leaked, bytes, count, temporary, … (default: peak, or "
     "the first known)",
     TO(metric), false, NULL},
    {"rows", 0, OPTION_CHOICE, EXPORT_ROWS_CHOICE, "of csv and jsonl (default: functions)",
     TO(rows), false, NULL},
    {"inclusive", 'i', OPTION_FLAG, NULL, "functions with all that is asked for below them",
     TO(inclusive), false, NULL},
    {"filter", 'f', OPTION_STRING, "REGEX", "call paths whose function, file or module matches",
     TO(filter), false, NULL},
    {"region", 'r', OPTION_STRING, "NAME", "only what was allocated in this region", TO(region),
     false, NULL},
    LEVEL_ENTRY(TO),
    HIDE_STD_ENTRY(TO),
    SOURCE_PATH_ENTRY(cmd_export_add_source_path),
    REDACTION_ENTRIES(TO),
    OPTION_GROUP("Of traces and jobs"),
    {"from", 0, OPTION_STRING, "MOMENT", "of a trace, only from here on: 12.5s, 30%, peak",
     TO(from), false, NULL},
    {"until", 0, OPTION_STRING, "MOMENT", "and up to here", TO(until), false, NULL},
    {"rank", 0, OPTION_NUMBER, "N", "of a job, this rank (default: all of them as one)", TO(rank),
     false, NULL},
    {"id", 0, OPTION_STRING, "ID", "the job of that id, where a directory has several", TO(id),
     false, NULL},
    WRAPPER_ENTRIES,
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "export",
    .synopsis = "--to FORMAT [options] PROFILE|TRACE|JOBDIR",
    .purpose = "Writes a profile in the format of another tool, with the same sums.",
    .entries = entries,
    .epilogue = "Formats: pprof folded speedscope callgrind massif heaptrack dhat perfetto\n"
                "  chrome openmetrics csv jsonl dot svg sqlite; tidemark-export(1) has who\n"
                "  reads them.\n"
                "Examples:\n"
                "  tidemark export --to pprof run.tmk && go tool pprof -http=: run.pb.gz\n"
                "  tidemark export --to folded -m leaked -o - run.tmk | flamegraph.pl >leaks.svg\n",
};

static int cmd_export_add_source_path(void *target, const char *value)
{
    struct arguments *arguments = target;
    return source_path_add(&command, &arguments->paths, value);
}

/* ---- What is exported ---------------------------------------------------------------------- */

static int cmd_export_complain_of_rank(uint64_t rank)
{
    struct strbuf sentence = STRBUF_INIT;
    strbuf_addf(&sentence,
                "there is no profile of rank %llu here: --rank is for a job's directory "
                "(tidemark job lists its ranks)",
                (unsigned long long)rank);
    int status = output_complain("export", sentence.data);
    strbuf_release(&sentence);
    return status;
}

/* The first of what is shown, or the rank that was asked for. */
static int cmd_export_choose(const struct showing *showing, uint64_t rank, const char **path)
{
    char name[32];
    snprintf(name, sizeof name, "rank %llu", (unsigned long long)rank);
    *path = showing->shown[0].path;
    if (rank == NO_RANK)
        return 0;
    for (size_t i = 0; i < showing->count; i++)
        if (showing->shown[i].kind == SHOWN_RANK && !strcmp(showing->shown[i].name, name)) {
            *path = showing->shown[i].path;
            return 0;
        }
    return cmd_export_complain_of_rank(rank);
}

/* ---- Writing ------------------------------------------------------------------------------- */

struct exported {
    const char *path; /* of the profile */
    const struct export_format *format;
    struct export_options options;
    struct redaction_arguments redaction;
    int of; /* enum memory_level */
};

/* Says that no call path passes the filter: the output is right, but the filter is probably not. */
static void cmd_export_say_if_nothing_passes(const struct profile *profile, const char *filter)
{
    bool *wanted = NULL, any = false;
    if (!filter || match_paths(profile, filter, &wanted))
        return;
    for (size_t i = 0; i < profile->site_count && !any; i++)
        any = wanted[profile_site_path(profile, i)];
    if (!any)
        output_complain("export",
                        "no call path passes the filter: there is none in what was written");
    free(wanted);
}

static int cmd_export_write_stream(FILE *out, const struct exported *exported)
{
    struct strbuf why = STRBUF_INIT;
    struct profile *profile;
    allocator_give_back();
    if (profile_read(&profile, exported->path))
        return output_complain("export", error_text());
    int hidden = redact_profile(profile, (enum redact_level)exported->redaction.level,
                                exported->redaction.salt);
    if (hidden < 0) {
        profile_free(profile);
        return output_complain("export", error_text());
    }
    redaction_say_hidden("export", (size_t)hidden);
    int status = level_take("export", profile, exported->of, NULL);
    if (!status && !filter_suits("export", profile, exported->options.filter))
        status = OPTIONS_EXIT_FAILURE;
    int error = status ? 0 : export_write(out, profile, exported->format, &exported->options, &why);
    if (error && error != -EPIPE) /* a reader that stops early is no error */
        status = output_complain("export", why.data);
    if (!status)
        cmd_export_say_if_nothing_passes(profile, exported->options.filter);
    profile_free(profile);
    strbuf_release(&why);
    return status;
}

/* A database makes its own file. */
static int cmd_export_write_database(const struct exported *exported, struct whole_file *file)
{
    const char *path = whole_file_name(file);
    if (!path)
        return OPTIONS_EXIT_FAILURE;
    return profile_unpack(exported->path, path) ? output_complain("export", error_text()) : 0;
}

/* Packs the output if its name ends in .gz or .zst: heaptrack, flamegraph viewers and others unpack
 * such files, and take an unpacked one for empty. */
static int cmd_export_write_packed(FILE *out, const struct exported *exported, enum packing packing,
                                   const char *name)
{
    FILE *packed = packing_open(out, packing);
    if (!packed)
        return output_complain("export", "out of memory");
    int status = cmd_export_write_stream(packed, exported);
    if (fclose(packed) && !status)
        status = whole_file_complain_of("export", "cannot write", name, errno);
    return status;
}

static enum packing cmd_export_packing_for(const struct exported *exported, const char *name)
{
    enum packing by_itself = packing_of(exported->format->ending);
    return by_itself || !exported->format->write ? PACKING_NONE : packing_of(name);
}

static int cmd_export_write_file(const struct exported *exported, const char *name, bool force)
{
    struct whole_file file;
    enum packing packing = cmd_export_packing_for(exported, name);
    int status = whole_file_open(&file, "export", name, force);
    if (status)
        return status;
    status = !exported->format->write ? cmd_export_write_database(exported, &file)
             : packing                ? cmd_export_write_packed(file.out, exported, packing, name)
                                      : cmd_export_write_stream(file.out, exported);
    return whole_file_close(&file, status);
}

/* A database of an earlier export begins as a profile does, so that it may be replaced by
 * another. */
static int cmd_export_write_file_checked(const struct exported *exported, const char *name,
                                         const char *given, bool force)
{
    const char *const inputs[] = {given, exported->path};
    int status = whole_file_spare("export", name, inputs, 2);
    if (!status && exported->format->write)
        status = whole_file_spare_ours("export", name);
    return status ? status : cmd_export_write_file(exported, name, force);
}

static int cmd_export_write_it(const struct arguments *arguments, const struct exported *exported,
                               const char *given)
{
    const struct export_format *format = exported->format;
    struct strbuf name = STRBUF_INIT;
    if (arguments->output)
        strbuf_add_string(&name, arguments->output);
    else
        whole_file_default_name(&name, given, format->ending);
    int status;
    if (strcmp(name.data, "-"))
        status = cmd_export_write_file_checked(exported, name.data, given, arguments->force);
    else if (!format->write)
        status =
            options_usage_error(&command, "a database cannot be written to stdout: give -o FILE");
    else if (format->is_binary && isatty(STDOUT_FILENO))
        status =
            options_usage_error(&command, "%s is binary: give -o FILE, or a pipe", format->name);
    else
        status = cmd_export_write_stream(term_guard_raw(), exported);
    strbuf_release(&name);
    return status;
}

/* ---- Options ------------------------------------------------------------------------------- */

static int cmd_export_settle_format(const struct arguments *arguments,
                                    const struct export_format **format)
{
    const char *names[64];
    size_t count = 0;
    if (!arguments->to)
        return options_usage_error(&command, "no format given: --to FORMAT");
    *format = export_format_find(arguments->to);
    if (*format)
        return 0;
    for (const struct export_format *known = export_formats; known->name && count < 64; known++)
        names[count++] = known->name;
    const char *nearest = options_nearest(arguments->to, names, count);
    return options_usage_error(&command, "'%s' is not a format%s%s%s", arguments->to,
                               nearest ? ", did you mean '" : "", nearest ? nearest : "",
                               nearest ? "'?" : "");
}

/* Refuses options that change nothing in the format's output, so that nobody misreads it. */
static int cmd_export_check_uses(const struct arguments *arguments,
                                 const struct export_format *format)
{
    const char *useless = arguments->metric && !(format->uses & EXPORT_USES_METRIC) ? "metric"
                          : arguments->inclusive && !(format->uses & EXPORT_USES_INCLUSIVE)
                              ? "inclusive"
                          : arguments->rows && !(format->uses & EXPORT_USES_ROWS)         ? "rows"
                          : arguments->filter && !format->write                           ? "filter"
                          : arguments->region && !format->write                           ? "region"
                          : arguments->of && !format->write                               ? "of"
                          : arguments->redaction.level == REDACT_PLACES && !format->write ? "redact"
                          : arguments->redaction.level == REDACT_NAMES && !format->write  ? "redact"
                                                                                          : NULL;
    return useless ? options_usage_error(&command, "--%s means nothing to %s: leave it out",
                                         useless, format->name)
                   : 0;
}

static int cmd_export_settle(const struct arguments *arguments, struct exported *exported)
{
    const char *region = arguments->region;
    if (!filter_is_right(&command, arguments->filter, &region))
        return OPTIONS_EXIT_FAILURE;
    if (region && arguments->of)
        return options_usage_error(&command, "%s", level_and_region);
    int status = cmd_export_settle_format(arguments, &exported->format);
    if (!status)
        status = cmd_export_check_uses(arguments, exported->format);
    if (status)
        return status;
    const char *metric = arguments->metric ? arguments->metric : "peak";
    exported->redaction = arguments->redaction;
    exported->of = arguments->of;
    exported->options = (struct export_options){.metric = export_metric_find(metric),
                                                .metric_is_default = !arguments->metric,
                                                .rows = (enum export_rows)arguments->rows,
                                                .inclusive = arguments->inclusive,
                                                .hide_std = arguments->hide_std,
                                                .filter = arguments->filter,
                                                .region = region,
                                                .paths = &arguments->paths};
    if (!exported->options.metric)
        return options_usage_error(&command,
                                   "'%s' is no metric that adds up: peak, leaked, bytes, "
                                   "count, temporary, slack, realloc, mmap, freed, or "
                                   "one of doc/METRICS.md",
                                   metric);
    return 0;
}

static int cmd_export_run(const struct arguments *arguments, struct exported *exported,
                          const char *given)
{
    struct showing showing;
    struct showing_options to_show = {
        .command = "export", .id = arguments->id, .ranks = arguments->rank != NO_RANK};
    int status = moments_parse(&command, arguments->from, &to_show.from);
    if (!status)
        status = moments_parse(&command, arguments->until, &to_show.to);
    if (status)
        return status;
    status = showing_open(&showing, &to_show, &given, 1);
    bool has_window = arguments->from || arguments->until;
    if (!status && has_window && showing.shown[0].kind != SHOWN_TRACE)
        status = options_usage_error(&command, "--from and --until are for traces (tidemark record "
                                               "--trace): a profile does not say what happened "
                                               "when");
    if (!status)
        status = cmd_export_choose(&showing, arguments->rank, &exported->path);
    if (!status)
        status = cmd_export_write_it(arguments, exported, given);
    showing_release(&showing);
    return status;
}

int cmd_export(int argc, char **argv)
{
    struct arguments arguments = {.hide_std = true, .rank = NO_RANK};
    struct exported exported = {0};
    int operand = options_parse_one(&command, argc, argv, &arguments, "profile");
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    int status = cmd_export_settle(&arguments, &exported);
    return status ? status : cmd_export_run(&arguments, &exported, argv[operand]);
}
