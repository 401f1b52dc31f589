/* Moves profiles and entries of a node's processes into one file for each job (node_files.h).
 * Nearly always a collector has one job. A launcher within a rank has a directory of its own. */
#include "collector/node_files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/whole.h"
#include "collector/job_place.h"
#include "collector/node_models.h"
#include "profile/pack.h"
#include "session/session_whole.h"

enum { NODE_FILES_MOST_BYTES = 48 << 20 }; /* a larger profile keeps its file */

struct node_files_item {
    char *directory;
    struct session_whole_file *file;
    struct node_models *models;
};

struct node_files {
    pthread_mutex_t lock; /* of all that follows */
    struct node_files_item *items;
    size_t count, room;
    size_t inside; /* processes that have begun and not ended */
    /* Of the paths that profiles had, by hash; two of one hash cost a name of the second. */
    struct map names;
};

struct node_files *node_files_new(void)
{
    struct node_files *files = memory_zeroed(1, sizeof *files);
    pthread_mutex_init(&files->lock, NULL);
    return files;
}

void node_files_free(struct node_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->count; i++) {
        session_whole_close(files->items[i].file);
        node_models_free(files->items[i].models);
        free(files->items[i].directory);
    }
    free(files->items);
    map_release(&files->names);
    pthread_mutex_destroy(&files->lock);
    free(files);
}

void node_files_enter(struct node_files *files)
{
    pthread_mutex_lock(&files->lock);
    files->inside++;
    pthread_mutex_unlock(&files->lock);
}

void node_files_leave(struct node_files *files)
{
    pthread_mutex_lock(&files->lock);
    if (!--files->inside)
        for (size_t i = 0; i < files->count; i++)
            session_whole_rest(files->items[i].file);
    pthread_mutex_unlock(&files->lock);
}

/* ---- Names ------------------------------------------------------------------------------- */

bool node_files_had(struct node_files *files, const char *path)
{
    uint32_t number;
    if (!files)
        return false;
    pthread_mutex_lock(&files->lock);
    struct map_probe probe = map_probe(&files->names, hash_bytes(path, strlen(path)));
    bool had = map_next(&probe, &number);
    pthread_mutex_unlock(&files->lock);
    return had;
}

static void node_files_keep_name(struct node_files *files, const char *path)
{
    pthread_mutex_lock(&files->lock);
    map_add(&files->names, hash_bytes(path, strlen(path)), 0);
    pthread_mutex_unlock(&files->lock);
}

/* ---- Which file ---------------------------------------------------------------------------- */

/* Host and our pid make a name that nobody else has; its creation settles the rest. */
static int node_files_create(struct session_whole_file **out, const char *directory,
                             const char *host)
{
    enum { TRIES = 1000 };
    int error = -EEXIST;
    for (unsigned number = 1; error == -EEXIST && number < TRIES; number++) {
        char *path = job_place_node_path(directory, host, number);
        error = session_whole_open(out, path);
        free(path);
    }
    return error;
}

/* Under the lock. */
static int node_files_find(struct node_files *files, struct node_files_item *out,
                           const char *directory, const char *host)
{
    for (size_t i = 0; i < files->count; i++)
        if (!strcmp(files->items[i].directory, directory)) {
            *out = files->items[i];
            return 0;
        }
    int error = node_files_create(&out->file, directory, host);
    if (error)
        return error;
    out->directory = memory_copy_string(directory);
    out->models = node_models_new();
    array_need_room(&files->items, &files->room, files->count, sizeof *files->items);
    files->items[files->count++] = *out;
    return 0;
}

static int node_files_item(struct node_files *files, struct node_files_item *out, const char *path,
                           const char *host)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return -EINVAL;
    char *directory = memory_need(strndup(path, (size_t)(slash - path)));
    pthread_mutex_lock(&files->lock);
    int error = node_files_find(files, out, directory, host);
    pthread_mutex_unlock(&files->lock);
    free(directory);
    return error;
}

/* ---- A profile ----------------------------------------------------------------------------- */

static int node_files_read_from(int fd, void **bytes, size_t *count)
{
    struct stat status;
    if (fstat(fd, &status))
        return -errno;
    if (!S_ISREG(status.st_mode) || status.st_size > NODE_FILES_MOST_BYTES)
        return -EINVAL;
    *bytes = malloc((size_t)status.st_size + 1);
    if (!*bytes)
        return -ENOMEM;
    ssize_t got = whole_read_at(fd, *bytes, (size_t)status.st_size, 0);
    *count = got < 0 ? 0 : (size_t)got;
    if (got == status.st_size && pack_is_packed(*bytes, *count))
        return 0;
    free(*bytes);
    return got < 0 ? (int)got : -EINVAL;
}

static int node_files_read(const char *path, void **bytes, size_t *count)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int error = node_files_read_from(fd, bytes, count);
    close(fd);
    return error;
}

int node_files_take(struct node_files *files, const char *path, const char *host,
                    const struct session_row *row, const char *said, char **operand)
{
    struct node_files_item item;
    void *bytes = NULL;
    size_t count = 0;
    int error = node_files_read(path, &bytes, &count);
    if (error)
        return error;
    error = node_files_item(files, &item, path, host);
    if (!error)
        error = node_models_append(item.models, item.file, row, said, bytes, count);
    free(bytes);
    if (error)
        return error;
    node_files_keep_name(files, path);
    unlink(path);
    if (asprintf(operand, "%s@%d", session_whole_path(item.file), (int)row->pid) < 0)
        memory_exhausted();
    return 0;
}
