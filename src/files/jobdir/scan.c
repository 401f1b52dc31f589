/* Reads the processes of a directory (scan.h). A process is read from its entry: a file, or a part
 * of a node's file. Where the entry is damaged or missing, the meta of its profile says nearly as
 * much. */
#include "jobdir/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/now.h"
#include "procfs/process.h"
#include "profile/profile.h"
#include "session/session_file.h"

#define PROFILE_SUFFIX ".tmk"
#define TRACE_SUFFIX   ".tmt"
#define REPLAY_SUFFIX  ".replay.tmk" /* what tidemark replay writes beside a trace */

/* A recording commits every two seconds. Where locks do not say whether it goes on, files that have
 * been still for so long do: thirty times that, for clocks and file systems of clusters. */
enum { STILL_S = 60 };

/* How long a job's ranks that have ended are waited for until their collectors have written the
 * end: so many naps of 20 ms since files last came into the job's directory, and so long all
 * together. The ranks of a node end together, and their profiles are completed a few at a time. */
#define FINISHING_NAPS    250
#define FINISHING_MOST_NS 60000000000u

/* ---- Names --------------------------------------------------------------------------------- */

static bool scan_ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), tail = strlen(suffix);
    return length > tail && !strcmp(name + length - tail, suffix);
}

static char *scan_joined(const char *directory, const char *name)
{
    struct strbuf path = STRBUF_INIT;
    strbuf_addf(&path, "%s/%s", directory, name);
    return strbuf_detach(&path);
}

/* `path` with another suffix, if there is such a file; NULL otherwise. */
static char *scan_sibling(const char *path, const char *suffix, const char *other)
{
    struct strbuf name = STRBUF_INIT;
    strbuf_add(&name, path, strlen(path) - strlen(suffix));
    strbuf_add_string(&name, other);
    if (access(name.data, F_OK) == 0)
        return strbuf_detach(&name);
    strbuf_release(&name);
    return NULL;
}

/* Whatever is there, a file or not. A link that leads nowhere is, too: who reads it says so. */
static char *scan_existing(const char *directory, const char *name, uint64_t *bytes)
{
    struct stat info;
    char *path = name ? scan_joined(directory, name) : NULL;
    bool is = path && (stat(path, &info) == 0 || lstat(path, &info) == 0);
    *bytes = is && info.st_size > 0 ? (uint64_t)info.st_size : 0;
    if (is)
        return path;
    free(path);
    return NULL;
}

/* "rank-00012.…": what is left of an entry that cannot be read. */
static int64_t scan_rank_in_name(const char *name)
{
    int rank = -1, end = 0;
    if (strncmp(name, "rank-", 5) || name[5] < '0' || name[5] > '9')
        return -1;
    return sscanf(name, "rank-%9d%n", &rank, &end) == 1 && name[end] == '.' ? rank : -1;
}

/* ---- Who looks on -------------------------------------------------------------------------- */

static void scan_lock(struct manifest *manifest)
{
    if (manifest->making)
        pthread_mutex_lock(&manifest->making->lock);
}

static void scan_unlock(struct manifest *manifest)
{
    if (manifest->making)
        pthread_mutex_unlock(&manifest->making->lock);
}

static void scan_tell(const struct manifest *manifest, size_t done, size_t of)
{
    if (!manifest->making)
        return;
    atomic_fetch_add(&manifest->making->of, of);
    atomic_fetch_add(&manifest->making->done, done);
}

static bool scan_stops(const struct manifest *manifest)
{
    return manifest->making && atomic_load(&manifest->making->stops);
}

/* ---- Jobs and processes ---- */

static struct manifest_job *scan_add_job(struct manifest *manifest, const char *id,
                                         const char *directory)
{
    scan_lock(manifest);
    array_need_room(&manifest->jobs, &manifest->job_room, manifest->job_count,
                    sizeof *manifest->jobs);
    struct manifest_job *job = &manifest->jobs[manifest->job_count++];
    *job =
        (struct manifest_job){.id = strdup(id), .directory = directory ? strdup(directory) : NULL};
    scan_unlock(manifest);
    return job;
}

