/* Reads the texts /proc/PID/status, /proc/PID/cgroup and /proc/meminfo into figures. A line that
 * is missing or cut is unknown. Names in them come from strangers, and are cut at a fixed
 * length. */
#include <stdlib.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "system_memory/processes.h"
#include "procfs/proc_file.h"

/* What follows "KEY:\t" up to the line's end; NULL if there is no such line, or it was cut. */
static const char *system_memory_status_line_of(const char *text, const char *key, size_t *length)
{
    size_t key_length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, key_length) != 0 || line[key_length] != ':')
            continue;
        const char *value = line + key_length + 1, *end = strchr(value, '\n');
        if (!end)
            return NULL;
        value += strspn(value, " \t");
        *length = value < end ? (size_t)(end - value) : 0;
        return value;
    }
    return NULL;
}

/* The kernel writes a newline as \n and a backslash as \\ here. */
static void system_memory_status_take_name(const char *text, char *name, size_t size)
{
    size_t length = 0, kept = 0;
    const char *value = system_memory_status_line_of(text, "Name", &length);
    for (size_t i = 0; value && i < length && kept + 1 < size; i++) {
        bool escaped = value[i] == '\\' && i + 1 < length;
        i += escaped;
        name[kept++] = escaped && value[i] == 'n' ? '\n' : value[i];
    }
    name[kept] = '\0';
}

static struct figure system_memory_status_number(const char *text, const char *key)
{
    uint64_t value;
    return proc_value(text, key, &value) ? figure_of(value) : FIGURE_UNKNOWN;
}

/* Number `which` (from 0) of a line of numbers; -1: the last. */
static bool system_memory_status_number_in_line(const char *text, const char *key, int which,
                                                uint64_t *number)
{
    size_t length = 0;
    const char *at = system_memory_status_line_of(text, key, &length),
               *end = at ? at + length : NULL;
    bool any = false;
    for (int i = 0; at && at < end && proc_number(at, number, &at); i++) {
        any = true;
        if (i == which)
            return true;
        while (at < end && (*at == ' ' || *at == '\t'))
            at++;
    }
    return any && which < 0;
}

static pid_t system_memory_status_pid_or_zero(const char *text, const char *key, int which)
{
    uint64_t number;
    return system_memory_status_number_in_line(text, key, which, &number) && number <= INT_MAX
               ? (pid_t)number
               : 0;
}

/* Kernels before 6.4 do not say which threads are theirs; theirs are kthreadd, its children, and
 * have no memory. */
static bool system_memory_status_is_kernel_thread(const char *text,
                                                  const struct system_memory_status *status)
{
    uint64_t said;
    if (proc_value(text, "Kthread", &said))
        return said == 1;
    return !figure_known(status->size_bytes) && status->state != 'Z' && status->state != 'X' &&
           ((status->pid == 2 && status->parent == 0) || status->parent == 2);
}

int system_memory_parse_status(const char *text, struct system_memory_status *status)
{
    uint64_t uid;
    size_t length = 0;
    const char *state = system_memory_status_line_of(text, "State", &length);
    *status =
        (struct system_memory_status){.state = state && length ? *state : '?', .uid = (uid_t)-1};
    system_memory_status_take_name(text, status->name, sizeof status->name);
    status->pid = system_memory_status_pid_or_zero(text, "Tgid", 0);
    if (!status->pid)
        return -EINVAL;
    status->parent = system_memory_status_pid_or_zero(text, "PPid", 0);
    status->inner_pid = system_memory_status_pid_or_zero(text, "NSpid", -1);
    if (system_memory_status_number_in_line(text, "Uid", 1, &uid) && uid < UINT32_MAX)
        status->uid = (uid_t)uid;
    status->threads = system_memory_status_number(text, "Threads");
    status->size_bytes = system_memory_status_number(text, "VmSize");
    status->rss_bytes = system_memory_status_number(text, "VmRSS");
    status->swap_bytes = system_memory_status_number(text, "VmSwap");
    status->is_kernel = system_memory_status_is_kernel_thread(text, status);
    return 0;
}

