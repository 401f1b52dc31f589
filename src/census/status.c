/* The texts: /proc/PID/status and cgroup, /proc/meminfo. Names in them are strangers'. */
#include <stdlib.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "census/census.h"
#include "process/proc_file.h"

/* What follows "KEY:\t" up to the line's end; NULL if there is no such line, or it was cut. */
static const char *line_of(const char *text, const char *key, size_t *length)
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
static void take_name(const char *text, char *name, size_t size)
{
    size_t length = 0, kept = 0;
    const char *value = line_of(text, "Name", &length);
    for (size_t i = 0; value && i < length && kept + 1 < size; i++) {
        bool escaped = value[i] == '\\' && i + 1 < length;
        i += escaped;
        name[kept++] = escaped && value[i] == 'n' ? '\n' : value[i];
    }
    name[kept] = '\0';
}

static uint64_t number_or(const char *text, const char *key, uint64_t otherwise)
{
    uint64_t value;
    return proc_value(text, key, &value) ? value : otherwise;
}

/* Number `which` (from 0) of a line of numbers; -1: the last. */
static bool number_in_line(const char *text, const char *key, int which, uint64_t *number)
{
    size_t length = 0;
    const char *at = line_of(text, key, &length), *end = at ? at + length : NULL;
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

static pid_t pid_or_zero(const char *text, const char *key, int which)
{
    uint64_t number;
    return number_in_line(text, key, which, &number) && number <= INT_MAX ? (pid_t)number : 0;
}

/* Kernels before 6.4 do not say which threads are theirs; theirs are kthreadd, its children, and
 * have no memory. */
static bool is_kernel_thread(const char *text, const struct census_status *status)
{
    uint64_t said;
    if (proc_value(text, "Kthread", &said))
        return said == 1;
    return status->size_bytes == PROCESS_UNKNOWN && status->state != 'Z' && status->state != 'X' &&
           ((status->pid == 2 && status->parent == 0) || status->parent == 2);
}

int census_parse_status(const char *text, struct census_status *status)
{
    uint64_t uid;
    size_t length = 0;
    const char *state = line_of(text, "State", &length);
    *status = (struct census_status){.state = state && length ? *state : '?', .uid = (uid_t)-1};
    take_name(text, status->name, sizeof status->name);
    status->pid = pid_or_zero(text, "Tgid", 0);
    if (!status->pid)
        return -EINVAL;
    status->parent = pid_or_zero(text, "PPid", 0);
    status->inner_pid = pid_or_zero(text, "NSpid", -1);
    if (number_in_line(text, "Uid", 1, &uid) && uid < UINT32_MAX)
        status->uid = (uid_t)uid;
    status->threads = number_or(text, "Threads", PROCESS_UNKNOWN);
    status->size_bytes = number_or(text, "VmSize", PROCESS_UNKNOWN);
    status->rss_bytes = number_or(text, "VmRSS", PROCESS_UNKNOWN);
    status->swap_bytes = number_or(text, "VmSwap", PROCESS_UNKNOWN);
    status->is_kernel = is_kernel_thread(text, status);
    return 0;
}

/* ---- Control groups ------------------------------------------------------------------------ */

static bool lists_memory(const char *controllers, const char *end)
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
static int line_rank(const char *line, const char *controllers, const char *path)
{
    if (lists_memory(controllers, path))
        return 3;
    return strncmp(line, "0::", 3) == 0 ? 2 : 1;
}

char *census_parse_cgroup(const char *text)
{
    const char *best = NULL, *best_end = NULL;
    int best_rank = 0;
    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        const char *controllers = memchr(line, ':', (size_t)(end - line));
        controllers = controllers ? controllers + 1 : end;
        const char *path = memchr(controllers, ':', (size_t)(end - controllers));
        if (!path || path[1] != '/')
            continue;
        int rank = line_rank(line, controllers, path);
        if (rank > best_rank) {
            best = path + 1;
            best_end = end;
            best_rank = rank;
        }
    }
    return best ? strndup(best, (size_t)(best_end - best)) : NULL;
}

/* ---- The machine --------------------------------------------------------------------------- */

