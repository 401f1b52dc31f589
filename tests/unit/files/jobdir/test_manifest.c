/* Manifests of directories made here: ranks, who is missing, who belongs to whom, and damage that
 * costs only itself. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "jobdir/manifest.h"
#include "base/error.h"
#include "base/now.h"
#include "procfs/process.h"
#include "profile/profile.h"

static char root[64];

static char *path_of(const char *name)
{
    static char path[4][512];
    static unsigned turn;
    char *to = path[turn++ % 4];
    snprintf(to, sizeof path[0], "%s/%s", root, name);
    return to;
}

static void write_file(const char *name, const char *text)
{
    char *path = path_of(name);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* An entry JOB/rank-RANK.PID.entry with more lines. */
static void add(const char *job, int rank, int ranks, int pid, const char *more)
{
    char name[256], text[2048], place[64] = "";
    if (rank >= 0)
        snprintf(place, sizeof place, "launcher openmpi\nrank %d\nranks %d\n", rank, ranks);
    snprintf(name, sizeof name, "%s/rank-%05d.%d.entry", job, rank, pid);
    snprintf(text, sizeof text,
             "tidemark entry 1\njob %s\nsession s-%s\npid %d\nprofile rank-%05d.%d.tmk\n%s"
             "start_unix_ns %d\n%s.\n",
             job, job, pid, rank, pid, place, 1000 + pid, more);
    write_file(name, text);
}

static void age(const char *name)
{
    struct timeval hour_ago[2] = {{time(NULL) - 3600, 0}, {time(NULL) - 3600, 0}};
    assert_int_equal(utimes(path_of(name), hour_ago), 0);
}

static struct manifest *opened(const char *path)
{
    struct manifest *manifest;
    const char *paths[] = {path};
    if (manifest_open(&manifest, paths, 1, NULL) < 0)
        fail_msg("%s", error_text());
    return manifest;
}

static int begin(void **state)
{
    (void)state;
    strcpy(root, "/tmp/tidemark-manifest.XXXXXX");
    return mkdtemp(root) ? 0 : 1;
}

