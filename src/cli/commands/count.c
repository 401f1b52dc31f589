/* tidemark count: runs a program with the counting library and says what its processes have
 * allocated. Each of them leaves its counters in a file of a directory that is ours
 * (counters/counter_state.h), so that they are there for a program that is killed, too. */
#include "commands/commands.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/array.h"
#include "base/json.h"
#include "base/old_file.h"
#include "base/own_file.h"
#include "base/options.h"
#include "base/swept.h"
#include "commands/launch.h"
#include "counters/line.h"
#include "counters/counter_state.h"

enum { FORMAT_TEXT, FORMAT_JSON };
enum { PEAK_QUICK, PEAK_EXACT };
enum { BRIEF_CALLS = 1000 }; /* before an exec: what a shell does between fork and exec */

struct count_options {
    const char *output;
    int format, peak;
};

static const struct option_entry option_entries[] = {
    {"format", 'f', OPTION_CHOICE, "text|json", "a line for each process, or JSON (default: text)",
     OPTION_TO(struct count_options, format), false, NULL},
    {"output", 'o', OPTION_STRING, "FILE",
     "write to FILE, \"-\" is stdout (default: standard error)",
     OPTION_TO(struct count_options, output), false, NULL},
    {"peak", 0, OPTION_CHOICE, "quick|exact",
     "exact: threads share one counter, which costs them more (default: quick, within 0.05 %)",
     OPTION_TO(struct count_options, peak), false, NULL},
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "count",
    .synopsis = "[OPTIONS] [--] PROGRAM [ARGUMENTS…]",
    .purpose =
        "Runs a program and counts what it allocates: calls by kind, bytes asked for, their "
        "peak and what is left at exit, in all its threads and for each of its processes. No call "
        "stacks are taken; a call costs a few nanoseconds more.",
    .entries = option_entries,
    .stop_at_operand = true,
    .epilogue = "Examples:\n"
                "  tidemark count ./program arguments\n"
                "  tidemark count -f json -o count.json ./program\n",
};

/* ---- The directory ---- */

/* Counters take a page or two of each process; a page that finds no room there would kill it. */
static bool cmd_count_is_full(const char *path)
{
    struct statvfs found;
    return statvfs(path, &found) == 0 && found.f_bavail * found.f_frsize < 1 << 20;
}

/* In memory where there is such a place: the counters are written to as long as the program
 * runs. */
static int cmd_count_make_directory(struct swept *swept)
{
    int error = -ENOSPC;
    const char *places[] = {"/dev/shm", getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!places[i] || *places[i] != '/' || strlen(places[i]) > 300 ||
            cmd_count_is_full(places[i]))
            continue;
        error = swept_make(swept, places[i], "tidemark-count");
        if (!error)
            return 0;
    }
    return error;
}

/* ---- Running ---- */

static volatile sig_atomic_t count_child;

/* Passes a signal on to the program. A terminal's signal (SI_KERNEL) has reached the program
 * already. */
static void cmd_count_pass_on(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (count_child > 0 && info->si_code != SI_KERNEL)
        kill((pid_t)count_child, number);
}

static void cmd_count_stand_in(void)
{
    static const int forwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM};
    struct sigaction action = {.sa_sigaction = cmd_count_pass_on,
                               .sa_flags = SA_SIGINFO | SA_RESTART};
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++) {
        struct sigaction before;
        sigaction(forwarded[i], NULL, &before);
        if (before.sa_handler != SIG_IGN)
            sigaction(forwarded[i], &action, NULL);
    }
}

static void cmd_count_become(char **argv, const char *library, const char *directory, int peak,
                             int failure)
{
    launch_preload(library);
    setenv(COUNT_DIRECTORY_VARIABLE, directory, 1);
    setenv(COUNT_PEAK_VARIABLE, peak == PEAK_EXACT ? "exact" : "quick", 1);
    launch_become(argv[0], argv);
    int error = errno;
    if (write(failure, &error, sizeof error) != sizeof error)
        _exit(OPTIONS_EXIT_FAILURE);
    _exit(LAUNCH_EXIT_NOT_FOUND);
}

