/* Options, analysis and output of `tidemark job` and `tidemark-mpi` (job_command.h). The engine
 * that the caller passes reads the files, by threads or by MPI ranks. Several directories are
 * compared as jobs of different sizes. */
#include "commands/job_command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/human.h"
#include "base/own_file.h"
#include "base/term.h"
#include "base/text.h"
#include "base/memory.h"
#include "commands/job_choice.h"
#include "commands/job_marks.h"
#include "commands/level_options.h"
#include "commands/output.h"
#include "commands/redaction.h"
#include "job/job.h"
#include "job/job_profile.h"
#include "job/job_redact.h"

struct arguments {
    const char *id, *output;
    uint64_t threads, top, rows, width, rank_bytes;
    uint64_t forecasts[JOB_FORECASTS];
    uint64_t forecast_count;
    int format, colour, of;
    bool json, pager;
    struct redaction_arguments redaction;
    struct redact_texts redact;
};
enum { FORMAT_TEXT, FORMAT_JSON };
#define JOB_COMMAND_MOST_RANKS (1ull << 40)

#define TO(field) OPTION_TO(struct arguments, field)

/* "128,4096" */
static int job_command_take_forecast(void *target, const char *value)
{
    struct arguments *arguments = target;
    char number[24];
    arguments->forecast_count = 0;
    for (const char *at = value; at; at = *at ? at + 1 : NULL) {
        size_t length = strcspn(at, ",");
        uint64_t ranks = 0;
        snprintf(number, sizeof number, "%.*s", (int)(length < 23 ? length : 23), at);
        if (arguments->forecast_count == JOB_FORECASTS || human_parse_number(number, &ranks) ||
            !ranks || ranks > JOB_COMMAND_MOST_RANKS) {
            fprintf(stderr,
                    "tidemark job: --forecast=%s: up to %d numbers of ranks are wanted, from 1 to "
                    "%llu, as in 128,4096\n",
                    value, JOB_FORECASTS, (unsigned long long)JOB_COMMAND_MOST_RANKS);
            return -EINVAL;
        }
        arguments->forecasts[arguments->forecast_count++] = ranks;
        at += length;
        if (!*at)
            break;
    }
    return 0;
}

const struct option_entry job_entries[] = {
    OPTION_GROUP("What to read"),
    {"id", 0, OPTION_STRING, "ID", "the job of that id, where a directory has several", TO(id),
     false, NULL},
    {"jobs", 'J', OPTION_NUMBER, "N",
     "profiles read at once, each of which is in memory (default: one per processor)", TO(threads),
     false, NULL},
    LEVEL_ENTRY(TO),
    OPTION_GROUP("Of several jobs"),
    {"forecast", 0, OPTION_CALL, "RANKS,…",
     "what so many ranks would need (default: 2, 16 and 128 times the largest job)", 0, false,
     job_command_take_forecast},
    {"rank-memory", 0, OPTION_BYTES, "SIZE",
     "to how many ranks that suffices for a rank, and whose growth ends it", TO(rank_bytes), false,
     NULL},
    OPTION_GROUP("What to make"),
    {"output", 'o', OPTION_STRING, "FILE", "write the profile of the whole job to FILE", TO(output),
     false, NULL},
    OPTION_GROUP("How to show it"),
    {"format", 'f', OPTION_CHOICE, "text|json", "JSON as doc/JOB-JSON.md describes (default: text)",
     TO(format), false, NULL},
    {"json", 'j', OPTION_FLAG, NULL, "--format=json", TO(json), false, NULL},
    {"top", 'n', OPTION_NUMBER, "N", "rows in each table (default: 10)", TO(top), false, NULL},
    {"rows", 0, OPTION_NUMBER, "N", "rows of memory over time (default: 32)", TO(rows), false,
     NULL},
    OUTPUT_LOOK_ENTRIES(TO),
    OPTION_GROUP("What is passed on"),
    REDACTION_ENTRIES(TO),
    WRAPPER_ENTRIES,
    OPTION_GROUP_END};

static const char *job_command_name_of(const struct job_engine *engine)
{
    return strcmp(engine->command->name, "tidemark-mpi") ? "tidemark job" : "tidemark-mpi";
}

