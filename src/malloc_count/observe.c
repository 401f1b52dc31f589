/* From the counters to whoever wants to be told of changes; and the functions that both interfaces
 * have. The calling thread is told, and what it allocates meanwhile is counted only. */
#include "count/counters.h"
#include "count/line.h"
#include "malloc_count/interface.h"

#include <errno.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

/* In the headers of both interfaces. */
size_t malloc_count_current(void), malloc_count_peak(void), malloc_count_num_allocs(void);
void malloc_count_reset_peak(void), malloc_count_print_status(void);

static observer *observing, *counting;
static __thread bool being_told;

static void tell(bool allocated, size_t size, size_t ahead)
{
    observer *told = __atomic_load_n(&observing, __ATOMIC_ACQUIRE);
    size_t current = malloc_count_current();
    current -= ahead < current ? ahead : current;
    if (counting)
        counting(allocated, size, current);
    if (being_told || !told)
        return;
    int saved_errno = errno;
    being_told = true;
    told(allocated, size, current);
    being_told = false;
    errno = saved_errno;
}

void observe(observer *to)
{
    __atomic_store_n(&observing, to, __ATOMIC_RELEASE);
    __atomic_store_n(&count_observer, to || counting ? tell : NULL, __ATOMIC_RELEASE);
}

void observe_all(observer *to)
{
    counting = to;
    count_observer = tell;
}

void callback_set(struct callback *callback, void (*call)(void), void *cookie)
{
    __atomic_fetch_add(&callback->version, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&callback->call, call, __ATOMIC_SEQ_CST);
    __atomic_store_n(&callback->cookie, cookie, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&callback->version, 1, __ATOMIC_SEQ_CST);
}

struct callback callback_get(const struct callback *callback)
{
    struct callback now;
    do {
        now.version = __atomic_load_n(&callback->version, __ATOMIC_SEQ_CST);
        now.call = __atomic_load_n(&callback->call, __ATOMIC_SEQ_CST);
        now.cookie = __atomic_load_n(&callback->cookie, __ATOMIC_SEQ_CST);
    } while (now.version % 2 ||
             now.version != __atomic_load_n(&callback->version, __ATOMIC_SEQ_CST));
    return now;
}

/* Peaks are exact, and current is one figure that all can read. */
__attribute__((constructor)) static void begin(void)
{
    count_exact = true;
}

API size_t malloc_count_current(void)
{
    int64_t current = __atomic_load_n(&count_state.current_bytes, __ATOMIC_RELAXED);
    return current > 0 ? (size_t)current : 0;
}

API size_t malloc_count_peak(void)
{
    return (size_t)__atomic_load_n(&count_state.peak_bytes, __ATOMIC_RELAXED);
}

API void malloc_count_reset_peak(void)
{
    __atomic_store_n(&count_state.peak_bytes, (int64_t)malloc_count_current(), __ATOMIC_SEQ_CST);
    /* Another thread may have raised the peak that we have just overwritten. */
    count_raise_peak(__atomic_load_n(&count_state.current_bytes, __ATOMIC_SEQ_CST));
}

API size_t malloc_count_num_allocs(void)
{
    struct count_figures figures;
    size_t calls = 0;
    count_figures_of(&figures, &count_state);
    for (unsigned kind = COUNT_MALLOC; kind <= COUNT_ALIGNED; kind++)
        calls += figures.calls[kind];
    return calls;
}

API void malloc_count_print_status(void)
{
    struct line line = {0};
    line_add(&line, "malloc_count ### current ");
    line_add_grouped(&line, (int64_t)malloc_count_current());
    line_add(&line, ", peak ");
    line_add_grouped(&line, (int64_t)malloc_count_peak());
    line_add(&line, "\n");
    line_write(&line, STDERR_FILENO);
}
