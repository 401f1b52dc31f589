/* Appends rows to a session file (session_file.h). The first row, with the header and the layout
 * before it, is written before the file has its name, so that a file of the session's name always
 * has a row. A lock beyond the file's end says to readers that the writer lives. */
#include "session/session_file.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include "base/alive.h"
#include "base/error.h"
#include "base/new_file.h"
#include "base/old_file.h"
#include "base/strbuf.h"
#include "session/session_format.h"

struct session_file {
    pthread_mutex_t lock;
    char *path;
    int fd; /* -1: there is no row yet */
    uint64_t layout_name;
    struct strbuf layout;
    struct strbuf record;  /* the row that is being appended */
    struct strbuf waiting; /* rows for which the disk had no room, as records */
    size_t waiting_rows;
    off_t bytes; /* of the file */
    size_t rows;
};

/* Room for rows that wait to be written: some thousands of them. */
enum { SESSION_FILE_WAITING_BYTES = 16 << 20 };

/* ---- Records ------------------------------------------------------------------------------- */

/* Appends room for the head of a record. Its content follows; then session_file_end_record() fills
 * the head in. Returns where the head is. */
static size_t session_file_begin_record(struct strbuf *out)
{
    size_t at = out->length;
    memset(strbuf_extend(out, sizeof(struct session_record)), 0, sizeof(struct session_record));
    return at;
}

static void session_file_end_record(struct strbuf *out, size_t at, uint32_t kind)
{
    const char *content = out->data + at + sizeof(struct session_record);
    size_t bytes = out->length - at - sizeof(struct session_record);
    struct session_record record = {htole32(kind), htole32((uint32_t)bytes),
                                    htole64(XXH64(content, bytes, 0))};
    memcpy(out->data + at, &record, sizeof record);
}

static void session_file_add_row(struct session_file *file, const struct session_row *row,
                                 const void *body, size_t bytes)
{
    struct session_row_head head =
        session_format_head(row, sizeof(struct session_row_head), file->layout_name);
    size_t at = session_file_begin_record(&file->record);
    strbuf_add(&file->record, &head, sizeof head);
    strbuf_add_string(&file->record, row->program);
    strbuf_add_string(&file->record, row->command);
    strbuf_add(&file->record, body, bytes);
    session_file_end_record(&file->record, at, SESSION_RECORD_ROW);
}

/* What stands before the first row. */
static void session_file_add_beginning(const struct session_file *file, struct strbuf *out)
{
    struct session_header header = {.flags = 0};
    memcpy(header.magic, OWN_FILE_SESSION_MAGIC, sizeof header.magic);
    strbuf_add(out, &header, sizeof header);
    size_t at = session_file_begin_record(out);
    strbuf_add(out, file->layout.data, file->layout.length);
    session_file_end_record(out, at, SESSION_RECORD_LAYOUT);
}

/* ---- Writing ------------------------------------------------------------------------------- */

static int session_file_fail(const struct session_file *file, int error)
{
    if (error == -EEXIST)
        return error_set(error,
                         "cannot write the session file %s: it is there already and is no file of "
                         "Tidemark's; choose another name",
                         file->path);
    if (error == -EBUSY)
        return error_set(error,
                         "cannot write the session file %s: another recording is writing it; "
                         "choose another name, %%p puts the process id in",
                         file->path);
    return error_set(error, "cannot write the session file %s: %s", file->path, strerror(-error));
}

/* One write(), so that a kill leaves a row whole or not at all. What a full disk took of it is
 * taken back. */
static int session_file_write(struct session_file *file, int fd, const void *data, size_t bytes)
{
    ssize_t written;
    do
        written = write(fd, data, bytes);
    while (written < 0 && errno == EINTR);
    if (written == (ssize_t)bytes) {
        file->bytes += written;
        return 0;
    }
    int error = written < 0 ? -errno : -ENOSPC;
    if (written > 0 && ftruncate(fd, file->bytes))
        file->bytes += written; /* readers skip it */
    return error;
}

static int session_file_keep_old(const struct session_file *file)
{
    int error = own_file_check(file->path);
    return error ? error : old_file_keep(file->path, NULL);
}

/* It is locked, and has its row, before it has the name. */
static int session_file_place(struct session_file *file, struct new_file *made,
                              const struct strbuf *beginning)
{
    if (fcntl(made->fd, F_SETFL, O_APPEND) < 0)
        return -errno;
    alive_lock(made->fd);
    int fd = made->fd;
    int error = session_file_write(file, fd, beginning->data, beginning->length);
    if (!error)
        error = session_file_keep_old(file);
    if (!error)
        error = new_file_place(made, file->path);
    if (error)
        file->bytes = 0;
    else
        file->fd = fd;
    return error;
}

