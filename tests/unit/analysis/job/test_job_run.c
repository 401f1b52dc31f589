/* Files of a job whose every figure is known (made.h): digests, trees, threads, damage. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../../files/profile/scratch.h"
#include "aggregate/facts.h"
#include "job/job.h"
#include "job/job_kept.h"
#include "job/job_profile.h"
#include "job/job_run.h"
#include "made.h"
#include "base/alive.h"
#include "profile/appendix.h"
#include "base/memory.h"

enum { RANKS = 12 };

static void put_file(struct job_files *files, uint32_t rank, const char *path)
{
    struct stat info = {0};
    stat(path, &info);
    files->files[files->count++] =
        (struct job_file){.path = memory_copy_string(path),
                          .name = memory_copy_string(strrchr(path, '/') + 1),
                          .bytes = (uint64_t)info.st_size,
                          .rank = rank,
                          .rank_known = true,
                          .size = RANKS};
}

/* `other_from`: ranks from there on run another build. */
static struct job_files make_files(uint32_t other_from)
{
    struct job_files files = {.id = memory_copy_string("")};
    files.files = memory_resize(NULL, RANKS, sizeof *files.files);
    for (uint32_t i = 0; i < RANKS; i++) {
        struct made made = {.rank = i,
                            .ranks = RANKS,
                            .per_node = 4,
                            .duration_ns = 1000000000,
                            .build = i >= other_from};
        char name[64];
        snprintf(name, sizeof name, "r%u.tmk", i);
        const char *path = scratch(name);
        unlink(path);
        assert_int_equal(made_write(path, &made), 0);
        put_file(&files, i, path);
    }
    return files;
}

static void run(const struct job_files *files, size_t threads, struct job_summary *summary,
                struct job_tree *tree)
{
    uint32_t *order = job_files_by_size(files);
    *summary = (struct job_summary){0};
    if (tree)
        *tree = (struct job_tree){0};
    job_run(files, order, files->count, threads, summary, tree, NULL);
    free(order);
}

static const struct job_entry *entry_of(const struct job_summary *summary, enum job_kind kind,
                                        const char *name, const char *module)
{
    for (size_t i = 0; i < summary->entry_count; i++)
        if (summary->entries[i].kind == kind && !strcmp(summary->entries[i].name, name) &&
            !strcmp(summary->entries[i].module, module))
            return &summary->entries[i];
    fail_msg("no entry %s %s", name, module);
    return NULL;
}

static void figures_are_those_of_the_formula(void **state)
{
    (void)state;
    struct job_files files = make_files(RANKS);
    struct job_summary summary;
    struct job job;
    run(&files, 2, &summary, NULL);
    job_init(&job, &summary, "", "", NULL);
    struct made last = {.rank = RANKS - 1, .ranks = RANKS}, first = {.ranks = RANKS};
    assert_int_equal(job.peaks.count, RANKS);
    assert_int_equal(job.peaks.max, made_peak(&last));
    assert_int_equal(job.peaks.min, made_peak(&first));
    double deviation = 65536 * sqrt((RANKS * RANKS - 1) / 12.0);
    assert_true(fabs(job.peaks.deviation - deviation) < 1e-6 * deviation);
    const struct job_sum *mesh =
        &entry_of(&job.summary, JOB_FUNCTION, "load_mesh", "phdmesh")->of[JOB_AT_PEAK];
    assert_int_equal(mesh->ranks, RANKS - 1); /* rank 0 has none */
    assert_int_equal(mesh->max_rank, RANKS - 1);
    assert_true(mesh->sum == 65536ull * RANKS * (RANKS - 1) / 2);
    const struct job_entry *zlib = entry_of(&job.summary, JOB_LIBRARY_MPI, "", "libz.so.1");
    assert_true(zlib->of[JOB_CUMULATED].sum == 262144ull * RANKS);
    assert_true(zlib->of[JOB_AT_EXIT].sum == 0);
    entry_of(&job.summary, JOB_LIBRARY, "", "phdmesh");
    assert_int_equal(figure_or(job.summary.ranks[3].mpi_peak_bytes, 0), 2359296);
    assert_int_equal(job.node_count, 3);
    for (uint32_t i = 0; i < 3; i++) { /* all spikes stand at once: bounds meet, within rounding */
        uint64_t together = 0;
        for (uint32_t r = i * 4; r < i * 4 + 4; r++)
            together += made_peak(&(struct made){.rank = r, .ranks = RANKS});
        assert_true(job.nodes[i].lower_bytes <= together && together <= job.nodes[i].upper_bytes);
        assert_true(job.nodes[i].upper_bytes - job.nodes[i].lower_bytes <= together / 10000);
        assert_int_equal(figure_or(job.nodes[i].resident_bytes, 0) / 1048576,
                         (together + 4 * MADE_MIB) / 1048576);
    }
    job_release(&job);
    job_files_release(&files);
}

