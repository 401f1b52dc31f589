/* Rules for aarch64: the procedure call standard asks every function for a frame record {fp, lr},
 * and compilers make it. So one rule fits all functions: fp points to the caller's pair. A leaf
 * without a record never calls malloc. A zero frame pointer ends the chain. If a signal interrupts
 * such a leaf, its caller is missing on the path. */
#if defined(__aarch64__)
#include "unwind/unwind_rules.h"

#include <string.h>
#include "unwind/stack_bounds.h"

/* A signal handler's return, in the vdso or in the C library: mov x8, #139; svc #0. */
static bool unwind_rules_aarch64_is_signal_return(uintptr_t ip)
{
    static const uint32_t code[2] = {0xd2801168, 0xd4000001};
    return ip % 4 == 0 && stack_word_readable(ip) && stack_word_readable(ip + 4) &&
           memcmp((const void *)ip, code, sizeof code) == 0;
}

rule rule_compute(uintptr_t ip, bool exact)
{
    return !exact && unwind_rules_aarch64_is_signal_return(ip) ? RULE_SIGNAL : RULE_FRAME_POINTER;
}

#endif
