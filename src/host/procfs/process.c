/* Figures and names of one process from /proc/PID (process.h). Each function reads one file: statm,
 * maps, cmdline, stat or status. The descriptor of statm stays open, since it is read often. */
#include "procfs/process.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "base/strbuf.h"
#include "procfs/proc_file.h"

/* A command line may have megabytes (ARG_MAX); a report shows one line of it. */
#define MAX_COMMAND_BYTES (1u << 20)

/* ---- Memory -------------------------------------------------------------------------------- */

int process_meter_open(struct process_meter *meter, pid_t pid, bool keep_descriptor)
{
    *meter = (struct process_meter){pid, -1};
    if (!keep_descriptor)
        return 0;
    int fd = proc_open(pid, "statm");
    meter->statm_fd = fd < 0 ? -1 : fd;
    return fd < 0 ? fd : 0;
}

void process_meter_close(struct process_meter *meter)
{
    if (meter->statm_fd >= 0)
        close(meter->statm_fd);
    meter->statm_fd = -1;
}

int process_meter_read(struct process_meter *meter, struct process_memory *memory)
{
    char text[128];
    int fd = meter->statm_fd < 0 ? proc_open(meter->pid, "statm") : meter->statm_fd;
    ssize_t got = fd < 0 ? fd : pread(fd, text, sizeof text - 1, 0);
    int error = fd < 0 ? fd : got < 0 ? proc_error(errno) : 0;
    if (fd >= 0 && fd != meter->statm_fd)
        close(fd);
    if (error)
        return error;
    text[got] = '\0';
    char *end = text;
    uint64_t pages[3] = {0};
    for (size_t i = 0; i < 3; i++)
        pages[i] = strtoull(end, &end, 10);
    if (pages[0] == 0)
        return -ESRCH;
    memory->virtual_bytes = pages[0] * process_page_bytes();
    memory->resident_bytes = pages[1] * process_page_bytes();
    memory->shared_bytes = pages[2] * process_page_bytes();
    return 0;
}

/* ---- Mappings ------------------------------------------------------------------------------ */

static int process_hex_digit(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    if (letter >= 'a' && letter <= 'f')
        return letter - 'a' + 10;
    return letter >= 'A' && letter <= 'F' ? letter - 'A' + 10 : -1;
}

/* Reads a hexadecimal number and the one character that has to follow it. */
static bool process_take(char **at, char after, uint64_t *value)
{
    const char *begin = *at, *end = begin;
    uint64_t number = 0;
    for (int digit; (digit = process_hex_digit(*end)) >= 0; end++) {
        if (number >> 60)
            return false;
        number = number << 4 | (unsigned)digit;
    }
    if (end == begin || *end != after)
        return false;
    *value = number;
    *at += end - begin + 1;
    return true;
}

/* The kernel writes a newline in a path as \012, and nothing else so. */
static void process_unescape(char *path)
{
    if (!(path = strchr(path, '\\')))
        return;
    char *to = path;
    for (; *path; path++) {
        bool newline = strncmp(path, "\\012", 4) == 0;
        *to++ = newline ? '\n' : *path;
        path += newline ? 3 : 0;
    }
    *to = '\0';
}

int process_maps_parse(char *line, struct process_mapping *mapping)
{
    uint64_t major, minor;
    char *at = line;
    *mapping = (struct process_mapping){0};
    if (!process_take(&at, '-', &mapping->start) || !process_take(&at, ' ', &mapping->end))
        return -EINVAL;
    if (strnlen(at, 5) < 5 || at[4] != ' ')
        return -EINVAL;
    mapping->readable = at[0] == 'r';
    mapping->writable = at[1] == 'w';
    mapping->executable = at[2] == 'x';
    mapping->shared = at[3] == 's';
    at += 5;
    if (!process_take(&at, ' ', &mapping->offset_bytes) || !process_take(&at, ':', &major) ||
        !process_take(&at, ' ', &minor) || !isdigit((unsigned char)*at))
        return -EINVAL;
    mapping->inode = strtoull(at, &at, 10);
    if ((*at && *at != ' ') || mapping->start >= mapping->end)
        return -EINVAL;
    mapping->device_major = (uint32_t)major;
    mapping->device_minor = (uint32_t)minor;
    char *path = at + strspn(at, " ");
    process_unescape(path);
    mapping->path = path;
    return 0;
}

