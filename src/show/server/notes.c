/* Reads and replaces a file of notes (notes.h). A new file gets its name when it is whole. A file
 * that does not begin as notes do is never replaced. */
#include "server/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/hash.h"
#include "base/new_file.h"
#include "base/own_file.h"
#include "base/regular.h"
#include "base/whole.h"

static const char beginning[] = "{\"format\":\"tidemark-notes\",\"version\":1,";
static const char none[] =
    "{\"format\":\"tidemark-notes\",\"version\":1,\"notes\":[],\"views\":[]}";

static void notes_add_path(struct strbuf *path, const struct served_source *shown)
{
    strbuf_add_string(path, shown->file ? shown->file : shown->path);
    while (path->length > 1 && path->data[path->length - 1] == '/')
        strbuf_truncate(path, path->length - 1);
    strbuf_add_string(path, ".notes");
}

static void notes_write_tag(char tag[NOTES_TAG], const char *bytes, size_t count)
{
    snprintf(tag, NOTES_TAG, "\"%016llx\"", (unsigned long long)hash_bytes(bytes, count));
}

static int notes_read_at(const char *path, struct strbuf *out, char tag[NOTES_TAG])
{
    struct regular_file file;
    int error = regular_file_read(&file, path, NOTES_MOST);
    if (error == -ENOENT) {
        strbuf_add_string(out, none);
        notes_write_tag(tag, none, sizeof none - 1);
        return 0;
    }
    if (error)
        return error_set(error == -EINVAL || error == -EFBIG ? -EEXIST : error,
                         "cannot read notes of %s: %s", path, strerror(-error));
    bool is_ours = file.count >= sizeof beginning - 1 &&
                   !memcmp(file.bytes, beginning, sizeof beginning - 1) &&
                   !memchr(file.bytes, 0, file.count);
    strbuf_add(out, file.bytes, is_ours ? file.count : 0);
    notes_write_tag(tag, file.bytes, file.count);
    free(file.bytes);
    return is_ours ? 0 : error_set(-EEXIST, "%s is no file of notes: it is left alone", path);
}

int notes_read(const struct served_source *shown, struct strbuf *out, char tag[NOTES_TAG])
{
    struct strbuf path = STRBUF_INIT;
    notes_add_path(&path, shown);
    int error = notes_read_at(path.data, out, tag);
    strbuf_release(&path);
    return error;
}

/* ---- Writing ------------------------------------------------------------------------------- */

/* Refuses files of others at the name, and at the name from which a new file is moved. */
static int notes_check(const char *path)
{
    struct strbuf draft = STRBUF_INIT;
    struct stat status;
    strbuf_addf(&draft, "%s.new", path);
    const char *names[] = {path, draft.data};
    int error = 0;
    for (size_t i = 0; i < 2 && !error; i++)
        if ((!lstat(names[i], &status) && S_ISLNK(status.st_mode)) ||
            own_file_check_text(names[i], beginning))
            error = error_set(-EEXIST, "%s is no file of notes: it is left alone", names[i]);
    strbuf_release(&draft);
    return error;
}

static int notes_write_bytes(int fd, const char *bytes, size_t count)
{
    int error = whole_write(fd, bytes, count);
    return error ? error : fsync(fd) ? -errno : 0;
}

static int notes_replace(const char *path, const struct strbuf *text)
{
    struct new_file file;
    int error = new_file_open(&file, path);
    int fd = file.fd;
    if (!error)
        error = notes_write_bytes(fd, text->data, text->length);
    if (!error)
        error = new_file_replace(&file, path);
    if (!error)
        close(fd);
    new_file_release(&file);
    return error ? error_set(error, "cannot write %s: %s", path, strerror(-error)) : 0;
}

/* Locks the folder against servers of the same profile in other processes. -1: no lock, because the
 * folder cannot be read, its file system has no locks, or another process keeps it. */
static int notes_lock_folder(const char *path)
{
    enum { TRIES = 200, WAIT_US = 10000 };
    char *copy = strdup(path);
    int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(copy);
    for (int i = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB); i++) {
        if (errno == EWOULDBLOCK && i < TRIES) {
            usleep(WAIT_US);
            continue;
        }
        close(fd);
        fd = -1;
    }
    return fd;
}

/* The lock is held. */
static int notes_write_at(const char *path, const struct strbuf *text, const char *known)
{
    struct strbuf there = STRBUF_INIT;
    char tag[NOTES_TAG];
    int folder = notes_lock_folder(path);
    int error = notes_check(path);
    if (!error)
        error = notes_read_at(path, &there, tag);
    if (!error && (!known || strcmp(known, tag)))
        error = error_set(-ESTALE, "other notes have been written meanwhile: read them first");
    if (!error)
        error = notes_replace(path, text);
    if (folder >= 0)
        close(folder);
    strbuf_release(&there);
    return error;
}

int notes_write(struct notes_lock *lock, const struct served_source *shown,
                const struct strbuf *text, const char *known)
{
    struct strbuf path = STRBUF_INIT;
    if (strncmp(text->data, beginning, sizeof beginning - 1))
        return error_set(-EINVAL, "these are no notes of Tidemark");
    notes_add_path(&path, shown);
    pthread_mutex_lock(&lock->lock);
    int error = notes_write_at(path.data, text, known);
    pthread_mutex_unlock(&lock->lock);
    strbuf_release(&path);
    return error;
}