/* 0 and the program's wait status, or the exit status for one that could not be started. */
static int cmd_count_run(char **argv, const char *library, const char *directory, int peak,
                         int *wait_status)
{
    int failure[2], error = 0;
    pid_t started = -1;
    if (pipe2(failure, O_CLOEXEC) < 0 || (started = fork()) < 0) {
        fprintf(stderr, "tidemark count: cannot start a process: %s\n", strerror(errno));
        return OPTIONS_EXIT_FAILURE;
    }
    if (started == 0)
        cmd_count_become(argv, library, directory, peak, failure[1]);
    count_child = started;
    /* Nobody may read our lines, or the file may be full: the exit status stays the program's. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    cmd_count_stand_in();
    close(failure[1]);
    bool failed = read(failure[0], &error, sizeof error) == sizeof error;
    close(failure[0]);
    while (waitpid(started, wait_status, 0) < 0 && errno == EINTR)
        ;
    return failed ? launch_say_cannot("count", argv[0], error) : 0;
}

/* ---- What the processes have left ---- */

struct count_entry {
    int32_t pid;
    uint32_t serial;
    bool replaced;                   /* by exec, with a program that is counted too */
    const struct count_state *state; /* mapped; of a process that still runs it changes */
    struct count_figures figures;
};

struct entries {
    struct count_entry *entry;
    size_t count, room;
    size_t without_room; /* files that stayed empty, as their file system was full */
};

static const struct count_state *cmd_count_map_state(int directory, const char *name,
                                                     bool *is_empty)
{
    struct stat found = {0};
    int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    void *state = MAP_FAILED;
    bool known = file >= 0 && fstat(file, &found) == 0;
    *is_empty = known && found.st_size == 0;
    if (known && found.st_size == sizeof(struct count_state))
        state = mmap(NULL, sizeof(struct count_state), PROT_READ, MAP_PRIVATE, file, 0);
    if (file >= 0)
        close(file);
    if (state == MAP_FAILED)
        return NULL;
    if (((struct count_state *)state)->magic == COUNT_MAGIC)
        return state;
    munmap(state, sizeof(struct count_state));
    return NULL;
}

static void cmd_count_add_entry(struct entries *entries, int directory, const char *name)
{
    struct count_entry entry = {0};
    bool is_empty;
    if (sscanf(name, "%d-%u", &entry.pid, &entry.serial) != 2)
        return;
    entry.state = cmd_count_map_state(directory, name, &is_empty);
    entries->without_room += is_empty;
    if (!entry.state)
        return;
    if (!array_make_room(&entries->entry, &entries->room, entries->count, sizeof entry)) {
        munmap((void *)entry.state, sizeof *entry.state);
        return;
    }
    count_figures_of(&entry.figures, entry.state);
    entries->entry[entries->count++] = entry;
}

static int cmd_count_by_process(const void *a, const void *b)
{
    const struct count_entry *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return x->serial < y->serial ? -1 : x->serial > y->serial;
}

/* Reads all files and removes them, and the directory. */
static void cmd_count_take_entries(struct entries *entries, struct swept *swept)
{
    DIR *directory = opendir(swept->path);
    struct dirent *file;
    while (directory && (file = readdir(directory))) {
        if (*file->d_name == '.')
            continue;
        cmd_count_add_entry(entries, dirfd(directory), file->d_name);
        unlinkat(dirfd(directory), file->d_name, 0);
    }
    if (directory)
        closedir(directory);
    swept_remove(swept);
    if (entries->count)
        qsort(entries->entry, entries->count, sizeof *entries->entry, cmd_count_by_process);
    for (size_t i = 0; i + 1 < entries->count; i++)
        entries->entry[i].replaced = entries->entry[i].pid == entries->entry[i + 1].pid;
}

static uint64_t cmd_count_calls_of(const struct count_figures *figures)
{
    uint64_t calls = 0;
    for (unsigned kind = 0; kind < COUNT_KINDS; kind++)
        calls += figures->calls[kind];
    return calls;
}

/* Has the process become, by exec, a program without the counting library? */
static bool cmd_count_is_left(const struct count_entry *entry)
{
    return !entry->replaced && entry->state->becomes;
}

/* False of a process image that did little before its exec: a shell's child. */
static bool cmd_count_is_shown(const struct count_entry *entry)
{
    return !entry->replaced || cmd_count_calls_of(&entry->figures) >= BRIEF_CALLS;
}

/* ---- Saying it ---- */

static bool cmd_count_is_program(const struct count_entry *entry)
{
    return entry->pid == (int32_t)count_child && !entry->replaced;
}

static const char *cmd_count_ending_of(const struct count_entry *entry, int wait_status,
                                       char text[64])
{
    if (entry->replaced)
        return "becoming another program";
    if (cmd_count_is_left(entry))
        return "becoming a program that was not counted";
    if (!cmd_count_is_program(entry))
        return kill(entry->pid, 0) == 0 ? "running" : "exiting";
    if (!WIFSIGNALED(wait_status))
        return "exiting";
    snprintf(text, 64, "killed by signal %d", WTERMSIG(wait_status));
    return text;
}

static void cmd_count_write_text_entry(FILE *out, const struct count_entry *entry, int wait_status)
{
    struct line line = {0};
    char ending[64];
    line_add_process(&line, entry->state, &entry->figures,
                     cmd_count_ending_of(entry, wait_status, ending));
    fprintf(out, "%s\n", line.text);
}

/* The program's own line is the last one, where the eye is. */
static void cmd_count_write_text(FILE *out, const struct entries *entries, int wait_status)
{
    for (int last = 0; last < 2; last++)
        for (size_t i = 0; i < entries->count; i++)
            if (cmd_count_is_program(&entries->entry[i]) == last &&
                cmd_count_is_shown(&entries->entry[i]))
                cmd_count_write_text_entry(out, &entries->entry[i], wait_status);
}

/* In place of the figures: the module whose malloc the program used instead. */
static void cmd_count_write_json_in_front(struct json *json, const struct count_state *state)
{
    char module[COUNT_NAME_BYTES + 1] = "";
    memcpy(module, state->in_front, COUNT_NAME_BYTES);
    json_string(json, "malloc_in_front", module);
}

static void cmd_count_write_json_entry(struct json *json, const struct count_entry *entry,
                                       int wait_status)
{
    static const char *const names[COUNT_KINDS] = {"malloc",  "calloc", "realloc",
                                                   "aligned", "free",   "failed"};
    const struct count_figures *figures = &entry->figures;
    char program[COUNT_NAME_BYTES + 1] = "", ending[64];
    memcpy(program, entry->state->program, COUNT_NAME_BYTES);
    json_object(json, NULL);
    json_string(json, "program", program);
    json_signed(json, "pid", entry->pid);
    json_signed(json, "parent", entry->state->parent);
    json_bool(json, "main", cmd_count_is_program(entry));
    json_bool(json, "forked", entry->state->forked != 0);
    json_string(json, "ending", cmd_count_ending_of(entry, wait_status, ending));
    json_unsigned(json, "threads", figures->threads);
    if (count_nothing_came(entry->state)) {
        cmd_count_write_json_in_front(json, entry->state);
        json_end(json);
        return;
    }
    json_object(json, "calls");
    for (unsigned kind = 0; kind < COUNT_KINDS; kind++)
        json_unsigned(json, names[kind], figures->calls[kind]);
    json_end(json);
    json_unsigned(json, "total_bytes", figures->requested_bytes);
    json_signed(json, "peak_bytes", figures->peak_bytes);
    json_signed(json, "peak_error_bytes", figures->peak_error_bytes);
    json_signed(json, "current_bytes", figures->current_bytes);
    json_signed(json, "inherited_bytes", figures->at_start_bytes);
    json_unsigned(json, "not_counted", figures->lost);
    json_end(json);
}

static void cmd_count_write_json(FILE *out, const struct entries *entries, int wait_status)
{
    struct json json = json_begin(out, true);
    json_object(&json, NULL);
    json_string(&json, "format", "tidemark-count");
    json_unsigned(&json, "version", 1);
    if (WIFSIGNALED(wait_status))
        json_signed(&json, "signal", WTERMSIG(wait_status));
    else
        json_signed(&json, "exit_status", WEXITSTATUS(wait_status));
    json_array(&json, "processes");
    for (size_t i = 0; i < entries->count; i++)
        if (cmd_count_is_shown(&entries->entry[i]))
            cmd_count_write_json_entry(&json, &entries->entry[i], wait_status);
    json_end(&json);
    json_end(&json);
    json_finish(&json);
}

/* Terminals, /dev/null and /dev/full, by the numbers of Linux's admin-guide/devices.txt. Other
 * devices may act when they are opened. */
static bool cmd_count_is_harmless(const struct stat *status)
{
    enum {
        MEMORY = 1,
        NULL_DEVICE = 3,
        FULL_DEVICE = 7,
        TTY = 4,
        SERIAL = 64,
        TTY_AUX = 5,
        PTY = 136,
        PTYS = 8
    };
    unsigned family = major(status->st_rdev), number = minor(status->st_rdev);
    return S_ISCHR(status->st_mode) &&
           ((family == MEMORY && (number == NULL_DEVICE || number == FULL_DEVICE)) ||
            (family == TTY && number < SERIAL) || family == TTY_AUX ||
            (family >= PTY && family < PTY + PTYS));
}

/* Written to as it is: a pipe, a terminal, and what /dev/stdout and /dev/fd/N stand for. */
static bool cmd_count_is_stream(const char *output)
{
    struct stat status;
    return old_file_check(output) == -EINVAL && !stat(output, &status) &&
           (S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode) || cmd_count_is_harmless(&status));
}