int process_maps(pid_t pid, int (*visit)(const struct process_mapping *, void *context),
                 void *context)
{
    int fd = proc_open(pid, "maps");
    if (fd < 0)
        return fd;
    struct proc_lines lines = {0};
    proc_lines_start(&lines, fd);
    int result = 0;
    for (char *line; result == 0 && (line = proc_lines_next(&lines));) {
        struct process_mapping mapping;
        if (process_maps_parse(line, &mapping) == 0)
            result = visit(&mapping, context);
    }
    if (result == 0)
        result = lines.error;
    proc_lines_release(&lines);
    close(fd);
    return result;
}

/* ---- Who it is ----------------------------------------------------------------------------- */

static int process_read_link(pid_t pid, const char *file, char **target)
{
    char text[PATH_MAX + 16]; /* " (deleted)" may follow a longest path */
    ssize_t length = readlink(proc_path(pid, file).text, text, sizeof text - 1);
    if (length < 0)
        return proc_error(errno);
    *target = strndup(text, (size_t)length);
    return *target ? 0 : -ENOMEM;
}

int process_executable(pid_t pid, char **path)
{
    return process_read_link(pid, "exe", path);
}

int process_directory(pid_t pid, char **path)
{
    return process_read_link(pid, "cwd", path);
}

static bool process_is_plain(const char *text)
{
    if (!*text)
        return false;
    for (; *text; text++) {
        if (!isalnum((unsigned char)*text) && !strchr("_-./:=,+@%^", *text) &&
            !(*text & 0x80)) /* UTF-8 means nothing to a shell */
            return false;
    }
    return true;
}

static void process_add_quoted(struct strbuf *out, const char *word)
{
    if (process_is_plain(word)) {
        strbuf_add_string(out, word);
        return;
    }
    strbuf_add_char(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            strbuf_add_string(out, "'\\''");
        else
            strbuf_add_char(out, *word);
    }
    strbuf_add_char(out, '\'');
}

char *process_shell_quoted(const char *text)
{
    struct strbuf out = STRBUF_INIT;
    process_add_quoted(&out, text);
    return strbuf_detach(&out);
}

static void process_add_words(struct strbuf *out, const struct strbuf *words)
{
    for (size_t at = 0; at < words->length; at += strlen(words->data + at) + 1) {
        if (at)
            strbuf_add_char(out, ' ');
        process_add_quoted(out, words->data + at);
    }
}

/* What setproctitle() leaves behind, "redis-server *:6379" and NULs to the end, is no list of
 * words. Nor is "nginx: worker process", which the kernel ends at its first NUL. */
static bool process_is_title(const struct strbuf *words)
{
    size_t length = strlen(words->data), rest = length;
    while (rest < words->length && !words->data[rest])
        rest++;
    return rest == words->length && memchr(words->data, ' ', length) &&
           (rest > length + 1 || strstr(words->data, ": "));
}

static void process_add_command(struct strbuf *out, const struct strbuf *words)
{
    if (words->length > 0 && process_is_title(words))
        strbuf_add_string(out, words->data);
    else
        process_add_words(out, words);
}

char *process_command_of(const struct strbuf *words)
{
    struct strbuf out = STRBUF_INIT;
    process_add_command(&out, words);
    return strbuf_detach(&out);
}

int process_command_line(pid_t pid, char **text)
{
    struct strbuf words = STRBUF_INIT, out = STRBUF_INIT;
    int error = proc_read(pid, "cmdline", MAX_COMMAND_BYTES, &words);
    if (error)
        goto done;
    process_add_command(&out, &words);
    if (words.length == 0) {
        char name[16];
        error = process_thread_name(pid, pid, name);
        if (error)
            goto done;
        strbuf_addf(&out, "[%s]", name);
    }
    *text = strbuf_detach(&out);
done:
    strbuf_release(&out);
    strbuf_release(&words);
    return error;
}

void process_clean_name(const char *text, size_t length, char name[16])
{
    size_t kept = 0;
    for (; kept < length && kept < 15; kept++)
        name[kept] = iscntrl((unsigned char)text[kept]) ? '?' : text[kept];
    name[kept] = '\0';
}

