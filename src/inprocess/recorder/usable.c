/* Finds out whether a block's header can be read instead of calling malloc_usable_size()
 * (usable.h). The headers of the first blocks are compared with the function's results. After one
 * difference headers are never used. */
#include "recorder/usable.h"

#include <stdint.h>
#include "interpose/real.h"
#include "recorder/thread.h"

bool usable_by_header;

void usable_learn(const void *block, size_t usable)
{
#if defined(__x86_64__) /* elsewhere pointers may have tags, and headers not */
    enum { WANTED = 64, REFUTED = 1 << 30 };
    static uint32_t agreed; /* blocks whose header had the right size */
    if (__atomic_load_n(&agreed, __ATOMIC_RELAXED) >= WANTED)
        return;
    size_t said = usable_of_header(block);
    if (!real_is_glibc() || (said && said != usable)) {
        __atomic_store_n(&agreed, REFUTED, __ATOMIC_RELAXED);
    } else if (said && __atomic_add_fetch(&agreed, 1, __ATOMIC_RELAXED) == WANTED) {
        __atomic_store_n(&usable_by_header, true, __ATOMIC_RELAXED);
        thread_see_plain();
    }
#else
    (void)block, (void)usable;
#endif
}
