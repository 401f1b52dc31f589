/* Reads the end of a module's variables from its program headers (module_end.h), by pread. The
 * writable segment that holds the mapping's offset in the file gives the distance from the
 * mapping's begin to the segment's end in memory. */
#include "procfs/module_end.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/regular.h"
#include "procfs/process.h"

enum { MODULE_END_SEGMENTS = 64 };

static bool module_end_read(int fd, uint64_t offset, void *to, size_t bytes)
{
    return offset <= INT64_MAX && pread(fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

static size_t module_end_segments(int fd, ElfW(Phdr) *segments)
{
    ElfW(Ehdr) header;
    if (!module_end_read(fd, 0, &header, sizeof header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof *segments ||
        header.e_phnum > MODULE_END_SEGMENTS)
        return 0;
    size_t bytes = header.e_phnum * sizeof *segments;
    return module_end_read(fd, header.e_phoff, segments, bytes) ? header.e_phnum : 0;
}

/* Whether the segment's part of the file holds the offset; mappings begin at whole pages. */
static bool module_end_holds(const ElfW(Phdr) *segment, uint64_t offset)
{
    uint64_t page = process_page_bytes(), end;
    return segment->p_type == PT_LOAD && segment->p_flags & PF_W &&
           !__builtin_add_overflow(segment->p_offset, segment->p_filesz, &end) &&
           (segment->p_offset & ~(page - 1)) <= offset && offset < end;
}

uint64_t module_end_fd(int fd, const struct smaps_mapping *data)
{
    ElfW(Phdr) segments[MODULE_END_SEGMENTS];
    size_t count = module_end_segments(fd, segments);
    uint64_t page = process_page_bytes(), end;
    for (size_t i = 0; i < count; i++) {
        if (!module_end_holds(&segments[i], data->offset_bytes))
            continue;
        uint64_t begin = data->start - data->offset_bytes + segments[i].p_offset;
        if (__builtin_add_overflow(begin, segments[i].p_memsz, &end) ||
            __builtin_add_overflow(end, page - 1, &end))
            return 0;
        return end & ~(page - 1);
    }
    return 0;
}

static uint64_t module_end_of(const struct smaps_mapping *data, pid_t pid)
{
    char name[4200];
    int length = snprintf(name, sizeof name, "/proc/%d/root%s", (int)pid, data->path);
    if (length < 0 || (size_t)length >= sizeof name || data->deleted)
        return 0;
    struct stat status;
    int fd = regular_file_open(name, &status);
    if (fd < 0)
        return 0;
    uint64_t end = status.st_ino == data->inode ? module_end_fd(fd, data) : 0;
    close(fd);
    return end;
}

/* The last steady module: its data mapping, and the distance from the mapping's beginning to the
 * module's end. */
static struct {
    pthread_mutex_t lock;
    uint64_t inode, offset_bytes, data_bytes, end_bytes; /* inode 0: of none yet */
} module_end_known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t module_end_of_steady(const struct smaps_mapping *data, pid_t pid)
{
    uint64_t data_bytes = data->end - data->start, end = 0;
    pthread_mutex_lock(&module_end_known.lock);
    if (data->inode && module_end_known.inode == data->inode &&
        module_end_known.offset_bytes == data->offset_bytes &&
        module_end_known.data_bytes == data_bytes)
        end = data->start + module_end_known.end_bytes;
    pthread_mutex_unlock(&module_end_known.lock);
    if (end || !(end = module_end_of(data, pid)))
        return end;
    pthread_mutex_lock(&module_end_known.lock);
    module_end_known.inode = data->inode;
    module_end_known.offset_bytes = data->offset_bytes;
    module_end_known.data_bytes = data_bytes;
    module_end_known.end_bytes = end - data->start;
    pthread_mutex_unlock(&module_end_known.lock);
    return end;
}

void module_ends_find(struct smaps *smaps, pid_t pid, uint64_t longer_than_bytes,
                      bool (*is_steady)(const char *path))
{
    for (size_t i = 1; i < smaps->count; i++)
        if (smaps->mappings[i].kind == SMAPS_BSS &&
            smaps->mappings[i].end - smaps->mappings[i].start > longer_than_bytes)
            smaps->mappings[i].bss_end = is_steady && is_steady(smaps->mappings[i - 1].path)
                                             ? module_end_of_steady(&smaps->mappings[i - 1], pid)
                                             : module_end_of(&smaps->mappings[i - 1], pid);
}