static int end(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static void ranks_come_in_order_with_their_processes(void **state)
{
    (void)state;
    add("a", 10, 12, 7, "end exit\nend_status 0\n");
    add("a", 2, 12, 9, "end signal\nend_status 9\n");
    add("a", 2, 12, 8, "end exec\n");
    add("a", 0, 12, 5, "end exit\nend_status 3\n");
    struct manifest *manifest = opened(root);
    assert_int_equal(manifest->job_count, 1);
    const struct manifest_job *job = &manifest->jobs[0];
    assert_string_equal(job->id, "a");
    assert_string_equal(job->launcher, "openmpi");
    assert_int_equal(job->ranks, 12);
    assert_int_equal(job->rank_count, 3);
    assert_int_equal(job->process_count, 4);
    assert_int_equal(job->missing, 9);
    assert_int_equal(job->start_unix_ns, 1005);
    assert_int_equal(job->rank[1].rank, 2);
    assert_int_equal(job->rank[1].count, 2);
    assert_int_equal(job->processes[job->rank[1].first].entry.pid, 8);
    assert_int_equal(job->processes[job->rank[1].main].entry.pid, 9);
    assert_int_equal(job->processes[0].state, MANIFEST_ENDED);
    assert_int_equal(job->processes[1].state, MANIFEST_REPLACED);
    assert_int_equal(job->processes[2].state, MANIFEST_KILLED);
    int64_t expected[] = {1, 3, 4, 5, 6, 7, 8, 9, 11, -1}, at = -1;
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(at = manifest_next_missing(job, at), expected[i]);
    manifest_free(manifest);
}

/* A billion ranks that are said to be missing take no memory and no time. */
static void a_size_is_not_believed_with_memory(void **state)
{
    (void)state;
    add("a", 0, 2147483647, 5, "");
    struct manifest *manifest = opened(root);
    assert_int_equal(manifest->jobs[0].missing, 2147483646);
    assert_int_equal(manifest_next_missing(&manifest->jobs[0], 2147483645), 2147483646);
    assert_int_equal(manifest_next_missing(&manifest->jobs[0], 2147483646), -1);
    manifest_free(manifest);
}

static void the_main_process_is_the_one_with_mpi(void **state)
{
    (void)state;
    add("a", 0, 1, 5, "peak_bytes 900000\nend exit\nend_status 0\n"); /* a shell around it */
    add("a", 0, 1, 6, "uses_mpi 1\npeak_bytes 1000\nend exit\nend_status 0\n");
    add("a", 0, 1, 7, "uses_mpi 1\nparent_pid 6\npeak_bytes 5000\n");
    struct manifest *manifest = opened(root);
    const struct manifest_job *job = &manifest->jobs[0];
    assert_int_equal(job->processes[job->rank[0].main].entry.pid, 6);
    manifest_free(manifest);
}

static void jobs_are_kept_apart(void **state)
{
    (void)state;
    add("b", 0, 1, 5, "");
    add("a", 0, 1, 9, "");
    struct manifest *manifest = opened(root);
    assert_int_equal(manifest->job_count, 2);
    assert_string_equal(manifest->jobs[0].id, "b"); /* began first */
    manifest_free(manifest);
    manifest = opened(path_of("a"));
    assert_int_equal(manifest->job_count, 1);
    assert_string_equal(manifest->jobs[0].id, "a");
    manifest_free(manifest);
}

static void a_launcher_belongs_to_its_job(void **state)
{
    (void)state;
    add("job", 0, 1, 5, "");
    write_file("other/process.mpirun.1.entry",
               "tidemark entry 1\njob other\nsession s-job\npid 1\nis_launcher 1\nrank 0\nranks 1\n"
               "profile x.tmk\n.\n");
    struct manifest *manifest = opened(root);
    assert_int_equal(manifest->job_count, 1);
    const struct manifest_job *job = &manifest->jobs[0];
    assert_string_equal(job->id, "job");
    assert_int_equal(job->rank_count, 1);
    assert_int_equal(job->process_count, 2);
    assert_int_equal(job->processes[1].entry.rank, -1);
    manifest_free(manifest);
    write_file("third/rank-00000.x.entry",
               "tidemark entry 1\njob third\nsession s-job\npid 1\nrank 0\nprofile x.tmk\n.\n");
    manifest = opened(root); /* of two jobs of the session it is neither's */
    assert_int_equal(manifest->job_count, 3);
    manifest_free(manifest);
}

static void a_damaged_entry_costs_itself(void **state)
{
    (void)state;
    add("a", 0, 4, 5, "end exit\nend_status 0\n");
    write_file("a/rank-00001.x.entry", "");
    write_file("a/rank-00002.y.entry", "tidemark entry 1\njob a\npid 7\nrank 9\nranks 4\n.\n");
    write_file("a/rank-x.entry", "\x7f");
    write_file("a/.rank-00003.z.entry.new", "never finished");
    struct manifest *manifest = opened(root);
    const struct manifest_job *job = &manifest->jobs[0];
    assert_int_equal(job->rank_count, 3); /* their names say which they are */
    assert_int_equal(job->missing, 1);
    assert_int_equal(job->process_count, 4);
    assert_null(job->processes[0].damage);
    assert_non_null(strstr(job->processes[1].damage, "damaged"));
    assert_int_equal(job->processes[1].state, MANIFEST_UNKNOWN);
    assert_non_null(job->processes[2].damage);
    assert_int_equal(job->processes[3].entry.rank, -1);
    manifest_free(manifest);
}

static void make_profile_of(const char *name, int64_t rank, const char *job, int64_t pid,
                            int64_t start)
{
    struct profile_writer *writer;
    assert_int_equal(profile_writer_open(&writer, path_of(name)), 0);
    profile_writer_begin(writer);
    profile_put_text(writer, PROFILE_META_PROGRAM, "solver");
    profile_put_text(writer, PROFILE_META_JOB, job);
    profile_put_text(writer, PROFILE_META_END, "exit");
    profile_put_integer(writer, PROFILE_META_END_STATUS, 4);
    profile_put_integer(writer, PROFILE_META_RANK, rank);
    profile_put_integer(writer, PROFILE_META_RANKS, 3);
    profile_put_integer(writer, PROFILE_META_PID, pid);
    profile_put_text(writer, PROFILE_META_BOOT, "b");
    if (start)
        profile_put_integer(writer, PROFILE_META_START, start);
    profile_writer_commit(writer);
    assert_int_equal(profile_writer_finish(writer, true), 0);
}

static void make_profile(const char *name, int64_t rank, const char *job)
{
    make_profile_of(name, rank, job, 77, 0);
}

static void a_profile_speaks_for_a_damaged_entry(void **state)
{
    (void)state;
    write_file("a/rank-00001.x.entry", "gone");
    make_profile("a/rank-00001.x.tmk", 1, "a");
    make_profile("a/alone.tmk", 2, "a");
    write_file("a/no-profile.tmk", "text");
    struct manifest *manifest = opened(root);
    const struct manifest_job *job = &manifest->jobs[0];
    assert_int_equal(job->process_count, 3);
    assert_int_equal(job->rank_count, 2);
    assert_int_equal(job->processes[0].entry.rank, 1);
    assert_int_equal(job->processes[0].state, MANIFEST_ENDED);
    assert_int_equal(job->processes[0].entry.end_status, 4);
    assert_string_equal(job->processes[0].entry.program, "solver");
    assert_non_null(job->processes[0].damage);
    assert_non_null(job->processes[0].profile_path);
    assert_null(job->processes[1].entry_path);
    assert_null(job->processes[1].damage);
    assert_non_null(job->processes[2].damage);
    manifest_free(manifest);
}

static void profiles_by_name_are_a_job(void **state)
{
    (void)state;
    make_profile("one.tmk", 1, "j");
    make_profile("two.tmk", 2, "j");
    make_profile("nonsense.tmk", 3, "j");
    struct manifest *manifest;
    const char *paths[] = {path_of("one.tmk"), path_of("two.tmk"), path_of("nonsense.tmk")};
    assert_int_equal(manifest_open(&manifest, paths, 3, NULL), 0);
    assert_int_equal(manifest->job_count, 1);
    assert_string_equal(manifest->jobs[0].id, "j");
    assert_null(manifest->jobs[0].directory);
    assert_int_equal(manifest->jobs[0].rank_count, 2);
    assert_int_equal(manifest->jobs[0].missing, 1);
    assert_non_null(manifest->jobs[0].processes[2].damage);
    manifest_free(manifest);
}

static void who_runs_and_who_was_cut_short(void **state)
{
    (void)state;
    char *boot, more[256];
    struct entry entry;
    struct entry_writer *writer;
    assert_int_equal(process_boot_id(&boot), 0);
    snprintf(more, sizeof more, "boot %s\nlocked 1\n", boot);
    add("a", 0, 5, 10, more);         /* held, see below */
    add("a", 1, 5, 11, more);         /* not held, on this machine: dead, however fresh */
    add("a", 2, 5, 12, "locked 1\n"); /* elsewhere, and lately written */
    add("a", 3, 5, 13, "locked 1\n"); /* elsewhere, silent for an hour */
    add("a", 4, 5, 14, "");           /* without locks, likewise */
    age("a/rank-00003.13.entry");
    age("a/rank-00004.14.entry");
    assert_int_equal(entry_read(&entry, path_of("a/rank-00000.10.entry")), 0);
    unlink(path_of("a/rank-00000.10.entry"));
    entry.pid = getpid(); /* it runs: nobody waits for its end */
    assert_int_equal(entry_writer_open(&writer, path_of("a/rank-00000.10.entry"), &entry), 0);
    struct manifest *manifest = opened(root);
    static const enum manifest_state expected[] = {MANIFEST_RUNNING, MANIFEST_CUT, MANIFEST_RUNNING,
                                                   MANIFEST_CUT, MANIFEST_CUT};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(manifest->jobs[0].processes[i].state, expected[i]);
    entry_writer_close(writer);
    entry_release(&entry);
    manifest_free(manifest);
    free(boot);
}

struct last_words {
    struct entry_writer *writer;
    struct entry entry;
};

static void *write_the_end(void *context)
{
    struct last_words *words = context;
    usleep(100000);
    words->entry.end = strdup("exit");
    words->entry.end_status = 3;
    entry_writer_update(words->writer, &words->entry);
    entry_writer_close(words->writer);
    return NULL;
}

/* Its process is gone, and its collector still holds the entry. */
static void a_rank_that_has_ended_is_waited_for(void **state)
{
    (void)state;
    struct last_words words;
    char *boot, more[256];
    pthread_t collector;
    pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    waitpid(gone, NULL, 0);
    assert_int_equal(process_boot_id(&boot), 0);
    snprintf(more, sizeof more, "boot %s\nlocked 1\n", boot);
    add("a", 0, 1, 10, more);
    assert_int_equal(entry_read(&words.entry, path_of("a/rank-00000.10.entry")), 0);
    unlink(path_of("a/rank-00000.10.entry"));
    words.entry.pid = gone;
    assert_int_equal(
        entry_writer_open(&words.writer, path_of("a/rank-00000.10.entry"), &words.entry), 0);
    assert_int_equal(pthread_create(&collector, NULL, write_the_end, &words), 0);
    struct manifest *manifest = opened(root);
    pthread_join(collector, NULL);
    assert_int_equal(manifest->jobs[0].processes[0].state, MANIFEST_ENDED);
    assert_int_equal(manifest->jobs[0].processes[0].entry.end_status, 3);
    entry_release(&words.entry);
    manifest_free(manifest);
    free(boot);
}

/* Naps that take no time, and what happens meanwhile. */
static struct {
    bool is_on;
    unsigned slept;
    unsigned files_until, end_at; /* after so many naps; 0: never */
    struct last_words *words;
} fake;

int nanosleep(const struct timespec *pause, struct timespec *left)
{
    char name[32];
    if (!fake.is_on)
        return clock_nanosleep(CLOCK_MONOTONIC, 0, pause, left);
    fake.slept++;
    snprintf(name, sizeof name, "a/other.%u", fake.slept);
    if (fake.slept % 100 == 0 && fake.slept <= fake.files_until && /* every two seconds */
        unlink(path_of(name)))
        write_file(name, "");
    if (fake.slept == fake.end_at)
        write_the_end(fake.words);
    return 0;
}

/* A rank that is gone, and whose collector holds the entry. Its state when the job is read. */
static enum manifest_state wait_for_rank(unsigned files_until, unsigned end_at)
{
    struct last_words words;
    char *boot, more[256];
    assert_int_equal(process_boot_id(&boot), 0);
    snprintf(more, sizeof more, "boot %s\nlocked 1\npid_namespace 1\n", boot);
    add("a", 0, 1, 10, more);
    assert_int_equal(entry_read(&words.entry, path_of("a/rank-00000.10.entry")), 0);
    unlink(path_of("a/rank-00000.10.entry"));
    assert_int_equal(
        entry_writer_open(&words.writer, path_of("a/rank-00000.10.entry"), &words.entry), 0);
    entry_writer_process_ended(words.writer);
    fake.is_on = true;
    fake.slept = 0;
    fake.files_until = files_until;
    fake.end_at = end_at;
    fake.words = &words;
    struct manifest *manifest = opened(root);
    fake.is_on = false;
    enum manifest_state state = manifest->jobs[0].processes[0].state;
    if (state == MANIFEST_RUNNING)
        entry_writer_close(words.writer);
    unlink(path_of("a/rank-00000.10.entry"));
    entry_release(&words.entry);
    manifest_free(manifest);
    free(boot);
    return state;
}

static void ranks_are_waited_for_as_long_as_files_come(void **state)
{
    (void)state;
    assert_int_equal(wait_for_rank(0, 0), MANIFEST_RUNNING);
    assert_int_equal(fake.slept, 250);                                 /* five seconds */
    assert_int_equal(wait_for_rank(UINT32_MAX, 1000), MANIFEST_ENDED); /* after 20 s */
    assert_int_equal(wait_for_rank(500, 0), MANIFEST_RUNNING);
    assert_in_range(fake.slept, 749, 751); /* ten and five */
}

/* Of a process in another namespace its number says nothing here, but its collector does. */
static void
a_rank_in_another_namespace_is_waited_for_when_its_collector_knows_of_its_end(void **state)
{
    (void)state;
    struct last_words words;
    char *boot, more[256];
    pthread_t collector;
    assert_int_equal(process_boot_id(&boot), 0);
    snprintf(more, sizeof more, "boot %s\nlocked 1\npid_namespace 1\n", boot);
    add("a", 0, 1, 10, more);
    assert_int_equal(entry_read(&words.entry, path_of("a/rank-00000.10.entry")), 0);
    unlink(path_of("a/rank-00000.10.entry"));
    words.entry.pid = INT32_MAX; /* nobody here */
    assert_int_equal(
        entry_writer_open(&words.writer, path_of("a/rank-00000.10.entry"), &words.entry), 0);
    uint64_t before_ns = now_monotonic_ns();
    struct manifest *manifest = opened(root);
    assert_true(now_monotonic_ns() - before_ns < 4000000000u);
    assert_int_equal(manifest->jobs[0].processes[0].state, MANIFEST_RUNNING);
    manifest_free(manifest);
    entry_writer_process_ended(words.writer);
    assert_int_equal(pthread_create(&collector, NULL, write_the_end, &words), 0);
    manifest = opened(root);
    pthread_join(collector, NULL);
    assert_int_equal(manifest->jobs[0].processes[0].state, MANIFEST_ENDED);
    entry_release(&words.entry);
    manifest_free(manifest);
    free(boot);
}

static void where_nothing_is_a_sentence_says_so(void **state)
{
    (void)state;
    struct manifest *manifest;
    const char *paths[] = {root, path_of("absent")};
    assert_int_equal(manifest_open(&manifest, paths, 1, NULL), -ENOENT);
    assert_non_null(strstr(error_text(), "no recorded processes"));
    assert_int_equal(manifest_open(&manifest, paths + 1, 1, NULL), -ENOENT);
    assert_non_null(strstr(error_text(), "absent"));
    assert_null(manifest);
}

/* A snapshot of a recording, or a copy of its profile, is no process of its own. */
static void a_copy_of_a_profile_counts_once(void **state)
{
    (void)state;
    add("a", 1, 2, 9, "boot b\nend exit\nend_status 0\n");
    make_profile_of("a/rank-00001.9.tmk", 1, "a", 9, 1009);
    make_profile_of("a/rank-00001.9.snap-1.tmk", 1, "a", 9, 1009);
    make_profile_of("a/rank-00001.later.tmk", 1, "a", 9, 2009); /* the same number, later */
    struct manifest *manifest = opened(root);
    const struct manifest_job *job = &manifest->jobs[0];
    assert_int_equal(job->process_count, 2);
    assert_int_equal(job->rank_count, 1);
    manifest_free(manifest);
}

static void a_link_that_leads_nowhere_is_the_ranks_profile(void **state)
{
    (void)state;
    add("a", 1, 2, 9, "end exit\nend_status 0\n");
    assert_int_equal(symlink("/nowhere", path_of("a/rank-00001.9.tmk")), 0);
    struct manifest *manifest = opened(root);
    const struct manifest_job *job = &manifest->jobs[0];
    assert_int_equal(job->process_count, 1);
    assert_non_null(job->processes[0].profile_path);
    manifest_free(manifest);
}

static void see_ranks(void *context, const struct manifest_job *job)
{
    char *text = context;
    sprintf(text, "%s:", job->id);
    for (size_t i = 0; i < job->rank_count; i++)
        sprintf(text + strlen(text), " %lld", (long long)job->rank[i].rank);
}

static void what_is_read_by_now_can_be_seen(void **state)
{
    (void)state;
    char seen[64] = "";
    struct manifest *manifest;
    struct manifest_making making;
    const char *paths[] = {root};
    add("a", 2, 4, 9, "");
    add("a", 0, 4, 5, "");
    add("b", 1, 2, 6, "");
    manifest_making_init(&making);
    assert_int_equal(manifest_open(&manifest, paths, 1, &making), 0);
    assert_int_equal(atomic_load(&making.done), 3);
    assert_int_equal(atomic_load(&making.of), 3);
    assert_false(manifest_peek(&making, NULL, see_ranks, seen)); /* it is made */
    making.manifest = manifest;                                  /* as while it is made */
    const struct manifest_process *processes = manifest->jobs[0].processes;
    assert_true(manifest_peek(&making, "a", see_ranks, seen));
    assert_string_equal(seen, "a: 0 2");
    assert_true(manifest_peek(&making, "b", see_ranks, seen));
    assert_string_equal(seen, "b: 1");
    assert_false(manifest_peek(&making, NULL, see_ranks, seen)); /* which of the two? */
    assert_false(manifest_peek(&making, "c", see_ranks, seen));
    assert_ptr_equal(manifest->jobs[0].processes, processes);
    manifest_free(manifest);
    manifest_making_release(&making);
}

/* What is known of the only job; NULL: there are several. */
static const char *seen_alone(void)
{
    static char seen[64];
    struct manifest *manifest;
    struct manifest_making making;
    const char *paths[] = {root};
    manifest_making_init(&making);
    assert_int_equal(manifest_open(&manifest, paths, 1, &making), 0);
    making.manifest = manifest; /* as while it is made */
    bool is = manifest_peek(&making, NULL, see_ranks, seen);
    manifest_free(manifest);
    manifest_making_release(&making);
    return is ? seen : NULL;
}

static void a_launcher_is_no_second_job(void **state)
{
    (void)state;
    const char *launcher = "tidemark entry 1\njob l\nsession %s\nis_launcher 1\npid 3\n"
                           "profile l.tmk\n.\n";
    char text[256];
    add("b", 1, 2, 6, "");
    mkdir(path_of("empty"), 0700);
    assert_string_equal(seen_alone(), "b: 1");
    snprintf(text, sizeof text, launcher, "s-b");
    write_file("l/mpirun.3.entry", text);
    assert_string_equal(seen_alone(), "b: 1");
    snprintf(text, sizeof text, launcher, "another");
    write_file("l/mpirun.3.entry", text);
    assert_null(seen_alone());
}

/* Called where a process's profile is looked for and is not there. */
static int came_late;
int lstat(const char *path, struct stat *info)
{
    if (came_late && strstr(path, ".9.tmk")) {
        came_late = 0;
        write_file("a/rank-00001.9.tmk", "");
        add("a", 1, 2, 9, "end exit\nend_status 0\n");
        errno = ENOENT;
        return -1;
    }
    return fstatat(AT_FDCWD, path, info, AT_SYMLINK_NOFOLLOW);
}

static void a_profile_that_comes_with_the_end_is_found(void **state)
{
    (void)state;
    add("a", 1, 2, 9, "");
    came_late = 1;
    struct manifest *manifest = opened(root);
    const struct manifest_process *process = &manifest->jobs[0].processes[0];
    assert_int_equal(came_late, 0);
    assert_int_equal(process->state, MANIFEST_ENDED);
    assert_non_null(process->profile_path);
    manifest_free(manifest);
}

static void nothing_is_read_when_it_is_stopped(void **state)
{
    (void)state;
    struct manifest *manifest;
    struct manifest_making making;
    const char *paths[] = {root};
    add("a", 0, 4, 5, "");
    manifest_making_init(&making);
    atomic_store(&making.stops, true);
    assert_int_equal(manifest_open(&manifest, paths, 1, &making), -EINTR);
    assert_int_equal(atomic_load(&making.done), 0);
    manifest_making_release(&making);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(ranks_come_in_order_with_their_processes),
        TEST(a_size_is_not_believed_with_memory),
        TEST(the_main_process_is_the_one_with_mpi),
        TEST(jobs_are_kept_apart),
        TEST(a_launcher_belongs_to_its_job),
        TEST(a_damaged_entry_costs_itself),
        TEST(a_profile_speaks_for_a_damaged_entry),
        TEST(profiles_by_name_are_a_job),
        TEST(who_runs_and_who_was_cut_short),
        TEST(a_rank_that_has_ended_is_waited_for),
        TEST(ranks_are_waited_for_as_long_as_files_come),
        TEST(a_rank_in_another_namespace_is_waited_for_when_its_collector_knows_of_its_end),
        TEST(where_nothing_is_a_sentence_says_so),
        TEST(a_copy_of_a_profile_counts_once),
        TEST(a_link_that_leads_nowhere_is_the_ranks_profile),
        TEST(what_is_read_by_now_can_be_seen),
        TEST(a_launcher_is_no_second_job),
        TEST(a_profile_that_comes_with_the_end_is_found),
        TEST(nothing_is_read_when_it_is_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
