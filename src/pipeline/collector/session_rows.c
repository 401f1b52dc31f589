/* Opens the session's file with its first row, under a lock, and appends to it (session_rows.h). */
#include "collector/session_rows.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/memory.h"

struct session_rows {
    pthread_mutex_t lock;
    char *path;
    struct session_file *file; /* NULL: no row yet */
    struct session_rows_largest largest;
    bool has_waited; /* for room on the disk, in vain */
};

struct session_rows *session_rows_new(void)
{
    struct session_rows *rows = memory_zeroed(1, sizeof *rows);
    pthread_mutex_init(&rows->lock, NULL);
    return rows;
}

void session_rows_free(struct session_rows *rows)
{
    if (!rows)
        return;
    session_rows_settle(rows);
    session_file_close(rows->file);
    pthread_mutex_destroy(&rows->lock);
    free(rows->path);
    free(rows);
}

void session_rows_name(struct session_rows *rows, const char *profile)
{
    size_t length = strlen(profile);
    bool has_suffix = length > 4 && strcmp(profile + length - 4, ".tmk") == 0;
    char *path = NULL;
    if (rows->path)
        return;
    if (asprintf(&path, "%.*s" SESSION_FILE_SUFFIX, (int)(has_suffix ? length - 4 : length),
                 profile) < 0)
        memory_exhausted();
    rows->path = path;
}

const char *session_rows_path(const struct session_rows *rows)
{
    return rows->path;
}

/* NULL: no row yet. */
static struct session_file *session_rows_opened(struct session_rows *rows)
{
    pthread_mutex_lock(&rows->lock);
    struct session_file *file = rows->file;
    pthread_mutex_unlock(&rows->lock);
    return file;
}

static struct session_file *session_rows_file(struct session_rows *rows, int *status)
{
    pthread_mutex_lock(&rows->lock);
    *status = rows->file ? 0 : profile_session_open(&rows->file, rows->path);
    struct session_file *file = rows->file;
    pthread_mutex_unlock(&rows->lock);
    return file;
}

static void session_rows_remember(struct session_rows *rows, const struct session_row *row)
{
    struct session_rows_largest *largest = &rows->largest;
    uint64_t peak_bytes;
    if (!figure_get(row->peak_bytes, &peak_bytes))
        return;
    pthread_mutex_lock(&rows->lock);
    if (!largest->pid || peak_bytes > largest->peak_bytes) {
        largest->pid = row->pid;
        largest->peak_bytes = peak_bytes;
        snprintf(largest->program, sizeof largest->program, "%s", row->program);
    }
    pthread_mutex_unlock(&rows->lock);
}

int session_rows_append(struct session_rows *rows, const struct session_row *row, const void *body,
                        size_t bytes)
{
    int status;
    struct session_file *file = session_rows_file(rows, &status);
    if (!status)
        status = session_file_append(file, row, body, bytes);
    if (!status)
        session_rows_remember(rows, row);
    return status;
}

struct session_rows_largest session_rows_largest(struct session_rows *rows)
{
    pthread_mutex_lock(&rows->lock);
    struct session_rows_largest largest = rows->largest;
    pthread_mutex_unlock(&rows->lock);
    return largest;
}

size_t session_rows_settle(struct session_rows *rows)
{
    enum { TRIES = 100 };
    const struct timespec pause = {0, 50 * 1000 * 1000};
    struct session_file *file = session_rows_opened(rows);
    size_t left = file ? session_file_settle(file) : 0;
    for (int tries = 0; left && !rows->has_waited && tries < TRIES; tries++) {
        nanosleep(&pause, NULL);
        left = session_file_settle(file);
    }
    rows->has_waited = left > 0;
    return left;
}

size_t session_rows_count(struct session_rows *rows)
{
    struct session_file *file = session_rows_opened(rows);
    return file ? session_file_rows(file) : 0;
}
