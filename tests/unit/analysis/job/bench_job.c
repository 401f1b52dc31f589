/* bench_job PROFILE…: what a rank costs the analysis, in CPU time and bytes, for doc/SCALING.md. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "job/job_digest.h"
#include "base/error.h"
#include "job/job.h"
#include "job/job_tree.h"

static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

enum part { READ, DIGEST, MERGE, TREE, PARTS };
static double spent[PARTS], mark;

static void begin(void)
{
    mark = cpu_ms();
}

static void end(enum part part)
{
    spent[part] += cpu_ms() - mark;
}

static void take(struct job_summary *summary, struct job_tree *tree, const char *path, uint32_t at)
{
    struct job_source source = {.path = path, .file = path, .place = at};
    struct job_summary digest = {0};
    struct profile *profile;
    begin();
    if (profile_read(&profile, path)) {
        fprintf(stderr, "bench_job: %s\n", error_text());
        exit(1);
    }
    end(READ);
    begin();
    job_digest(&digest, profile, &source);
    end(DIGEST);
    begin();
    job_summary_merge(summary, &digest);
    end(MERGE);
    begin();
    job_tree_add_profile(tree, profile);
    end(TREE);
    profile_free(profile);
}

/* One hop of the reduction: written, read and merged by another. */
static void hop(struct job_summary *summary, struct job_tree *tree)
{
    struct strbuf bytes = STRBUF_INIT, tree_bytes = STRBUF_INIT;
    struct job_summary other;
    struct job_tree other_tree;
    begin();
    job_summary_write(&bytes, summary);
    job_summary_read(&other, bytes.data, bytes.length);
    job_summary_merge(summary, &other);
    printf("hop of the summary  %9.2f ms  %10zu bytes\n", cpu_ms() - mark, bytes.length);
    begin();
    job_tree_write(&tree_bytes, tree);
    job_tree_read(&other_tree, tree_bytes.data, tree_bytes.length);
    job_tree_merge(tree, &other_tree);
    printf("hop of the tree     %9.2f ms  %10zu bytes  (%zu nodes, %zu sites)\n", cpu_ms() - mark,
           tree_bytes.length, tree->node_count, tree->site_count);
    strbuf_release(&bytes);
    strbuf_release(&tree_bytes);
}

int main(int argc, char **argv)
{
    static const char *const names[PARTS] = {"read", "digest", "merge", "tree"};
    struct job_summary summary = {0};
    struct job_tree tree = {0};
    struct job job;
    double files = argc - 1;
    for (int i = 1; i < argc; i++)
        take(&summary, &tree, argv[i], (uint32_t)i - 1);
    for (int i = 0; i < PARTS; i++)
        printf("%-19s %9.3f ms a file\n", names[i], spent[i] / files);
    printf("%zu ranks, %zu entries\n", summary.rank_count, summary.entry_count);
    hop(&summary, &tree);
    begin();
    job_init(&job, &summary, "", "", NULL);
    printf("statistics, nodes   %9.2f ms\n", cpu_ms() - mark);
    job_release(&job);
    job_tree_release(&tree);
    return 0;
}
