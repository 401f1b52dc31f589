/* Private mappings that can be written (writable_maps.h). The definitions are those of linux/fs.h
 * of Linux 6.11, because the installed headers may be older. */
#include "procfs/writable_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct maps_query {
    uint64_t size_bytes, flags, address; /* in */
    uint64_t start, end, found_flags, page_bytes, offset, inode;
    uint32_t device_major, device_minor;
    uint32_t name_bytes, build_id_bytes; /* in and out; 0: they are not wanted */
    uint64_t name, build_id;
};
#define QUERY _IOWR('f', 17, struct maps_query)
enum { QUERY_WRITABLE = 2, QUERY_SHARED = 8, QUERY_OR_NEXT = 0x10 };

int writable_maps_open_with(struct writable_maps *maps, pid_t pid, enum writable_maps_method method)
{
    *maps = (struct writable_maps){.fd = proc_open(pid, "maps"), .method = method};
    if (maps->fd >= 0 && method == WRITABLE_MAPS_TEXT)
        proc_lines_start(&maps->lines, maps->fd);
    return maps->fd < 0 ? maps->fd : 0;
}

int writable_maps_open(struct writable_maps *maps, pid_t pid)
{
    return writable_maps_open_with(maps, pid, WRITABLE_MAPS_QUERY);
}

/* The kernel passes over mappings that cannot be written, this function over shared ones. ENOENT:
 * there are no more. */
static bool writable_maps_query(struct writable_maps *maps, uint64_t *start, uint64_t *end)
{
    struct maps_query query = {.size_bytes = sizeof query, .flags = QUERY_WRITABLE | QUERY_OR_NEXT};
    do {
        query.address = maps->at;
        if (ioctl(maps->fd, QUERY, &query) < 0) {
            maps->error = errno == ENOENT ? 0 : -errno;
            return false;
        }
        maps->at = query.end;
    } while (query.found_flags & QUERY_SHARED);
    *start = query.start;
    *end = query.end;
    return true;
}

/* Takes a line of maps, "start-end rwxp …". False: it is not private, or cannot be written. */
static bool writable_maps_take(const char *line, uint64_t *start, uint64_t *end)
{
    char *at;
    *start = strtoull(line, &at, 16);
    if (*at != '-')
        return false;
    *end = strtoull(at + 1, &at, 16);
    return *at == ' ' && strnlen(at, 5) == 5 && at[2] == 'w' && at[4] == 'p';
}

static bool writable_maps_read(struct writable_maps *maps, uint64_t *start, uint64_t *end)
{
    char *line;
    while ((line = proc_lines_next(&maps->lines)))
        if (writable_maps_take(line, start, end))
            return true;
    maps->error = maps->lines.error;
    return false;
}

bool writable_maps_next(struct writable_maps *maps, uint64_t *start, uint64_t *end)
{
    if (maps->method == WRITABLE_MAPS_QUERY) {
        bool found = writable_maps_query(maps, start, end);
        if (found || maps->error != -ENOTTY)
            return found;
        maps->method = WRITABLE_MAPS_TEXT; /* an older kernel */
        proc_lines_start(&maps->lines, maps->fd);
    }
    return writable_maps_read(maps, start, end);
}

void writable_maps_close(struct writable_maps *maps)
{
    if (maps->method == WRITABLE_MAPS_TEXT)
        proc_lines_release(&maps->lines);
    close(maps->fd);
}
