/* aarch64: the procedure call standard asks every function for a frame record {fp, lr}, and
 * compilers keep to it, so one rule fits all: the caller's pair lies where fp points. A leaf that
 * has none is never a caller of malloc. A zero frame pointer ends the chain. The function that a
 * signal interrupted is the one frame that records leave out (the kernel's own record leads on to
 * its caller). */
#if defined(__aarch64__)
#include "unwind/rules.h"

rule rule_compute(uintptr_t ip, bool exact)
{
    (void)ip;
    (void)exact;
    return RULE_FRAME_POINTER;
}

#endif
