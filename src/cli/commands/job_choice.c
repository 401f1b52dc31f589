/* Chooses one job of a directory by its id, or complains with a list of those that are there
 * (job_choice.h). */
#include "commands/job_choice.h"

#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "base/human.h"
#include "base/options.h"
#include "base/text.h"
#include "commands/output.h"
#include "jobdir/manifest.h"
#include "profile/profile.h"

static void job_choice_add_listed(struct strbuf *out, const struct manifest_job *job)
{
    strbuf_addf(out, "  --id %s  ", job->id);
    if (job->ranks > 0)
        strbuf_addf(out, "%lld ranks", (long long)job->ranks);
    else
        strbuf_addf(out, "%zu processes", job->process_count);
    if (job->start_unix_ns >= 0)
        strbuf_addf(out, ", %s", human_time(job->start_unix_ns / 1000000000).text);
    for (size_t i = 0; i < job->process_count; i++)
        if (job->processes[i].entry.program) {
            strbuf_addf(out, ", %s", job->processes[i].entry.program);
            break;
        }
}

static int job_choice_ask_which(const char *command, const struct manifest *manifest,
                                const char *path)
{
    struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "there are %zu jobs in %s, say which:", manifest->job_count, path);
    output_complain_as(command, line.data);
    for (size_t i = 0; i < manifest->job_count; i++) {
        struct strbuf safe = STRBUF_INIT;
        strbuf_reset(&line);
        job_choice_add_listed(&line, &manifest->jobs[i]);
        text_add_safe_string(&safe, line.data);
        fprintf(stderr, "%s\n", safe.data);
        strbuf_release(&safe);
    }
    strbuf_release(&line);
    return OPTIONS_EXIT_FAILURE;
}

static const struct manifest_job *job_choice_find_job(const struct manifest *manifest,
                                                      const char *id)
{
    for (size_t i = 0; i < manifest->job_count; i++)
        if (!strcmp(manifest->jobs[i].id, id))
            return &manifest->jobs[i];
    return NULL;
}

/* Whoever stops it needs no sentence. */
static int job_choice_complain(const char *command, const struct manifest_making *making)
{
    bool stopped = making && atomic_load(&making->stops);
    return stopped ? OPTIONS_EXIT_FAILURE : output_complain_as(command, error_text());
}

int job_choice_find(const char *command, const char *const *paths, size_t count, const char *id,
                    struct manifest_making *making, struct manifest **manifest,
                    const struct manifest_job **job)
{
    int status = 0;
    if (manifest_open(manifest, paths, count, making))
        return job_choice_complain(command, making);
    *job = id                       ? job_choice_find_job(*manifest, id)
           : (*manifest)->job_count ? &(*manifest)->jobs[0]
                                    : NULL;
    if (!*job && id) {
        struct strbuf line = STRBUF_INIT;
        strbuf_addf(&line, "there is no job %s in %s", id, paths[0]);
        status = output_complain_as(command, line.data);
        strbuf_release(&line);
    } else if (!id && (*manifest)->job_count > 1) {
        status = job_choice_ask_which(command, *manifest, paths[0]);
    } else if (!*job) {
        status = output_complain_as(command, "nothing was recorded there");
    }
    if (status)
        manifest_free(*manifest);
    return status;
}

int job_choice_make(const char *command, const char *const *paths, size_t count, const char *id,
                    struct manifest_making *making, struct job_files *files)
{
    struct manifest *manifest;
    const struct manifest_job *job;
    int status = job_choice_find(command, paths, count, id, making, &manifest, &job);
    if (status)
        return status;
    job_files_init(files, job);
    manifest_free(manifest);
    return 0;
}
