/* Learns whether a block's header can be read in malloc_usable_size()'s place (usable.h). The
 * header of the first blocks is compared with what the function says. One difference refutes it
 * for ever. */
#include "recorder/usable.h"

#include <stdint.h>
#include "interpose/real.h"
#include "recorder/thread.h"

bool usable_by_header;

void usable_learn(const void *block, size_t usable)
{
#if defined(__x86_64__) /* elsewhere pointers may carry tags that headers do not have */
    enum { WANTED = 64, REFUTED = 1 << 30 };
    static uint32_t agreed; /* blocks in whose header it was */
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