static void scan_init_process(struct manifest_process *process)
{
    *process = (struct manifest_process){.state = MANIFEST_UNKNOWN};
    entry_init(&process->entry);
}

/* From now on others may see it. */
static void scan_add_process(struct manifest *manifest, struct manifest_job *job,
                             const struct manifest_process *process)
{
    scan_lock(manifest);
    array_need_room(&job->processes, &job->process_room, job->process_count,
                    sizeof *job->processes);
    job->processes[job->process_count++] = *process;
    scan_unlock(manifest);
}

static void scan_note_damage(struct manifest_process *process, const char *sentence)
{
    if (!process->damage)
        process->damage = strdup(sentence);
}

/* ---- States -------------------------------------------------------------------------------- */

static bool scan_is_of_this_boot(const struct entry *entry)
{
    char *own;
    bool same = process_boot_id(&own) == 0 && entry->boot && strcmp(entry->boot, own) == 0;
    free(own);
    return same;
}

static bool scan_is_recent(const char *path)
{
    struct stat status;
    time_t now_s = (time_t)(now_ns(CLOCK_REALTIME) / 1000000000);
    return path && stat(path, &status) == 0 && status.st_mtim.tv_sec + STILL_S > now_s;
}

static bool scan_is_stirring(const struct manifest_process *process)
{
    struct strbuf log = STRBUF_INIT; /* what is written between two checkpoints */
    if (process->profile_path)
        strbuf_addf(&log, "%s-wal", process->profile_path);
    bool stirs = scan_is_recent(process->entry_path) || scan_is_recent(process->profile_path) ||
                 scan_is_recent(log.data);
    strbuf_release(&log);
    return stirs;
}

static enum manifest_state scan_state_of_end(const char *end)
{
    if (!strcmp(end, "signal"))
        return MANIFEST_KILLED;
    if (!strcmp(end, "exec"))
        return MANIFEST_REPLACED;
    return !strcmp(end, "detached") ? MANIFEST_LEFT : MANIFEST_ENDED;
}

/* The state of a process whose entry and profile say no end. */
static enum manifest_state scan_state_without_end(const struct manifest_process *process)
{
    const struct entry *entry = &process->entry;
    if (entry->locked == 1 && scan_is_of_this_boot(entry))
        return MANIFEST_CUT;
    return scan_is_stirring(process) ? MANIFEST_RUNNING : MANIFEST_CUT;
}

/* ---- Profiles ------------------------------------------------------------------------------ */

static void scan_take_text(char **text, const struct profile *profile, const char *key)
{
    const char *value = profile_get(profile, key);
    if (value && !*text)
        *text = strdup(value);
}

static void scan_take_number(int64_t *number, const struct profile *profile, const char *key)
{
    const char *value = profile_get(profile, key);
    char *end;
    if (!value || *number >= 0 || *value < '0' || *value > '9')
        return;
    errno = 0;
    long long parsed = strtoll(value, &end, 10);
    if (!errno && !*end)
        *number = parsed;
}

static void scan_take_meta(struct entry *entry, const struct profile *profile)
{
    scan_take_text(&entry->job, profile, PROFILE_META_JOB);
    scan_take_text(&entry->launcher, profile, PROFILE_META_LAUNCHER);
    scan_take_text(&entry->host, profile, PROFILE_META_HOST);
    scan_take_text(&entry->boot, profile, PROFILE_META_BOOT);
    scan_take_text(&entry->program, profile, PROFILE_META_PROGRAM);
    scan_take_text(&entry->end, profile, PROFILE_META_END);
    scan_take_number(&entry->rank, profile, PROFILE_META_RANK);
    scan_take_number(&entry->ranks, profile, PROFILE_META_RANKS);
    scan_take_number(&entry->local_rank, profile, PROFILE_META_LOCAL_RANK);
    scan_take_number(&entry->node, profile, PROFILE_META_NODE);
    scan_take_number(&entry->pid, profile, PROFILE_META_PID);
    scan_take_number(&entry->parent_pid, profile, PROFILE_META_PARENT_PID);
    scan_take_number(&entry->start_unix_ns, profile, PROFILE_META_START);
    scan_take_number(&entry->duration_ns, profile, PROFILE_META_DURATION);
    scan_take_number(&entry->end_status, profile, PROFILE_META_END_STATUS);
}

