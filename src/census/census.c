/* Reads the processes, on several threads: each takes the next process that none has taken yet. */
#include "census/census.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/proc_file.h"

enum { MAX_TEXT_BYTES = 65536, MOST_THREADS = 8 };

/* One thread's means, used again from process to process. */
struct worker {
    const struct census_request *request;
    struct census *census;
    atomic_size_t *next;
    struct smaps smaps;
    struct strbuf text;
    int error;
    pthread_t thread;
};

/* ---- One process --------------------------------------------------------------------------- */

/* Everything is opened below one open directory: a number that another process gets meanwhile then
 * reads as gone. */
static int open_in(int directory, const char *file)
{
    int fd = openat(directory, file, O_RDONLY | O_CLOEXEC);
    return fd >= 0 ? fd : proc_error(errno);
}

static int read_in(struct worker *worker, int directory, const char *file)
{
    strbuf_reset(&worker->text);
    int fd = open_in(directory, file);
    if (fd < 0)
        return fd;
    int error = proc_read_fd(fd, MAX_TEXT_BYTES, &worker->text);
    close(fd);
    return error;
}

static bool matches(const regex_t *pattern, const char *text)
{
    return !pattern || (text && regexec(pattern, text, 0, NULL, 0) == 0);
}

static bool user_is_wanted(const struct census_request *request, uid_t uid)
{
    for (size_t i = 0; i < request->user_count; i++)
        if (request->users[i] == uid)
            return true;
    return !request->user_count;
}

/* The pattern stands in our own command line: we do not match by it. */
static bool is_named(const regex_t *name, const struct census_process *process)
{
    return !name || (process->status.pid != getpid() &&
                     (matches(name, process->status.name) || matches(name, process->command)));
}

static bool is_wanted(const struct census_request *request, const struct census_process *process)
{
    return is_named(request->name, process) && user_is_wanted(request, process->status.uid) &&
           matches(request->cgroup, process->cgroup);
}

/* A process whose first thread has ended lives on in the others, and shows its memory there only.
 */
static int find_living_thread(pid_t tid, void *context)
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

