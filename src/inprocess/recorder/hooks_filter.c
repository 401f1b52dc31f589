/* Hooks of the functions by which a program installs a seccomp filter: prctl(), and syscall()
 * (hooks_syscall.c), because seccomp() has no function of its own (libseccomp). All calls are
 * passed on unchanged.
 * After the kernel has accepted a filter, it is tested which of our calls it forbids (filter.h).
 * prctl() can also forbid reading the clock. */
#include "recorder/hooks.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "recorder/fatal_signals.h"
#include "recorder/filter.h"
#include "recorder/hooks_syscall.h"
#include "unwind/permitted_calls.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON           1
#endif

/* A mode or a filter that the kernel has just accepted. Strict mode forbids the clock too, so calls
 * of this thread are not recorded from now on. */
static void hooks_filter_see(unsigned long mode, const void *argument)
{
    int saved_errno = errno;
    if (mode == SECCOMP_MODE_FILTER)
        filter_installed(argument);
    else if (mode == SECCOMP_MODE_STRICT) {
        thread_stop_recording();
        filter_strict();
    }
    errno = saved_errno;
}

/* Without a selector byte all calls are blocked that are not made from the program's range. */
static void hooks_filter_see_dispatch(unsigned long mode, const char *selector)
{
    static const char blocks = 1;
    calls_selector = mode != PR_SYS_DISPATCH_ON ? NULL : selector ? selector : &blocks;
}

/* The system call itself, for calls before real_init(). */
long hooks_filter_raw_syscall(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long result __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(result)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
#endif
    if (result >= 0 || result < -4095)
        return result;
    errno = (int)-result;
    return -1;
}

HOOK int prctl(int option, ...)
{
    va_list rest;
    va_start(rest, option);
    unsigned long a = va_arg(rest, unsigned long), b = va_arg(rest, unsigned long),
                  c = va_arg(rest, unsigned long), d = va_arg(rest, unsigned long);
    va_end(rest);
    bool watches = unlikely(option == PR_SET_SECCOMP || option == PR_SET_SYSCALL_USER_DISPATCH) &&
                   fatal_signals_let_go();
    int status = real.prctl ? real.prctl(option, a, b, c, d)
                            : (int)hooks_filter_raw_syscall(SYS_prctl, option, (long)a, (long)b,
                                                            (long)c, (long)d, 0);
    if (unlikely(option == PR_SET_SECCOMP)) {
        if (status == 0)
            hooks_filter_see(a, (const void *)b);
        if (watches)
            fatal_signals_watch();
    }
    if (unlikely(option == PR_SET_TSC) && status == 0 && a == PR_TSC_SIGSEGV) {
        thread_stop_recording();
        filter_clock();
    }
    if (unlikely(option == PR_SET_SYSCALL_USER_DISPATCH) && status == 0)
        hooks_filter_see_dispatch(a, (const char *)d);
    return status;
}
HOOKED(prctl)

/* ---- By syscall() ---- */

long hooks_filter_seccomp_by_syscall(long number, unsigned long operation, unsigned long flags,
                                     const void *argument)
{
    bool installs = operation == SECCOMP_SET_MODE_FILTER || operation == SECCOMP_SET_MODE_STRICT;
    bool watches = installs && fatal_signals_let_go();
    long result = real.syscall ? real.syscall(number, operation, flags, argument)
                               : hooks_filter_raw_syscall(number, (long)operation, (long)flags,
                                                          (long)argument, 0, 0, 0);
    /* With some flags the result is a descriptor, or a thread that could not be synchronised. */
    bool taken = result == 0 || (result > 0 && flags & SECCOMP_FILTER_FLAG_NEW_LISTENER);
    if (taken && operation == SECCOMP_SET_MODE_FILTER)
        hooks_filter_see(SECCOMP_MODE_FILTER, argument);
    else if (taken && operation == SECCOMP_SET_MODE_STRICT)
        hooks_filter_see(SECCOMP_MODE_STRICT, NULL);
    if (watches)
        fatal_signals_watch();
    return result;
}