static struct strbuf tree_bytes(struct job_tree *tree)
{
    struct strbuf bytes = STRBUF_INIT;
    job_tree_settle(tree);
    job_tree_write(&bytes, tree);
    return bytes;
}

static void any_split_gives_the_same_tree(void **state)
{
    (void)state;
    for (uint32_t other = 0; other <= RANKS; other += 4) {
        struct job_files files = make_files(other);
        struct job_tree whole, left, right;
        struct job_summary summary;
        run(&files, 1, &summary, &whole);
        job_summary_release(&summary);
        for (uint32_t split = 1; split < RANKS; split += 3) {
            uint32_t order[RANKS];
            for (uint32_t i = 0; i < RANKS; i++)
                order[i] = (i * 7 + split) % RANKS;
            left = right = (struct job_tree){0};
            summary = (struct job_summary){0};
            job_run(&files, order, split, 2, &summary, &left, NULL);
            job_run(&files, order + split, RANKS - split, 3, &summary, &right, NULL);
            struct strbuf sent = STRBUF_INIT; /* as between processes */
            job_tree_write(&sent, &right);
            job_tree_release(&right);
            assert_int_equal(job_tree_read(&right, sent.data, sent.length), 0);
            job_tree_merge(&left, &right);
            struct strbuf a = tree_bytes(&whole), b = tree_bytes(&left);
            assert_int_equal(a.length, b.length);
            assert_memory_equal(a.data, b.data, a.length);
            /* Builds that differ meet by their functions' names. */
            assert_int_equal(left.node_count, 7);
            assert_int_equal(left.site_count, 6);
            assert_int_equal(left.ranks, RANKS);
            strbuf_release(&a);
            strbuf_release(&b);
            strbuf_release(&sent);
            job_summary_release(&summary);
            job_tree_release(&left);
        }
        job_tree_release(&whole);
        job_files_release(&files);
    }
}

static void damaged_trees_are_refused_or_read(void **state)
{
    (void)state;
    struct job_files files = make_files(6);
    struct job_tree tree;
    struct job_summary summary;
    run(&files, 1, &summary, &tree);
    struct strbuf bytes = STRBUF_INIT;
    job_tree_write(&bytes, &tree);
    job_tree_release(&tree);
    for (size_t length = 0; length < bytes.length; length++) {
        char *cut = malloc(length + 1);
        memcpy(cut, bytes.data, length);
        assert_int_equal(job_tree_read(&tree, cut, length), -EINVAL);
        free(cut);
    }
    for (size_t at = 0; at < bytes.length; at++) {
        char before = bytes.data[at];
        bytes.data[at] ^= (char)(1 << at % 8);
        if (!job_tree_read(&tree, bytes.data, bytes.length))
            job_tree_settle(&tree);
        job_tree_release(&tree);
        bytes.data[at] = before;
    }
    strbuf_release(&bytes);
    job_summary_release(&summary);
    job_files_release(&files);
}

static void a_damaged_file_costs_only_itself(void **state)
{
    (void)state;
    struct job_files files = make_files(RANKS);
    struct job_summary summary;
    struct job job;
    assert_int_equal(truncate(files.files[2].path, (off_t)files.files[2].bytes / 2), 0);
    unlink(files.files[5].path);
    run(&files, 2, &summary, NULL);
    job_init(&job, &summary, "", "", NULL);
    assert_int_equal(job.size, RANKS);
    assert_int_equal(job.missing, 0);
    assert_int_equal(job.ranks, RANKS - 2);
    assert_true(job.summary.ranks[2].state == JOB_UNREADABLE ||
                job.summary.ranks[2].state == JOB_DAMAGED);
    assert_non_null(job.summary.ranks[2].note);
    assert_int_equal(job.summary.ranks[5].state, JOB_UNREADABLE);
    job_release(&job);
    job_files_release(&files);
}

