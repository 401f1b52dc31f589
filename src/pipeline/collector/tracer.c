/* Writes a trace on a thread of its own (tracer.h). Records are copied into chunks of memory, and
 * full chunks pass through a bounded queue with a mutex and two conditions. */
#include "collector/tracer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include "base/array.h"
#include "base/error.h"
#include "base/human.h"
#include "base/old_file.h"
#include "collector/name_takeover.h"
#include "base/own_file.h"
#include "base/memory.h"
#include "collector/quota.h"
#include "profile/profile.h"

/* A message in a chunk: this, then its bytes. */
struct tracer_message {
    enum message_kind { MESSAGE_RUNS, MESSAGE_NOTE, MESSAGE_FACT, MESSAGE_MODULE } kind;
    uint32_t count; /* runs */
    size_t bytes;   /* a multiple of 8 */
};

struct tracer_chunk {
    struct tracer_chunk *next;
    size_t used, room;
    uint32_t nodes; /* how many nodes are in the file before its events */
    bool flush;
    _Alignas(16) char data[];
};

/* A module of the log, as it is in the trace. */
struct told_module {
    const struct wire_module *source;
    uint32_t died;
};

struct tracer {
    char *path;
    const struct name_takeover *name; /* NULL: the path is free */
    struct trace_options options;
    struct view *view;
    struct tracer_chunk *filling;
    size_t module_cursor;
    struct told_module *modules;
    size_t module_count, module_room;
    bool running; /* the thread */
    pthread_t thread;
    _Atomic bool failed, lent;
    char *error;
    uint64_t file_bytes;

    /* the thread's own */
    struct trace_writer *writer;
    uint32_t nodes_written;
    bool made;          /* there is a file */
    bool keeps;         /* the file open */
    uint64_t unwritten; /* bytes of records that are not yet in a block of the file */

    pthread_mutex_t lock;
    pthread_cond_t came, went;
    /* guarded by the lock */
    struct tracer_chunk *first, **last, *empty;
    size_t chunk_count; /* full or at the thread */
    bool closing;
};

struct tracer *tracer_new(const char *path, const struct trace_options *options, struct view *view,
                          const struct name_takeover *name)
{
    struct tracer *tracer = memory_need(calloc(1, sizeof *tracer));
    tracer->path = memory_need(strdup(path));
    tracer->options = *options;
    tracer->view = view;
    tracer->name = name;
    tracer->last = &tracer->first;
    pthread_mutex_init(&tracer->lock, NULL);
    pthread_cond_init(&tracer->came, NULL);
    pthread_cond_init(&tracer->went, NULL);
    return tracer;
}

/* ---- The thread: chunks become a file ------------------------------------------------------ */

static void tracer_fail(struct tracer *tracer, const char *sentence)
{
    if (!tracer->error)
        tracer->error = memory_need(strdup(sentence));
    atomic_store(&tracer->failed, true);
}

static int tracer_step_aside(struct tracer *tracer)
{
    char sentence[512];
    int error = own_file_check(tracer->path);
    if (error == 0)
        error = old_file_keep(tracer->path, NULL);
    if (error == 0 || error == -EBUSY)
        return error;
    if (error == -EEXIST)
        snprintf(sentence, sizeof sentence,
                 "cannot write the trace %s: it is there already and is no file of Tidemark's; "
                 "choose another name",
                 tracer->path);
    else if (error == -EINVAL)
        snprintf(sentence, sizeof sentence,
                 "cannot write the trace %s: it is there already and is no regular file; choose "
                 "another name",
                 tracer->path);
    else
        snprintf(sentence, sizeof sentence, "cannot rename %s to %s.old: %s", tracer->path,
                 tracer->path, strerror(-error));
    tracer_fail(tracer, sentence);
    return error;
}

/* Waits until the path is free: another recording, or the image before an exec, may still write
 * there. */
static int tracer_wait_for_name(struct tracer *tracer)
{
    struct timespec pause = {0, 5 * 1000 * 1000};
    char sentence[512];
    name_takeover_wait(tracer->name);
    int error = tracer_step_aside(tracer);
    for (int tries = 0; error == -EBUSY && tries < 2000; tries++) {
        nanosleep(&pause, NULL);
        error = tracer_step_aside(tracer);
    }
    if (error == -EBUSY) {
        snprintf(sentence, sizeof sentence,
                 "cannot write the trace %s: another recording is writing it; choose another name, "
                 "%%p puts the process id in",
                 tracer->path);
        tracer_fail(tracer, sentence);
    }
    return error;
}