/* The same bounds as for an entry. */
static void scan_refuse_nonsense(struct manifest_process *process)
{
    struct entry *entry = &process->entry;
    bool impossible = entry->rank > INT32_MAX || entry->ranks > INT32_MAX || entry->ranks == 0 ||
                      (entry->ranks > 0 && entry->rank >= entry->ranks);
    if (!impossible)
        return;
    entry->rank = entry->ranks = -1;
    scan_note_damage(process, "its profile says that it has a rank that cannot be");
}

/* Fills in what the entry does not say. False: the profile cannot be read either. */
static bool scan_ask_profile(struct manifest_process *process)
{
    struct profile *profile;
    if (profile_read_meta(&profile, process->profile_path) < 0) {
        scan_note_damage(process, error_text());
        return false;
    }
    scan_take_meta(&process->entry, profile);
    scan_refuse_nonsense(process);
    if (profile->damage)
        scan_note_damage(process, profile->damage);
    process->state = process->entry.end       ? scan_state_of_end(process->entry.end)
                     : profile->being_written ? MANIFEST_RUNNING
                                              : scan_state_without_end(process);
    profile_free(profile);
    return true;
}

/* The profile of a whole job that was written into its directory is none of its processes, nor is
 * what tidemark replay made of a trace: the recording's own profile is there too. Nor is a session
 * file, whose processes are of no job. */
static bool scan_is_derived(const char *path)
{
    struct profile *profile;
    if (scan_ends_with(path, REPLAY_SUFFIX) || scan_ends_with(path, SESSION_FILE_SUFFIX) ||
        session_is_file(path))
        return true;
    if (profile_read_meta(&profile, path) < 0)
        return false;
    bool derived = profile_is_job(profile) || profile_get(profile, PROFILE_META_WINDOW_FROM);
    profile_free(profile);
    return derived;
}

static uint64_t scan_size_of(const char *path)
{
    struct stat info;
    return path && !stat(path, &info) && info.st_size > 0 ? (uint64_t)info.st_size : 0;
}

/* What tells a process from all others is known. */
static bool scan_is_certain(const struct entry *entry)
{
    return entry->pid > 0 && entry->start_unix_ns > 0 && entry->boot;
}

static uint64_t scan_hash_process(const struct entry *entry)
{
    return hash_u64((uint64_t)entry->start_unix_ns ^ hash_u64((uint64_t)entry->pid)) ^
           hash_bytes(entry->boot, strlen(entry->boot));
}

static bool scan_is_same(const void *array, uint32_t number, const void *key)
{
    const struct entry *a = &((const struct manifest_process *)array + number)->entry, *b = key;
    return a->pid == b->pid && a->start_unix_ns == b->start_unix_ns && !strcmp(a->boot, b->boot);
}

/* Those with a profile, each once. */
static void scan_index_processes(struct manifest_job *job)
{
    for (; job->indexed < job->process_count; job->indexed++) {
        const struct manifest_process *process = &job->processes[job->indexed];
        bool is_new;
        if (process->profile_path && scan_is_certain(&process->entry))
            map_number(&job->by_identity, scan_hash_process(&process->entry), scan_is_same,
                       job->processes, &process->entry, (uint32_t)job->indexed, &is_new);
    }
}

/* Is there a profile of this process already? Then this one is a snapshot, or a copy, of it. */
static bool scan_has_same(struct manifest_job *job, const struct manifest_process *process)
{
    uint32_t number;
    if (!scan_is_certain(&process->entry))
        return false;
    scan_index_processes(job);
    struct map_probe probe = map_probe(&job->by_identity, scan_hash_process(&process->entry));
    while (map_next(&probe, &number))
        if (scan_is_same(job->processes, number, &process->entry))
            return true;
    return false;
}

static void scan_release_process(struct manifest_process *process)
{
    entry_release(&process->entry);
    free(process->entry_path);
    free(process->profile_path);
    free(process->trace_path);
    free(process->damage);
}