/* Its entry says which process a rank was. */
static void a_profile_of_another_process_counts_for_nothing(void **state)
{
    (void)state;
    struct job_files files = make_files(RANKS);
    struct job_summary summary;
    struct job job;
    struct profile *profile;
    assert_int_equal(profile_read_meta(&profile, files.files[3].path), 0);
    int64_t pid = atoll(profile_get(profile, PROFILE_META_PID));
    int64_t start = atoll(profile_get(profile, PROFILE_META_START));
    profile_free(profile);
    files.files[3].pid = pid + 1;
    files.files[3].start_unix_ns = start + 1;
    files.files[4].pid = pid + 100; /* of another namespace: it began at the same moment */
    run(&files, 2, &summary, NULL);
    job_init(&job, &summary, "", "", NULL);
    assert_int_equal(job.ranks, RANKS - 1);
    assert_int_equal(job.summary.ranks[3].state, JOB_UNREADABLE);
    assert_non_null(strstr(job.summary.ranks[3].note, "is the profile of another process"));
    assert_int_equal(job.summary.ranks[4].state, JOB_COMPLETE);
    job_release(&job);
    job_files_release(&files);
}

/* Its profile has all figures, and the entry is damaged or says that the disk was full. */
static void what_is_wrong_with_an_entry_is_said(void **state)
{
    (void)state;
    struct job_files files = make_files(RANKS);
    struct job_summary summary;
    struct job job;
    char *text = NULL;
    size_t length;
    struct job_options options = {.style = {.columns = 200}, .top = 10, .rows = 10};
    files.files[4].note = memory_copy_string("the entry x is damaged");
    files.files[6].is_helper = true;
    run(&files, 2, &summary, NULL);
    job_init(&job, &summary, "", "", NULL);
    assert_int_equal(job.summary.ranks[4].state, JOB_COMPLETE);
    assert_null(job.summary.ranks[3].note);
    assert_true(figure_positive(job.summary.ranks[3].mpi_peak_bytes));
    assert_false(figure_known(job.summary.ranks[6].mpi_peak_bytes)); /* nobody looks for it */
    job.summary.ranks[3].state = JOB_DIED;
    job.summary.ranks[3].signal = 9;
    job.summary.ranks[3].note = memory_copy_string("the disk was full");
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(job_text(out, &job, &options), 0);
    fclose(out);
    assert_non_null(strstr(text, "Not as it should be"));
    assert_non_null(strstr(text, "rank 4 on node01: the entry x is damaged\n"));
    assert_non_null(strstr(text, " then; the disk was full\n"));
    free(text);
    job_release(&job);
    job_files_release(&files);
}

/* mpirun has just returned: a file is still empty, of another the beginning is there, and of a
 * third only the name is known. */
static void what_is_being_written_is_not_damaged(void **state)
{
    (void)state;
    struct job_files files = make_files(RANKS);
    struct job_summary summary;
    struct job job;
    int half = open(files.files[2].path, O_RDWR), empty = open(files.files[5].path, O_RDWR);
    assert_int_equal(ftruncate(half, (off_t)files.files[2].bytes / 2), 0);
    assert_int_equal(ftruncate(empty, 0), 0);
    alive_lock(half);
    alive_lock(empty);
    free(files.files[7].path);
    files.files[7].path = NULL;
    files.files[7].is_running = true;
    run(&files, 2, &summary, NULL);
    job_init(&job, &summary, "", "", NULL);
    assert_int_equal(job.ranks, RANKS - 3);
    assert_int_equal(job.summary.ranks[2].state, JOB_BEGUN);
    assert_int_equal(job.summary.ranks[5].state, JOB_BEGUN);
    assert_int_equal(job.summary.ranks[7].state, JOB_BEGUN);
    close(half);
    close(empty);
    job_release(&job);
    job_files_release(&files);
}

