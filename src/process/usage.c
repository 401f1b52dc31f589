#include "process/usage.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "process/proc_file.h"

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
static uint64_t stat_number(const char *stat, unsigned field)
{
    uint64_t value;
    const char *at = proc_stat_field(stat, field), *end;
    return at && proc_number(at, &value, &end) && *end == ' ' ? value : PROCESS_UNKNOWN;
}

static uint64_t stat_ns(const char *stat, unsigned field)
{
    uint64_t ticks = stat_number(stat, field), ns;
    uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    if (ticks == PROCESS_UNKNOWN || __builtin_mul_overflow(ticks, tick_ns, &ns))
        return PROCESS_UNKNOWN;
    return ns;
}

static uint64_t status_number(const char *status, const char *key)
{
    uint64_t value;
    return proc_value(status, key, &value) ? value : PROCESS_UNKNOWN;
}

void usage_parse_stat(const char *stat, struct usage *usage)
{
    usage->minor_faults = stat_number(stat, STAT_MINOR_FAULTS);
    usage->major_faults = stat_number(stat, STAT_MAJOR_FAULTS);
    usage->user_ns = stat_ns(stat, STAT_USER_TICKS);
    usage->system_ns = stat_ns(stat, STAT_SYSTEM_TICKS);
    usage->threads = stat_number(stat, STAT_THREADS);
}

void usage_parse_status(const char *status, struct usage *usage)
{
    usage->peak_resident_bytes = status_number(status, "VmHWM");
    usage->peak_virtual_bytes = status_number(status, "VmPeak");
    usage->resident_bytes = status_number(status, "VmRSS");
    usage->swapped_bytes = status_number(status, "VmSwap");
    usage->locked_bytes = status_number(status, "VmLck");
    usage->page_table_bytes = status_number(status, "VmPTE");
}

/* ---- Threads ------------------------------------------------------------------------------- */

static int read_task(pid_t pid, pid_t tid, const char *file, size_t max, struct strbuf *text)
{
    char path[48];
    snprintf(path, sizeof path, "task/%d/%s", (int)tid, file);
    strbuf_reset(text);
    return proc_read(pid, path, max, text);
}

static int thread_read(pid_t pid, pid_t tid, struct usage_thread *thread, struct strbuf *text)
{
    *thread = (struct usage_thread){.tid = tid, .state = '?'};
    int error = read_task(pid, tid, "stat", MAX_STAT_BYTES, text);
    if (error)
        return error;
    const char *state = proc_stat_field(text->data, STAT_STATE);
    if (state)
        thread->state = *state;
    thread->minor_faults = stat_number(text->data, STAT_MINOR_FAULTS);
    thread->major_faults = stat_number(text->data, STAT_MAJOR_FAULTS);
    thread->user_ns = stat_ns(text->data, STAT_USER_TICKS);
    thread->system_ns = stat_ns(text->data, STAT_SYSTEM_TICKS);
    error = read_task(pid, tid, "status", MAX_STATUS_BYTES, text);
    if (error)
        return error;
    thread->voluntary_switches = status_number(text->data, "voluntary_ctxt_switches");
    thread->involuntary_switches = status_number(text->data, "nonvoluntary_ctxt_switches");
    return process_thread_name(pid, tid, thread->name);
}

struct threads_visit {
    pid_t pid;
    struct strbuf text;
    int (*visit)(const struct usage_thread *thread, void *context);
    void *context;
};

static int visit_thread(pid_t tid, void *context)
{
    struct threads_visit *threads = context;
    struct usage_thread thread;
    int error = thread_read(threads->pid, tid, &thread, &threads->text);
    if (error == -ESRCH) /* ended since it was listed */
        return 0;
    return error ? error : threads->visit(&thread, threads->context);
}

int usage_threads(pid_t pid, int (*visit)(const struct usage_thread *thread, void *context),
                  void *context)
{
    struct threads_visit threads = {pid, STRBUF_INIT, visit, context};
    int result = proc_threads(pid, visit_thread, &threads);
    strbuf_release(&threads.text);
    return result;
}

/* ---- The process --------------------------------------------------------------------------- */

static uint64_t add_known(uint64_t a, uint64_t b)
{
    return a == PROCESS_UNKNOWN || b == PROCESS_UNKNOWN ? PROCESS_UNKNOWN : a + b;
}

static int add_switches(const struct usage_thread *thread, void *context)
{
    struct usage *usage = context;
    usage->voluntary_switches = add_known(usage->voluntary_switches, thread->voluntary_switches);
    usage->involuntary_switches =
        add_known(usage->involuntary_switches, thread->involuntary_switches);
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
    error = usage_threads(pid, add_switches, usage);
done:
    strbuf_release(&text);
    return error;
}
