/* Reads maps of JIT code (jit.h). The map is a file in /tmp that anyone could have made. So it is
 * only read if the right user wrote it. It can only give names: long names are cut, other lines are
 * skipped, and control characters, which a terminal could obey, are replaced. */
#include "symbols/jit.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/memory.h"
#include "base/whole.h"

#include "procfs/process.h"
#include "symbols/jit_name.h"
#include "symbols/name_memory.h"

#define MAX_MAP_BYTES (off_t)(1u << 30)
#define READ_BYTES    (1u << 20)

void jit_map_release(struct jit_map *map)
{
    range_map_release(&map->ranges);
    free(map->codes);
    *map = (struct jit_map){.pid = map->pid, .begun = map->begun};
}

/* The file must belong to the process's user, to us, or to root. Otherwise another user's names
 * would get into root's reports. */
static bool jit_file_trusted(const struct stat *file, int pid)
{
    char path[64];
    struct stat process;
    uid_t self = geteuid();
    if (file->st_uid == self || file->st_uid == 0)
        return true;
    snprintf(path, sizeof path, "/proc/%d", pid);
    return stat(path, &process) == 0 && process.st_uid == file->st_uid;
}

int jit_file_open(const char *path, int pid, struct stat *status)
{
    bool is_file = lstat(path, status) == 0 && S_ISREG(status->st_mode);
    int fd = is_file ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    if (fd >= 0 &&
        (fstat(fd, status) != 0 || !S_ISREG(status->st_mode) || !jit_file_trusted(status, pid))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int jit_map_open(const char *root, int name_pid, int pid, struct stat *status)
{
    char path[PATH_MAX];
    int bytes = snprintf(path, sizeof path, "%s/tmp/perf-%d.map", root, name_pid);
    return bytes > 0 && (size_t)bytes < sizeof path ? jit_file_open(path, pid, status) : -1;
}

/* `line` is NUL-ended. */
static void jit_map_add_line(struct jit_map *map, const char *line, size_t length,
                             struct pool *pool)
{
    char *after_start, *after_size;
    if (!isxdigit((unsigned char)*line))
        return;
    uint64_t start = strtoull(line, &after_start, 16);
    if (*after_start != ' ' || !isxdigit((unsigned char)after_start[1]))
        return;
    uint64_t bytes = strtoull(after_start + 1, &after_size, 16);
    if (*after_size != ' ' || !after_size[1] || bytes > UINT64_MAX - start)
        return;
    const char *name = after_size + 1;
    if (map->code_count >= RANGE_NONE - 1)
        return;
    map->codes =
        name_memory_grow(map->codes, &map->code_capacity, map->code_count + 1, sizeof *map->codes);
    map->codes[map->code_count] = jit_name_split(pool, name, length - (size_t)(name - line));
    range_map_add(&map->ranges, start, start + bytes, (uint32_t)map->code_count++);
}

/* Takes the whole lines out of `text`; returns their bytes. A line that is longer than the buffer
 * is skipped. */
static size_t jit_map_add_lines(struct jit_map *map, char *text, size_t bytes, struct pool *pool)
{
    size_t taken = 0;
    for (char *end; (end = memchr(text + taken, '\n', bytes - taken));) {
        *end = '\0';
        size_t length = (size_t)(end - text) - taken;
        if (length && text[taken + length - 1] == '\r')
            text[taken + --length] = '\0';
        jit_map_add_line(map, text + taken, length, pool);
        taken = (size_t)(end - text) + 1;
    }
    return taken || bytes < READ_BYTES ? taken : bytes;
}

static void jit_map_read_new_lines(struct jit_map *map, int fd, struct pool *pool)
{
    char *text = memory_zeroed(READ_BYTES, 1);
    size_t taken = 1;
    while (taken && map->read_bytes < MAX_MAP_BYTES) {
        ssize_t got = pread(fd, text, READ_BYTES, map->read_bytes);
        taken = got > 0 ? jit_map_add_lines(map, text, (size_t)got, pool) : 0;
        map->read_bytes += (off_t)taken;
    }
    free(text);
}

/* What stands in the file at the end of what was read. */
static void jit_map_read_last(const struct jit_map *map, int fd, char last[sizeof map->last])
{
    size_t bytes = sizeof map->last;
    memset(last, 0, bytes);
    if (map->read_bytes < (off_t)bytes)
        bytes = (size_t)map->read_bytes;
    if (whole_read_at(fd, last + sizeof map->last - bytes, bytes,
                      (uint64_t)map->read_bytes - bytes) < 0)
        memset(last, 0, sizeof map->last);
}

/* Whether it is another map, also in the same file: the Java virtual machine writes all of its map
 * anew, and then that is mostly longer. */
static bool jit_map_is_other(const struct jit_map *map, int fd, const struct stat *status)
{
    char last[sizeof map->last];
    if (status->st_ino != map->inode || status->st_dev != map->device ||
        status->st_size < map->read_bytes)
        return true;
    if (status->st_size == map->read_bytes)
        return false;
    jit_map_read_last(map, fd, last);
    return memcmp(last, map->last, sizeof last) != 0;
}

/* A map that was read while it was written, as the Java virtual machine writes all of its map, goes
 * on with names of code that was there before: it counts as begun once more. One that grew behind
 * whole lines does not, because its new lines are of new code. */
static void jit_map_note_beginning(struct jit_map *map, off_t before, off_t bytes)
{
    bool begins = !before && bytes;
    bool goes_on = map->is_cut && map->read_bytes > before;
    map->begun += begins || goes_on;
    if (begins || goes_on)
        map->is_cut = begins && map->read_bytes < bytes;
}

void jit_map_update(struct jit_map *map, const char *root, struct pool *pool)
{
    struct stat status;
    int fd = -1;
    pid_t own; /* inside a container the process has another pid, which is in the map's name */
    if (*root && process_own_pid(map->pid, &own) == 0)
        fd = jit_map_open(root, own, map->pid, &status);
    if (fd < 0)
        fd = jit_map_open("", map->pid, map->pid, &status);
    if (fd < 0)
        return;
    if (jit_map_is_other(map, fd, &status))
        jit_map_release(map);
    map->inode = status.st_ino;
    map->device = status.st_dev;
    off_t before = map->read_bytes;
    if (status.st_size > before) {
        jit_map_read_new_lines(map, fd, pool);
        jit_map_read_last(map, fd, map->last);
    }
    jit_map_note_beginning(map, before, status.st_size);
    close(fd);
}

struct jit_code jit_map_find(struct jit_map *map, uint64_t address)
{
    uint32_t found = range_map_find(&map->ranges, address);
    return found == RANGE_NONE ? (struct jit_code){0} : map->codes[found];
}