static void a_job_profile_is_read_back(void **state)
{
    (void)state;
    struct job_files files = make_files(RANKS);
    struct job_summary summary;
    struct job_tree tree;
    struct job job;
    struct profile *profile;
    run(&files, 2, &summary, &tree);
    job_init(&job, &summary, "", "", NULL);
    assert_int_equal(job_profile_write(scratch("job.tmk"), &job, &tree), 0);
    assert_int_equal(profile_read(&profile, scratch("job.tmk")), 0);
    assert_null(profile->damage);
    assert_true(profile->complete);
    assert_int_equal(profile->node_count, 7);
    assert_int_equal(profile->site_count, 6);
    assert_int_equal(figure_or(profile->program.total.peak_bytes, 0), (uint64_t)job.peaks.sum);
    assert_int_equal(figure_or(profile->program.total.at_peak_bytes, 0), (uint64_t)job.peaks.sum);
    uint64_t at_peak = 0;
    for (size_t i = 0; i < profile->site_count; i++)
        at_peak += figure_or(profile_site_figure(profile, i, METRIC_ROW(at_peak_bytes)), 0);
    assert_int_equal(at_peak, (uint64_t)job.peaks.sum);
    assert_int_equal(profile->rank_count, RANKS);
    assert_int_equal(profile->rank_step_count, RANKS * JOB_STEPS);
    assert_int_equal(profile->node_peak_count, 3);
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(profile->ranks[i].rank, i);
        assert_int_equal(profile->ranks[i].node, i / 4 + 1);
        assert_true(figure_equal(profile->ranks[i].peak_bytes, job.summary.ranks[i].peak_bytes));
        uint64_t most = 0;
        for (int step = 0; step < JOB_STEPS; step++) {
            const struct profile_rank_step *at =
                &profile->rank_steps[i * JOB_STEPS + (uint32_t)step];
            assert_int_equal(at->rank, i + 1);
            assert_int_equal(at->step, step);
            most = figure_or(figure_max(at->requested_max, figure_of(most)), 0);
        }
        assert_true(figure_equal(figure_of(most), profile->ranks[i].peak_bytes));
    }
    profile_free(profile);
    job_release(&job);
    job_tree_release(&tree);
    job_files_release(&files);
}

/* A line that is a part of another's is a line of its own, and said once. */
static void what_ranks_lack_is_said_once(void **state)
{
    (void)state;
    static const char *const lacking[] = {"frees\tlib.so\tnot known: f", "frees\tlib.so\tnot known",
                                          "frees\tlib.so\tnot known", "s\tlib.so\tnot known"};
    struct job_files files = make_files(RANKS);
    struct job_summary summary;
    struct job_tree tree;
    struct job job;
    struct profile *profile;
    char *text;
    size_t length;
    run(&files, 2, &summary, &tree);
    job_init(&job, &summary, "", "", NULL);
    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++)
        job.summary.ranks[i].unseen = memory_copy_string(lacking[i]);
    FILE *out = open_memstream(&text, &length);
    struct job_options options = {.style = {.columns = 200}};
    assert_int_equal(job_text(out, &job, &options), 0);
    fclose(out);
    assert_non_null(strstr(text, "1 rank lacks a part of what was allocated: frees in lib.so"));
    assert_non_null(strstr(text, "2 ranks lack a part of what was allocated: frees in lib.so"));
    assert_non_null(strstr(text, "1 rank lacks a part of what was allocated: s in lib.so"));
    free(text);
    assert_int_equal(job_profile_write(scratch("job.tmk"), &job, &tree), 0);
    assert_int_equal(profile_read(&profile, scratch("job.tmk")), 0);
    assert_string_equal(profile_get(profile, PROFILE_META_UNSEEN),
                        "frees\tlib.so\tnot known: f\nfrees\tlib.so\tnot known\n"
                        "s\tlib.so\tnot known");
    profile_free(profile);
    job_release(&job);
    job_tree_release(&tree);
    job_files_release(&files);
}

/* ---- Digests kept behind profiles ---------------------------------------------------------- */

static struct strbuf summary_bytes(const struct job_files *files, size_t threads)
{
    struct strbuf bytes = STRBUF_INIT;
    struct job_summary summary;
    run(files, threads, &summary, NULL);
    job_summary_write(&bytes, &summary);
    job_summary_release(&summary);
    return bytes;
}

static void assert_same_bytes(struct strbuf *one, struct strbuf *other)
{
    assert_int_equal(one->length, other->length);
    assert_memory_equal(one->data, other->data, one->length);
    strbuf_release(other);
}

static void keep_all(const struct job_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        assert_int_equal(job_kept_write(files->files[i].path), 0);
}

/* One that no reader can unpack any more. What its end says is all that is left. */
static void spoil(const struct job_file *file)
{
    char zeros[64] = {0};
    int fd = open(file->path, O_RDWR);
    assert_int_equal(pwrite(fd, zeros, sizeof zeros, 40), sizeof zeros);
    close(fd);
}