static void scan_add_profile(struct manifest *manifest, struct manifest_job *job, char *path)
{
    struct manifest_process process;
    scan_init_process(&process);
    process.profile_path = path;
    process.profile_bytes = scan_size_of(path);
    if (scan_ends_with(path, PROFILE_SUFFIX))
        process.trace_path = scan_sibling(path, PROFILE_SUFFIX, TRACE_SUFFIX);
    if (!scan_ask_profile(&process))
        process.entry.rank = scan_rank_in_name(basename(path));
    if (scan_has_same(job, &process))
        scan_release_process(&process);
    else
        scan_add_process(manifest, job, &process);
}

/* ---- Entries ------------------------------------------------------------------------------- */

static void scan_take_damaged(struct manifest_process *process, const char *name)
{
    scan_note_damage(process, error_text());
    process->profile_path = scan_sibling(process->entry_path, ENTRY_SUFFIX, PROFILE_SUFFIX);
    process->profile_bytes = scan_size_of(process->profile_path);
    process->trace_path = scan_sibling(process->entry_path, ENTRY_SUFFIX, TRACE_SUFFIX);
    if (process->profile_path)
        scan_ask_profile(process);
    if (process->entry.rank < 0)
        process->entry.rank = scan_rank_in_name(name);
}

/* Its id says so in the namespace of process ids that it is of. In another one its collector does,
 * a little later. Entries of before do not say their namespace. */
static bool scan_process_has_ended(const struct manifest_process *process)
{
    const struct entry *entry = &process->entry;
    if (entry->pid_namespace >= 0 && entry->pid_namespace != process_pid_namespace())
        return !entry_process_is_held(process->entry_path);
    return entry->pid > 0 && entry->pid <= INT32_MAX && kill((pid_t)entry->pid, 0) < 0 &&
           errno == ESRCH;
}

/* Is the process gone, while its collector still writes? */
static bool scan_is_finishing(const struct manifest_process *process)
{
    const struct entry *entry = &process->entry;
    return !entry->end && scan_is_of_this_boot(entry) && scan_process_has_ended(process) &&
           entry_is_held(process->entry_path);
}

/* Since it was asked last. */
static bool scan_have_files_come(struct manifest_job *job)
{
    struct stat info;
    if (!job->directory || stat(job->directory, &info))
        return false;
    uint64_t changed_ns =
        (uint64_t)info.st_mtim.tv_sec * 1000000000 + (uint64_t)info.st_mtim.tv_nsec;
    bool have = changed_ns != job->changed_unix_ns;
    job->changed_unix_ns = changed_ns;
    return have;
}

static bool scan_has_patience(struct manifest_job *job)
{
    uint64_t now = now_monotonic_ns();
    bool is_first = !job->finishing_until_ns;
    if (is_first)
        job->finishing_until_ns = now + FINISHING_MOST_NS;
    if (scan_have_files_come(job) || is_first)
        job->finishing_naps = FINISHING_NAPS;
    return job->finishing_naps && now < job->finishing_until_ns && job->finishing_naps--;
}

/* `mpirun …; tidemark job …`: what a collector writes last is there a moment after its rank has
 * ended. */
static void scan_wait_for_end(const struct manifest *manifest, struct manifest_job *job,
                              struct manifest_process *process)
{
    const struct timespec pause = {0, 20000000};
    struct entry again;
    while (!scan_stops(manifest) && scan_is_finishing(process) && scan_has_patience(job)) {
        nanosleep(&pause, NULL);
        if (entry_read(&again, process->entry_path) == 0) {
            entry_release(&process->entry);
            process->entry = again;
        }
    }
}

/* The process may end after its entry was read and before the lock is asked for. So an entry
 * without a lock is read again. */
static void scan_see_state(struct manifest_process *process)
{
    struct entry again;
    if (!process->entry.end && entry_is_held(process->entry_path)) {
        process->state = MANIFEST_RUNNING;
        return;
    }
    if (!process->entry.end && entry_read(&again, process->entry_path) == 0) {
        entry_release(&process->entry);
        process->entry = again;
    }
    process->state = process->entry.end ? scan_state_of_end(process->entry.end)
                                        : scan_state_without_end(process);
}

