/* Any bytes as a summary of ranks, as a merged call tree and as a list of files, which processes of
 * an analysis send to each other, and as what is kept behind a profile. What is read must come back
 * from a writer, and merge with itself. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "job/job_files.h"
#include "job/job.h"
#include "job/job_kept.h"
#include "job/job_tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_summary(const uint8_t *data, size_t size)
{
    struct job_summary summary, again;
    struct job job;
    struct strbuf bytes = STRBUF_INIT;
    if (job_summary_read(&summary, data, size))
        return;
    job_summary_write(&bytes, &summary);
    if (job_summary_read(&again, bytes.data, bytes.length))
        abort();
    job_summary_merge(&summary, &again);
    job_init(&job, &summary, "", "", NULL);
    job_release(&job);
    strbuf_release(&bytes);
}

static void try_tree(const uint8_t *data, size_t size)
{
    struct job_tree tree, again;
    struct strbuf bytes = STRBUF_INIT;
    if (job_tree_read(&tree, data, size))
        return;
    job_tree_write(&bytes, &tree);
    if (job_tree_read(&again, bytes.data, bytes.length))
        abort();
    job_tree_merge(&tree, &again);
    job_tree_settle(&tree);
    job_tree_release(&tree);
    strbuf_release(&bytes);
}

static void try_kept(const uint8_t *data, size_t size, bool is_helper)
{
    const struct job_source source = {.file = "f", .node = "n", .is_helper = is_helper};
    struct job_summary digest = {0}, again = {0};
    struct strbuf bytes = STRBUF_INIT;
    if (!job_kept_take(&digest, data, size, MEMORY_HEAP, &source))
        return;
    job_kept_put(&bytes, &digest, MEMORY_HEAP);
    if (!is_helper && !job_kept_take(&again, bytes.data, bytes.length, MEMORY_HEAP, &source))
        abort();
    job_summary_merge(&digest, &again);
    job_summary_sort(&digest);
    job_summary_release(&digest);
    strbuf_release(&bytes);
}

static void try_files(const uint8_t *data, size_t size)
{
    struct job_files files;
    if (job_files_read(&files, data, size))
        return;
    free(job_files_by_size(&files));
    job_files_release(&files);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1); /* its own block: sanitizers see its ends */
    memcpy(copy, data, size);
    try_summary(copy, size);
    try_tree(copy, size);
    try_files(copy, size);
    try_kept(copy, size, false);
    try_kept(copy, size, true);
    free(copy);
    return 0;
}
