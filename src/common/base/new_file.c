/* Files without a name come from O_TMPFILE and get one by linkat() through /proc (new_file.h).
 * linkat() replaces no file. To replace one, the file first gets the draft's name and is then
 * renamed. */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/old_file.h"

static char *new_file_draft_of(const char *path)
{
    char *name = NULL;
    return asprintf(&name, "%s.new", path) < 0 ? NULL : name;
}

static int new_file_open_unnamed(const char *path)
{
    char *copy = strdup(path);
    int fd = -ENOMEM;
    if (copy) {
        fd = open(dirname(copy), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
        fd = fd < 0 ? -errno : fd;
    }
    free(copy);
    return fd;
}

/* Without /proc, the file could not be given a name later. */
static int new_file_can_be_linked(int fd)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return access(path, F_OK) == 0;
}

static int new_file_open_draft(struct new_file *file, const char *path)
{
    file->draft = new_file_draft_of(path);
    if (!file->draft)
        return -ENOMEM;
    unlink(file->draft); /* left by a writer that was killed */
    file->fd =
        open(file->draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file->fd >= 0)
        return 0;
    int error = -errno;
    free(file->draft);
    file->draft = NULL;
    return error;
}

int new_file_open(struct new_file *file, const char *path)
{
    *file = (struct new_file){.fd = new_file_open_unnamed(path)};
    if (file->fd >= 0 && new_file_can_be_linked(file->fd))
        return 0;
    if (file->fd >= 0)
        close(file->fd);
    *file = (struct new_file){.fd = -1};
    return new_file_open_draft(file, path); /* its error is the one to report */
}

static int new_file_link(const struct new_file *file, const char *path)
{
    char own[40];
    snprintf(own, sizeof own, "/proc/self/fd/%d", file->fd);
    return linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

static void new_file_forget_draft(struct new_file *file)
{
    free(file->draft);
    file->draft = NULL;
}

int new_file_place(struct new_file *file, const char *path)
{
    int error = file->draft ? old_file_move_new(file->draft, path) : new_file_link(file, path);
    if (error)
        return error;
    new_file_forget_draft(file);
    file->fd = -1;
    return 0;
}

static int new_file_name_draft(struct new_file *file, const char *path)
{
    char *draft = new_file_draft_of(path);
    if (!draft)
        return -ENOMEM;
    unlink(draft);
    int error = new_file_link(file, draft);
    if (error)
        free(draft);
    else
        file->draft = draft;
    return error;
}

int new_file_replace(struct new_file *file, const char *path)
{
    int error = file->draft ? 0 : new_file_name_draft(file, path);
    if (!error && rename(file->draft, path))
        error = -errno;
    if (error)
        return error;
    new_file_forget_draft(file);
    file->fd = -1;
    return 0;
}

void new_file_release(struct new_file *file)
{
    if (file->draft)
        unlink(file->draft);
    free(file->draft);
    if (file->fd >= 0)
        close(file->fd);
    *file = (struct new_file){.fd = -1};
}