static void scan_find_files(struct manifest_process *process, const char *directory)
{
    uint64_t trace_bytes;
    process->profile_path =
        scan_existing(directory, process->entry.profile, &process->profile_bytes);
    process->trace_path = scan_existing(directory, process->entry.trace, &trace_bytes);
}

/* What a process leaves when it ends may have come after its files were looked for, and before its
 * state was. */
static void scan_find_late_files(struct manifest_process *process, const char *directory)
{
    if (!process->entry.end || process->profile_path)
        return;
    free(process->trace_path);
    scan_find_files(process, directory);
}

/* False: it is there no more. Its process is in the node's file then, which is read later. */
static bool scan_read_entry(const struct manifest *manifest, struct manifest_job *job,
                            struct manifest_process *process, const char *directory,
                            const char *name)
{
    struct stat info;
    scan_init_process(process);
    process->entry_path = scan_joined(directory, name);
    if (entry_read(&process->entry, process->entry_path) < 0) {
        bool is_gone = lstat(process->entry_path, &info) && errno == ENOENT;
        if (is_gone)
            free(process->entry_path);
        else
            scan_take_damaged(process, name);
        return !is_gone;
    }
    scan_wait_for_end(manifest, job, process);
    bool ended = process->entry.end;
    scan_find_files(process, directory);
    scan_see_state(process);
    if (!ended)
        scan_find_late_files(process, directory);
    if (process->entry.is_launcher == 1)
        process->entry.rank = -1;
    return true;
}

/* ---- The file of a node -------------------------------------------------------------------- */

/* FILE@PID; of a process that was several programs FILE@PID.N (process_choice.h). */
static char *scan_row_path(const struct session *session, size_t number, const char *path)
{
    const struct session_row *row = &session->entries[number].row;
    struct strbuf operand = STRBUF_INIT;
    size_t before = 0, all = 0;
    for (size_t i = 0; i < session->count; i++) {
        const struct session_row *other = &session->entries[i].row;
        bool is_same = other->pid == row->pid;
        all += is_same;
        before += is_same && (other->start_unix_ns < row->start_unix_ns ||
                              (other->start_unix_ns == row->start_unix_ns && i < number));
    }
    strbuf_addf(&operand, "%s@%d", path, (int)row->pid);
    if (all > 1)
        strbuf_addf(&operand, ".%zu", before + 1);
    return strbuf_detach(&operand);
}

static void scan_read_row(struct manifest_process *process, const struct session *session,
                          size_t number, const char *directory, const char *path)
{
    const struct session_entry *row = &session->entries[number];
    uint64_t trace_bytes;
    scan_init_process(process);
    process->profile_path = scan_row_path(session, number, path);
    process->profile_bytes = row->bytes;
    process->part_at = row->body_at;
    if (entry_parse(&process->entry, row->said, row->said_bytes) < 0) {
        scan_note_damage(process, "what is said of the process in its node's file is damaged");
        scan_ask_profile(process);
        return;
    }
    process->trace_path = scan_existing(directory, process->entry.trace, &trace_bytes);
    process->state = process->entry.end ? scan_state_of_end(process->entry.end)
                                        : scan_state_without_end(process);
    if (process->entry.is_launcher == 1)
        process->entry.rank = -1;
}

/* In place of one of the first `entries` processes, if it is the same: that one was read while it
 * came into the node's file, or its collector was killed then. A row that stands twice counts once.
 */
static void scan_put_row(struct manifest *manifest, struct manifest_job *job, size_t entries,
                         struct manifest_process *process)
{
    for (size_t i = 0; i < entries && scan_is_certain(&process->entry); i++) {
        struct manifest_process *other = &job->processes[i];
        if (!scan_is_certain(&other->entry) ||
            !scan_is_same(job->processes, (uint32_t)i, &process->entry))
            continue;
        scan_lock(manifest);
        scan_release_process(other);
        *other = *process;
        scan_unlock(manifest);
        return;
    }
    if (scan_has_same(job, process))
        scan_release_process(process);
    else
        scan_add_process(manifest, job, process);
}