static bool job_command_is_directory(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

/* ---- Analysis ------------------------------------------------------------------------------ */

static void job_command_show_progress(void *context, size_t done, size_t of)
{
    (void)context;
    if (done < of)
        term_progress("%zu of %zu profiles read", done, of);
    else
        term_progress_end();
}

struct analysed {
    struct job_files files;
    struct job job;
    struct job_tree tree;
    char *name;
};

/* Refuses an output that is a profile of the job: moved out of the way, it would be missing there.
 */
static int job_command_check_output(const struct job_engine *engine, const char *output,
                                    const struct job_files *files)
{
    struct stat there, read;
    const char *why = NULL;
    if (!output || stat(output, &there))
        return 0;
    for (size_t i = 0; i < files->count; i++)
        if (files->files[i].path && !stat(files->files[i].path, &read) &&
            there.st_dev == read.st_dev && there.st_ino == read.st_ino)
            why = "it is a profile of the job";
    if (own_file_check(output) == -EEXIST)
        why = "it is there already and is no file of Tidemark's";
    struct strbuf sentence = STRBUF_INIT;
    strbuf_addf(&sentence, "cannot write the profile %s: %s; choose another name", output,
                why ? why : "");
    int status = why ? output_complain_as(job_command_name_of(engine), sentence.data) : 0;
    strbuf_release(&sentence);
    return status;
}

static int job_command_analyse(const struct job_engine *engine, const char *const *paths,
                               size_t count, const struct arguments *arguments,
                               struct analysed *out)
{
    struct job_progress progress = {isatty(STDERR_FILENO) ? job_command_show_progress : NULL, NULL,
                                    NULL};
    struct job_summary summary = {0};
    *out = (struct analysed){0};
    int status = job_choice_make(job_command_name_of(engine), paths, count, arguments->id, NULL,
                                 &out->files);
    if (!status)
        status = job_command_check_output(engine, arguments->output, &out->files);
    if (status)
        return status;
    out->files.level = (enum memory_level)arguments->of;
    engine->analyse(&out->files, arguments->threads, &summary,
                    arguments->output ? &out->tree : NULL, &progress);
    out->name = memory_copy_string(paths[0]);
    redact_text_hash(&arguments->redact, REDACT_PLACES, "job_", &out->files.id);
    redact_text_hash(&arguments->redact, REDACT_PLACES, "place_", &out->name);
    redaction_say_hidden("job", job_redact(&summary, &arguments->redact));
    job_init(&out->job, &summary, out->files.id, out->name, out->files.recorded_ranks);
    out->job.level = out->files.level;
    out->job.collectors = out->files.collectors;
    job_marks_find(&out->job, &out->files, NULL);
    return 0;
}

static void job_command_release(struct analysed *analysed)
{
    job_release(&analysed->job);
    job_tree_release(&analysed->tree);
    job_files_release(&analysed->files);
    free(analysed->name);
}

/* ---- Output -------------------------------------------------------------------------------- */

/* A launcher may give its processes a terminal and still write their output into a file, so under
 * MPI a terminal does not mean colour. */
static struct job_options job_command_settle(const struct job_engine *engine,
                                             const struct arguments *arguments)
{
    enum term_colour colour = (enum term_colour)arguments->colour;
    if (!engine->pages && colour == TERM_COLOUR_AUTO)
        colour = TERM_COLOUR_NEVER;
    struct job_options options = {
        .style = {term_wants_colour(colour, stdout), term_is_utf8(),
                  output_columns(arguments->width, 130)},
        .top = arguments->top,
        .rows = arguments->rows,
        .forecast_count = arguments->forecast_count,
        .rank_bytes = arguments->rank_bytes,
    };
    memcpy(options.forecasts, arguments->forecasts, sizeof options.forecasts);
    return options;
}

static int job_command_finish(const struct job_engine *engine, struct term_pager *pager, int error)
{
    int close_error = term_pager_close(pager);
    error = error ? error : close_error;
    if (!error || error == -EPIPE)
        return 0;
    struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "cannot write: %s", strerror(-error));
    int status = output_complain_as(job_command_name_of(engine), line.data);
    strbuf_release(&line);
    return status;
}

static int job_command_show(const struct job_engine *engine, const struct job *job,
                            const struct arguments *arguments)
{
    struct job_options options = job_command_settle(engine, arguments);
    bool json = arguments->json || arguments->format == FORMAT_JSON;
    struct term_pager pager = term_pager_open(engine->pages && arguments->pager && !json);
    int error = json ? job_json(pager.out, job) : job_text(pager.out, job, &options);
    return job_command_finish(engine, &pager, error);
}

