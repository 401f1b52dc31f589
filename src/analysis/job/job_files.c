/* The list of a job's files (job_files.h): one item for each process of the manifest, ranks first.
 * The list can be written to bytes and read again by another process. */
#include "job/job_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"

static const char *job_files_name_in(const struct manifest_job *job, const char *path)
{
    size_t length = job->directory ? strlen(job->directory) : 0;
    while (length && job->directory[length - 1] == '/')
        length--;
    if (length && !strncmp(path, job->directory, length) && path[length] == '/')
        return path + length + strspn(path + length, "/");
    return path;
}

static void job_files_add(struct job_files *files, const struct manifest_job *job,
                          const struct manifest_process *process, bool is_helper)
{
    const struct entry *entry = &process->entry;
    const char *path = process->profile_path ? process->profile_path : process->entry_path;
    int64_t size = entry->ranks > 0 ? entry->ranks : job->ranks;
    files->files[files->count++] = (struct job_file){
        .path = memory_copy_string(process->profile_path),
        .name = memory_copy_string(path ? job_files_name_in(job, path) : "?"),
        .node = memory_copy_string(entry->host),
        .boot = memory_copy_string(entry->boot),
        .note = memory_copy_string(entry->error ? entry->error : process->damage),
        .bytes = process->profile_bytes,
        .part_at = process->part_at,
        .part_bytes = process->part_at ? process->profile_bytes : 0,
        .rank = entry->rank >= 0 && entry->rank < UINT32_MAX ? (uint32_t)entry->rank : 0,
        .rank_known =
            entry->rank >= 0 && entry->rank<UINT32_MAX, .size = size> 0 && size < UINT32_MAX
                ? (uint32_t)size
                : 0,
        .is_helper = is_helper,
        .is_running = process->state == MANIFEST_RUNNING,
        .trace = memory_copy_string(process->trace_path),
        .start_unix_ns = entry->start_unix_ns,
        .peak_bytes = entry->peak_bytes,
        .pid = entry->pid,
        .end_status = entry->end_status,
        .state = process->state,
    };
    if (!files->program && entry->program)
        files->program = memory_copy_string(entry->program);
}

static int job_files_compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Different sessions of ranks. */
static size_t job_files_count_collectors(const struct manifest_job *job)
{
    const char **sessions = memory_resize(NULL, job->process_count, sizeof *sessions);
    size_t count = 0, different = 0;
    for (size_t i = 0; i < job->process_count; i++)
        if (job->processes[i].entry.session && job->processes[i].entry.rank >= 0)
            sessions[count++] = job->processes[i].entry.session;
    if (count)
        qsort(sessions, count, sizeof *sessions, job_files_compare_texts);
    for (size_t i = 0; i < count; i++)
        different += !i || strcmp(sessions[i], sessions[i - 1]);
    free(sessions);
    return different;
}

void job_files_init(struct job_files *files, const struct manifest_job *job)
{
    *files = (struct job_files){.id = memory_copy_string(job->id ? job->id : "")};
    if (job->recorded_ranks)
        files->recorded_ranks = memory_copy_string(job->recorded_ranks);
    files->collectors = job_files_count_collectors(job);
    files->files = memory_resize(NULL, job->process_count, sizeof *files->files);
    size_t at = 0;
    for (size_t i = 0; i < job->rank_count; i++) {
        const struct manifest_rank *rank = &job->rank[i];
        job_files_add(files, job, &job->processes[rank->main], false);
        for (size_t j = rank->first; j < rank->first + rank->count; j++)
            if (j != rank->main)
                job_files_add(files, job, &job->processes[j], true);
        at = rank->first + rank->count;
    }
    for (; at < job->process_count; at++)
        if (job->processes[at].entry.is_launcher != 1)
            job_files_add(files, job, &job->processes[at], job->rank_count > 0);
}

void job_files_release(struct job_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->files[i].path);
        free(files->files[i].name);
        free(files->files[i].node);
        free(files->files[i].boot);
        free(files->files[i].note);
        free(files->files[i].trace);
    }
    free(files->files);
    free(files->id);
    free(files->recorded_ranks);
    free(files->program);
    *files = (struct job_files){0};
}