/* A node's file that cannot be read stands for the processes that nobody sees. */
static void scan_add_unread(struct manifest *manifest, struct manifest_job *job, const char *path)
{
    struct manifest_process process;
    scan_init_process(&process);
    process.entry_path = strdup(path);
    scan_note_damage(&process, error_text());
    scan_add_process(manifest, job, &process);
}

static void scan_note_lost(struct manifest_process *process, const struct session *session,
                           const char *path)
{
    struct strbuf why = STRBUF_INIT;
    if (!session->lost_bytes || (session->cut && session->being_written))
        return;
    strbuf_addf(&why, "%s is damaged: %llu of its bytes are of no process that can be read", path,
                (unsigned long long)session->lost_bytes);
    scan_note_damage(process, why.data);
    strbuf_release(&why);
}

static void scan_put_rows(struct manifest *manifest, struct manifest_job *job,
                          const char *directory, size_t entries, const struct session *session,
                          const char *path)
{
    struct manifest_process process;
    bool is_first = true;
    for (size_t i = 0; i < session->count && !scan_stops(manifest); i++) {
        if (!session->entries[i].is_whole) /* a session's file that was put here: of no job */
            continue;
        scan_read_row(&process, session, i, directory, path);
        if (is_first)
            scan_note_lost(&process, session, path);
        is_first = false;
        scan_put_row(manifest, job, entries, &process);
        scan_tell(manifest, 1, 1);
    }
}

static void scan_add_rows(struct manifest *manifest, struct manifest_job *job,
                          const char *directory, size_t entries, const char *path)
{
    struct session *session;
    int error = session_list(&session, path);
    bool has_nothing = !error && !session->count && session->lost_bytes;
    if (has_nothing)
        error = error_set(-EBADMSG, "%s is damaged: nothing in it can be read", path);
    if (error)
        scan_add_unread(manifest, job, path);
    if (!error || has_nothing) {
        scan_put_rows(manifest, job, directory, entries, session, path);
        session_free(session);
    }
}

static int scan_is_node_file(const struct dirent *item)
{
    return item->d_name[0] != '.' && scan_ends_with(item->d_name, SESSION_FILE_SUFFIX);
}

/* After the entries, and listed anew: what was an entry when the directory was listed may be in a
 * node's file since. */
static void scan_add_nodes(struct manifest *manifest, struct manifest_job *job,
                           const char *directory)
{
    struct dirent **items;
    size_t entries = job->process_count;
    int count = scandir(directory, &items, scan_is_node_file, alphasort);
    for (int i = 0; i < count; i++) {
        char *path = scan_joined(directory, items[i]->d_name);
        if (!scan_stops(manifest))
            scan_add_rows(manifest, job, directory, entries, path);
        free(path);
        free(items[i]);
    }
    if (count >= 0)
        free(items);
}

/* ---- Directories --------------------------------------------------------------------------- */

static int scan_is_listed(const struct dirent *item)
{
    return item->d_name[0] != '.';
}