/* Takes a descriptor for what is written now. True: tracer_end_writing() gives it back. */
static bool tracer_begin_writing(struct tracer *tracer)
{
    if (!tracer->keeps && !atomic_load(&tracer->lent))
        tracer->keeps = quota_keep(QUOTA_TRACE);
    return !tracer->keeps && quota_take_unless(QUOTA_TRACE, &tracer->lent);
}

static void tracer_end_writing(struct tracer *tracer, bool took)
{
    if (!took)
        return;
    if (tracer->writer)
        trace_writer_rest(tracer->writer);
    quota_give(QUOTA_TRACE);
}

static void tracer_open_writer(struct tracer *tracer)
{
    if (tracer_wait_for_name(tracer) < 0)
        return;
    bool took = tracer_begin_writing(tracer);
    if (trace_writer_open(&tracer->writer, tracer->path, &tracer->options) < 0)
        tracer_fail(tracer, error_text());
    tracer->made = tracer->writer != NULL;
    tracer_end_writing(tracer, took);
}

static int tracer_write_nodes(struct tracer *tracer, uint32_t count)
{
    enum { AT_ONCE = 4096 };
    static _Thread_local struct trace_node nodes[AT_ONCE];
    int error = 0;
    while (tracer->nodes_written < count && !error) {
        uint32_t first = tracer->nodes_written, left = count - first;
        uint32_t taken = left < AT_ONCE ? left : AT_ONCE;
        for (uint32_t i = 0; i < taken; i++) {
            const struct wire_node *node = shared_view_node(tracer->view, first + i);
            nodes[i] = (struct trace_node){node->ip, node->parent};
        }
        error = trace_writer_nodes(tracer->writer, first, nodes, taken);
        tracer->nodes_written += taken;
    }
    return error;
}

static int tracer_write_message(struct tracer *tracer, const struct tracer_message *message,
                                const char *body)
{
    struct trace_module module;
    switch (message->kind) {
    case MESSAGE_RUNS:
        return trace_writer_events(tracer->writer, (const void *)body, message->count,
                                   body + message->count * sizeof(struct replay_run));
    case MESSAGE_NOTE:
        return trace_writer_note(tracer->writer, (const void *)body);
    case MESSAGE_FACT:
        return trace_writer_fact(tracer->writer, body, body + strlen(body) + 1);
    case MESSAGE_MODULE:
        memcpy(&module, body, sizeof module);
        module.path = body + sizeof module;
        return trace_writer_module(tracer->writer, &module);
    }
    return 0;
}

static int tracer_write_chunk(struct tracer *tracer, const struct tracer_chunk *chunk)
{
    enum { BLOCK_BYTES = 16 << 20 }; /* of records, in a block of events */
    struct tracer_message message;
    int error = tracer_write_nodes(tracer, chunk->nodes);
    for (size_t at = 0; at < chunk->used && !error; at += sizeof message + message.bytes) {
        memcpy(&message, chunk->data + at, sizeof message);
        error = tracer_write_message(tracer, &message, chunk->data + at + sizeof message);
    }
    if (!error && chunk->flush)
        error = trace_writer_flush(tracer->writer);
    tracer->unwritten =
        chunk->flush || tracer->unwritten > BLOCK_BYTES ? 0 : tracer->unwritten + chunk->used;
    return error;
}

/* ---- A disk that becomes full: the trace ends first ---------------------------------------- */

static uint64_t tracer_bytes_of(const char *path, int length, const char *suffix)
{
    struct stat file;
    char *name = NULL;
    uint64_t bytes = 0;
    if (asprintf(&name, "%.*s%s", length, path, suffix) >= 0 && stat(name, &file) == 0)
        bytes = (uint64_t)file.st_size;
    free(name);
    return bytes;
}

/* Room to keep for the profile beside the trace: twice its present size, 4 MiB on a small disk and
 * up to 16 MiB on a larger one, and the records that are not in the trace's file yet. */