/* "4711 (name) S 1 …": the name may hold brackets. */
int system_memory_parse_stat(const char *text, struct system_memory_status *status)
{
    const char *open = strchr(text, '('), *close = strrchr(text, ')'), *end;
    uint64_t pid, parent;
    *status = (struct system_memory_status){.state = '?', .uid = (uid_t)-1};
    if (!open || !close || close < open || !proc_number(text, &pid, &end) || pid > INT_MAX ||
        close[1] != ' ' || !close[2] || close[3] != ' ' || !proc_number(close + 4, &parent, &end))
        return -EINVAL;
    status->pid = (pid_t)pid;
    status->parent = parent <= INT_MAX ? (pid_t)parent : 0;
    status->state = close[2];
    size_t length = (size_t)(close - open - 1);
    length = length < sizeof status->name ? length : sizeof status->name - 1;
    memcpy(status->name, open + 1, length);
    status->size_bytes = status->rss_bytes = status->swap_bytes = status->threads = FIGURE_UNKNOWN;
    status->is_kernel = status->pid == 2 || status->parent == 2;
    return 0;
}

uint64_t system_memory_parse_start(const char *text)
{
    enum { START_FIELD = 22, FIRST_BEHIND_NAME = 3 };
    const char *at = strrchr(text, ')'), *end;
    uint64_t ticks;
    for (int field = FIRST_BEHIND_NAME - 1; at && field < START_FIELD; field++)
        at = strchr(at + 1, ' ');
    return at && proc_number(at + 1, &ticks, &end) ? ticks : 0;
}

/* ---- Control groups ------------------------------------------------------------------------ */

static bool system_memory_status_lists_memory(const char *controllers, const char *end)
{
    for (const char *at = controllers; at < end; at++) {
        size_t length = strcspn(at, ",:");
        if (length == 6 && strncmp(at, "memory", 6) == 0)
            return true;
        at += length;
    }
    return false;
}

/* 3: has the memory controller, 2: the unified hierarchy, 1: another */
static int system_memory_status_line_rank(const char *line, const char *controllers,
                                          const char *path)
{
    if (system_memory_status_lists_memory(controllers, path))
        return 3;
    return strncmp(line, "0::", 3) == 0 ? 2 : 1;
}

char *system_memory_parse_cgroup(const char *text)
{
    const char *best = NULL, *best_end = NULL;
    int best_rank = 0;
    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        const char *controllers = memchr(line, ':', (size_t)(end - line));
        controllers = controllers ? controllers + 1 : end;
        const char *path = memchr(controllers, ':', (size_t)(end - controllers));
        if (!path || path[1] != '/')
            continue;
        int rank = system_memory_status_line_rank(line, controllers, path);
        if (rank > best_rank) {
            best = path + 1;
            best_end = end;
            best_rank = rank;
        }
    }
    return best ? strndup(best, (size_t)(best_end - best)) : NULL;
}

/* ---- The machine --------------------------------------------------------------------------- */