/* 0, or our exit status with a sentence said. */
static int cmd_count_say(const struct count_options *options, const struct entries *entries,
                         int wait_status)
{
    FILE *out = stderr;
    if (options->output)
        out = fopen(options->output, cmd_count_is_stream(options->output) ? "ae" : "wxe");
    if (!out) {
        fprintf(stderr, "tidemark count: cannot write '%s': %s\n", options->output,
                strerror(errno));
        return OPTIONS_EXIT_FAILURE;
    }
    if (options->format == FORMAT_JSON)
        cmd_count_write_json(out, entries, wait_status);
    else
        cmd_count_write_text(out, entries, wait_status);
    bool bad = ferror(out) != 0;
    if (options->output && (fclose(out) != 0 || bad)) {
        fprintf(stderr, "tidemark count: cannot write '%s': %s\n", options->output,
                strerror(errno));
        return OPTIONS_EXIT_FAILURE;
    }
    return 0;
}

/* 0: the file is of an earlier run, in either format, or there is none. */
static int cmd_count_check_earlier(const char *output)
{
    int error = own_file_check_text(output, "tidemark count ###");
    return error == -EEXIST ? own_file_check_text(output, "{\n  \"format\": \"tidemark-count\"")
                            : error;
}

static int cmd_count_make_room(const char *output)
{
    int error = 0;
    if (output && !cmd_count_is_stream(output)) {
        error = cmd_count_check_earlier(output);
        error = error ? error : old_file_keep(output, NULL);
    }
    if (error == 0)
        return 0;
    fprintf(stderr, "tidemark count: '%s' is there and cannot step aside: %s\n", output,
            error == -EINVAL   ? "it is no regular file"
            : error == -EEXIST ? "it is not of tidemark count; choose another name"
                               : strerror(-error));
    return OPTIONS_EXIT_FAILURE;
}

