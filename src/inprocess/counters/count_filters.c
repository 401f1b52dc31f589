/* Hook of prctl(), by which a program forbids system calls to itself, or begins to: a filter that
 * seccomp() or a library installs wants PR_SET_NO_NEW_PRIVS before. From then on the hooks of exec
 * make no call that the program has not asked for, because the filter may kill it for one. */
#include <stdarg.h>
#include <sys/prctl.h>
#include "interpose/hooked.h"
#include "interpose/real.h"
#include "unwind/permitted_calls.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

#define HOOK __attribute__((visibility("default")))

HOOK int prctl(int option, ...)
{
    unsigned long words[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        words[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP ||
        option == PR_SET_SYSCALL_USER_DISPATCH)
        __atomic_store_n(&calls_forbidden, CALL_ALL, __ATOMIC_RELAXED);
    return REAL(prctl)(option, words[0], words[1], words[2], words[3]);
}
HOOKED(prctl)