static void a_kept_digest_is_what_the_profile_gives(void **state)
{
    (void)state;
    struct job_files files = make_files(6);
    files.files[2].is_helper = true;   /* its entries do not count */
    files.files[4].rank_known = false; /* the profile says it */
    files.files[4].size = 0;
    files.files[5].node = memory_copy_string("another");
    files.files[5].boot = memory_copy_string("boot");
    files.files[7].note = memory_copy_string("the entry x is damaged");
    struct strbuf before = summary_bytes(&files, 1), after;
    keep_all(&files);
    for (size_t threads = 1; threads <= 3; threads++) {
        after = summary_bytes(&files, threads);
        assert_same_bytes(&before, &after);
    }
    for (size_t i = 0; i < files.count; i++) /* and it is really that what is read */
        spoil(&files.files[i]);
    after = summary_bytes(&files, 2);
    assert_same_bytes(&before, &after);
    strbuf_release(&before);
    job_files_release(&files);
}

static void another_process_is_known_by_its_kept_digest(void **state)
{
    (void)state;
    struct job_files files = make_files(RANKS);
    files.files[3].pid = files.files[3].start_unix_ns = 7; /* nobody's */
    struct strbuf before = summary_bytes(&files, 1);
    keep_all(&files);
    struct strbuf after = summary_bytes(&files, 1);
    assert_same_bytes(&before, &after);
    struct job_summary summary;
    run(&files, 1, &summary, NULL);
    job_summary_sort(&summary);
    assert_non_null(strstr(summary.ranks[3].note, "is the profile of another process"));
    job_summary_release(&summary);
    strbuf_release(&before);
    job_files_release(&files);
}

/* The made profiles know nothing of what is resident: nothing is kept of that level. */
static void a_level_that_is_not_kept_is_read_of_the_profile(void **state)
{
    (void)state;
    struct job_files files = make_files(RANKS);
    files.level = MEMORY_RESIDENT;
    struct strbuf before = summary_bytes(&files, 1);
    keep_all(&files);
    struct strbuf after = summary_bytes(&files, 1);
    assert_same_bytes(&before, &after);
    strbuf_release(&before);
    job_files_release(&files);
}

static void damaged_kept_digests_are_refused_or_read(void **state)
{
    (void)state;
    struct job_files files = make_files(RANKS);
    struct job_source source = job_files_source(&files, 3);
    struct profile *profile;
    struct job_summary digest = {0};
    struct strbuf bytes = STRBUF_INIT;
    assert_int_equal(profile_read_sums(&profile, source.path), 0);
    job_digest(&digest, profile, &source);
    profile_free(profile);
    job_kept_put(&bytes, &digest, MEMORY_MAPPED); /* two levels, of which the second is asked for */
    job_kept_put(&bytes, &digest, MEMORY_HEAP);
    job_summary_release(&digest);
    assert_false(job_kept_take(&digest, bytes.data, bytes.length, MEMORY_ALL, &source));
    assert_true(job_kept_take(&digest, bytes.data, bytes.length, MEMORY_HEAP, &source));
    job_summary_release(&digest);
    for (size_t length = 0; length < bytes.length; length++) {
        char *cut = malloc(length + 1);
        memcpy(cut, bytes.data, length);
        assert_false(job_kept_take(&digest, cut, length, MEMORY_HEAP, &source));
        free(cut);
    }
    for (size_t at = 0; at < bytes.length; at++) {
        char before = bytes.data[at];
        bytes.data[at] ^= (char)(1 << at % 8);
        bool is_there = job_kept_take(&digest, bytes.data, bytes.length, MEMORY_HEAP, &source);
        assert_false(is_there && at < 8);
        job_summary_release(&digest);
        bytes.data[at] = before;
    }
    strbuf_release(&bytes);
    job_files_release(&files);
}

/* Digests of this version lie behind profiles that users have. If this fails, JOB_KEPT_VERSION
 * rises, and a file of the new version is added: UPDATE=1 writes it. */
static void a_digest_of_this_version_stays_what_it_is(void **state)
{
    (void)state;
    static const char golden[] = GOLDEN_DIR "/kept_digest.1";
    struct job_files files = make_files(RANKS);
    void *bytes, *expected = malloc(1 << 16);
    size_t count;
    assert_int_equal(job_kept_write(files.files[3].path), 0);
    assert_int_equal(appendix_read(files.files[3].path, &bytes, &count), 0);
    if (getenv("UPDATE")) {
        FILE *out = fopen(golden, "wx"); /* never written anew */
        assert_non_null(out);
        assert_int_equal(fwrite(bytes, 1, count, out), count);
        fclose(out);
    }
    FILE *in = fopen(golden, "r");
    assert_non_null(in);
    assert_int_equal(fread(expected, 1, 1 << 16, in), count);
    fclose(in);
    assert_memory_equal(bytes, expected, count);
    free(bytes);
    free(expected);
    job_files_release(&files);
}