static int scan_compare_texts(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void scan_add_entries(struct manifest *manifest, struct manifest_job *job,
                             const char *directory, struct dirent **items, int count)
{
    struct manifest_process process;
    size_t of = 0;
    for (int i = 0; i < count; i++)
        of += scan_ends_with(items[i]->d_name, ENTRY_SUFFIX);
    scan_tell(manifest, 0, of);
    for (int i = 0; i < count && !scan_stops(manifest); i++) {
        if (!scan_ends_with(items[i]->d_name, ENTRY_SUFFIX))
            continue;
        if (scan_read_entry(manifest, job, &process, directory, items[i]->d_name))
            scan_add_process(manifest, job, &process);
        scan_tell(manifest, 1, 0);
    }
}

/* The profiles that the job's entries speak of, sorted. */
static char **scan_claimed_profiles(const struct manifest_job *job)
{
    char **paths = memory_need(calloc(job->process_count + 1, sizeof *paths));
    for (size_t i = 0; i < job->process_count; i++)
        paths[i] = job->processes[i].profile_path ? job->processes[i].profile_path : (char *)"";
    if (job->process_count)
        qsort(paths, job->process_count, sizeof *paths, scan_compare_texts);
    return paths;
}

static void scan_add_unclaimed(struct manifest *manifest, struct manifest_job *job,
                               const char *directory, struct dirent **items, int count)
{
    char **claimed = scan_claimed_profiles(job);
    size_t claimed_count = job->process_count;
    for (int i = 0; i < count && !scan_stops(manifest); i++) {
        if (!scan_ends_with(items[i]->d_name, PROFILE_SUFFIX))
            continue;
        char *path = scan_joined(directory, items[i]->d_name);
        if (bsearch(&path, claimed, claimed_count, sizeof *claimed, scan_compare_texts) ||
            scan_is_derived(path))
            free(path);
        else
            scan_add_profile(manifest, job, path);
    }
    free(claimed);
}

/* What the processes call it; else the directory's name. */
static void scan_name_job(struct manifest *manifest, struct manifest_job *job)
{
    const char *id = NULL;
    for (size_t i = 0; i < job->process_count && !id; i++)
        id = job->processes[i].entry.job;
    if (!id)
        return;
    scan_lock(manifest);
    free(job->id);
    job->id = strdup(id);
    scan_unlock(manifest);
}

static void scan_files(struct manifest *manifest, const char *directory, struct dirent **items,
                       int count)
{
    char *real = realpath(directory, NULL);
    struct manifest_job *job = scan_add_job(manifest, basename(real ? real : directory), directory);
    free(real);
    scan_add_entries(manifest, job, directory, items, count);
    scan_add_nodes(manifest, job, directory);
    scan_add_unclaimed(manifest, job, directory, items, count);
    scan_name_job(manifest, job);
}

static bool scan_is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Its path; NULL: it is none. Nobody is asked about each of a job's files. */
static char *scan_subdirectory(const char *directory, const struct dirent *item)
{
    if (item->d_type != DT_DIR && item->d_type != DT_LNK && item->d_type != DT_UNKNOWN)
        return NULL;
    char *path = scan_joined(directory, item->d_name);
    if (scan_is_directory(path))
        return path;
    free(path);
    return NULL;
}

/* ---- Is it one job? ------------------------------------------------------------------------- */

/* A directory with entries, by one of a rank; where there is none, by any. */
struct scan_peep {
    char *entry_path; /* or a node's file */
    bool has_ranks;
};

/* An entry of a node's file: a rank's, if it has one. False: it has none at all. */
static bool scan_peep_into_node(struct entry *entry, const char *path)
{
    struct session *session;
    bool has = false;
    entry_init(entry);
    if (session_list(&session, path))
        return false;
    for (size_t i = 0; i < session->count && entry->rank < 0; i++) {
        struct entry one;
        if (!session->entries[i].is_whole ||
            entry_parse(&one, session->entries[i].said, session->entries[i].said_bytes))
            continue;
        entry_release(entry);
        *entry = one;
        has = true;
    }
    session_free(session);
    return has;
}

static bool scan_peep_read(struct entry *entry, const char *path)
{
    return scan_ends_with(path, SESSION_FILE_SUFFIX) ? scan_peep_into_node(entry, path)
                                                     : entry_read(entry, path) == 0;
}

/* Sets has_ranks. False: it says nothing of a job. */
static bool scan_peep_at(struct scan_peep *peep, const char *directory, const char *name)
{
    struct entry entry;
    bool is_entry = scan_ends_with(name, ENTRY_SUFFIX);
    if (is_entry)
        peep->has_ranks = scan_rank_in_name(name) >= 0;
    if (is_entry || !scan_ends_with(name, SESSION_FILE_SUFFIX))
        return is_entry;
    char *path = scan_joined(directory, name);
    bool has = scan_peep_into_node(&entry, path);
    peep->has_ranks = has && entry.rank >= 0;
    entry_release(&entry);
    free(path);
    return has;
}

/* False: it has no entries. */
static bool scan_peep_into(struct scan_peep *peep, const char *directory)
{
    DIR *stream = opendir(directory);
    *peep = (struct scan_peep){.has_ranks = false};
    for (struct dirent *item; stream && !peep->has_ranks && (item = readdir(stream));) {
        if (!scan_is_listed(item) || !scan_peep_at(peep, directory, item->d_name))
            continue;
        if (peep->entry_path && !peep->has_ranks)
            continue;
        free(peep->entry_path);
        peep->entry_path = scan_joined(directory, item->d_name);
    }
    if (stream)
        closedir(stream);
    return peep->entry_path;
}

static bool scan_is_of_session(const struct scan_peep *peep, const struct scan_peep *other)
{
    struct entry one, two;
    scan_peep_read(&one, peep->entry_path);
    scan_peep_read(&two, other->entry_path);
    bool is = one.session && two.session && !strcmp(one.session, two.session);
    entry_release(&one);
    entry_release(&two);
    return is;
}

/* Of all, are two jobs of their own? A launcher belongs to what it launched. */
static bool scan_are_several(const struct scan_peep *peeps, size_t count)
{
    const struct scan_peep *ranks = NULL;
    size_t with_ranks = 0;
    for (size_t i = 0; i < count; i++) {
        ranks = peeps[i].has_ranks ? &peeps[i] : ranks;
        with_ranks += peeps[i].has_ranks;
    }
    if (count < 2 || with_ranks != 1)
        return count > 1;
    for (size_t i = 0; i < count; i++)
        if (!peeps[i].has_ranks && !scan_is_of_session(&peeps[i], ranks))
            return true;
    return false;
}

/* Who looks on is told before what is shown of the first job that there are more. */
static void scan_tell_several(struct manifest *manifest, const char *directory,
                              struct dirent **items, int count)
{
    struct scan_peep *peeps = NULL, peep;
    size_t found = 0, room = 0;
    for (int i = -1; i < count && !scan_stops(manifest); i++) {
        char *path = i < 0 ? strdup(directory) : scan_subdirectory(directory, items[i]);
        if (path && scan_peep_into(&peep, path)) {
            array_need_room(&peeps, &room, found, sizeof *peeps);
            peeps[found++] = peep;
        }
        free(path);
    }
    if (scan_are_several(peeps, found))
        atomic_store(&manifest->making->are_several, true);
    for (size_t i = 0; i < found; i++)
        free(peeps[i].entry_path);
    free(peeps);
}

static int scan_directory(struct manifest *manifest, const char *directory, bool deep)
{
    struct dirent **items;
    int count = scandir(directory, &items, scan_is_listed, alphasort);
    if (count < 0)
        return error_set(-errno, "cannot read the directory %s: %s", directory, strerror(errno));
    if (deep && manifest->making)
        scan_tell_several(manifest, directory, items, count);
    scan_files(manifest, directory, items, count);
    int error = scan_stops(manifest) ? error_set(-EINTR, "reading %s was stopped", directory) : 0;
    for (int i = 0; i < count; i++) {
        char *path = deep && !error ? scan_subdirectory(directory, items[i]) : NULL;
        if (path)
            error = scan_directory(manifest, path, false);
        free(path);
        free(items[i]);
    }
    free(items);
    return error;
}

/* ---- Lists of profiles --------------------------------------------------------------------- */

static struct manifest_job *scan_listed_job(struct manifest *manifest, const char *id)
{
    for (size_t i = 0; i < manifest->job_count; i++)
        if (!manifest->jobs[i].directory && !strcmp(manifest->jobs[i].id, id))
            return &manifest->jobs[i];
    return scan_add_job(manifest, id, NULL);
}

/* A profile that was named must be one: unlike those that merely lie in a directory. */
static int scan_profile(struct manifest *manifest, const char *path)
{
    struct profile *profile;
    int error = profile_read_meta(&profile, path);
    if (error)
        return error;
    const char *id = profile_get(profile, PROFILE_META_JOB);
    scan_add_profile(manifest, scan_listed_job(manifest, id ? id : ""), strdup(path));
    profile_free(profile);
    return 0;
}

int scan_path(struct manifest *manifest, const char *path)
{
    return scan_is_directory(path) ? scan_directory(manifest, path, true)
                                   : scan_profile(manifest, path);
}