void census_parse_machine(const char *text, struct census_machine *machine)
{
    static const struct {
        const char *key;
        size_t offset;
    } fields[] = {
        {"MemTotal", offsetof(struct census_machine, total)},
        {"MemFree", offsetof(struct census_machine, free)},
        {"MemAvailable", offsetof(struct census_machine, available)},
        {"Buffers", offsetof(struct census_machine, buffers)},
        {"Cached", offsetof(struct census_machine, cached)},
        {"SwapCached", offsetof(struct census_machine, swap_cached)},
        {"Shmem", offsetof(struct census_machine, shared_memory)},
        {"AnonPages", offsetof(struct census_machine, anonymous)},
        {"Slab", offsetof(struct census_machine, slab)},
        {"SReclaimable", offsetof(struct census_machine, slab_reclaimable)},
        {"KReclaimable", offsetof(struct census_machine, reclaimable)},
        {"KernelStack", offsetof(struct census_machine, kernel_stacks)},
        {"PageTables", offsetof(struct census_machine, page_tables)},
        {"SecPageTables", offsetof(struct census_machine, other_page_tables)},
        {"Percpu", offsetof(struct census_machine, per_cpu)},
        {"Hugetlb", offsetof(struct census_machine, huge_pool)},
        {"SwapTotal", offsetof(struct census_machine, swap_total)},
        {"SwapFree", offsetof(struct census_machine, swap_free)},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        *(uint64_t *)((char *)machine + fields[i].offset) =
            number_or(text, fields[i].key, PROCESS_UNKNOWN);
}

/* What a kernel does not list it has not, or counts elsewhere: it is in the rest then. */
static uint64_t or_none(uint64_t bytes)
{
    return bytes == PROCESS_UNKNOWN ? 0 : bytes;
}

static uint64_t less(uint64_t from, uint64_t bytes)
{
    return from > bytes ? from - bytes : 0;
}

/* PSS by what the pages are. Where the kernel does not say (before 5.4), what was written to is
 * taken to be in no other process. */
struct split {
    uint64_t all, anonymous, shared_memory, file;
};

static void split_add(struct split *split, const struct smaps_bytes *bytes)
{
    uint64_t pss = or_none(bytes->pss), shared = or_none(bytes->pss_shared_memory);
    uint64_t anonymous = bytes->pss_anonymous != PROCESS_UNKNOWN ? bytes->pss_anonymous
                         : or_none(bytes->anonymous) < pss       ? or_none(bytes->anonymous)
                                                                 : pss;
    split->all += pss;
    split->anonymous += anonymous;
    split->shared_memory += shared;
    split->file += less(pss, anonymous + shared);
}

static uint64_t sum_swap(const struct census *census)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < census->count; i++) {
        const struct census_process *process = &census->processes[i];
        if (process->state == CENSUS_READ && process->bytes.swap_pss == PROCESS_UNKNOWN)
            return PROCESS_UNKNOWN;
        sum += process->state == CENSUS_READ ? process->bytes.swap_pss : 0;
    }
    return sum;
}

bool census_balance(const struct census *census, struct census_balance *balance)
{
    const struct census_machine *machine = &census->machine;
    struct split split = {0};
    if (!census->is_whole || machine->total == PROCESS_UNKNOWN ||
        machine->free == PROCESS_UNKNOWN || machine->cached == PROCESS_UNKNOWN ||
        machine->anonymous == PROCESS_UNKNOWN)
        return false;
    for (size_t i = 0; i < census->count; i++)
        if (census->processes[i].state == CENSUS_READ)
            split_add(&split, &census->processes[i].bytes);
    uint64_t shmem = or_none(machine->shared_memory);
    uint64_t cache =
        less(machine->cached, shmem) + or_none(machine->buffers) + or_none(machine->swap_cached);
    uint64_t beyond_slab = less(or_none(machine->reclaimable), or_none(machine->slab_reclaimable));
    *balance = (struct census_balance){
        .total = machine->total,
        .available = machine->available,
        .processes = split.all,
        .anonymous_elsewhere = less(machine->anonymous, split.anonymous),
        .shared_memory = less(shmem, split.shared_memory),
        .page_cache = less(cache, split.file),
        .kernel = or_none(machine->slab) + beyond_slab + or_none(machine->kernel_stacks) +
                  or_none(machine->page_tables) + or_none(machine->other_page_tables) +
                  or_none(machine->per_cpu),
        .huge_pool = or_none(machine->huge_pool),
        .free = machine->free,
        .kernel_reclaimable = machine->reclaimable != PROCESS_UNKNOWN
                                  ? machine->reclaimable
                                  : or_none(machine->slab_reclaimable),
        .swap_total = machine->swap_total,
        .swap_used = machine->swap_total == PROCESS_UNKNOWN || machine->swap_free == PROCESS_UNKNOWN
                         ? PROCESS_UNKNOWN
                         : less(machine->swap_total, machine->swap_free),
        .swap_processes = sum_swap(census),
    };
    balance->rest = (int64_t)(balance->total - balance->processes - balance->anonymous_elsewhere -
                              balance->shared_memory - balance->page_cache - balance->kernel -
                              balance->huge_pool - balance->free);
    return true;
}