/* A rank without figures is read of its profile, whenever somebody asks. */
static void what_is_no_whole_profile_keeps_nothing(void **state)
{
    (void)state;
    struct job_files files = make_files(RANKS);
    const struct job_file *file = &files.files[2];
    assert_int_equal(truncate(file->path, (off_t)file->bytes / 2), 0);
    assert_true(job_kept_write(file->path) < 0);
    struct job_summary digest = {0};
    struct job_source source = job_files_source(&files, 2);
    assert_false(job_kept_read(&digest, MEMORY_HEAP, &source));
    job_files_release(&files);
}

static size_t comparisons;

/* Counts what is compared, by the code under test too. */
int strcmp(const char *one, const char *other)
{
    comparisons++;
    for (; *one && *one == *other; one++, other++)
        ;
    return (unsigned char)*one - (unsigned char)*other;
}

/* Each node has two ranks, of which the second is `left`. */
static void make_ranks(struct job *job, uint32_t count, uint64_t start_unix_ns)
{
    struct job_summary summary = {0};
    for (uint32_t i = 0; i < count; i++) {
        struct job_rank rank = {.rank = i,
                                .place = i,
                                .rank_known = true,
                                .state = i % 2 ? JOB_LEFT : JOB_COMPLETE,
                                .file = memory_copy_string("f"),
                                .start_unix_ns = start_unix_ns,
                                .duration_ns = 1000,
                                .peak_bytes = FIGURE_OF(1000)};
        char node[16];
        snprintf(node, sizeof node, "n%u", i / 2 * 7919 % (count / 2));
        rank.node = memory_copy_string(node);
        job_summary_add_rank(&summary, &rank);
    }
    job_init(job, &summary, "", "job", NULL);
}

static void the_nodes_of_many_ranks_are_found_by_bisection(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    struct job job;
    struct job_tree tree = {0};
    struct profile *profile;
    unlink(scratch("job.tmk"));
    comparisons = 0;
    make_ranks(&job, MANY, 1000000);
    assert_int_equal(job.node_count, MANY / 2);
    assert_int_equal(job_profile_write(scratch("job.tmk"), &job, &tree), 0);
    size_t compared = comparisons;
    assert_int_equal(profile_read(&profile, scratch("job.tmk")), 0);
    for (size_t i = 0; i < MANY; i++) {
        char node[16];
        snprintf(node, sizeof node, "n%zu", i / 2 * 7919 % (MANY / 2));
        assert_string_equal(profile->node_peaks[profile->ranks[i].node - 1].name, node);
    }
    print_message("%zu comparisons for %d ranks\n", compared, MANY);
    assert_true(compared < (size_t)MANY * 100); /* ranks by nodes: 750 */
    profile_free(profile);
    job_tree_release(&tree);
    job_release(&job);
}

/* Who has the digests of all ranks shows of them what the whole job's profile will say. */
static void ranks_alone_are_those_of_the_whole_job(void **state)
{
    (void)state;
    struct job job;
    struct job_tree tree = {0};
    struct profile *whole, *alone;
    make_ranks(&job, 9, 1000000);
    unlink(scratch("job.tmk"));
    assert_int_equal(job_profile_write(scratch("job.tmk"), &job, &tree), 0);
    assert_int_equal(profile_read(&whole, scratch("job.tmk")), 0);
    unlink(scratch("alone.tmk"));
    assert_int_equal(job_profile_write_ranks(scratch("alone.tmk"), &job, 7), 0);
    assert_int_equal(profile_read(&alone, scratch("alone.tmk")), 0);
    assert_string_equal(profile_get(alone, PROFILE_META_TO_READ), "7");
    assert_string_equal(profile_get(alone, PROFILE_META_RANKS_ONLY), "1");
    assert_null(profile_get(whole, PROFILE_META_RANKS_ONLY));
    assert_int_equal(alone->rank_count, 9);
    for (size_t i = 0; i < 9; i++) {
        assert_int_equal(alone->ranks[i].rank, whole->ranks[i].rank);
        assert_string_equal(alone->ranks[i].state, whole->ranks[i].state);
        assert_true(figure_equal(alone->ranks[i].peak_bytes, whole->ranks[i].peak_bytes));
        assert_true(figure_equal(alone->ranks[i].alloc_count, whole->ranks[i].alloc_count));
    }
    assert_int_equal(alone->rank_step_count, whole->rank_step_count);
    for (size_t i = 0; i < whole->rank_step_count; i++)
        assert_true(
            figure_equal(alone->rank_steps[i].requested_max, whole->rank_steps[i].requested_max));
    assert_int_equal(alone->node_peak_count, whole->node_peak_count);
    for (size_t i = 0; i < whole->node_peak_count; i++)
        assert_true(
            figure_equal(alone->node_peaks[i].upper_bytes, whole->node_peaks[i].upper_bytes));
    profile_free(whole);
    profile_free(alone);
    job_tree_release(&tree);
    job_release(&job);
}

