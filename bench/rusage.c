/* Runs a command and says what each process of it took: CPU time, peak resident set, from when to
 * when.
 *
 *   rusage REPORT COMMAND [ARGUMENTS…]
 *
 * A profiler is a tree of processes with the profiled program somewhere in it. wait4() adds a child
 * up with all of its own children, so it can tell neither the program from its profiler nor two
 * peaks from one another; and to put a wrapper in front of the program would have that one profiled
 * too. So this follows the tree as a debugger does, but stops it only where a process begins,
 * executes another program, or ends: the command line is the one that a user types, and what runs
 * in between runs untouched. At a process's end its CPU clock is read when it is a zombie
 * (everything is in, its threads and the tearing down of its memory), and its peak while it still
 * has memory.
 *
 * Orphans become ours and are waited for. Where tracing is forbidden, the list of processes is
 * empty and cpu_ns is what wait4() says. The exit status is the command's. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRACE_OPTIONS                                                                              \
    (PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |         \
     PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL)

enum { PROCESSES_MAX = 1024 };

/* One process image: what it executed last. Times count from the start of the command. */
struct process {
    pid_t pid;
    int ended;
    uint64_t from_ns, to_ns, cpu_ns;
    long peak_kib;
    char program[PATH_MAX];
};

static struct process processes[PROCESSES_MAX];
static int process_count;
static uint64_t started_ns;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    return clock_gettime(clock, &now) == 0
               ? (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec
               : 0;
}

static uint64_t elapsed_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC) - started_ns;
}

static struct process *find(pid_t pid)
{
    for (int i = process_count; i-- > 0;) {
        if (processes[i].pid == pid && !processes[i].ended) {
            return &processes[i];
        }
    }
    return NULL;
}

/* The number after "KEY:" in /proc/ID/status; 0 if there is none. */
static long status_number(pid_t id, const char *key)
{
    char path[64], line[256];
    long number = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)id);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        size_t length = strlen(key);
        if (strncmp(line, key, length) == 0 && line[length] == ':') {
            number = strtol(line + length + 1, NULL, 10);
            break;
        }
    }
    if (file) {
        fclose(file);
    }
    return number;
}

static void note_program(struct process *process)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)process->pid);
    ssize_t length = readlink(link, process->program, sizeof process->program - 1);
    process->program[length < 0 ? 0 : length] = '\0';
    process->from_ns = elapsed_ns();
    process->peak_kib = 0;
}

/* A thread or process that was not seen before has stopped for the first time. */
static void note_new(pid_t id)
{
    if (find(id) || status_number(id, "Tgid") != id) {
        return;
    }
    if (process_count == PROCESSES_MAX) {
        fprintf(stderr, "rusage: more than %d processes; the rest is not listed\n", PROCESSES_MAX);
        return;
    }
    processes[process_count] = (struct process){.pid = id};
    note_program(&processes[process_count++]);
}

/* A thread is about to end: the last moment at which the memory can be asked. */
static void note_peak(pid_t id)
{
    struct process *process = find((pid_t)status_number(id, "Tgid"));
    long peak_kib = status_number(id, "VmHWM");
    if (process && peak_kib > process->peak_kib) {
        process->peak_kib = peak_kib;
    }
}

static void note_end(pid_t pid)
{
    struct process *process = find(pid);
    clockid_t clock;
    if (!process) {
        return;
    }
    process->ended = 1;
    process->to_ns = elapsed_ns();
    if (clock_getcpuclockid(pid, &clock) == 0) {
        process->cpu_ns = clock_ns(clock);
    }
}