void system_memory_parse_machine(const char *text, struct system_memory_machine *machine)
{
    static const struct {
        const char *key;
        size_t offset;
    } fields[] = {
        {"MemTotal", offsetof(struct system_memory_machine, total)},
        {"MemFree", offsetof(struct system_memory_machine, free)},
        {"MemAvailable", offsetof(struct system_memory_machine, available)},
        {"Buffers", offsetof(struct system_memory_machine, buffers)},
        {"Cached", offsetof(struct system_memory_machine, cached)},
        {"SwapCached", offsetof(struct system_memory_machine, swap_cached)},
        {"Shmem", offsetof(struct system_memory_machine, shared_memory)},
        {"AnonPages", offsetof(struct system_memory_machine, anonymous)},
        {"Slab", offsetof(struct system_memory_machine, slab)},
        {"SReclaimable", offsetof(struct system_memory_machine, slab_reclaimable)},
        {"KReclaimable", offsetof(struct system_memory_machine, reclaimable)},
        {"KernelStack", offsetof(struct system_memory_machine, kernel_stacks)},
        {"PageTables", offsetof(struct system_memory_machine, page_tables)},
        {"SecPageTables", offsetof(struct system_memory_machine, other_page_tables)},
        {"Percpu", offsetof(struct system_memory_machine, per_cpu)},
        {"Hugetlb", offsetof(struct system_memory_machine, huge_pool)},
        {"SwapTotal", offsetof(struct system_memory_machine, swap_total)},
        {"SwapFree", offsetof(struct system_memory_machine, swap_free)},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        *(struct figure *)((char *)machine + fields[i].offset) =
            system_memory_status_number(text, fields[i].key);
}

/* 0 where the kernel does not list a figure: there is no such memory, or it is in the rest. */
static uint64_t system_memory_status_or_none(struct figure bytes)
{
    return figure_or(bytes, 0);
}

static uint64_t system_memory_status_less(uint64_t from, uint64_t bytes)
{
    return from > bytes ? from - bytes : 0;
}

/* PSS by what the pages are. Where the kernel does not say (before 5.4), what was written to is
 * taken to be in no other process. */
struct split {
    uint64_t all, anonymous, shared_memory, file;
};

static void system_memory_status_split_add(struct split *split, const struct smaps_bytes *bytes)
{
    uint64_t pss = system_memory_status_or_none(bytes->pss),
             shared = system_memory_status_or_none(bytes->pss_shared_memory);
    uint64_t written = system_memory_status_or_none(bytes->anonymous);
    uint64_t anonymous = figure_or(bytes->pss_anonymous, written < pss ? written : pss);
    split->all += pss;
    split->anonymous += anonymous;
    split->shared_memory += shared;
    split->file += system_memory_status_less(pss, anonymous + shared);
}

static struct figure system_memory_status_sum_swap(const struct system_memory *system)
{
    struct figure sum = FIGURE_OF(0);
    for (size_t i = 0; i < system->count; i++) {
        const struct system_memory_process *process = &system->processes[i];
        if (process->state == SYSTEM_MEMORY_READ)
            sum = figure_add(sum, process->bytes.swap_pss);
    }
    return sum;
}

bool system_memory_balance(const struct system_memory *system,
                           struct system_memory_balance *balance)
{
    const struct system_memory_machine *machine = &system->machine;
    struct split split = {0};
    uint64_t total, free, cached, anonymous;
    if (!system->is_whole || !figure_get(machine->total, &total) ||
        !figure_get(machine->free, &free) || !figure_get(machine->cached, &cached) ||
        !figure_get(machine->anonymous, &anonymous))
        return false;
    for (size_t i = 0; i < system->count; i++)
        if (system->processes[i].state == SYSTEM_MEMORY_READ)
            system_memory_status_split_add(&split, &system->processes[i].bytes);
    uint64_t shmem = system_memory_status_or_none(machine->shared_memory);
    uint64_t cache = system_memory_status_less(cached, shmem) +
                     system_memory_status_or_none(machine->buffers) +
                     system_memory_status_or_none(machine->swap_cached);
    uint64_t beyond_slab =
        system_memory_status_less(system_memory_status_or_none(machine->reclaimable),
                                  system_memory_status_or_none(machine->slab_reclaimable));
    *balance = (struct system_memory_balance){
        .total = total,
        .available = machine->available,
        .processes = split.all,
        .anonymous_elsewhere = system_memory_status_less(anonymous, split.anonymous),
        .shared_memory = system_memory_status_less(shmem, split.shared_memory),
        .page_cache = system_memory_status_less(cache, split.file),
        .kernel = system_memory_status_or_none(machine->slab) + beyond_slab +
                  system_memory_status_or_none(machine->kernel_stacks) +
                  system_memory_status_or_none(machine->page_tables) +
                  system_memory_status_or_none(machine->other_page_tables) +
                  system_memory_status_or_none(machine->per_cpu),
        .huge_pool = system_memory_status_or_none(machine->huge_pool),
        .free = free,
        .kernel_reclaimable = figure_or(machine->reclaimable,
                                        system_memory_status_or_none(machine->slab_reclaimable)),
        .swap_total = machine->swap_total,
        .swap_used = figure_sub(machine->swap_total,
                                figure_at_most(machine->swap_free, machine->swap_total)),
        .swap_processes = system_memory_status_sum_swap(system),
    };
    balance->rest = (int64_t)(balance->total - balance->processes - balance->anonymous_elsewhere -
                              balance->shared_memory - balance->page_cache - balance->kernel -
                              balance->huge_pool - balance->free);
    return true;
}