static void what_nobody_saw_is_not_written(void **state)
{
    (void)state;
    struct job job;
    struct job_tree tree = {0};
    struct profile *profile;
    unlink(scratch("job.tmk"));
    make_ranks(&job, 4, 0);
    assert_int_equal(job_profile_write(scratch("job.tmk"), &job, &tree), 0);
    assert_int_equal(profile_read(&profile, scratch("job.tmk")), 0);
    assert_null(profile_get(profile, PROFILE_META_START));
    assert_null(profile_get(profile, PROFILE_META_DURATION));
    assert_string_equal(profile_get(profile, PROFILE_META_END), "unknown");
    assert_null(profile_get(profile, PROFILE_META_END_STATUS));
    struct strbuf outcome = STRBUF_INIT;
    facts_add_outcome(&outcome, profile);
    assert_string_equal(outcome.data, "how 2 ranks ended is not known");
    assert_false(facts_is_whole_run(profile));
    assert_string_equal(facts_of_what_is_left(profile), "left at end");
    strbuf_release(&outcome);
    profile_free(profile);
    job_tree_release(&tree);
    job_release(&job);
}

/* What readers on other nodes are told; a damaged entry may say any time. */
static void any_start_is_passed_on(void **state)
{
    (void)state;
    static const int64_t starts[] = {-1, 0, 1700000000000000000, INT64_MAX};
    struct job_files files = make_files(RANKS), read;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        files.files[i].start_unix_ns = files.files[RANKS - 1 - i].pid = starts[i];
    struct strbuf bytes = STRBUF_INIT;
    job_files_write(&bytes, &files);
    assert_int_equal(job_files_read(&read, bytes.data, bytes.length), 0);
    for (size_t i = 0; i < RANKS; i++) {
        assert_true(read.files[i].start_unix_ns == files.files[i].start_unix_ns);
        assert_true(read.files[i].pid == files.files[i].pid);
    }
    strbuf_release(&bytes);
    job_files_release(&read);
    job_files_release(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_start_is_passed_on),
        cmocka_unit_test(figures_are_those_of_the_formula),
        cmocka_unit_test(any_split_gives_the_same_tree),
        cmocka_unit_test(damaged_trees_are_refused_or_read),
        cmocka_unit_test(a_damaged_file_costs_only_itself),
        cmocka_unit_test(a_profile_of_another_process_counts_for_nothing),
        cmocka_unit_test(a_kept_digest_is_what_the_profile_gives),
        cmocka_unit_test(another_process_is_known_by_its_kept_digest),
        cmocka_unit_test(a_level_that_is_not_kept_is_read_of_the_profile),
        cmocka_unit_test(damaged_kept_digests_are_refused_or_read),
        cmocka_unit_test(a_digest_of_this_version_stays_what_it_is),
        cmocka_unit_test(what_is_no_whole_profile_keeps_nothing),
        cmocka_unit_test(what_is_wrong_with_an_entry_is_said),
        cmocka_unit_test(what_is_being_written_is_not_damaged),
        cmocka_unit_test(a_job_profile_is_read_back),
        cmocka_unit_test(the_nodes_of_many_ranks_are_found_by_bisection),
        cmocka_unit_test(ranks_alone_are_those_of_the_whole_job),
        cmocka_unit_test(what_nobody_saw_is_not_written),
        cmocka_unit_test(what_ranks_lack_is_said_once),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
