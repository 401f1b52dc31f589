/* Writes whole profiles into a session file, many threads at once (session_whole.h). The lock is
 * held to count bytes, never while something is written. */
#include "session/session_whole.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include "base/alive.h"
#include "base/new_file.h"
#include "base/strbuf.h"
#include "base/whole.h"
#include "session/session_format.h"

struct session_whole_file {
    pthread_mutex_t lock; /* of all that changes */
    char *path;
    int fd;       /* -1: it rests */
    uint64_t end; /* where the next record goes */
    uint64_t device, inode;
};

/* Which file it is. */
static int session_whole_know(struct session_whole_file *file)
{
    struct stat status;
    if (fstat(file->fd, &status))
        return -errno;
    file->device = (uint64_t)status.st_dev;
    file->inode = (uint64_t)status.st_ino;
    alive_lock(file->fd);
    return 0;
}

static int session_whole_create(struct session_whole_file *file)
{
    struct new_file made;
    struct session_header header = {.flags = 0};
    memcpy(header.magic, OWN_FILE_SESSION_MAGIC, sizeof header.magic);
    int error = new_file_open(&made, file->path);
    if (error)
        return error;
    file->fd = made.fd;
    error = session_whole_know(file);
    if (!error)
        error = whole_write(file->fd, &header, sizeof header);
    if (!error)
        error = new_file_place(&made, file->path);
    if (error)
        file->fd = -1;
    new_file_release(&made);
    return error;
}

int session_whole_open(struct session_whole_file **out, const char *path)
{
    struct session_whole_file *file = calloc(1, sizeof *file);
    *out = NULL;
    if (!file || !(file->path = strdup(path))) {
        free(file);
        return -ENOMEM;
    }
    file->end = sizeof(struct session_header);
    file->fd = -1;
    pthread_mutex_init(&file->lock, NULL);
    int error = session_whole_create(file);
    if (error)
        session_whole_close(file);
    else
        *out = file;
    return error;
}

const char *session_whole_path(const struct session_whole_file *file)
{
    return file->path;
}

void session_whole_close(struct session_whole_file *file)
{
    if (!file)
        return;
    if (file->fd >= 0)
        close(file->fd);
    pthread_mutex_destroy(&file->lock);
    free(file->path);
    free(file);
}

void session_whole_rest(struct session_whole_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* After a rest. Another file that took the name is left alone. */
static int session_whole_wake(struct session_whole_file *file)
{
    uint64_t device = file->device, inode = file->inode;
    if (file->fd >= 0)
        return 0;
    file->fd = open(file->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file->fd < 0)
        return -errno;
    int error = session_whole_know(file);
    if (!error && (file->device != device || file->inode != inode))
        error = -ESTALE;
    file->device = device;
    file->inode = inode;
    if (error)
        session_whole_rest(file);
    return error;
}

/* ---- A record ------------------------------------------------------------------------------ */

static struct session_whole_head session_whole_head_of(const struct session_row *row,
                                                       size_t said_bytes,
                                                       const struct session_whole_body *body)
{
    size_t model_bytes = body->model_at ? sizeof(struct session_whole_model) : 0;
    return (struct session_whole_head){
        .row = session_format_head(row, sizeof(struct session_whole_head) + model_bytes, 0),
        .entry_bytes = htole32((uint32_t)said_bytes),
        .profile_bytes = htole32((uint32_t)body->bytes),
    };
}

/* All that is before the profile. */
static int session_whole_begin(struct strbuf *out, const struct session_row *row, const char *said,
                               const struct session_whole_body *body)
{
    size_t texts = strlen(row->program) + strlen(row->command) + strlen(said);
    if (texts > SESSION_WHOLE_BEGINNING_MAX / 2 ||
        body->bytes > SESSION_RECORD_BYTES_MAX - SESSION_WHOLE_BEGINNING_MAX)
        return -EFBIG;
    struct session_whole_head head = session_whole_head_of(row, strlen(said), body);
    struct session_whole_model model = {htole64(body->model_at)};
    struct session_record record = {.kind = htole32(SESSION_RECORD_WHOLE)};
    strbuf_add(out, &record, sizeof record);
    strbuf_add(out, &head, sizeof head);
    if (body->model_at)
        strbuf_add(out, &model, sizeof model);
    strbuf_add_string(out, row->program);
    strbuf_add_string(out, row->command);
    strbuf_add_string(out, said);
    size_t beginning = out->length - sizeof record;
    record.bytes = htole32((uint32_t)(beginning + body->bytes));
    record.hash = htole64(XXH64(out->data + sizeof record, beginning, 0));
    memcpy(out->data, &record, sizeof record);
    return 0;
}

static int session_whole_take_place(struct session_whole_file *file, size_t bytes, uint64_t *at)
{
    pthread_mutex_lock(&file->lock);
    int error = session_whole_wake(file);
    *at = file->end;
    file->end += error ? 0 : bytes;
    pthread_mutex_unlock(&file->lock);
    return error;
}

/* Nothing was written behind it: then the place is the next row's, and the file ends before it.
 * Else the disk gets back what it had room for, if the file system can do that. */
static void session_whole_give_place(struct session_whole_file *file, uint64_t at, size_t bytes)
{
    pthread_mutex_lock(&file->lock);
    if (file->end == at + bytes && ftruncate(file->fd, (off_t)at) == 0)
        file->end = at;
    else
        fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes);
    pthread_mutex_unlock(&file->lock);
}

static int session_whole_write(int fd, const void *bytes, size_t count, uint64_t at)
{
    const char *from = bytes;
    while (count) {
        ssize_t wrote = pwrite(fd, from, count, (off_t)at);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return wrote ? -errno : -ENOSPC;
        from += wrote;
        at += (uint64_t)wrote;
        count -= (size_t)wrote;
    }
    return 0;
}

int session_whole_append(struct session_whole_file *file, const struct session_row *row,
                         const char *said, const struct session_whole_body *body, uint64_t *at)
{
    struct strbuf beginning = STRBUF_INIT;
    int error = session_whole_begin(&beginning, row, said, body);
    size_t all = beginning.length + body->bytes;
    uint64_t from;
    if (!error)
        error = session_whole_take_place(file, all, &from);
    if (!error) {
        *at = from + beginning.length;
        error = session_whole_write(file->fd, body->profile, body->bytes, *at);
        if (!error)
            error = session_whole_write(file->fd, beginning.data, beginning.length, from);
        if (error)
            session_whole_give_place(file, from, all);
    }
    strbuf_release(&beginning);
    return error;
}
