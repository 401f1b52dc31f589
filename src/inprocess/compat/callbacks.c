/* The functions that two of the drop-in interfaces have in common (interface.h). Each reads the
 * counters. Peaks are made exact when the library is loaded. */
#include "counters/counters.h"
#include "counters/line.h"
#include "compat/interface.h"
#include "interpose/c_library.h"

#include <unistd.h>

#define API __attribute__((visibility("default")))

/* Declared in the headers of both interfaces. */
size_t malloc_count_current(void), malloc_count_peak(void), malloc_count_num_allocs(void);
void malloc_count_reset_peak(void), malloc_count_print_status(void);

/* Exact peaks make current one figure that all threads can read. The child of a fork goes on with
 * its parent's counts, as with the originals. */
__attribute__((constructor)) static void callbacks_begin(void)
{
    count_exact = true;
    count_see_in_front();
    count_hide(true); /* musl allocates in this call */
    c_library_on_fork_in_child(count_forked);
    count_hide(false);
}

API size_t malloc_count_current(void)
{
    return count_current();
}

API size_t malloc_count_peak(void)
{
    return (size_t)__atomic_load_n(&count_state.peak_bytes, __ATOMIC_RELAXED);
}

API void malloc_count_reset_peak(void)
{
    count_reset_peak();
}

API size_t malloc_count_num_allocs(void)
{
    struct count_figures figures;
    count_figures_of(&figures, &count_state);
    return (size_t)count_allocations(figures.calls);
}

API void malloc_count_print_status(void)
{
    struct line line = {0};
    line_add(&line, "malloc_count ### current ");
    if (count_nothing_came(&count_state)) {
        line_add(&line, "unknown");
        line_add_in_front(&line, &count_state);
    } else {
        line_add_by_locale(&line, (int64_t)malloc_count_current());
        line_add(&line, ", peak ");
        line_add_by_locale(&line, (int64_t)malloc_count_peak());
    }
    line_add(&line, "\n");
    line_write(&line, STDERR_FILENO);
}
