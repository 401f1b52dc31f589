/* Writes lines of time and size, in the originals' format. Lines are written inside the program's
 * malloc, by several threads: under one short lock, without malloc and stdio. Each line is written
 * at once, so that it remains however the program ends. A profile is never freed. It is marked
 * closed and used again, so that a late callback finds it closed. */
#include "compat/interface.h"
#include "counters/counters.h"
#include "interpose/c_library.h"
#include "unwind/own_write.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct tidemark_memprofile {
    struct tidemark_memprofile *next; /* in the list of all profiles, which only grows */
    bool open;
    int file;
    double time_resolution; /* seconds */
    size_t size_resolution;
    char function[256]; /* "": plain lines */
    struct memprofile_source source;
    pthread_t thread; /* the thread whose stack counts */
    const char *stack_base;

    double began, last_seconds; /* last_seconds: time of the last line; < 0: there is none */
    size_t began_bytes, last_bytes;
    size_t most_bytes; /* since the last line */

    bool locked;
    size_t filled;
    char buffer[8192];

    FILE *stream; /* NULL: not made yet */
    char stream_buffer[BUFSIZ];
};

static struct tidemark_memprofile *memprofile_all;
static pthread_mutex_t memprofile_taking =
    PTHREAD_MUTEX_INITIALIZER; /* held in memprofile_profile_take() */

/* ---- The lock ----
 * A thread that holds the lock never tries to take it again: an observer is not called within
 * itself (observers.c), and functions that the program calls remove or mute the observer first. */

