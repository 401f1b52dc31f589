/* Renames an existing file to FILE.old before a new one is written (old_file.h). Devices, links in
 * /dev or /proc, and files that a living writer has locked are refused. The caller lists the
 * suffixes of files that are renamed with it. */
#include "base/old_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/alive.h"
#include "base/own_file.h"
#include "base/strbuf.h"

static int old_file_rename_with_suffix(const char *path, const char *suffix)
{
    struct strbuf from = STRBUF_INIT, to = STRBUF_INIT;
    strbuf_addf(&from, "%s%s", path, suffix);
    strbuf_addf(&to, "%s.old%s", path, suffix);
    int error = 0;
    if (rename(from.data, to.data))
        error = -errno;
    if (error == -ENOENT) /* else the log of an earlier .old would be taken for this one's */
        error = unlink(to.data) && errno != ENOENT ? -errno : 0;
    strbuf_release(&from);
    strbuf_release(&to);
    return error;
}

/* Is it a name in /dev or below /proc, in any spelling? */
static bool old_file_is_of_system(const char *path)
{
    struct strbuf parent = STRBUF_INIT;
    const char *slash = strrchr(path, '/');
    strbuf_add(&parent, path, slash ? (size_t)(slash - path) + 1 : 0);
    char *real = realpath(parent.length ? parent.data : ".", NULL);
    bool is = real && (!strcmp(real, "/dev") || !strncmp(real, "/proc/", strlen("/proc/")));
    strbuf_release(&parent);
    free(real);
    return is;
}

int old_file_check_directory(const char *directory)
{
    struct stat file;
    if (stat(directory, &file))
        return -errno;
    if (!S_ISDIR(file.st_mode))
        return -ENOTDIR;
    if (file.st_nlink == 0)
        return -ENOENT;
    return access(directory, W_OK | X_OK) ? -errno : 0;
}

int old_file_check(const char *path)
{
    struct stat link, target;
    if (lstat(path, &link))
        return errno == ENOENT ? 0 : -errno;
    if (!stat(path, &target) && !S_ISREG(target.st_mode))
        return -EINVAL;
    return S_ISLNK(link.st_mode) && old_file_is_of_system(path) ? -EINVAL : 0;
}

int old_file_keep(const char *path, const char *const *suffixes)
{
    struct stat link;
    int error = old_file_check(path);
    if (error || lstat(path, &link))
        return error || errno == ENOENT ? error : -errno;
    if (S_ISREG(link.st_mode) && alive_is_written(path))
        return -EBUSY;
    error = old_file_rename_with_suffix(path, "");
    for (; suffixes && *suffixes && !error; suffixes++)
        error = old_file_rename_with_suffix(path, *suffixes);
    return error;
}

int old_file_move(const char *path, const char *to)
{
    int error = own_file_check(to);
    if (!error)
        error = old_file_keep(to, NULL);
    if (!error && rename(path, to))
        error = -errno;
    return error;
}

/* link() fails where rename() would replace. On file systems without links, the kernel is asked to
 * rename without replacing. */
int old_file_move_new(const char *path, const char *to)
{
    if (link(path, to) == 0)
        return unlink(path) ? -errno : 0;
    if (errno == EEXIST)
        return -EEXIST;
    return renameat2(AT_FDCWD, path, AT_FDCWD, to, RENAME_NOREPLACE) ? -errno : 0;
}