static void cmd_count_warn_if_left(const struct count_entry *entry)
{
    if (cmd_count_is_left(entry))
        fprintf(stderr,
                "tidemark count: the program that '%.*s' became was not counted: it ran without "
                "the library (an environment that is emptied, LD_PRELOAD taken away, a static or "
                "a setuid program)\n",
                COUNT_NAME_BYTES, entry->state->program);
}

static void cmd_count_warn_if_missing(const struct entries *entries, const char *program)
{
    if (entries->without_room)
        fprintf(
            stderr,
            "tidemark count: %zu process%s not counted: there was no room for the counters (set "
            "TMPDIR to a directory that has some)\n",
            entries->without_room, entries->without_room == 1 ? " was" : "es were");
    for (size_t i = 0; i < entries->count; i++)
        if (cmd_count_is_program(&entries->entry[i])) {
            cmd_count_warn_if_left(&entries->entry[i]);
            return;
        }
    if (entries->without_room)
        return;
    fprintf(stderr,
            "tidemark count: '%s' was not counted: it ran without the library (does it clear its "
            "environment, or start itself by other means?)\n",
            program);
}

/* The library's own data, of which little is ever touched, two leaves of the ledger, and the
 * loader's share; below this the program would not start. The file is the counters'. */
static int cmd_count_refuse(const struct count_options *options, const char *program)
{
    static const struct launch_needs needs = {
        .address_space = 80 << 20, .data = 64 << 20, .file = sizeof(struct count_state)};
    int refused = launch_refuse("count", program);
    if (refused == 0)
        refused = launch_refuse_limits("count", &needs);
    return refused ? refused : cmd_count_make_room(options->output);
}

int cmd_count(int argc, char **argv)
{
    struct count_options options = {0};
    char library[PATH_MAX];
    struct swept swept;
    struct entries entries = {0};
    int operand = options_parse(&command, argc, argv, &options), wait_status = 0, status;
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (operand == argc)
        return options_usage_error(&command, "no program given");
    if (options.output && strcmp(options.output, "-") == 0)
        options.output = "/dev/stdout";
    if ((status = cmd_count_refuse(&options, argv[operand])))
        return status;
    if (!launch_find_preload("count", "libtidemark-count.so", library))
        return OPTIONS_EXIT_FAILURE;
    int error = cmd_count_make_directory(&swept);
    if (error) {
        fprintf(stderr,
                "tidemark count: no place for the counters: %s (set TMPDIR to a directory "
                "that can be written)\n",
                strerror(-error));
        return OPTIONS_EXIT_FAILURE;
    }
    status = cmd_count_run(argv + operand, library, swept.path, options.peak, &wait_status);
    cmd_count_take_entries(&entries, &swept);
    if (status)
        return status;
    cmd_count_warn_if_missing(&entries, argv[operand]);
    status = cmd_count_say(&options, &entries, wait_status);
    return status ? status : launch_end_like(wait_status);
}