static void memprofile_lock(struct tidemark_memprofile *profile)
{
    while (__atomic_exchange_n(&profile->locked, true, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void memprofile_unlock(struct tidemark_memprofile *profile)
{
    __atomic_store_n(&profile->locked, false, __ATOMIC_RELEASE);
}

/* In the child of a fork: frees locks that another thread of the parent may have held. The child
 * goes on writing to the parent's file. */
static void memprofile_forked(void)
{
    memprofile_taking = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    for (struct tidemark_memprofile *profile = memprofile_all; profile; profile = profile->next) {
        memprofile_unlock(profile);
    }
}

/* ---- Lines ---- */

static double memprofile_seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

double memprofile_seconds(const struct tidemark_memprofile *profile)
{
    return memprofile_seconds_now() - profile->began;
}

static void memprofile_flush(struct tidemark_memprofile *profile)
{
    own_write_all(profile->file, profile->buffer, profile->filled);
    profile->filled = 0;
}

static void memprofile_add(struct tidemark_memprofile *profile, const char *text, size_t bytes)
{
    if (profile->filled + bytes > sizeof profile->buffer)
        memprofile_flush(profile);
    memcpy(profile->buffer + profile->filled, text, bytes);
    profile->filled += bytes;
}

/* With a decimal point, which gnuplot needs, in any locale. */
static void memprofile_format_seconds(char text[32], double seconds)
{
    snprintf(text, 32, "%g", seconds);
    char *comma = strchr(text, ',');
    if (comma)
        *comma = '.';
}

static void memprofile_add_line(struct tidemark_memprofile *profile, double seconds, size_t bytes)
{
    char line[512], when[32];
    size_t length;
    memprofile_format_seconds(when, seconds);
    if (*profile->function) {
        length = (size_t)snprintf(line, sizeof line, "func=%s ts=%s mem=%zu", profile->function,
                                  when, bytes);
    } else {
        length = (size_t)snprintf(line, sizeof line, "%s %zu", when, bytes);
        if (profile->source.details)
            length += profile->source.details(line + length, sizeof line - 1 - length);
    }
    line[length++] = '\n';
    memprofile_add(profile, line, length);
    memprofile_flush(profile);
}

static size_t memprofile_stack_bytes(const struct tidemark_memprofile *profile)
{
    const char *here = __builtin_frame_address(0);
    return profile->stack_base && here < profile->stack_base &&
                   pthread_equal(pthread_self(), profile->thread)
               ? (size_t)(profile->stack_base - here)
               : 0;
}

static void memprofile_look(struct tidemark_memprofile *profile, size_t current, bool must)
{
    size_t bytes = current > profile->began_bytes ? current - profile->began_bytes : 0;
    bytes += memprofile_stack_bytes(profile);
    double seconds = memprofile_seconds(profile);
    size_t change =
        bytes > profile->last_bytes ? bytes - profile->last_bytes : profile->last_bytes - bytes;
    if (profile->most_bytes < bytes)
        profile->most_bytes = bytes;
    bool due = profile->last_seconds < 0 ||
               seconds - profile->last_seconds > profile->time_resolution ||
               change > profile->size_resolution;
    if (!due && !must)
        return;
    memprofile_add_line(profile, seconds, profile->most_bytes);
    profile->most_bytes = 0;
    profile->last_seconds = seconds;
    profile->last_bytes = bytes;
}

void memprofile_changed(struct tidemark_memprofile *profile, size_t current)
{
    memprofile_lock(profile);
    if (profile->open)
        memprofile_look(profile, current, false);
    memprofile_unlock(profile);
}

/* ---- Beginning and end ---- */

static struct tidemark_memprofile *memprofile_profile_take(void)
{
    pthread_mutex_lock(&memprofile_taking);
    struct tidemark_memprofile *profile = memprofile_all;
    while (profile && __atomic_load_n(&profile->open, __ATOMIC_ACQUIRE))
        profile = profile->next;
    if (!profile) {
        profile =
            mmap(NULL, sizeof *profile, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (profile == MAP_FAILED) {
            profile = NULL;
        } else {
            profile->next = memprofile_all;
            memprofile_all = profile;
        }
    }
    pthread_mutex_unlock(&memprofile_taking);
    return profile;
}

/* Writes a last line if the program ends without closing its profiles. */
__attribute__((destructor)) static void memprofile_end_all(void)
{
    bool mute = observers_mute(true);
    for (struct tidemark_memprofile *profile = memprofile_all; profile; profile = profile->next) {
        size_t current = profile->open ? profile->source.current() : 0;
        memprofile_lock(profile);
        if (profile->open)
            memprofile_look(profile, current, true);
        memprofile_unlock(profile);
    }
    observers_mute(mute);
}

__attribute__((constructor)) static void memprofile_begin(void)
{
    count_hide(true); /* musl allocates in this call */
    c_library_on_fork_in_child(memprofile_forked);
    count_hide(false);
}

struct tidemark_memprofile *memprofile_open(const char *path, double time_resolution,
                                            size_t size_resolution, const char *function,
                                            const void *stack_base,
                                            const struct memprofile_source *source)
{
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (function ? O_APPEND : O_TRUNC), 0666);
    struct tidemark_memprofile *profile = file >= 0 ? memprofile_profile_take() : NULL;
    if (!profile) {
        fprintf(stderr, "memprofile ### cannot write '%s': %s\n", path, strerror(errno));
        if (file >= 0)
            close(file);
        return NULL;
    }
    memprofile_lock(profile);
    profile->file = file;
    profile->time_resolution = time_resolution;
    profile->size_resolution = size_resolution;
    snprintf(profile->function, sizeof profile->function, "%s", function ? function : "");
    profile->source = *source;
    profile->thread = pthread_self();
    profile->stack_base = stack_base;
    profile->began = memprofile_seconds_now();
    profile->began_bytes = source->current();
    profile->last_seconds = -1;
    profile->last_bytes = profile->most_bytes = profile->filled = 0;
    profile->open = true;
    memprofile_unlock(profile);
    return profile;
}

void memprofile_output(struct tidemark_memprofile *profile, double seconds, size_t bytes)
{
    bool mute = observers_mute(true);
    memprofile_lock(profile);
    memprofile_add_line(profile, seconds, bytes);
    memprofile_unlock(profile);
    observers_mute(mute);
}

void memprofile_break(struct tidemark_memprofile *profile)
{
    size_t current = profile->source.current();
    bool mute = observers_mute(true);
    memprofile_lock(profile);
    memprofile_look(profile, current, true);
    memprofile_add(profile, "\n", 1);
    memprofile_flush(profile);
    memprofile_unlock(profile);
    observers_mute(mute);
}

/* The caller's lines come between ours in the order of writing. A stream's memory does not count as
 * the program's. */
FILE *memprofile_stream(struct tidemark_memprofile *profile)
{
    if (profile->stream)
        return profile->stream;
    count_hide(true);
    profile->stream = fdopen(profile->file, "w");
    if (profile->stream)
        setvbuf(profile->stream, profile->stream_buffer, _IOLBF, sizeof profile->stream_buffer);
    count_hide(false);
    return profile->stream;
}

static void memprofile_close_file(struct tidemark_memprofile *profile)
{
    if (!profile->stream) {
        close(profile->file);
        return;
    }
    count_hide(true);
    fclose(profile->stream);
    count_hide(false);
    profile->stream = NULL;
}

void memprofile_close(struct tidemark_memprofile *profile)
{
    size_t current = profile->source.current();
    memprofile_lock(profile);
    memprofile_look(profile, current, true);
    memprofile_flush(profile);
    memprofile_close_file(profile);
    __atomic_store_n(&profile->open, false, __ATOMIC_RELEASE);
    memprofile_unlock(profile);
}