static uint64_t tracer_kept_bytes(const struct tracer *tracer, const struct statvfs *disk)
{
    enum { LEAST_BYTES = 4 << 20, MOST_BYTES = 16 << 20, PART = 8, PACKED_TO = 4 };
    uint64_t part = (uint64_t)disk->f_blocks * disk->f_frsize / PART;
    int stem = (int)strlen(tracer->path) - (int)strlen(".tmt");
    part = part > MOST_BYTES ? MOST_BYTES : part;
    return (part < LEAST_BYTES ? LEAST_BYTES : part) + tracer->unwritten / PACKED_TO +
           2 * (tracer_bytes_of(tracer->path, stem, ".tmk") +
                tracer_bytes_of(tracer->path, stem, ".tmk-wal"));
}

static void tracer_tell_end(struct tracer *tracer, uint64_t free_bytes)
{
    char why[128], sentence[1024];
    snprintf(why, sizeof why, "as the disk had only %s left, which are kept for the profile",
             human_bytes(free_bytes).text);
    trace_writer_fact(tracer->writer, TRACE_FACT_META PROFILE_META_END, "detached");
    trace_writer_fact(tracer->writer, TRACE_FACT_META PROFILE_META_ENDED_ON, why);
    snprintf(sentence, sizeof sentence, "the trace %s ended %s", tracer->path, why);
    tracer_fail(tracer, sentence);
}

/* Completes the file with what it has if too little room is left. */
static bool tracer_ends_before_disk(struct tracer *tracer)
{
    struct statvfs disk;
    if (statvfs(tracer->path, &disk) != 0)
        return false;
    uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (free_bytes >= tracer_kept_bytes(tracer, &disk))
        return false;
    tracer_tell_end(tracer, free_bytes);
    trace_writer_finish(tracer->writer);
    tracer->writer = NULL;
    return true;
}

/* NULL: no more will come. */
static struct tracer_chunk *tracer_next_chunk(struct tracer *tracer)
{
    pthread_mutex_lock(&tracer->lock);
    while (!tracer->first && !tracer->closing)
        pthread_cond_wait(&tracer->came, &tracer->lock);
    struct tracer_chunk *chunk = tracer->first;
    if (chunk && !(tracer->first = chunk->next))
        tracer->last = &tracer->first;
    pthread_mutex_unlock(&tracer->lock);
    return chunk;
}

static void tracer_give_back(struct tracer *tracer, struct tracer_chunk *chunk)
{
    pthread_mutex_lock(&tracer->lock);
    chunk->next = tracer->empty;
    tracer->empty = chunk;
    tracer->chunk_count--;
    pthread_cond_signal(&tracer->went);
    pthread_mutex_unlock(&tracer->lock);
}

static void tracer_take_chunk(struct tracer *tracer, const struct tracer_chunk *chunk)
{
    if (atomic_load(&tracer->failed))
        return;
    bool took = tracer_begin_writing(tracer);
    if (!tracer_ends_before_disk(tracer) && tracer_write_chunk(tracer, chunk) < 0)
        tracer_fail(tracer, error_text());
    tracer_end_writing(tracer, took);
}

static void *tracer_trace_thread(void *context)
{
    struct tracer *tracer = context;
    struct tracer_chunk *chunk;
    tracer_open_writer(tracer);
    while ((chunk = tracer_next_chunk(tracer))) {
        tracer_take_chunk(tracer, chunk);
        tracer_give_back(tracer, chunk);
    }
    return NULL;
}

/* ---- The merge: chunks are filled ---------------------------------------------------------- */

static struct tracer_chunk *tracer_empty_chunk(struct tracer *tracer, size_t bytes)
{
    size_t room = bytes < TRACER_CHUNK_BYTES ? TRACER_CHUNK_BYTES : bytes;
    pthread_mutex_lock(&tracer->lock);
    struct tracer_chunk *chunk = tracer->empty;
    if (chunk)
        tracer->empty = chunk->next;
    pthread_mutex_unlock(&tracer->lock);
    if (chunk && chunk->room < room) {
        free(chunk);
        chunk = NULL;
    }
    if (!chunk) {
        chunk = memory_need(malloc(sizeof *chunk + room));
        chunk->room = room;
    }
    chunk->used = 0;
    return chunk;
}

