/* Reads the processes of the machine on several threads. Each thread takes the next process in the
 * list by an atomic counter. A process whose first thread has ended is read by way of one that
 * lives. */
#include "system_memory/processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "procfs/proc_file.h"
#include "base/array.h"

enum { MAX_TEXT_BYTES = 65536, MOST_THREADS = 8 };

/* What one thread works with, used again from process to process. */
struct processes_worker {
    const struct system_memory_request *request;
    struct system_memory *system;
    int root; /* a descriptor */
    atomic_size_t *next;
    struct smaps smaps;
    struct strbuf text;
    int error;
    pthread_t thread;
};

/* ---- One process --------------------------------------------------------------------------- */

/* Everything is opened below one open directory: a number that another process gets meanwhile then
 * reads as gone. */
static int processes_open_in(int directory, const char *file)
{
    enum { MOST_BYTES = 64 << 20 };
    struct stat status;
    if (fstatat(directory, file, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return proc_error(errno);
    if (!S_ISREG(status.st_mode) || status.st_size > MOST_BYTES)
        return -ESRCH; /* of a capture that somebody else has made */
    int fd = openat(directory, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return fd >= 0 ? fd : proc_error(errno);
}

static int processes_read_in(struct processes_worker *worker, int directory, const char *file)
{
    strbuf_reset(&worker->text);
    int fd = processes_open_in(directory, file);
    if (fd < 0)
        return fd;
    int error = proc_read_fd(fd, MAX_TEXT_BYTES, &worker->text);
    close(fd);
    return error;
}

static bool processes_matches(const regex_t *pattern, const char *text)
{
    return !pattern || (text && regexec(pattern, text, 0, NULL, 0) == 0);
}

static bool processes_user_is_wanted(const struct system_memory_request *request, uid_t uid)
{
    for (size_t i = 0; i < request->user_count; i++)
        if (request->users[i] == uid)
            return true;
    return !request->user_count;
}

/* The pattern stands in our own command line: we do not match by it. */
static bool processes_is_named(const regex_t *name, const struct system_memory_process *process)
{
    return !name ||
           (process->status.pid != getpid() && (processes_matches(name, process->status.name) ||
                                                processes_matches(name, process->command)));
}

static bool processes_is_wanted(const struct system_memory_request *request,
                                const struct system_memory_process *process)
{
    return processes_is_named(request->name, process) &&
           processes_user_is_wanted(request, process->status.uid) &&
           processes_matches(request->cgroup, process->cgroup);
}

/* A process whose first thread has ended lives on in the others, and shows its memory there only.
 */
static int processes_find_living_thread(pid_t tid, void *context)
{
    uint64_t bytes;
    struct strbuf text = STRBUF_INIT;
    bool lives = proc_read(tid, "status", MAX_TEXT_BYTES, &text) == 0 &&
                 proc_value(text.data, "VmSize", &bytes);
    strbuf_release(&text);
    if (lives)
        *(pid_t *)context = tid;
    return lives;
}

static int processes_open_living_thread(pid_t pid)
{
    pid_t tid = 0;
    proc_threads(pid, processes_find_living_thread, &tid);
    if (!tid)
        return -ESRCH;
    return open(proc_path(tid, "").text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int processes_read_rollup(struct processes_worker *worker, int directory,
                                 struct system_memory_process *process)
{
    int fd = processes_open_in(directory, "smaps_rollup");
    int error = fd;
    if (fd >= 0) {
        error = smaps_rollup_fd(fd, &process->bytes);
        close(fd);
    } else if (fd == -ESRCH && (fd = processes_open_in(directory, "smaps")) >= 0) {
        /* before Linux 4.14 */
        struct smaps_totals totals;
        error = smaps_read_fd(&worker->smaps, fd);
        close(fd);
        smaps_sum(&worker->smaps, &totals);
        process->bytes = totals.all;
    }
    process->bytes.size = process->status.size_bytes;
    return error;
}

/* ---- Pieces -------------------------------------------------------------------------------- */

static bool processes_is_of_module(const struct smaps_mapping *mapping)
{
    return mapping->kind == SMAPS_TEXT || mapping->kind == SMAPS_RODATA ||
           mapping->kind == SMAPS_DATA;
}

/* The kernel's name, or ours for what has none. By library all that is of no module goes by its
 * kind; `module` is the one whose data came last. */
static const char *processes_piece_name(const struct smaps_mapping *mapping, bool libraries,
                                        const char **module)
{
    static const char *const unnamed[SMAPS_KINDS] = {
        [SMAPS_HEAP] = "[heap]",
        [SMAPS_ANONYMOUS] = "[anonymous]",
        [SMAPS_RESERVED] = "[reserved]",
        [SMAPS_TEXT] = "[text]",
        [SMAPS_RODATA] = "[rodata]",
        [SMAPS_DATA] = "[data]",
        [SMAPS_BSS] = "[bss]",
        [SMAPS_FILE] = "[file]",
        [SMAPS_SHARED_MEMORY] = "[shared memory]",
        [SMAPS_MAIN_STACK] = "[stack]",
        [SMAPS_THREAD_STACK] = "[thread stack]",
        [SMAPS_VDSO] = "[vdso]",
        [SMAPS_HUGE] = "[huge pages]",
        [SMAPS_DEVICE] = "[device]",
        [SMAPS_TOOL] = "[tool]",
        [SMAPS_OTHER] = "[other]",
    };
    if (processes_is_of_module(mapping))
        *module = mapping->path;
    if (libraries && mapping->kind == SMAPS_BSS && *module)
        return *module;
    if (libraries && !processes_is_of_module(mapping))
        return unnamed[mapping->kind];
    return *mapping->path ? mapping->path : unnamed[mapping->kind];
}

static int processes_compare_pieces(const void *left, const void *right)
{
    return strcmp(((const struct system_memory_piece *)left)->name,
                  ((const struct system_memory_piece *)right)->name);
}

/* Neighbours of one name become one. */
static size_t processes_join_pieces(struct system_memory_piece *pieces, size_t count)
{
    size_t kept = 0;
    qsort(pieces, count, sizeof *pieces, processes_compare_pieces);
    for (size_t i = 0; i < count; i++) {
        if (kept && strcmp(pieces[kept - 1].name, pieces[i].name) == 0) {
            smaps_add(&pieces[kept - 1].bytes, &pieces[i].bytes);
            pieces[kept - 1].mappings += pieces[i].mappings;
        } else {
            pieces[kept++] = pieces[i];
        }
    }
    return kept;
}

/* The table of mappings is used again: the names move into one block of the process's own. */
static int processes_keep_names(struct system_memory_process *process)
{
    size_t bytes = 1;
    for (size_t i = 0; i < process->piece_count; i++)
        bytes += strlen(process->pieces[i].name) + 1;
    char *at = process->piece_names = malloc(bytes);
    if (!at)
        return -ENOMEM;
    for (size_t i = 0; i < process->piece_count; i++) {
        size_t length = strlen(process->pieces[i].name) + 1;
        process->pieces[i].name = memcpy(at, process->pieces[i].name, length);
        at += length;
    }
    return 0;
}

/* Splits a mapping's PSS by the kind of its pages, which the kernel does not say. Only private
 * mappings of files have two kinds of pages, and those that were written to are rarely in a second
 * process. */
static void processes_split_mapping(struct system_memory_piece *piece,
                                    const struct smaps_mapping *mapping)
{
    struct smaps_bytes *bytes = &piece->bytes;
    bool is_shared = mapping->kind == SMAPS_SHARED_MEMORY;
    if (!figure_known(bytes->pss) || !figure_known(bytes->anonymous))
        return;
    struct figure written = figure_at_most(bytes->anonymous, bytes->pss);
    bytes->pss_shared_memory = is_shared ? figure_sub(bytes->pss, written) : figure_of(0);
    bytes->pss_anonymous = mapping->inode || is_shared ? written : bytes->pss;
    bytes->pss_file =
        figure_sub(figure_sub(bytes->pss, bytes->pss_anonymous), bytes->pss_shared_memory);
}

static int processes_take_pieces(struct processes_worker *worker,
                                 struct system_memory_process *process)
{
    const struct smaps *smaps = &worker->smaps;
    const char *module = NULL;
    process->pieces = calloc(smaps->count + 1, sizeof *process->pieces);
    if (!process->pieces)
        return -ENOMEM;
    process->bytes = (struct smaps_bytes){0};
    for (size_t i = 0; i < smaps->count; i++) {
        const struct smaps_mapping *mapping = &smaps->mappings[i];
        const char *name = processes_piece_name(mapping, worker->request->libraries, &module);
        if (!processes_matches(worker->request->mapping, name))
            continue;
        struct system_memory_piece *piece = &process->pieces[process->piece_count++];
        *piece = (struct system_memory_piece){name, 1, mapping->bytes};
        processes_split_mapping(piece, mapping);
        smaps_add(&process->bytes, &piece->bytes);
        process->mappings++;
    }
    process->piece_count = processes_join_pieces(process->pieces, process->piece_count);
    return processes_keep_names(process);
}

static int processes_read_pieces(struct processes_worker *worker, int directory,
                                 struct system_memory_process *process)
{
    int fd = processes_open_in(directory, "smaps");
    int error = fd < 0 ? fd : smaps_read_fd(&worker->smaps, fd);
    if (fd >= 0)
        close(fd);
    return error ? error : processes_take_pieces(worker, process);
}

/* ---- A process as a whole ------------------------------------------------------------------ */

static int processes_read_memory(struct processes_worker *worker, int directory,
                                 struct system_memory_process *process)
{
    const struct system_memory_request *request = worker->request;
    int living = -1, error;
    if (process->status.state == 'Z' && request->root)
        return -ESRCH;
    if (process->status.state == 'Z' &&
        (living = processes_open_living_thread(process->status.pid)) < 0)
        return -ESRCH;
    directory = living >= 0 ? living : directory;
    error = request->pieces || request->mapping ? processes_read_pieces(worker, directory, process)
                                                : processes_read_rollup(worker, directory, process);
    if (living >= 0)
        close(living);
    return error;
}

static enum system_memory_state processes_state_after(int error,
                                                      const struct processes_worker *worker,
                                                      const struct system_memory_process *process)
{
    /* Of a capture that was not taken by root. */
    bool not_saved = error == -ESRCH && worker->request->root;
    if (error == -EACCES || (not_saved && figure_known(process->status.rss_bytes)))
        return SYSTEM_MEMORY_FORBIDDEN;
    if (error)
        return SYSTEM_MEMORY_GONE;
    return worker->request->mapping && !process->piece_count ? SYSTEM_MEMORY_LEFT_OUT
                                                             : SYSTEM_MEMORY_READ;
}

static bool processes_has_memory(const struct system_memory_status *status)
{
    bool ended = status->state == 'Z' || status->state == 'X';
    return ended ? figure_or(status->threads, 0) > 1 : !status->is_kernel;
}

/* A program that writes a title over its arguments (setproctitle) leaves empty ones behind it. */
static void processes_drop_empty_arguments(char *command)
{
    static const char empty[] = " ''";
    size_t length = strlen(command);
    while (length >= sizeof empty && !strcmp(command + length - (sizeof empty - 1), empty))
        command[length -= sizeof empty - 1] = '\0';
}

/* A capture may have stat alone, and then its directories are their owners'. */
static bool processes_read_status(struct processes_worker *worker, int directory,
                                  struct system_memory_status *status)
{
    struct stat owner;
    if (processes_read_in(worker, directory, "status") == 0)
        return system_memory_parse_status(worker->text.data, status) == 0;
    if (!worker->request->root || processes_read_in(worker, directory, "stat") != 0 ||
        system_memory_parse_stat(worker->text.data, status) != 0)
        return false;
    status->uid = fstat(directory, &owner) == 0 ? owner.st_uid : (uid_t)-1;
    return true;
}

static void processes_read_command(struct processes_worker *worker, int directory,
                                   struct system_memory_process *process)
{
    if (processes_read_in(worker, directory, "cmdline") != 0)
        return;
    process->command = process_command_of(&worker->text);
    processes_drop_empty_arguments(process->command);
    if (*process->command)
        return;
    free(process->command); /* a thread of the kernel, a zombie */
    struct strbuf name = STRBUF_INIT;
    strbuf_addf(&name, "[%s]", process->status.name);
    process->command = strbuf_detach(&name);
}

static int processes_read(struct processes_worker *worker, int directory,
                          struct system_memory_process *process)
{
    pid_t pid = process->status.pid;
    struct smaps_bytes *bytes = &process->bytes;
    struct system_memory_status status;
    if (!processes_read_status(worker, directory, &status))
        return 0;
    if (status.pid != pid) /* a thread that was named as if it were a process */
        return 0;
    if (worker->request->starts && processes_read_in(worker, directory, "stat") == 0)
        status.start_ticks = system_memory_parse_start(worker->text.data);
    process->status = status;
    processes_read_command(worker, directory, process);
    if (processes_read_in(worker, directory, "cgroup") == 0)
        process->cgroup = system_memory_parse_cgroup(worker->text.data);
    if (!processes_is_wanted(worker->request, process)) {
        process->state = SYSTEM_MEMORY_LEFT_OUT;
        return 0;
    }
    if (!processes_has_memory(&process->status)) {
        process->state = process->status.is_kernel ? SYSTEM_MEMORY_KERNEL : SYSTEM_MEMORY_ZOMBIE;
        return 0;
    }
    int error = processes_read_memory(worker, directory, process);
    if (error == -ENOMEM)
        return error;
    process->state = processes_state_after(error, worker, process);
    if (process->state == SYSTEM_MEMORY_FORBIDDEN) {
        *bytes = smaps_bytes_unknown();
        bytes->size = process->status.size_bytes;
        bytes->rss = process->status.rss_bytes;
        bytes->swap = process->status.swap_bytes;
    }
    return 0;
}

static int processes_take(struct processes_worker *worker, struct system_memory_process *process)
{
    process->state = SYSTEM_MEMORY_GONE;
    char name[16];
    snprintf(name, sizeof name, "%d", (int)process->status.pid);
    int directory = openat(worker->root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (directory < 0)
        return 0;
    int error = processes_read(worker, directory, process);
    close(directory);
    return error;
}

/* ---- All processes ------------------------------------------------------------------------- */

static void *processes_work(void *argument)
{
    struct processes_worker *worker = argument;
    for (size_t i; (i = atomic_fetch_add(worker->next, 1)) < worker->system->count;) {
        int error = processes_take(worker, &worker->system->processes[i]);
        if (error)
            worker->error = error;
    }
    smaps_release(&worker->smaps);
    strbuf_release(&worker->text);
    return NULL;
}

static size_t processes_thread_count(const struct system_memory *system,
                                     const struct system_memory_request *request)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t count = request->threads ? request->threads : processors > 0 ? (size_t)processors : 1;
    count = count < MOST_THREADS ? count : MOST_THREADS;
    return count < system->count ? count : system->count ? system->count : 1;
}

/* A thread that cannot be started leaves its work to the others; the first is the caller's own. */
static int processes_read_all(struct system_memory *system, int root,
                              const struct system_memory_request *request)
{
    struct processes_worker workers[MOST_THREADS];
    bool started[MOST_THREADS] = {false};
    atomic_size_t next = 0;
    size_t count = processes_thread_count(system, request);
    int error = 0;
    for (size_t i = 0; i < count; i++)
        workers[i] = (struct processes_worker){
            .request = request,
            .system = system,
            .root = root,
            .next = &next,
            .smaps = SMAPS_INIT,
            .text = STRBUF_INIT,
        };
    for (size_t i = 1; i < count; i++)
        started[i] = pthread_create(&workers[i].thread, NULL, processes_work, &workers[i]) == 0;
    processes_work(&workers[0]);
    for (size_t i = 0; i < count; i++) {
        if (started[i])
            pthread_join(workers[i].thread, NULL);
        error = workers[i].error ? workers[i].error : error;
    }
    return error;
}

static int processes_add_pid(struct system_memory *system, size_t *capacity, pid_t pid)
{
    if (!array_make_room(&system->processes, capacity, system->count, sizeof *system->processes))
        return -ENOMEM;
    system->processes[system->count++] = (struct system_memory_process){.status.pid = pid};
    return 0;
}

static int processes_list(struct system_memory *system, const char *root)
{
    size_t capacity = 0;
    DIR *directory = opendir(root);
    if (!directory)
        return -errno;
    int error = 0;
    for (struct dirent *entry; !error && (entry = readdir(directory));) {
        uint64_t pid;
        const char *end;
        if (proc_number(entry->d_name, &pid, &end) && !*end && pid <= INT32_MAX)
            error = processes_add_pid(system, &capacity, (pid_t)pid);
    }
    closedir(directory);
    return error ? error : system->count ? 0 : -ENOENT;
}

static int processes_compare(const void *left, const void *right)
{
    const struct system_memory_process *a = left, *b = right;
    return (a->status.pid > b->status.pid) - (a->status.pid < b->status.pid);
}

static const char *processes_root(const struct system_memory_request *request)
{
    return request->root ? request->root : "/proc";
}

static int processes_take_pids(struct system_memory *system,
                               const struct system_memory_request *request)
{
    size_t capacity = 0, kept = 0;
    int error = request->pid_count ? 0 : processes_list(system, processes_root(request));
    for (size_t i = 0; !error && i < request->pid_count; i++)
        error = processes_add_pid(system, &capacity, request->pids[i]);
    if (error)
        return error;
    qsort(system->processes, system->count, sizeof *system->processes, processes_compare);
    for (size_t i = 0; i < system->count; i++) /* named twice, counted once */
        if (!kept || system->processes[kept - 1].status.pid != system->processes[i].status.pid)
            system->processes[kept++] = system->processes[i];
    system->count = kept;
    return 0;
}

/* "hidepid=2", by newer kernels "hidepid=invisible", in the options of what is mounted on /proc. */
static bool processes_hides(void)
{
    struct strbuf text = STRBUF_INIT;
    bool hides = false;
    if (geteuid() != 0 && proc_read_list_at("/proc/self/mountinfo", 1u << 20, &text) == 0) {
        const char *line = strstr(text.data, " /proc ");
        const char *end = line ? strchr(line, '\n') : NULL;
        const char *option = line ? strstr(line, "hidepid=") : NULL;
        hides = option && end && option < end && !strchr("0o", option[8]);
    }
    strbuf_release(&text);
    return hides;
}

static int processes_read_meminfo(int root, struct strbuf *text)
{
    int fd = processes_open_in(root, "meminfo");
    int error = fd < 0 ? fd : proc_read_fd(fd, MAX_TEXT_BYTES, text);
    if (fd >= 0)
        close(fd);
    return error;
}

int system_memory_take(struct system_memory *system, const struct system_memory_request *request)
{
    struct strbuf text = STRBUF_INIT;
    *system = (struct system_memory){0};
    int root = open(processes_root(request), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = root < 0 ? -errno : processes_take_pids(system, request);
    if (!error)
        error = processes_read_all(system, root, request);
    for (size_t i = 0; i < system->count; i++)
        system->state_counts[system->processes[i].state]++;
    if (root < 0 || processes_read_meminfo(root, &text) != 0)
        strbuf_reset(&text);
    if (root >= 0)
        close(root);
    system_memory_parse_machine(text.data, &system->machine);
    strbuf_release(&text);
    system->hides_processes = !request->root && processes_hides();
    system->is_whole = !request->pid_count && !request->user_count && !request->name &&
                       !request->cgroup && !request->mapping;
    if (error)
        system_memory_release(system);
    return error;
}

void system_memory_release(struct system_memory *system)
{
    for (size_t i = 0; i < system->count; i++) {
        struct system_memory_process *process = &system->processes[i];
        free(process->command);
        free(process->cgroup);
        free(process->pieces);
        free(process->piece_names);
    }
    free(system->processes);
    *system = (struct system_memory){0};
}
