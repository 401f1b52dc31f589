/* Fills in the entry of a process in its job's directory: at the start who it is, at the end how it
 * ended and what it used. entry_writer writes the file (jobdir/entry.h). */
#include "collector/process_image_entry.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collector/job_place.h"
#include "procfs/process.h"

static char *process_image_entry_copy_of(const char *text)
{
    return text ? strdup(text) : NULL;
}

static void process_image_entry_describe(struct entry *entry,
                                         const struct process_image_entry_owner *owner)
{
    const struct launcher *launcher = owner->launcher;
    entry_init(entry);
    entry->job = strdup(owner->job);
    entry->session = strdup(owner->session);
    entry->launcher = process_image_entry_copy_of(launcher->name);
    entry->rank = launcher->rank;
    entry->ranks = launcher->ranks;
    entry->local_rank = launcher->local_rank;
    entry->node = launcher->node;
    entry->is_launcher = launcher->is_launcher;
    process_host_name(&entry->host);
    entry->boot = process_image_entry_copy_of(owner->boot);
    entry->pid = owner->pid;
    entry->parent_pid = owner->parent;
    entry->pid_namespace = process_pid_namespace();
    entry->program = strdup(owner->program);
    entry->start_unix_ns = owner->start_unix_ns;
    entry->uses_mpi = owner->uses_mpi;
    entry->recorded_ranks = process_image_entry_copy_of(owner->recorded_ranks);
}

int process_image_entry_take(struct process_image_entry *entry, const char *directory,
                             const struct process_image_entry_owner *owner, char **path)
{
    if (entry->writer)
        return 0;
    entry_release(&entry->entry);
    process_image_entry_describe(&entry->entry, owner);
    return job_place_take(directory, owner->nodes, &entry->entry, &entry->writer, path);
}

static void process_image_entry_see_module(void *context, const struct wire_module *module)
{
    struct entry *entry = context;
    if (job_place_is_mpi(module->path))
        entry->uses_mpi = 1; /* opened after the start, as Python does */
}

/* -1: unknown. */
static int64_t process_image_entry_number(struct figure figure)
{
    uint64_t number;
    if (!figure_get(figure, &number))
        return -1;
    return number < INT64_MAX ? (int64_t)number : INT64_MAX;
}

void process_image_entry_note_events(struct process_image_entry *entry, struct replay *replay,
                                     const struct view *view)
{
    struct program_metrics program;
    size_t cursor = 0;
    if (!entry->writer)
        return;
    replay_program(replay, &program);
    entry->entry.peak_bytes = process_image_entry_number(program.total.peak_bytes);
    entry->entry.alloc_count = process_image_entry_number(program.total.alloc_count);
    shared_view_modules(view, &cursor, process_image_entry_see_module, &entry->entry);
}

void process_image_entry_process_ended(struct process_image_entry *entry)
{
    if (entry->writer)
        entry_writer_process_ended(entry->writer);
}

void process_image_entry_discard(struct process_image_entry *entry)
{
    if (entry->writer)
        entry_writer_discard(entry->writer);
    entry->writer = NULL;
}

/* Once. */
static void process_image_entry_end(struct entry *said, const struct process_image_entry_end *end)
{
    if (said->end)
        return;
    said->end = strdup(end->how);
    if (end->status >= 0)
        said->end_status = end->status;
    if (end->duration_ns)
        said->duration_ns = end->duration_ns;
    said->error = process_image_entry_copy_of(end->error);
    if (end->trace && access(end->trace, F_OK) == 0)
        said->trace = strdup(strrchr(end->trace, '/') + 1);
}

void process_image_entry_say(struct process_image_entry *entry,
                             const struct process_image_entry_end *end, struct strbuf *out)
{
    process_image_entry_end(&entry->entry, end);
    entry_format(&entry->entry, out);
}

int process_image_entry_finish(struct process_image_entry *entry,
                               const struct process_image_entry_end *end)
{
    if (!entry->writer)
        return 0;
    process_image_entry_end(&entry->entry, end);
    int error = entry_writer_update(entry->writer, &entry->entry);
    entry_writer_close(entry->writer);
    entry->writer = NULL;
    return error;
}

void process_image_entry_release(struct process_image_entry *entry)
{
    entry_release(&entry->entry);
}
