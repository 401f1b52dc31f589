/* Prepares what serve, html and plot show (showing.h). Jobs are analysed and traces replayed into
 * profiles in a private temporary directory. For `serve` the ranks of a job are read later
 * (job_filler.h), and the first profile has what the directory's entries say. Entries that take
 * long are read later, too, and the ranks are listed then. A thread that waits for signals removes
 * the directory when one ends the process. */
#include "commands/showing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/array.h"
#include "base/error.h"
#include "base/alive.h"
#include "base/regular.h"
#include "base/swept.h"
#include "base/strbuf.h"
#include "base/memory.h"
#include "base/now.h"
#include "commands/job_choice.h"
#include "commands/job_listing.h"
#include "commands/job_marks.h"
#include "commands/output.h"
#include "job/job.h"
#include "job/job_first.h"
#include "job/job_profile.h"
#include "job/job_run.h"
#include "profile/profile.h"
#include "offline/offline.h"

/* So few entries are waited for, whatever it takes: what is wrong with them is said at once. */
enum { LISTING_WAIT_MS = 250, LISTING_FEW = 64 };

/* The ranks of a job whose entries are read while it is shown. */
struct showing_late {
    struct showing *showing;
    size_t place; /* of the job in what is shown */
    bool names_job;
    struct served_source *ranks; /* NULL: not listed yet */
};

struct showing_opening {
    struct showing *showing;
    const struct showing_options *options;
    size_t jobs; /* directories that were given */
    struct rank_list {
        const struct job_files *files;
        struct job_files own; /* `files`, unless they are of the filling */
        struct job_summary ranks;
        size_t place; /* of the job in what is shown */
    } * ranks;
    size_t rank_list_count, rank_list_room;
};

static int showing_complain(const struct showing_options *options, const char *sentence)
{
    return output_complain(options->command, sentence);
}

static int showing_complain_of(const struct showing_options *options, const char *what,
                               const char *name, const char *why)
{
    struct strbuf sentence = STRBUF_INIT;
    strbuf_addf(&sentence, "%s %s%s%s", what, name, *why ? ": " : "", why);
    int status = showing_complain(options, sentence.data);
    strbuf_release(&sentence);
    return status;
}

/* ---- The directory ------------------------------------------------------------------------- */

/* The process has one directory, which is removed when it ends. A thread waits for signals that end
 * the process and removes the directory first. Until showing_unguard() all other threads block
 * these signals. */
static const char *showing_directory; /* swept.path; NULL: there is none */
static struct swept showing_swept;
static pthread_t showing_guard;
static bool showing_is_guarded;
static sigset_t showing_before;

static void showing_remove_directory(void)
{
    if (showing_directory)
        swept_remove(&showing_swept);
}

static void showing_ends(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGHUP);
}