void job_files_write(struct strbuf *out, const struct job_files *files)
{
    bytes_put_string(out, files->id);
    bytes_put(out, (uint64_t)files->level);
    bytes_put(out, files->count);
    for (size_t i = 0; i < files->count; i++) {
        const struct job_file *file = &files->files[i];
        bytes_put_string(out, file->path);
        bytes_put_string(out, file->name);
        bytes_put_string(out, file->node);
        bytes_put_string(out, file->boot);
        bytes_put_string(out, file->note);
        bytes_put(out, file->bytes);
        bytes_put(out, file->part_at);
        bytes_put(out, file->part_bytes);
        bytes_put(out, file->rank);
        bytes_put(out, file->size);
        bytes_put(out, file->rank_known);
        bytes_put(out, file->is_helper);
        bytes_put(out, file->is_running);
        bytes_put(out, (uint64_t)file->start_unix_ns + 1); /* an entry may say INT64_MAX */
        bytes_put(out, (uint64_t)file->pid + 1);
    }
}

static void job_files_get(struct bytes_reader *reader, struct job_file *file)
{
    file->path = bytes_get_string(reader);
    file->name = bytes_get_string(reader);
    file->node = bytes_get_string(reader);
    file->boot = bytes_get_string(reader);
    file->note = bytes_get_string(reader);
    file->bytes = bytes_get(reader);
    file->part_at = bytes_get(reader);
    file->part_bytes = bytes_get(reader);
    file->rank = (uint32_t)bytes_get_below(reader, UINT32_MAX);
    file->size = (uint32_t)bytes_get_below(reader, UINT32_MAX);
    file->rank_known = bytes_get_below(reader, 1);
    file->is_helper = bytes_get_below(reader, 1);
    file->is_running = bytes_get_below(reader, 1);
    file->start_unix_ns = (int64_t)(bytes_get_below(reader, 1ull << 63) - 1);
    file->pid = (int64_t)(bytes_get_below(reader, 1ull << 63) - 1);
    reader->failed |= !file->name;
}

int job_files_read(struct job_files *files, const void *bytes, size_t count)
{
    struct bytes_reader reader = {bytes, (const unsigned char *)bytes + count, false};
    *files = (struct job_files){.id = bytes_get_string(&reader)};
    files->level = (enum memory_level)bytes_get_below(&reader, MEMORY_LEVELS - 1);
    size_t many = bytes_get_count(&reader, 15);
    files->files = memory_resize(NULL, many, sizeof *files->files);
    memset(files->files, 0, many * sizeof *files->files);
    while (files->count < many && !reader.failed)
        job_files_get(&reader, &files->files[files->count++]);
    if (!reader.failed && reader.at == reader.end && files->id)
        return 0;
    job_files_release(files);
    return -EINVAL;
}

struct job_source job_files_source(const struct job_files *files, size_t index)
{
    const struct job_file *file = &files->files[index];
    return (struct job_source){
        .path = file->path,
        .file = file->name,
        .part_at = file->part_at,
        .part_bytes = file->part_bytes,
        .place = (uint32_t)index,
        .rank_known = file->rank_known,
        .rank = file->rank,
        .size = file->size,
        .is_helper = file->is_helper,
        .node = file->node,
        .boot = file->boot,
    };
}

static int job_files_compare_sizes(const void *left, const void *right, void *context)
{
    const struct job_files *files = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint64_t a_bytes = files->files[a].bytes, b_bytes = files->files[b].bytes;
    if (a_bytes != b_bytes)
        return a_bytes > b_bytes ? -1 : 1;
    return (a > b) - (a < b);
}

uint32_t *job_files_by_size(const struct job_files *files)
{
    uint32_t *order = memory_resize(NULL, files->count, sizeof *order);
    for (size_t i = 0; i < files->count; i++)
        order[i] = (uint32_t)i;
    if (files->count)
        qsort_r(order, files->count, sizeof *order, job_files_compare_sizes, (void *)files);
    return order;
}
