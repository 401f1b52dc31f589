/* Page faults, processor time and context switches of a process and of its threads (usage.h). They
 * are fields of stat and status. The context switches of a process are the sums over its threads.
 */
#include "procfs/usage.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "procfs/proc_file.h"
#include "procfs/process.h"

#define MAX_STAT_BYTES   4096u
#define MAX_STATUS_BYTES 65536u

/* Fields of stat, as proc(5) counts them. */
enum {
    STAT_STATE = 3,
    STAT_MINOR_FAULTS = 10,
    STAT_MAJOR_FAULTS = 12,
    STAT_USER_TICKS = 14,
    STAT_SYSTEM_TICKS = 15,
    STAT_THREADS = 20,
};

/* A field that ends with the text may have been cut. */
static struct figure usage_stat_number(const char *stat, unsigned field)
{
    uint64_t value;
    const char *at = proc_stat_field(stat, field), *end;
    return at && proc_number(at, &value, &end) && *end == ' ' ? figure_of(value) : FIGURE_UNKNOWN;
}

static struct figure usage_stat_ns(const char *stat, unsigned field)
{
    uint64_t ticks, ns;
    uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    if (!figure_get(usage_stat_number(stat, field), &ticks) ||
        __builtin_mul_overflow(ticks, tick_ns, &ns))
        return FIGURE_UNKNOWN;
    return figure_of(ns);
}

static struct figure usage_status_number(const char *status, const char *key)
{
    uint64_t value;
    return proc_value(status, key, &value) ? figure_of(value) : FIGURE_UNKNOWN;
}

/* It is in parentheses and may have some itself. */
static void usage_parse_name(const char *stat, char name[16])
{
    const char *begin = strchr(stat, '('), *end = strrchr(stat, ')');
    bool is_there = begin && end && begin < end;
    process_clean_name(is_there ? begin + 1 : "", is_there ? (size_t)(end - begin - 1) : 0, name);
}

void usage_parse_stat(const char *stat, struct usage *usage)
{
    usage_parse_name(stat, usage->name);
    usage->minor_faults = usage_stat_number(stat, STAT_MINOR_FAULTS);
    usage->major_faults = usage_stat_number(stat, STAT_MAJOR_FAULTS);
    usage->user_ns = usage_stat_ns(stat, STAT_USER_TICKS);
    usage->system_ns = usage_stat_ns(stat, STAT_SYSTEM_TICKS);
    usage->threads = usage_stat_number(stat, STAT_THREADS);
}

void usage_parse_status(const char *status, struct usage *usage)
{
    usage->peak_resident_bytes = usage_status_number(status, "VmHWM");
    usage->peak_virtual_bytes = usage_status_number(status, "VmPeak");
    usage->resident_bytes = usage_status_number(status, "VmRSS");
    usage->swapped_bytes = usage_status_number(status, "VmSwap");
    usage->locked_bytes = usage_status_number(status, "VmLck");
    usage->page_table_bytes = usage_status_number(status, "VmPTE");
}

/* ---- Threads ------------------------------------------------------------------------------- */

static int usage_read_task(pid_t pid, pid_t tid, const char *file, size_t max, struct strbuf *text)
{
    char path[48];
    snprintf(path, sizeof path, "task/%d/%s", (int)tid, file);
    strbuf_reset(text);
    return proc_read(pid, path, max, text);
}

static int usage_thread_read(pid_t pid, pid_t tid, struct usage_thread *thread, struct strbuf *text)
{
    *thread = (struct usage_thread){.tid = tid, .state = '?'};
    int error = usage_read_task(pid, tid, "stat", MAX_STAT_BYTES, text);
    if (error)
        return error;
    const char *state = proc_stat_field(text->data, STAT_STATE);
    if (state)
        thread->state = *state;
    thread->minor_faults = usage_stat_number(text->data, STAT_MINOR_FAULTS);
    thread->major_faults = usage_stat_number(text->data, STAT_MAJOR_FAULTS);
    thread->user_ns = usage_stat_ns(text->data, STAT_USER_TICKS);
    thread->system_ns = usage_stat_ns(text->data, STAT_SYSTEM_TICKS);
    error = usage_read_task(pid, tid, "status", MAX_STATUS_BYTES, text);
    if (error)
        return error;
    thread->voluntary_switches = usage_status_number(text->data, "voluntary_ctxt_switches");
    thread->involuntary_switches = usage_status_number(text->data, "nonvoluntary_ctxt_switches");
    return process_thread_name(pid, tid, thread->name);
}

struct threads_visit {
    pid_t pid;
    struct strbuf text;
    int (*visit)(const struct usage_thread *thread, void *context);
    void *context;
};

static int usage_visit_thread(pid_t tid, void *context)
{
    struct threads_visit *threads = context;
    struct usage_thread thread;
    int error = usage_thread_read(threads->pid, tid, &thread, &threads->text);
    if (error == -ESRCH) /* ended since it was listed */
        return 0;
    return error ? error : threads->visit(&thread, threads->context);
}

int usage_threads(pid_t pid, int (*visit)(const struct usage_thread *thread, void *context),
                  void *context)
{
    struct threads_visit threads = {pid, STRBUF_INIT, visit, context};
    int result = proc_threads(pid, usage_visit_thread, &threads);
    strbuf_release(&threads.text);
    return result;
}

/* ---- The process --------------------------------------------------------------------------- */

static int usage_add_switches(const struct usage_thread *thread, void *context)
{
    struct usage *usage = context;
    usage->voluntary_switches = figure_add(usage->voluntary_switches, thread->voluntary_switches);
    usage->involuntary_switches =
        figure_add(usage->involuntary_switches, thread->involuntary_switches);
    return 0;
}

/* The switches in a process's own status are only those of its first thread. */
static int usage_read_switches(pid_t pid, const char *status, struct usage *usage)
{
    if (figure_or(usage->threads, 0) != 1)
        return usage_threads(pid, usage_add_switches, usage);
    usage->voluntary_switches = usage_status_number(status, "voluntary_ctxt_switches");
    usage->involuntary_switches = usage_status_number(status, "nonvoluntary_ctxt_switches");
    return 0;
}

int usage_read(pid_t pid, struct usage *usage)
{
    struct strbuf text = STRBUF_INIT;
    *usage = (struct usage){0};
    int error = proc_read(pid, "stat", MAX_STAT_BYTES, &text);
    if (error)
        goto done;
    usage_parse_stat(text.data, usage);
    strbuf_reset(&text);
    error = proc_read(pid, "status", MAX_STATUS_BYTES, &text);
    if (error)
        goto done;
    usage_parse_status(text.data, usage);
    error = usage_read_switches(pid, text.data, usage);
done:
    strbuf_release(&text);
    return error;
}