static int session_file_create(struct session_file *file, const void *record, size_t bytes)
{
    struct strbuf beginning = STRBUF_INIT;
    struct new_file made;
    session_file_add_beginning(file, &beginning);
    strbuf_add(&beginning, record, bytes);
    int error = new_file_open(&made, file->path);
    if (!error)
        error = session_file_place(file, &made, &beginning);
    new_file_release(&made);
    strbuf_release(&beginning);
    return error;
}

static int session_file_put(struct session_file *file, const void *record, size_t bytes)
{
    int error = file->fd < 0 ? session_file_create(file, record, bytes)
                             : session_file_write(file, file->fd, record, bytes);
    file->rows += !error;
    return error;
}

/* ---- A disk that is full for a while ---- */

static int session_file_put_waiting(struct session_file *file)
{
    struct strbuf *waiting = &file->waiting;
    size_t at = 0;
    int error = 0;
    while (at < waiting->length && !error) {
        struct session_record head;
        memcpy(&head, waiting->data + at, sizeof head);
        size_t bytes = sizeof head + le32toh(head.bytes);
        error = session_file_put(file, waiting->data + at, bytes);
        at += error ? 0 : bytes;
        file->waiting_rows -= !error;
    }
    if (at)
        memmove(waiting->data, waiting->data + at, waiting->length - at);
    waiting->length -= at;
    return error;
}

static bool session_file_may_wait(const struct session_file *file, int error)
{
    return (error == -ENOSPC || error == -EDQUOT) &&
           file->waiting.length + file->record.length <= SESSION_FILE_WAITING_BYTES;
}

/* Behind those that wait. */
static int session_file_put_new(struct session_file *file)
{
    int error = session_file_put_waiting(file);
    if (!error)
        error = session_file_put(file, file->record.data, file->record.length);
    if (!error || !session_file_may_wait(file, error))
        return error;
    strbuf_add(&file->waiting, file->record.data, file->record.length);
    file->waiting_rows++;
    return 0;
}

size_t session_file_settle(struct session_file *file)
{
    pthread_mutex_lock(&file->lock);
    int error = session_file_put_waiting(file);
    size_t left = file->waiting_rows;
    pthread_mutex_unlock(&file->lock);
    if (error)
        session_file_fail(file, error);
    return left;
}

/* ---- Opening and appending ---- */

int session_file_open(struct session_file **out, const char *path, const void *layout,
                      size_t layout_bytes)
{
    struct session_file *file = calloc(1, sizeof *file);
    *out = NULL;
    if (!file || !(file->path = strdup(path))) {
        free(file);
        return error_set(-ENOMEM, "out of memory");
    }
    file->fd = -1;
    file->layout = file->record = file->waiting = STRBUF_INIT;
    pthread_mutex_init(&file->lock, NULL);
    strbuf_add(&file->layout, layout, layout_bytes);
    file->layout_name = session_layout_name(layout, layout_bytes);
    int error = own_file_check(path);
    if (error) {
        error = session_file_fail(file, error);
        session_file_close(file);
        return error;
    }
    *out = file;
    return 0;
}

int session_file_append(struct session_file *file, const struct session_row *row, const void *body,
                        size_t bytes)
{
    if (bytes > SESSION_RECORD_BYTES_MAX / 2 ||
        strlen(row->program) + strlen(row->command) > SESSION_RECORD_BYTES_MAX / 4)
        return session_file_fail(file, -EFBIG);
    pthread_mutex_lock(&file->lock);
    strbuf_reset(&file->record);
    session_file_add_row(file, row, body, bytes);
    int error = session_file_put_new(file);
    pthread_mutex_unlock(&file->lock);
    return error ? session_file_fail(file, error) : 0;
}

size_t session_file_rows(struct session_file *file)
{
    pthread_mutex_lock(&file->lock);
    size_t rows = file->rows;
    pthread_mutex_unlock(&file->lock);
    return rows;
}

void session_file_close(struct session_file *file)
{
    if (!file)
        return;
    if (file->fd >= 0)
        close(file->fd);
    pthread_mutex_destroy(&file->lock);
    strbuf_release(&file->layout);
    strbuf_release(&file->record);
    strbuf_release(&file->waiting);
    free(file->path);
    free(file);
}
