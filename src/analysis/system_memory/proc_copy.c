/* Copies the files of /proc that `tidemark ps` reads into a directory, to be looked at later or on
 * another machine. Command lines may hold secrets: the copy is its owner's alone. */
#include "system_memory/processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/whole.h"
#include "procfs/proc_file.h"

enum { MOST_BYTES = 64 << 20 };

/* What cannot be read is not there: another user's smaps, a process that has ended. */
static int proc_copy_copy(int from, int to, const char *name)
{
    struct strbuf text = STRBUF_INIT;
    int in = openat(from, name, O_RDONLY | O_CLOEXEC);
    int error = in < 0 ? -errno : proc_read_fd(in, MOST_BYTES, &text);
    if (in >= 0)
        close(in);
    if (error) {
        strbuf_release(&text);
        return 0;
    }
    int out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    error = out < 0 ? -errno : whole_write(out, text.data, text.length);
    if (out >= 0 && close(out) < 0 && !error)
        error = -errno;
    strbuf_release(&text);
    return error;
}

static int proc_copy_process(int proc, int to, const char *pid)
{
    static const char *const files[] = {"status", "cmdline", "cgroup", "smaps_rollup", "smaps"};
    int from = openat(proc, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (from < 0)
        return 0;
    int error = mkdirat(to, pid, 0700) < 0 ? -errno : 0;
    int directory = error ? -1 : openat(to, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!error && directory < 0)
        error = -errno;
    for (size_t i = 0; !error && i < sizeof files / sizeof *files; i++)
        error = proc_copy_copy(from, directory, files[i]);
    close(from);
    if (directory >= 0)
        close(directory);
    return error;
}

static int proc_copy_all(DIR *proc, int to, size_t *processes)
{
    int error = proc_copy_copy(dirfd(proc), to, "meminfo");
    for (struct dirent *entry; !error && (entry = readdir(proc));) {
        uint64_t pid;
        const char *end;
        if (!proc_number(entry->d_name, &pid, &end) || *end)
            continue;
        error = proc_copy_process(dirfd(proc), to, entry->d_name);
        *processes += !error;
    }
    return error;
}

int system_memory_save(const char *directory, size_t *processes)
{
    *processes = 0;
    if (mkdir(directory, 0700) < 0)
        return -errno;
    int to = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *proc = to < 0 ? NULL : opendir("/proc");
    int error = proc ? proc_copy_all(proc, to, processes) : -errno;
    if (proc)
        closedir(proc);
    if (to >= 0)
        close(to);
    return error;
}