int process_thread_name(pid_t pid, pid_t tid, char name[16])
{
    char file[40];
    struct strbuf content = STRBUF_INIT;
    snprintf(file, sizeof file, "task/%d/comm", (int)tid);
    int error = proc_read(pid, file, 64, &content);
    /* the last newline is the kernel's */
    process_clean_name(content.data, content.length ? content.length - 1 : 0, name);
    strbuf_release(&content);
    return error;
}

static int process_stat_number(pid_t pid, unsigned field, uint64_t *number)
{
    struct strbuf stat = STRBUF_INIT;
    const char *end;
    int error = proc_read(pid, "stat", 4096, &stat);
    const char *at = proc_stat_field(stat.data, field);
    if (!error && (!at || !proc_number(at, number, &end)))
        error = -EINVAL;
    strbuf_release(&stat);
    return error;
}

int process_start_ticks(pid_t pid, uint64_t *ticks)
{
    return process_stat_number(pid, 22, ticks);
}

int process_parent(pid_t pid, pid_t *parent)
{
    uint64_t number;
    int error = process_stat_number(pid, 4, &number);
    *parent = error ? 0 : (pid_t)number;
    return error;
}

int process_start_time(pid_t pid, uint64_t *unix_ns)
{
    uint64_t ticks;
    int error = process_start_ticks(pid, &ticks);
    if (error)
        return error;
    uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    *unix_ns = now_ns(CLOCK_REALTIME) - now_ns(CLOCK_BOOTTIME) + ticks * tick_ns;
    return 0;
}

int process_schedstat_parse(const char *text, uint64_t *ran_ns, uint64_t *waited_ns)
{
    const char *end;
    if (!proc_number(text, ran_ns, &end) || *end != ' ' || !proc_number(end + 1, waited_ns, &end))
        return -EINVAL;
    return 0;
}

int process_main_thread_time(pid_t pid, uint64_t *ran_ns, uint64_t *waited_ns)
{
    struct strbuf text = STRBUF_INIT;
    int error = proc_read(pid, "schedstat", 128, &text);
    if (!error)
        error = process_schedstat_parse(text.data, ran_ns, waited_ns);
    strbuf_release(&text);
    return error;
}

int process_zombie_status(pid_t pid, int *status)
{
    struct strbuf text = STRBUF_INIT;
    int error = proc_read(pid, "stat", 4096, &text);
    const char *state = error ? NULL : proc_stat_field(text.data, 3);
    if (!error)
        error = !state || *state != 'Z' ? -EAGAIN : 0;
    const char *last = error ? NULL : strrchr(text.data, ' '); /* field 52: exit_code */
    *status = last ? atoi(last + 1) : 0;
    strbuf_release(&text);
    return error;
}

int process_own_pid(pid_t pid, pid_t *own)
{
    struct strbuf status = STRBUF_INIT;
    int error = proc_read(pid, "status", 65536, &status);
    const char *line = error ? NULL : strstr(status.data, "\nNSpid:");
    *own = pid;
    if (line) {
        const char *end = line + 1 + strcspn(line + 1, "\n");
        const char *last = memrchr(line, '\t', (size_t)(end - line));
        int number = last ? atoi(last + 1) : 0;
        *own = number > 0 ? number : pid;
    }
    strbuf_release(&status);
    return error;
}

/* ---- The machine --------------------------------------------------------------------------- */

size_t process_page_bytes(void)
{
    static size_t bytes; /* asked for once, because each reading of the meter needs it three
                            times */
    if (!bytes)
        bytes = (size_t)sysconf(_SC_PAGESIZE);
    return bytes;
}

int process_boot_id(char **id)
{
    struct strbuf text = STRBUF_INIT;
    int error = proc_read_at("/proc/sys/kernel/random/boot_id", 64, &text);
    strbuf_truncate(&text, strcspn(text.data, "\n"));
    if (!error && !text.length)
        error = -EINVAL;
    *id = error ? NULL : strbuf_detach(&text);
    strbuf_release(&text);
    return error;
}

int64_t process_pid_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (int64_t)status.st_ino : -1;
}

int process_host_name(char **name)
{
    char text[HOST_NAME_MAX + 1] = "";
    if (gethostname(text, sizeof text - 1) != 0)
        return -errno;
    *name = strdup(text);
    return *name ? 0 : -ENOMEM;
}
