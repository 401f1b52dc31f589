/* The writer of time and size lines (2.1.3 of the survey; the format is the originals'). Called
 * from within the program's malloc, by several threads at a time: one short lock, no malloc, no
 * stdio on that way; lines gather in a buffer. A profile is never freed but marked closed and kept
 * for the next, so that a callback that comes late finds it closed. */
#include "malloc_count/interface.h"

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
    struct tidemark_memprofile *next; /* of all there ever were */
    bool open;
    int file;
    double time_resolution; /* seconds */
    size_t size_resolution;
    char function[256]; /* "": plain lines */
    struct memprofile_source source;
    pthread_t thread; /* whose stack counts */
    const char *stack_base;

    double began, last_seconds; /* last_seconds: of the line before, < 0: there is none */
    size_t began_bytes, last_bytes;
    size_t most_bytes; /* since the line before */

    bool locked;
    size_t filled;
    char buffer[8192];
};

static struct tidemark_memprofile *all;

/* ---- The lock ----
 * Its holder is never interrupted by itself: who is being told of a change is not told of another
 * (observe.c), and the functions that the program calls stop the observer's calls first, or are told of
 * nothing meanwhile. */

static void lock(struct tidemark_memprofile *profile)
{
    while (__atomic_exchange_n(&profile->locked, true, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void unlock(struct tidemark_memprofile *profile)
{
    __atomic_store_n(&profile->locked, false, __ATOMIC_RELEASE);
}

/* Another thread of the parent may have held it; and what the parent has not written it will. */
static void forked(void)
{
    for (struct tidemark_memprofile *profile = all; profile; profile = profile->next) {
        profile->filled = 0;
        unlock(profile);
    }
}

/* ---- Lines ---- */

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

double memprofile_seconds(const struct tidemark_memprofile *profile)
{
    return seconds_now() - profile->began;
}

static void flush(struct tidemark_memprofile *profile)
{
    for (size_t done = 0; done < profile->filled;) {
        ssize_t wrote = write(profile->file, profile->buffer + done, profile->filled - done);
        if (wrote < 0 && errno != EINTR)
            break;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    profile->filled = 0;
}

static void add(struct tidemark_memprofile *profile, const char *text, size_t bytes)
{
    if (profile->filled + bytes > sizeof profile->buffer)
        flush(profile);
    memcpy(profile->buffer + profile->filled, text, bytes);
    profile->filled += bytes;
}

/* gnuplot wants a point whatever the program's locale. */
static void format_seconds(char text[32], double seconds)
{
    snprintf(text, 32, "%g", seconds);
    char *comma = strchr(text, ',');
    if (comma)
        *comma = '.';
}

static void add_line(struct tidemark_memprofile *profile, double seconds, size_t bytes)
{
    char line[512], when[32];
    size_t length;
    format_seconds(when, seconds);
    if (*profile->function) {
        length = (size_t)snprintf(line, sizeof line, "func=%s ts=%s mem=%zu", profile->function,
                                  when, bytes);
    } else {
        length = (size_t)snprintf(line, sizeof line, "%s %zu", when, bytes);
        if (profile->source.details)
            length += profile->source.details(line + length, sizeof line - 1 - length);
    }
    line[length++] = '\n';
    add(profile, line, length);
}

static size_t stack_bytes(const struct tidemark_memprofile *profile)
{
    const char *here = __builtin_frame_address(0);
    return profile->stack_base && here < profile->stack_base &&
                   pthread_equal(pthread_self(), profile->thread)
               ? (size_t)(profile->stack_base - here)
               : 0;
}

static void look(struct tidemark_memprofile *profile, size_t current, bool must)
{
    size_t bytes = current > profile->began_bytes ? current - profile->began_bytes : 0;
    bytes += stack_bytes(profile);
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
    add_line(profile, seconds, profile->most_bytes);
    profile->most_bytes = 0;
    profile->last_seconds = seconds;
    profile->last_bytes = bytes;
}

void memprofile_changed(struct tidemark_memprofile *profile, size_t current)
{
    lock(profile);
    if (profile->open)
        look(profile, current, false);
    unlock(profile);
}

/* ---- Beginning and end ---- */

static struct tidemark_memprofile *profile_take(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    struct tidemark_memprofile *profile = all;
    while (profile && __atomic_load_n(&profile->open, __ATOMIC_ACQUIRE))
        profile = profile->next;
    if (!profile) {
        profile =
            mmap(NULL, sizeof *profile, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (profile == MAP_FAILED) {
            profile = NULL;
        } else {
            profile->next = all;
            all = profile;
        }
    }
    pthread_mutex_unlock(&mutex);
    return profile;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_atfork(NULL, NULL, forked);
}

struct tidemark_memprofile *memprofile_open(const char *path, double time_resolution,
                                            size_t size_resolution, const char *function,
                                            const void *stack_base,
                                            const struct memprofile_source *source)
{
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (function ? O_APPEND : O_TRUNC), 0666);
    struct tidemark_memprofile *profile = file >= 0 ? profile_take() : NULL;
    if (!profile) {
        fprintf(stderr, "memprofile ### cannot write '%s': %s\n", path, strerror(errno));
        if (file >= 0)
            close(file);
        return NULL;
    }
    lock(profile);
    profile->file = file;
    profile->time_resolution = time_resolution;
    profile->size_resolution = size_resolution;
    snprintf(profile->function, sizeof profile->function, "%s", function ? function : "");
    profile->source = *source;
    profile->thread = pthread_self();
    profile->stack_base = stack_base;
    profile->began = seconds_now();
    profile->began_bytes = source->current();
    profile->last_seconds = -1;
    profile->last_bytes = profile->most_bytes = profile->filled = 0;
    profile->open = true;
    unlock(profile);
    return profile;
}

void memprofile_break(struct tidemark_memprofile *profile)
{
    size_t current = profile->source.current();
    bool mute = observe_mute(true);
    lock(profile);
    look(profile, current, true);
    add(profile, "\n", 1);
    unlock(profile);
    observe_mute(mute);
}

void memprofile_close(struct tidemark_memprofile *profile)
{
    size_t current = profile->source.current();
    lock(profile);
    look(profile, current, true);
    flush(profile);
    close(profile->file);
    __atomic_store_n(&profile->open, false, __ATOMIC_RELEASE);
    unlock(profile);
}