static void resume(pid_t id, int status)
{
    int event = status >> 16, signal = WSTOPSIG(status);
    switch (event) {
    case 0: /* a signal on its way to it */
        ptrace(PTRACE_CONT, id, 0L, (long)signal);
        return;
    case PTRACE_EVENT_STOP:
        note_new(id);
        if (signal != SIGTRAP) { /* it is to stay stopped until SIGCONT */
            ptrace(PTRACE_LISTEN, id, 0L, 0L);
            return;
        }
        break;
    case PTRACE_EVENT_EXEC:
        if (find(id)) {
            note_program(find(id));
        }
        break;
    case PTRACE_EVENT_EXIT:
        note_peak(id);
        break;
    }
    ptrace(PTRACE_CONT, id, 0L, 0L);
}

/* Until nobody is left. */
static void follow(pid_t command, int *command_status, uint64_t *wall_ns)
{
    siginfo_t info;
    for (;;) {
        int status;
        if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL) != 0) {
            if (errno == EINTR) {
                continue;
            }
            return;
        }
        if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
            info.si_code == CLD_DUMPED) {
            note_end(info.si_pid);
        }
        if (waitpid(info.si_pid, &status, __WALL) != info.si_pid) {
            continue;
        }
        if (WIFSTOPPED(status)) {
            resume(info.si_pid, status);
        } else if (info.si_pid == command) {
            *command_status = status;
            *wall_ns = elapsed_ns();
        }
    }
}

static pid_t start(char **command, int *traced)
{
    int gate[2];
    char byte = 0;
    if (pipe(gate) != 0) {
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(gate[1]);
        if (read(gate[0], &byte, 1) == 1) {
            close(gate[0]);
            execvp(command[0], command);
            perror(command[0]);
        }
        _exit(127);
    }
    if (pid > 0) {
        *traced = ptrace(PTRACE_SEIZE, pid, 0L, (long)TRACE_OPTIONS) == 0;
        if (*traced) {
            note_new(pid);
        }
        started_ns = clock_ns(CLOCK_MONOTONIC);
        if (write(gate[1], &byte, 1) != 1) {
            pid = -1;
        }
    }
    close(gate[0]);
    close(gate[1]);
    return pid;
}

static void write_string(FILE *file, const char *string)
{
    fputc('"', file);
    for (; *string; string++) {
        if (*string == '"' || *string == '\\') {
            fputc('\\', file);
        }
        fputc((unsigned char)*string < ' ' ? '?' : *string, file);
    }
    fputc('"', file);
}

static int write_report(const char *path, int traced, uint64_t wall_ns)
{
    struct rusage usage;
    uint64_t cpu_ns = 0;
    FILE *file = fopen(path, "w");
    if (!file) {
        return -errno;
    }
    getrusage(RUSAGE_CHILDREN, &usage);
    cpu_ns = ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * 1000000000 +
             ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000;
    fprintf(file, "{\"traced\": %s, \"wall_ns\": %llu, \"cpu_ns\": %llu, \"processes\": [",
            traced ? "true" : "false", (unsigned long long)wall_ns, (unsigned long long)cpu_ns);
    for (int i = 0; i < process_count; i++) {
        const struct process *p = &processes[i];
        fprintf(file, "%s\n  {\"pid\": %d, \"program\": ", i ? "," : "", (int)p->pid);
        write_string(file, p->program);
        fprintf(file, ", \"from_ns\": %llu, \"to_ns\": %llu, \"cpu_ns\": %llu, \"peak_kib\": %ld}",
                (unsigned long long)p->from_ns, (unsigned long long)p->to_ns,
                (unsigned long long)p->cpu_ns, p->peak_kib);
    }
    fprintf(file, "]}\n");
    return fclose(file) == 0 ? 0 : -errno;
}

int main(int argc, char **argv)
{
    int traced = 0, status = 127 << 8;
    uint64_t wall_ns = 0;
    if (argc < 3) {
        fprintf(stderr, "usage: rusage REPORT COMMAND [ARGUMENTS…]\n");
        return 2;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t pid = start(argv + 2, &traced);
    if (pid < 0) {
        perror("rusage");
        return 1;
    }
    follow(pid, &status, &wall_ns);
    if (write_report(argv[1], traced, wall_ns) != 0) {
        perror(argv[1]);
        return 1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