/* Without a thread the trace fails, because the chunks would not be written. */
static void tracer_start_thread(struct tracer *tracer)
{
    int error = pthread_create(&tracer->thread, NULL, tracer_trace_thread, tracer);
    tracer->running = error == 0;
    if (error) {
        char sentence[512];
        snprintf(sentence, sizeof sentence, "cannot write the trace %s: no thread for it: %s",
                 tracer->path, strerror(error));
        tracer_fail(tracer, sentence);
    }
}

static void tracer_queue(struct tracer *tracer, struct tracer_chunk *chunk)
{
    pthread_mutex_lock(&tracer->lock);
    while (tracer->chunk_count >= TRACER_CHUNKS_MAX)
        pthread_cond_wait(&tracer->went, &tracer->lock);
    chunk->next = NULL;
    *tracer->last = chunk;
    tracer->last = &chunk->next;
    tracer->chunk_count++;
    pthread_cond_signal(&tracer->came);
    pthread_mutex_unlock(&tracer->lock);
}

static char *tracer_place_message(struct tracer_chunk *chunk, const struct tracer_message *message)
{
    char *at = chunk->data + chunk->used;
    memcpy(at, message, sizeof *message);
    chunk->used += sizeof *message + message->bytes;
    return at + sizeof *message;
}

