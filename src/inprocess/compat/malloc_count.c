/* libtidemark-malloc-count: the functions of malloc_count that differ from malloc_profile's: the
 * callback, the line at exit, and the profile of class MemProfile. */
#include "tidemark/malloc_count/malloc_count.h"
#include "tidemark/malloc_count/memprofile.h"

#include <unistd.h>
#include "counters/counters.h"
#include "counters/line.h"
#include "compat/interface.h"

#define API __attribute__((visibility("default")))

/* ---- The callback ---- */

static struct callback malloc_count_callback;

static void malloc_count_call_back(bool allocated, size_t size, size_t current)
{
    struct callback now = callback_get(&malloc_count_callback);
    (void)allocated, (void)size;
    if (now.call)
        ((malloc_count_callback_type)now.call)(now.cookie, current);
}

API void malloc_count_set_callback(malloc_count_callback_type call, void *cookie)
{
    observers_set(NULL); /* no calls while the callback changes */
    callback_set(&malloc_count_callback, (void (*)(void))call, cookie);
    if (call)
        observers_set(malloc_count_call_back);
}

/* ---- class MemProfile ---- */

static void malloc_count_profile_changed(void *profile, size_t current)
{
    memprofile_changed(profile, current);
}

API struct tidemark_memprofile *tidemark_memprofile_open(const char *path, double time_resolution,
                                                         size_t size_resolution,
                                                         const char *function,
                                                         const void *stack_base)
{
    static const struct memprofile_source source = {malloc_count_current, NULL};
    struct tidemark_memprofile *profile =
        memprofile_open(path, time_resolution, size_resolution, function, stack_base, &source);
    if (profile)
        malloc_count_set_callback(malloc_count_profile_changed, profile);
    return profile;
}

API void tidemark_memprofile_output(struct tidemark_memprofile *profile, double seconds,
                                    size_t bytes)
{
    if (profile)
        memprofile_output(profile, seconds, bytes);
}

API FILE *tidemark_memprofile_stream(struct tidemark_memprofile *profile)
{
    return profile ? memprofile_stream(profile) : NULL;
}

API void tidemark_memprofile_insertnull(struct tidemark_memprofile *profile)
{
    if (profile)
        memprofile_break(profile);
}

API void tidemark_memprofile_close(struct tidemark_memprofile *profile)
{
    if (!profile)
        return;
    malloc_count_set_callback(NULL, NULL);
    memprofile_close(profile);
}

/* ---- The end ---- */

__attribute__((destructor)) static void malloc_count_end(void)
{
    struct count_figures figures;
    struct line line = {0};
    count_figures_of(&figures, &count_state);
    line_add(&line, "malloc_count ### ");
    line_add_totals_by_locale(&line, &figures);
    line_add(&line, "\n");
    line_write(&line, STDERR_FILENO);
}
