/* Reads the profiles of jobs' ranks on a thread while `serve` shows the jobs already. What is shown
 * first says only what the entries of the job's directory say (job_first.h). A profile without call
 * paths, of the ranks' digests, takes its place, and then the profile of the whole job: of a large
 * job when somebody asks for what only that one says. Each comes by rename, which the server
 * notices. */
#ifndef TIDEMARK_COMMANDS_JOB_FILLER_H
#define TIDEMARK_COMMANDS_JOB_FILLER_H

#include "job/job_files.h"
#include "job/job_summary.h"
#include "commands/job_listing.h"
#include "server/served_reading.h"

struct job_filler;

/* `command`: whose sentences these are. The string must live on. */
struct job_filler *job_filler_new(const char *command);

struct job_filler_job {
    const char *name;        /* the directory, as it was given */
    const char *path;        /* of the first profile, and of the whole one later */
    struct job_files *files; /* malloc'd, with what it holds: the filling's own from now on */
    const struct job_summary *ranks; /* as job_first_list() lists them */
    /* NULL: `files` and `ranks` are known. Else both are all zero: the entries are being read, and
     * what is known of them takes the first profile's place now and then. */
    struct job_listing *listing; /* the filling's own from now on */
    /* Called once on the filling's thread when all entries are read: gives the server the ranks, by
     * served_reading_listed(). */
    void (*listed)(void *context, struct served_reading *reading, const struct job_files *files,
                   const struct job_summary *ranks);
    void *context;
};
/* Before it begins. The strings must live on. How far it is, until job_filler_end(). */
struct served_reading *job_filler_add(struct job_filler *filling, const struct job_filler_job *job);

/* Begins to read, one job after the other, and waits until all is read that nobody has to ask for,
 * a quarter of a second at most. It does not wait where that cannot be enough. */
void job_filler_begin(struct job_filler *filling);
/* Shows on stderr, from now on, how many ranks have been read. */
void job_filler_tell(struct job_filler *filling);
/* No further profile is begun, and no job that is not whole is written. */
void job_filler_stop(struct job_filler *filling);
/* Stops, waits for the file at hand and frees. NULL: nothing. False: the file does not come within
 * two seconds; the thread has all that it was given until the process ends. */
bool job_filler_end(struct job_filler *filling);

#endif