static int open_living_thread(pid_t pid)
{
    pid_t tid = 0;
    proc_threads(pid, find_living_thread, &tid);
    if (!tid)
        return -ESRCH;
    return open(proc_path(tid, "").text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int read_rollup(struct worker *worker, int directory, struct census_process *process)
{
    int fd = open_in(directory, "smaps_rollup");
    int error = fd;
    if (fd >= 0) {
        error = smaps_rollup_fd(fd, &process->bytes);
        close(fd);
    } else if (fd == -ESRCH && (fd = open_in(directory, "smaps")) >= 0) { /* before Linux 4.14 */
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

static bool is_of_module(const struct smaps_mapping *mapping)
{
    return mapping->kind == SMAPS_TEXT || mapping->kind == SMAPS_RODATA ||
           mapping->kind == SMAPS_DATA;
}

/* The kernel's name, or ours for what has none. By library all that is of no module goes by its
 * kind; `module` is the one whose data came last. */
static const char *piece_name(const struct smaps_mapping *mapping, bool libraries,
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
    if (is_of_module(mapping))
        *module = mapping->path;
    if (libraries && mapping->kind == SMAPS_BSS && *module)
        return *module;
    if (libraries && !is_of_module(mapping))
        return unnamed[mapping->kind];
    return *mapping->path ? mapping->path : unnamed[mapping->kind];
}

static int compare_pieces(const void *left, const void *right)
{
    return strcmp(((const struct census_piece *)left)->name,
                  ((const struct census_piece *)right)->name);
}

/* Neighbours of one name become one. */
static size_t join_pieces(struct census_piece *pieces, size_t count)
{
    size_t kept = 0;
    qsort(pieces, count, sizeof *pieces, compare_pieces);
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
static int keep_names(struct census_process *process)
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

/* The kernel does not say of a mapping what its pages are; but only private files have two sorts of
 * them, and of these what was written to is rarely in a second process. */
static void split_mapping(struct census_piece *piece, const struct smaps_mapping *mapping)
{
    struct smaps_bytes *bytes = &piece->bytes;
    bool is_shared = mapping->kind == SMAPS_SHARED_MEMORY;
    if (bytes->pss == PROCESS_UNKNOWN || bytes->anonymous == PROCESS_UNKNOWN)
        return;
    uint64_t written = bytes->anonymous < bytes->pss ? bytes->anonymous : bytes->pss;
    bytes->pss_shared_memory = is_shared ? bytes->pss - written : 0;
    bytes->pss_anonymous = mapping->inode || is_shared ? written : bytes->pss;
    bytes->pss_file = bytes->pss - bytes->pss_anonymous - bytes->pss_shared_memory;
}

static int take_pieces(struct worker *worker, struct census_process *process)
{
    const struct smaps *smaps = &worker->smaps;
    const char *module = NULL;
    process->pieces = calloc(smaps->count + 1, sizeof *process->pieces);
    if (!process->pieces)
        return -ENOMEM;
    process->bytes = (struct smaps_bytes){0};
    for (size_t i = 0; i < smaps->count; i++) {
        const struct smaps_mapping *mapping = &smaps->mappings[i];
        const char *name = piece_name(mapping, worker->request->libraries, &module);
        if (!matches(worker->request->mapping, name))
            continue;
        struct census_piece *piece = &process->pieces[process->piece_count++];
        *piece = (struct census_piece){name, 1, mapping->bytes};
        split_mapping(piece, mapping);
        smaps_add(&process->bytes, &piece->bytes);
        process->mappings++;
    }
    process->piece_count = join_pieces(process->pieces, process->piece_count);
    return keep_names(process);
}

static int read_pieces(struct worker *worker, int directory, struct census_process *process)
{
    int fd = open_in(directory, "smaps");
    int error = fd < 0 ? fd : smaps_read_fd(&worker->smaps, fd);
    if (fd >= 0)
        close(fd);
    return error ? error : take_pieces(worker, process);
}

/* ---- A process as a whole ------------------------------------------------------------------ */

static int read_memory(struct worker *worker, int directory, struct census_process *process)
{
    const struct census_request *request = worker->request;
    int living = -1, error;
    if (process->status.state == 'Z' && (living = open_living_thread(process->status.pid)) < 0)
        return -ESRCH;
    directory = living >= 0 ? living : directory;
    error = request->pieces || request->mapping ? read_pieces(worker, directory, process)
                                                : read_rollup(worker, directory, process);
    if (living >= 0)
        close(living);
    return error;
}

static enum census_state state_after(int error, const struct worker *worker,
                                     const struct census_process *process)
{
    if (error == -EACCES)
        return CENSUS_FORBIDDEN;
    if (error)
        return CENSUS_GONE;
    return worker->request->mapping && !process->piece_count ? CENSUS_LEFT_OUT : CENSUS_READ;
}

static bool has_memory(const struct census_status *status)
{
    bool ended = status->state == 'Z' || status->state == 'X';
    return ended ? status->threads != PROCESS_UNKNOWN && status->threads > 1 : !status->is_kernel;
}

/* Who writes a title over its arguments (setproctitle) leaves the rest of their space empty. */
static void drop_empty_arguments(char *command)
{
    static const char empty[] = " ''";
    size_t length = strlen(command);
    while (length >= sizeof empty && !strcmp(command + length - (sizeof empty - 1), empty))
        command[length -= sizeof empty - 1] = '\0';
}

static int read_process(struct worker *worker, int directory, struct census_process *process)
{
    pid_t pid = process->status.pid;
    struct smaps_bytes *bytes = &process->bytes;
    struct census_status status;
    if (read_in(worker, directory, "status") != 0 ||
        census_parse_status(worker->text.data, &status) != 0)
        return 0;
    if (status.pid != pid) /* a thread that was named as if it were a process */
        return 0;
    process->status = status;
    if (process_command_line(pid, &process->command) != 0)
        process->command = NULL;
    else
        drop_empty_arguments(process->command);
    if (read_in(worker, directory, "cgroup") == 0)
        process->cgroup = census_parse_cgroup(worker->text.data);
    if (!is_wanted(worker->request, process)) {
        process->state = CENSUS_LEFT_OUT;
        return 0;
    }
    if (!has_memory(&process->status)) {
        process->state = process->status.is_kernel ? CENSUS_KERNEL : CENSUS_ZOMBIE;
        return 0;
    }
    int error = read_memory(worker, directory, process);
    if (error == -ENOMEM)
        return error;
    process->state = state_after(error, worker, process);
    if (process->state == CENSUS_FORBIDDEN) {
        memset(bytes, 0xff, sizeof *bytes);
        bytes->size = process->status.size_bytes;
        bytes->rss = process->status.rss_bytes;
        bytes->swap = process->status.swap_bytes;
    }
    return 0;
}

static int take_process(struct worker *worker, struct census_process *process)
{
    process->state = CENSUS_GONE;
    int directory =
        open(proc_path(process->status.pid, "").text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return 0;
    int error = read_process(worker, directory, process);
    close(directory);
    return error;
}

/* ---- All processes ------------------------------------------------------------------------- */

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (size_t i; (i = atomic_fetch_add(worker->next, 1)) < worker->census->count;) {
        int error = take_process(worker, &worker->census->processes[i]);
        if (error)
            worker->error = error;
    }
    smaps_release(&worker->smaps);
    strbuf_release(&worker->text);
    return NULL;
}

static size_t thread_count(const struct census *census, const struct census_request *request)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t count = request->threads ? request->threads : processors > 0 ? (size_t)processors : 1;
    count = count < MOST_THREADS ? count : MOST_THREADS;
    return count < census->count ? count : census->count ? census->count : 1;
}

/* A thread that cannot be had leaves its work to the others; the first is the caller's own. */
static int read_all(struct census *census, const struct census_request *request)
{
    struct worker workers[MOST_THREADS];
    bool started[MOST_THREADS] = {false};
    atomic_size_t next = 0;
    size_t count = thread_count(census, request);
    int error = 0;
    for (size_t i = 0; i < count; i++)
        workers[i] = (struct worker){
            .request = request,
            .census = census,
            .next = &next,
            .smaps = SMAPS_INIT,
            .text = STRBUF_INIT,
        };
    for (size_t i = 1; i < count; i++)
        started[i] = pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    work(&workers[0]);
    for (size_t i = 0; i < count; i++) {
        if (started[i])
            pthread_join(workers[i].thread, NULL);
        error = workers[i].error ? workers[i].error : error;
    }
    return error;
}

static int add_pid(struct census *census, size_t *capacity, pid_t pid)
{
    if (census->count == *capacity) {
        *capacity = *capacity ? *capacity * 2 : 512;
        struct census_process *grown =
            realloc(census->processes, *capacity * sizeof *census->processes);
        if (!grown)
            return -ENOMEM;
        census->processes = grown;
    }
    census->processes[census->count++] = (struct census_process){.status.pid = pid};
    return 0;
}

static int list_processes(struct census *census)
{
    size_t capacity = 0;
    DIR *directory = opendir("/proc");
    if (!directory)
        return -errno;
    int error = 0;
    for (struct dirent *entry; !error && (entry = readdir(directory));) {
        uint64_t pid;
        const char *end;
        if (proc_number(entry->d_name, &pid, &end) && !*end && pid <= INT32_MAX)
            error = add_pid(census, &capacity, (pid_t)pid);
    }
    closedir(directory);
    return error ? error : census->count ? 0 : -ENOENT;
}

static int compare_processes(const void *left, const void *right)
{
    const struct census_process *a = left, *b = right;
    return (a->status.pid > b->status.pid) - (a->status.pid < b->status.pid);
}

static int take_pids(struct census *census, const struct census_request *request)
{
    size_t capacity = 0, kept = 0;
    int error = request->pid_count ? 0 : list_processes(census);
    for (size_t i = 0; !error && i < request->pid_count; i++)
        error = add_pid(census, &capacity, request->pids[i]);
    if (error)
        return error;
    qsort(census->processes, census->count, sizeof *census->processes, compare_processes);
    for (size_t i = 0; i < census->count; i++) /* named twice, counted once */
        if (!kept || census->processes[kept - 1].status.pid != census->processes[i].status.pid)
            census->processes[kept++] = census->processes[i];
    census->count = kept;
    return 0;
}

/* "hidepid=2", by newer kernels "hidepid=invisible", in the options of what is mounted on /proc. */
static bool hides_processes(void)
{
    struct strbuf text = STRBUF_INIT;
    bool hides = false;
    if (geteuid() != 0 && proc_read_at("/proc/self/mountinfo", 1u << 20, &text) == 0) {
        const char *line = strstr(text.data, " /proc ");
        const char *end = line ? strchr(line, '\n') : NULL;
        const char *option = line ? strstr(line, "hidepid=") : NULL;
        hides = option && end && option < end && !strchr("0o", option[8]);
    }
    strbuf_release(&text);
    return hides;
}

int census_take(struct census *census, const struct census_request *request)
{
    struct strbuf text = STRBUF_INIT;
    *census = (struct census){0};
    int error = take_pids(census, request);
    if (!error)
        error = read_all(census, request);
    for (size_t i = 0; i < census->count; i++)
        census->state_counts[census->processes[i].state]++;
    if (proc_read_at("/proc/meminfo", MAX_TEXT_BYTES, &text) != 0)
        strbuf_reset(&text);
    census_parse_machine(text.data, &census->machine);
    strbuf_release(&text);
    census->hides_processes = hides_processes();
    census->is_whole = !request->pid_count && !request->user_count && !request->name &&
                       !request->cgroup && !request->mapping;
    if (error)
        census_release(census);
    return error;
}

void census_release(struct census *census)
{
    for (size_t i = 0; i < census->count; i++) {
        struct census_process *process = &census->processes[i];
        free(process->command);
        free(process->cgroup);
        free(process->pieces);
        free(process->piece_names);
    }
    free(census->processes);
    *census = (struct census){0};
}