static void *showing_wait_for_signal(void *context)
{
    sigset_t signals;
    int number;
    (void)context;
    showing_ends(&signals);
    while (sigwait(&signals, &number))
        continue;
    showing_remove_directory();
    signal(number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
    raise(number);
    return NULL;
}

static void showing_begin_guard(void)
{
    sigset_t signals;
    showing_ends(&signals);
    pthread_sigmask(SIG_BLOCK, &signals, &showing_before);
    showing_is_guarded = !pthread_create(&showing_guard, NULL, showing_wait_for_signal, NULL);
    if (!showing_is_guarded)
        pthread_sigmask(SIG_SETMASK, &showing_before, NULL);
}

void showing_unguard(bool keep_blocked)
{
    if (!showing_is_guarded)
        return;
    pthread_cancel(showing_guard);
    pthread_join(showing_guard, NULL);
    showing_is_guarded = false;
    if (!keep_blocked)
        pthread_sigmask(SIG_SETMASK, &showing_before, NULL);
}

static int showing_need_directory(struct showing_opening *opening)
{
    const char *parent = getenv("TMPDIR");
    if (showing_directory)
        return 0;
    int error = swept_make(&showing_swept, parent && *parent ? parent : "/tmp", "tidemark-show");
    if (error)
        return showing_complain_of(opening->options, "cannot make the directory",
                                   showing_swept.path, strerror(-error));
    showing_directory = showing_swept.path;
    opening->showing->directory = showing_directory;
    showing_begin_guard();
    return 0;
}

/* ---- What is listed ------------------------------------------------------------------------ */

static const char *showing_keep(struct showing *showing, char *string)
{
    array_need_room(&showing->strings, &showing->string_room, showing->string_count,
                    sizeof *showing->strings);
    return showing->strings[showing->string_count++] = memory_need(string);
}

static void showing_list(struct showing *showing, struct served_source shown)
{
    array_need_room(&showing->shown, &showing->room, showing->count, sizeof *showing->shown);
    showing->shown[showing->count++] = shown;
}

/* The path of the next profile that is made. */
static const char *showing_new_path(struct showing *showing)
{
    struct strbuf path = STRBUF_INIT;
    strbuf_addf(&path, "%s/%zu.tmk", showing_directory, showing->count);
    return showing_keep(showing, strbuf_detach(&path));
}

/* The last part of the real path, even of "." or of a path that ends with a slash. */
static const char *showing_last_part(struct showing *showing, const char *path)
{
    char *real = realpath(path, NULL);
    const char *slash = real ? strrchr(real, '/') : NULL;
    char *part = strdup(slash && slash[1] ? slash + 1 : path);
    free(real);
    return showing_keep(showing, part);
}

/* ---- Progress ------------------------------------------------------------------------------ */

struct showing_progress {
    const char *what;
    uint64_t next_ms;
};

static void showing_tell(struct showing_progress *progress, uint64_t done, uint64_t of)
{
    uint64_t ms = now_monotonic_ns() / 1000000;
    if (ms < progress->next_ms || !of)
        return;
    if (progress->next_ms) {
        term_progress("%s: %llu %%", progress->what,
                      (unsigned long long)((double)done * 100 / (double)of));
    }
    progress->next_ms = ms + 200;
}

static void showing_tell_profiles(void *context, size_t done, size_t of)
{
    showing_tell(context, done, of);
}

static void showing_tell_events(void *context, uint64_t events, uint64_t of_events)
{
    showing_tell(context, events, of_events);
}

/* ---- Ranks --------------------------------------------------------------------------------- */

/* `job`: the name of it that stands in front; NULL: there is only one. */
static const char *showing_name_rank(struct showing *showing, const char *job,
                                     const struct job_rank *rank)
{
    struct strbuf name = STRBUF_INIT;
    if (job)
        strbuf_addf(&name, "%s: ", job);
    if (rank->rank_known)
        strbuf_addf(&name, "rank %u", rank->rank);
    if (rank->rank_known && rank->is_helper)
        strbuf_add_string(&name, ", beside: ");
    if (!rank->rank_known || rank->is_helper)
        strbuf_add_string(&name, rank->file);
    return showing_keep(showing, strbuf_detach(&name));
}

/* What is served of the ranks that have a profile, in malloc'd memory. */
static struct served_source *showing_ranks_of(struct showing *showing, size_t place, bool names_job,
                                              const struct job_files *files,
                                              const struct job_summary *ranks, size_t *count)
{
    const char *job = names_job ? showing->shown[place].name : NULL;
    struct served_source *sources = memory_resize(NULL, ranks->rank_count, sizeof *sources);
    *count = 0;
    for (size_t i = 0; i < ranks->rank_count; i++) {
        const struct job_rank *rank = &ranks->ranks[i];
        const char *path = files->files[rank->place].path;
        if (!path)
            continue;
        sources[(*count)++] = (struct served_source){.path = showing_keep(showing, strdup(path)),
                                                     .name = showing_name_rank(showing, job, rank),
                                                     .kind = SHOWN_RANK,
                                                     .on_demand = true,
                                                     .job = place,
                                                     .rank_id = (uint32_t)i + 1};
    }
    return sources;
}

static void showing_list_ranks(struct showing_opening *opening, const struct rank_list *of)
{
    size_t count;
    const struct job_files *files = of->files ? of->files : &of->own;
    struct served_source *ranks =
        showing_ranks_of(opening->showing, of->place, opening->jobs > 1, files, &of->ranks, &count);
    for (size_t i = 0; i < count; i++)
        showing_list(opening->showing, ranks[i]);
    free(ranks);
}

/* On the filling's thread: nobody else adds to `showing` by then. */
static void showing_take_late(void *context, struct served_reading *reading,
                              const struct job_files *files, const struct job_summary *ranks)
{
    struct showing_late *late = context;
    size_t count, to_read = 0;
    for (size_t i = 0; i < files->count; i++)
        to_read += files->files[i].path != NULL;
    late->ranks =
        showing_ranks_of(late->showing, late->place, late->names_job, files, ranks, &count);
    served_reading_listed(reading, to_read, late->ranks, count);
}

/* ---- Jobs ---------------------------------------------------------------------------------- */

static void showing_analyse(const char *path, struct job_files *files, struct job *job,
                            struct job_tree *tree)
{
    struct showing_progress told = {.what = "reading profiles"};
    struct job_progress progress = {isatty(STDERR_FILENO) ? showing_tell_profiles : NULL, &told,
                                    NULL};
    struct job_summary summary = {0};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t *order = job_files_by_size(files);
    job_run(files, order, files->count, processors > 0 ? (size_t)processors : 1, &summary, tree,
            &progress);
    term_progress_end();
    free(order);
    job_init(job, &summary, files->id, path, files->recorded_ranks);
    job_marks_find(job, files, NULL);
}

static int showing_write_job(struct showing_opening *opening, const struct job *job,
                             struct job_tree *tree, const char *path)
{
    const struct job_rank *first = job->summary.rank_count ? &job->summary.ranks[0] : NULL;
    if (!job->ranks)
        return showing_complain(opening->options, first && first->note
                                                      ? first->note
                                                      : "no profile of the job could be read");
    if (job_profile_write(path, job, tree))
        return showing_complain(opening->options, error_text());
    return 0;
}

/* Ranks are listed behind all that was given, so they are kept until then. */
static struct rank_list *showing_keep_ranks(struct showing_opening *opening)
{
    array_need_room(&opening->ranks, &opening->rank_list_room, opening->rank_list_count,
                    sizeof *opening->ranks);
    struct rank_list *list = &opening->ranks[opening->rank_list_count++];
    *list = (struct rank_list){.place = opening->showing->count - 1};
    return list;
}

static bool showing_has_profiles(const struct job_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        if (files->files[i].path)
            return true;
    return false;
}

static int showing_add_whole_job(struct showing_opening *opening, struct served_source *shown,
                                 struct job_files *files)
{
    struct job_tree tree = {0};
    struct job job;
    showing_analyse(shown->file, files, &job, &tree);
    int status = showing_write_job(opening, &job, &tree, shown->path);
    job_tree_release(&tree);
    showing_list(opening->showing, *shown);
    struct rank_list *list = showing_keep_ranks(opening);
    list->own = *files;
    list->ranks = job.summary;
    job.summary = (struct job_summary){0};
    job_release(&job);
    return status;
}

/* Shows what the entries say. The filling reads the ranks later, and has the files from now on. */
static int showing_add_first_of_job(struct showing_opening *opening, struct served_source *shown,
                                    struct job_files *files)
{
    struct showing *showing = opening->showing;
    struct job_summary ranks = {0};
    job_first_list(&ranks, files);
    int error = job_first_write(shown->path, files, &ranks, true);
    if (!showing->filling)
        showing->filling = job_filler_new(opening->options->command);
    const struct job_filler_job job = {
        .name = shown->file, .path = shown->path, .files = files, .ranks = &ranks};
    shown->reading = job_filler_add(showing->filling, &job);
    showing_list(showing, *shown);
    struct rank_list *list = showing_keep_ranks(opening);
    list->files = files;
    list->ranks = ranks;
    return error ? showing_complain(opening->options, error_text()) : 0;
}

/* Shows what is known by now; the filling has the listing from now on. */
static int showing_add_listed_of_job(struct showing_opening *opening, struct served_source *shown,
                                     struct job_listing *listing)
{
    struct showing *showing = opening->showing;
    struct showing_late *late = memory_need(calloc(1, sizeof *late));
    *late = (struct showing_late){showing, showing->count, opening->jobs > 1, NULL};
    array_need_room(&showing->late, &showing->late_room, showing->late_count,
                    sizeof *showing->late);
    showing->late[showing->late_count++] = late;
    struct job_files files;
    struct job_summary ranks = {0};
    job_listing_peek(listing, &files);
    job_first_list(&ranks, &files);
    int error = job_first_write(shown->path, &files, &ranks, false);
    job_summary_release(&ranks);
    job_files_release(&files);
    if (!showing->filling)
        showing->filling = job_filler_new(opening->options->command);
    const struct job_filler_job job = {.name = shown->file,
                                       .path = shown->path,
                                       .files = memory_need(calloc(1, sizeof files)),
                                       .listing = listing,
                                       .listed = showing_take_late,
                                       .context = late};
    shown->reading = job_filler_add(showing->filling, &job);
    showing_list(showing, *shown);
    return error ? showing_complain(opening->options, error_text()) : 0;
}

/* Are there many entries, and a moment was not enough for them? */
static bool showing_is_long(struct job_listing *listing)
{
    size_t done, of = 0;
    while (of <= LISTING_FEW && !job_listing_wait(listing, LISTING_WAIT_MS))
        job_listing_count(listing, &done, &of);
    return of > LISTING_FEW;
}

static int showing_add_job(struct showing_opening *opening, const char *path)
{
    struct showing *showing = opening->showing;
    const char *id = opening->options->id;
    struct job_files files = {0};
    struct strbuf command = STRBUF_INIT;
    int status = showing_need_directory(opening);
    if (status)
        return status;
    struct served_source shown = {.path = showing_new_path(showing),
                                  .name = id ? id : showing_last_part(showing, path),
                                  .file = path,
                                  .kind = SHOWN_JOB};
    strbuf_addf(&command, "tidemark %s", opening->options->command);
    const char *name = showing_keep(showing, strbuf_detach(&command));
    struct job_listing *listing = job_listing_begin(name, path, id);
    if (opening->options->fills && showing_is_long(listing))
        return showing_add_listed_of_job(opening, &shown, listing);
    status = job_listing_end(listing, &files);
    if (status) {
        job_files_release(&files);
        return status;
    }
    if (!opening->options->fills || !showing_has_profiles(&files))
        return showing_add_whole_job(opening, &shown, &files);
    struct job_files *kept = memory_need(malloc(sizeof *kept));
    *kept = files;
    return showing_add_first_of_job(opening, &shown, kept);
}

/* ---- Traces -------------------------------------------------------------------------------- */

static bool showing_is_trace(const char *path)
{
    static const char magic[] = {'T', 'M', 'T', 'R', 'A', 'C', 'E', '\n'};
    char start[sizeof magic];
    struct stat of;
    int fd = regular_file_open(path, &of);
    ssize_t count = fd >= 0 ? read(fd, start, sizeof start) : 0;
    if (fd >= 0)
        close(fd);
    return count == (ssize_t)sizeof start && !memcmp(start, magic, sizeof magic);
}

static int showing_replay(struct showing_opening *opening, struct trace *trace, const char *made)
{
    struct showing_progress told = {.what = "replaying"};
    struct offline_options options = {.from = opening->options->from,
                                      .to = opening->options->to,
                                      .progress =
                                          isatty(STDERR_FILENO) ? showing_tell_events : NULL,
                                      .context = &told};
    struct offline_result result;
    int error = offline_profile(trace, &options, made, &result);
    term_progress_end();
    if (error)
        return showing_complain(opening->options, error_text());
    if (*result.missing)
        showing_complain(opening->options, result.missing);
    return 0;
}

static int showing_add_trace(struct showing_opening *opening, const char *path)
{
    struct showing *showing = opening->showing;
    struct trace *trace;
    if (alive_is_written(path))
        return showing_complain_of(
            opening->options, path,
            "is still being written: its profile (.tmk) can be shown meanwhile, the "
            "trace when the recording has ended",
            "");
    if (trace_open(&trace, path))
        return showing_complain(opening->options, error_text());
    array_need_room(&showing->traces, &showing->trace_room, showing->trace_count,
                    sizeof *showing->traces);
    showing->traces[showing->trace_count++] = trace;
    int status = showing_need_directory(opening);
    if (status)
        return status;
    const char *made = showing_new_path(showing);
    status = showing_replay(opening, trace, made);
    showing_list(showing, (struct served_source){.path = made,
                                                 .name = showing_last_part(showing, path),
                                                 .file = path,
                                                 .kind = SHOWN_TRACE,
                                                 .trace = trace});
    return status;
}

/* ---- All of it ----------------------------------------------------------------------------- */

static bool showing_is_directory(const char *path)
{
    struct stat of;
    return !stat(path, &of) && S_ISDIR(of.st_mode);
}

static int showing_add(struct showing_opening *opening, const char *path)
{
    if (showing_is_directory(path))
        return showing_add_job(opening, path);
    if (showing_is_trace(path))
        return showing_add_trace(opening, path);
    showing_list(opening->showing, (struct served_source){.path = path});
    return 0;
}

int showing_open(struct showing *showing, const struct showing_options *options,
                 const char *const *paths, size_t count)
{
    struct showing_opening opening = {.showing = showing, .options = options};
    int status = 0;
    *showing = (struct showing){0};
    for (size_t i = 0; i < count; i++)
        opening.jobs += showing_is_directory(paths[i]);
    for (size_t i = 0; i < count && !status; i++)
        status = showing_add(&opening, paths[i]);
    for (size_t i = 0; i < opening.rank_list_count; i++) {
        if (!status && options->ranks)
            showing_list_ranks(&opening, &opening.ranks[i]);
        job_summary_release(&opening.ranks[i].ranks);
        job_files_release(&opening.ranks[i].own);
    }
    free(opening.ranks);
    malloc_trim(0); /* ranks were read and forgotten again */
    return status;
}

void showing_fill(struct showing *showing)
{
    if (showing->filling)
        job_filler_begin(showing->filling);
}

void showing_tell_filling(struct showing *showing)
{
    if (showing->filling && isatty(STDERR_FILENO))
        job_filler_tell(showing->filling);
}

void showing_stop_filling(struct showing *showing)
{
    if (showing->filling)
        job_filler_stop(showing->filling);
}

static void showing_end_directory(void)
{
    showing_remove_directory();
    showing_directory = NULL;
    showing_unguard(false);
}

void showing_release(struct showing *showing)
{
    if (!job_filler_end(showing->filling)) {
        showing_end_directory(); /* all else goes with the process, which is about to end */
        return;
    }
    for (size_t i = 0; i < showing->trace_count; i++)
        trace_close(showing->traces[i]);
    for (size_t i = 0; i < showing->string_count; i++)
        free(showing->strings[i]);
    for (size_t i = 0; i < showing->late_count; i++) {
        free(showing->late[i]->ranks);
        free(showing->late[i]);
    }
    free(showing->late);
    free(showing->traces);
    free(showing->strings);
    free(showing->shown);
    showing_end_directory();
    *showing = (struct showing){0};
}
