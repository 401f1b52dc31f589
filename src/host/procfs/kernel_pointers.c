/* Reads addresses that the kernel keeps for a program (kernel_pointers.h). Descriptors are listed,
 * and only those of epoll are opened. */
#include "procfs/kernel_pointers.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "procfs/proc_file.h"

enum { MOST_DESCRIPTORS = 1 << 16, MOST_TEXT = 16 << 20 };

/* ---- Texts --------------------------------------------------------------------------------- */

/* A hexadecimal number behind `key`, somewhere in the line. 0: there is none. */
static uint64_t kernel_pointers_behind(const char *line, const char *end, const char *key)
{
    size_t length = strlen(key);
    const char *at = memmem(line, (size_t)(end - line), key, length);
    return at ? strtoull(at + length, NULL, 16) : 0;
}

static uint64_t kernel_pointers_of_line(const char *line, const char *end)
{
    if (!strncmp(line, "tfd:", 4))
        return kernel_pointers_behind(line, end, " data:");
    if (!strncmp(line, "signal: ", 8))
        return kernel_pointers_behind(line, end, "/");
    return 0;
}

int kernel_pointers_parse(struct kernel_pointers *pointers, const char *text)
{
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        uint64_t pointer = kernel_pointers_of_line(line, end);
        if (!pointer)
            continue;
        if (!array_make_room(&pointers->list, &pointers->room, pointers->count,
                             sizeof *pointers->list))
            return -ENOMEM;
        pointers->list[pointers->count++] = pointer;
    }
    return 0;
}

/* ---- Files --------------------------------------------------------------------------------- */

/* A file that cannot be read is left out. */
static int kernel_pointers_read_file(struct kernel_pointers *pointers, pid_t pid, const char *file)
{
    struct strbuf text = STRBUF_INIT;
    int error = 0;
    if (proc_read_list_at(proc_path(pid, file).text, MOST_TEXT, &text) == 0)
        error = kernel_pointers_parse(pointers, text.data);
    strbuf_release(&text);
    return error;
}

static int kernel_pointers_see_descriptor(struct kernel_pointers *pointers, pid_t pid,
                                          int directory, const char *number)
{
    static const char epoll[] = "anon_inode:[eventpoll]";
    char file[32], target[sizeof epoll];
    ssize_t length = readlinkat(directory, number, target, sizeof target);
    if (length != sizeof epoll - 1 || memcmp(target, epoll, sizeof epoll - 1) != 0)
        return 0;
    snprintf(file, sizeof file, "fdinfo/%.16s", number);
    return kernel_pointers_read_file(pointers, pid, file);
}

int kernel_pointers_read(struct kernel_pointers *pointers, pid_t pid)
{
    DIR *files = opendir(proc_path(pid, "fd").text);
    if (!files)
        return proc_error(errno);
    int error = 0;
    size_t count = 0;
    for (struct dirent *entry;
         !error && count < MOST_DESCRIPTORS && (entry = readdir(files)) != NULL; count++)
        error = kernel_pointers_see_descriptor(pointers, pid, dirfd(files), entry->d_name);
    closedir(files);
    return error ? error : kernel_pointers_read_file(pointers, pid, "timers");
}

void kernel_pointers_release(struct kernel_pointers *pointers)
{
    free(pointers->list);
    *pointers = KERNEL_POINTERS_INIT;
}