static size_t tracer_multiple_of_8(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

static void tracer_put_module(struct tracer *tracer, const struct told_module *told)
{
    const struct wire_module *source = told->source;
    size_t path_bytes = strlen(source->path) + 1;
    struct trace_module module = {.number = (uint32_t)(told - tracer->modules),
                                  .born = source->born,
                                  .died = told->died,
                                  .bias = source->bias,
                                  .start = source->start,
                                  .end = source->end,
                                  .build_id_bytes = source->build_id_bytes};
    struct tracer_message message = {.kind = MESSAGE_MODULE,
                                     .bytes = tracer_multiple_of_8(sizeof module + path_bytes)};
    struct tracer_chunk *chunk = tracer->filling;
    if (chunk->room - chunk->used < sizeof message + message.bytes) {
        size_t room = 2 * (chunk->room + sizeof message + message.bytes);
        chunk = tracer->filling = memory_need(realloc(chunk, sizeof *chunk + room));
        chunk->room = room;
    }
    memcpy(module.build_id, source->build_id, sizeof module.build_id);
    char *body = tracer_place_message(chunk, &message);
    memcpy(body, &module, sizeof module);
    memcpy(body + sizeof module, source->path, path_bytes);
    /* The program can change the text while it is copied. */
    body[sizeof module + path_bytes - 1] = '\0';
}

static void tracer_add_module(void *context, const struct wire_module *source)
{
    struct tracer *tracer = context;
    array_need_bare_room(&tracer->modules, &tracer->module_room, tracer->module_count,
                         sizeof *tracer->modules);
    struct told_module *told = &tracer->modules[tracer->module_count++];
    *told = (struct told_module){source, atomic_load_explicit(&source->died, memory_order_relaxed)};
    tracer_put_module(tracer, told);
}

/* Puts modules that are new, and those that were unloaded since. */
static void tracer_put_modules(struct tracer *tracer)
{
    for (size_t i = 0; i < tracer->module_count; i++) {
        struct told_module *told = &tracer->modules[i];
        uint32_t died = atomic_load_explicit(&told->source->died, memory_order_relaxed);
        if (died == told->died)
            continue;
        told->died = died;
        tracer_put_module(tracer, told);
    }
    shared_view_modules(tracer->view, &tracer->module_cursor, tracer_add_module, tracer);
}

static void tracer_hand_over(struct tracer *tracer, bool flush)
{
    if (!tracer->filling)
        return;
    if (!tracer->running && !atomic_load(&tracer->failed))
        tracer_start_thread(tracer);
    if (atomic_load(&tracer->failed)) {
        tracer->filling->used = 0;
        return;
    }
    shared_view_refresh(tracer->view); /* the records may have nodes in new chunks */
    tracer->filling->nodes = shared_view_node_count(tracer->view);
    tracer->filling->flush = flush;
    /* After the nodes are counted: their modules were logged before them. */
    tracer_put_modules(tracer);
    tracer_queue(tracer, tracer->filling);
    tracer->filling = NULL;
}

/* Room for the message's bytes; NULL: the trace has failed. */
static char *tracer_begin_message(struct tracer *tracer, const struct tracer_message *message)
{
    size_t bytes = sizeof *message + message->bytes;
    if (atomic_load_explicit(&tracer->failed, memory_order_relaxed))
        return NULL;
    if (tracer->filling && tracer->filling->room - tracer->filling->used < bytes)
        tracer_hand_over(tracer, false);
    if (!tracer->filling || tracer->filling->room < bytes) {
        free(tracer->filling); /* empty, or there is none */
        tracer->filling = tracer_empty_chunk(tracer, bytes);
    }
    return tracer_place_message(tracer->filling, message);
}

void tracer_runs(struct tracer *tracer, const struct replay_run *runs, size_t count,
                 const void *records)
{
    size_t record_bytes = 0, run_bytes = count * sizeof *runs;
    for (size_t i = 0; i < count; i++)
        record_bytes += runs[i].bytes;
    if (!record_bytes)
        return;
    struct tracer_message message = {.kind = MESSAGE_RUNS,
                                     .count = (uint32_t)count,
                                     .bytes = tracer_multiple_of_8(run_bytes + record_bytes)};
    char *body = tracer_begin_message(tracer, &message);
    if (!body)
        return;
    memcpy(body, runs, run_bytes);
    memcpy(body + run_bytes, records, record_bytes);
}

void tracer_note(struct tracer *tracer, const struct trace_note *note)
{
    struct tracer_message message = {.kind = MESSAGE_NOTE,
                                     .bytes = tracer_multiple_of_8(sizeof *note)};
    char *body = tracer_begin_message(tracer, &message);
    if (body)
        memcpy(body, note, sizeof *note);
}

void tracer_fact(struct tracer *tracer, const char *key, const char *value)
{
    size_t key_bytes = strlen(key) + 1, value_bytes = strlen(value) + 1;
    struct tracer_message message = {.kind = MESSAGE_FACT,
                                     .bytes = tracer_multiple_of_8(key_bytes + value_bytes)};
    char *body = tracer_begin_message(tracer, &message);
    if (!body)
        return;
    memcpy(body, key, key_bytes);
    memcpy(body + key_bytes, value, value_bytes);
}

void tracer_flush(struct tracer *tracer)
{
    tracer_hand_over(tracer, true);
}

/* ---- The end ------------------------------------------------------------------------------- */

static void tracer_stop_thread(struct tracer *tracer)
{
    if (!tracer->running)
        return;
    pthread_mutex_lock(&tracer->lock);
    tracer->closing = true;
    pthread_cond_signal(&tracer->came);
    pthread_mutex_unlock(&tracer->lock);
    pthread_join(tracer->thread, NULL);
    tracer->running = false;
}

void tracer_lend(struct tracer *tracer)
{
    if (tracer)
        quota_lend(&tracer->lent);
}

struct trace_writer *tracer_settle(struct tracer *tracer)
{
    tracer_hand_over(tracer, false);
    tracer_stop_thread(tracer);
    return atomic_load(&tracer->failed) ? NULL : tracer->writer;
}

void tracer_finish(struct tracer *tracer)
{
    struct stat file;
    if (!tracer->made)
        return;
    if (tracer->writer && trace_writer_finish(tracer->writer) < 0)
        tracer_fail(tracer, error_text());
    tracer->writer = NULL;
    if (stat(tracer->path, &file) == 0)
        tracer->file_bytes = (uint64_t)file.st_size;
}

const char *tracer_error(const struct tracer *tracer)
{
    return tracer->error;
}

uint64_t tracer_file_bytes(const struct tracer *tracer)
{
    return tracer->file_bytes;
}

static void tracer_free_chunks(struct tracer_chunk *chunk)
{
    while (chunk) {
        struct tracer_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
}

void tracer_free(struct tracer *tracer)
{
    if (!tracer)
        return;
    tracer_stop_thread(tracer);
    if (tracer->writer)
        trace_writer_abandon(tracer->writer);
    if (tracer->keeps)
        quota_release(QUOTA_TRACE);
    tracer_free_chunks(tracer->empty);
    free(tracer->filling);
    free(tracer->modules);
    free(tracer->error);
    free(tracer->path);
    pthread_cond_destroy(&tracer->came);
    pthread_cond_destroy(&tracer->went);
    pthread_mutex_destroy(&tracer->lock);
    free(tracer);
}