/* Why no rank counts: what is said of the first one, with its file's name. */
static int job_command_complain_none(const struct job_engine *engine,
                                     const struct job_summary *summary)
{
    const struct job_rank *first = summary->rank_count ? &summary->ranks[0] : NULL;
    if (!first || !first->note)
        return output_complain_as(job_command_name_of(engine),
                                  "no profile of the job could be read");
    struct strbuf line = STRBUF_INIT;
    if (first->file && !strstr(first->note, first->file))
        strbuf_addf(&line, "%s: ", first->file);
    strbuf_add_string(&line, first->note);
    int status = output_complain_as(job_command_name_of(engine), line.data);
    strbuf_release(&line);
    return status;
}

static int job_command_one_job(const struct job_engine *engine, const char *const *paths,
                               size_t count, const struct arguments *arguments)
{
    struct analysed analysed;
    int status = job_command_analyse(engine, paths, count, arguments, &analysed);
    if (!status && !analysed.job.ranks)
        status = job_command_complain_none(engine, &analysed.job.summary);
    if (!status && arguments->output &&
        job_profile_write(arguments->output, &analysed.job, &analysed.tree))
        status = output_complain_as(job_command_name_of(engine), error_text());
    if (!status)
        status = job_command_show(engine, &analysed.job, arguments);
    job_command_release(&analysed);
    return status;
}

static int job_command_compare_jobs(const void *left, const void *right)
{
    const struct job *a = *(struct job *const *)left, *b = *(struct job *const *)right;
    return a->size != b->size ? (a->size < b->size ? -1 : 1) : strcmp(a->name, b->name);
}

static int job_command_show_scaling(const struct job_engine *engine, struct analysed *all,
                                    size_t count, const struct arguments *arguments)
{
    struct job **jobs = memory_resize(NULL, count, sizeof *jobs);
    struct job_options options = job_command_settle(engine, arguments);
    bool json = arguments->json || arguments->format == FORMAT_JSON;
    for (size_t i = 0; i < count; i++)
        jobs[i] = &all[i].job;
    qsort(jobs, count, sizeof *jobs, job_command_compare_jobs);
    struct term_pager pager = term_pager_open(engine->pages && arguments->pager && !json);
    int error = json ? job_scaling_json(pager.out, jobs, count, &options)
                     : job_scaling_text(pager.out, jobs, count, &options);
    free(jobs);
    return job_command_finish(engine, &pager, error);
}

static int job_command_several_jobs(const struct job_engine *engine, const char *const *paths,
                                    size_t count, const struct arguments *arguments)
{
    struct analysed *all = memory_resize(NULL, count, sizeof *all);
    size_t ready = 0;
    int status = 0;
    while (ready < count && !status)
        status = job_command_analyse(engine, paths + ready, 1, arguments, &all[ready]), ready++;
    if (!status)
        status = job_command_show_scaling(engine, all, count, arguments);
    while (ready--)
        job_command_release(&all[ready]);
    free(all);
    return status;
}

static bool job_command_hides_more(const struct arguments *arguments)
{
    return arguments->redaction.level == REDACT_PLACES ||
           arguments->redaction.level == REDACT_NAMES;
}

int job_command(const struct job_engine *engine, int argc, char **argv)
{
    struct arguments arguments = {.pager = true, .top = 10, .rows = 32};
    int operand = options_parse(engine->command, argc, argv, &arguments);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    const char *const *paths = (const char *const *)argv + operand;
    size_t count = (size_t)(argc - operand), directories = 0;
    for (size_t i = 0; i < count; i++)
        directories += job_command_is_directory(paths[i]);
    if (!count)
        return options_usage_error(engine->command, "no directory of a job given");
    if (count > 1 && directories && directories < count)
        return options_usage_error(engine->command, "directories and profiles given: several "
                                                    "directories are jobs to compare, several "
                                                    "profiles are ranks of one job");
    if (count > 1 && directories && arguments.output)
        return options_usage_error(engine->command,
                                   "--output writes one job, and several are given");
    if ((arguments.forecast_count || arguments.rank_bytes) && (count < 2 || !directories))
        return options_usage_error(engine->command,
                                   "--forecast and --rank-memory ask how memory follows from the "
                                   "number of ranks, which several jobs tell: give their "
                                   "directories");
    if (arguments.output && job_command_hides_more(&arguments))
        return options_usage_error(engine->command,
                                   "the profile that --output writes has everything: use --redact "
                                   "with what is exported of it");
    if (redact_texts_begin(&arguments.redact, (enum redact_level)arguments.redaction.level,
                           arguments.redaction.salt))
        return output_complain_as(job_command_name_of(engine), error_text());
    if (count > 1 && directories)
        return job_command_several_jobs(engine, paths, count, &arguments);
    return job_command_one_job(engine, paths, count, &arguments);
}
