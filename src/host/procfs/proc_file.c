/* Opens, reads and parses files of /proc (proc_file.h). Numbers are parsed with overflow checks.
 * Lines are cut from a buffer that grows to the longest one and is reused. */
#include "procfs/proc_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"

enum { PROC_PART_BYTES = 4096 };

struct proc_path proc_path(pid_t pid, const char *file)
{
    struct proc_path path;
    snprintf(path.text, sizeof path.text, "/proc/%d/%s", (int)pid, file);
    return path;
}

int proc_error(int error)
{
    if (error == ENOENT)
        return -ESRCH;
    return error == EPERM ? -EACCES : -error;
}

int proc_open(pid_t pid, const char *file)
{
    int fd = open(proc_path(pid, file).text, O_RDONLY | O_CLOEXEC);
    return fd >= 0 ? fd : proc_error(errno);
}

/* Reads until a read returns at most `least` bytes. */
static int proc_read_until(int fd, size_t max, ssize_t least, struct strbuf *content)
{
    char part[PROC_PART_BYTES];
    ssize_t got;
    do {
        got = read(fd, part, sizeof part);
        if (got > 0 && content->length < max)
            strbuf_add(content, part, (size_t)got);
    } while (got > least && content->length < max);
    return got < 0 ? proc_error(errno) : 0;
}

int proc_read_fd(int fd, size_t max, struct strbuf *content)
{
    return proc_read_until(fd, max, 0, content);
}

static int proc_read_path(const char *path, size_t max, ssize_t least, struct strbuf *content)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return proc_error(errno);
    int error = proc_read_until(fd, max, least, content);
    close(fd);
    return error;
}

int proc_read_list_at(const char *path, size_t max, struct strbuf *content)
{
    return proc_read_path(path, max, 0, content);
}

int proc_read_at(const char *path, size_t max, struct strbuf *content)
{
    return proc_read_path(path, max, PROC_PART_BYTES - 1, content);
}

int proc_read(pid_t pid, const char *file, size_t max, struct strbuf *content)
{
    return proc_read_at(proc_path(pid, file).text, max, content);
}

int proc_threads(pid_t pid, int (*visit)(pid_t tid, void *context), void *context)
{
    DIR *tasks = opendir(proc_path(pid, "task").text);
    if (!tasks)
        return proc_error(errno);
    int result = 0;
    for (struct dirent *entry; result == 0 && (entry = readdir(tasks));) {
        uint64_t tid;
        const char *end;
        if (proc_number(entry->d_name, &tid, &end) && !*end)
            result = visit((pid_t)tid, context);
    }
    closedir(tasks);
    return result;
}

/* ---- Texts --------------------------------------------------------------------------------- */

static bool proc_is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

bool proc_number(const char *at, uint64_t *value, const char **end)
{
    uint64_t number = 0;
    if (!proc_is_digit(*at))
        return false;
    for (; proc_is_digit(*at); at++) {
        if (__builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
            return false;
    }
    *value = number;
    *end = at;
    return true;
}

static bool proc_line_value(const char *at, uint64_t *value)
{
    const char *end;
    at += *at == ':';
    if (*at != ' ' && *at != '\t')
        return false;
    at += strspn(at, " \t");
    if (!proc_number(at, value, &end))
        return false;
    if (strncmp(end, " kB", 3) == 0)
        return !__builtin_mul_overflow(*value, 1024u, value);
    return *end == '\n'; /* else it may have been cut */
}

bool proc_value(const char *text, const char *key, uint64_t *value)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (*line == *key && strncmp(line, key, length) == 0 &&
            proc_line_value(line + length, value))
            return true;
    }
    return false;
}

const char *proc_stat_field(const char *stat, unsigned number)
{
    const char *at = strrchr(stat, ')');
    for (unsigned field = 2; at && field < number; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at && *at ? at : NULL;
}

/* ---- Lines --------------------------------------------------------------------------------- */

void proc_lines_start(struct proc_lines *lines, int fd)
{
    lines->fd = fd;
    lines->begin = lines->end = 0;
    lines->error = 0;
}

void proc_lines_release(struct proc_lines *lines)
{
    free(lines->data);
    *lines = (struct proc_lines){.fd = -1};
}

enum { LINES_FIRST = 16384 };

/* Makes room behind the bytes in the buffer: first by moving them to the front, then by growing. */
static bool proc_make_room(struct proc_lines *lines)
{
    if (lines->begin) {
        memmove(lines->data, lines->data + lines->begin, lines->end - lines->begin);
        lines->end -= lines->begin;
        lines->begin = 0;
    }
    if (lines->end < lines->capacity)
        return true;
    if (array_make_bare_room(&lines->data, &lines->capacity, lines->end + LINES_FIRST - 1, 1))
        return true;
    lines->error = -ENOMEM;
    return false;
}

static bool proc_read_more(struct proc_lines *lines)
{
    ssize_t got;
    if (!proc_make_room(lines))
        return false;
    do
        got = read(lines->fd, lines->data + lines->end, lines->capacity - lines->end);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        lines->error = proc_error(errno);
    if (got <= 0)
        return false;
    lines->end += (size_t)got;
    return true;
}

char *proc_lines_next(struct proc_lines *lines)
{
    for (size_t searched = 0;;) {
        size_t known = lines->end - lines->begin; /* 0: there may be no data yet */
        char *line = known > searched ? lines->data + lines->begin : NULL;
        char *newline = line ? memchr(line + searched, '\n', known - searched) : NULL;
        if (newline) {
            *newline = '\0';
            lines->begin = (size_t)(newline - lines->data) + 1;
            return line;
        }
        searched = known;
        if (!proc_read_more(lines))
            return NULL;
    }
}
