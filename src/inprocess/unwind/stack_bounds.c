/* Finds stack bounds without pthread_getattr_np(), which locks and allocates, and without /proc,
 * which can be missing. The top follows from the ABI. The control block of a glibc thread lies
 * above its first frame in the same mapping, also on a stack that the program supplies. The main
 * thread's stack ends at __libc_stack_end. The mapped part below the top is found by asking the
 * kernel about each page once per thread, when the stack grows. */
#include "unwind/stack_bounds.h"

#include <errno.h>
#include <sys/auxv.h>
#include "unwind/permitted_calls.h"

/* The stack pointer at the program's start, from glibc's loader. musl has no such variable; there,
 * AT_RANDOM is used: the kernel put these random bytes a little above. */
extern void *__libc_stack_end __attribute__((weak));

/* A stack pointer may be so far below the proven pages for the pages between to be tested one by
 * one. One that is further below is taken for another stack, which is correct too, only slower. */
#define PROVE_BYTES ((uintptr_t)256 << 20)

static uintptr_t stack_bounds_main_thread_pointer;

void stack_note_main_thread(void)
{
    if (!stack_bounds_main_thread_pointer &&
        arch_syscall4(SYS_gettid, 0, 0, 0, 0) == arch_syscall4(SYS_getpid, 0, 0, 0, 0)) {
        stack_bounds_main_thread_pointer = arch_thread_pointer();
    }
}

static uintptr_t stack_own_stack_end(void)
{
    uintptr_t thread = arch_thread_pointer();
    if (thread != stack_bounds_main_thread_pointer) {
        return thread;
    }
    return &__libc_stack_end ? (uintptr_t)__libc_stack_end : getauxval(AT_RANDOM);
}

void stack_begin(struct stack *stack)
{
    uintptr_t end = stack_own_stack_end();
    stack->hi = end;
    stack->lo = end;
    stack->floor = 0;
    stack->thread = arch_thread_pointer();
}

/* rt_sigprocmask copies the mask before it tests `how`. So a readable address gives EINVAL, another
 * one EFAULT, and nothing changes. (The trick is Abseil's, address_is_readable.cc.) Sandboxes
 * permit this call, because every program needs it; they often forbid process_vm_readv and
 * mincore. */
bool stack_word_readable(uintptr_t address)
{
    if (address < PAGE_BYTES || address > (uintptr_t)INTPTR_MAX) {
        return false; /* NULL would mean "no mask" */
    }
    if (permitted_calls_is_forbidden(CALL_PROBE)) {
        return false; /* nothing can be proven, so a path ends here */
    }
    return arch_syscall4(SYS_rt_sigprocmask, ~0, (long)address, 0, sizeof(uint64_t)) != -EFAULT;
}

bool stack_pages_readable(uintptr_t from, uintptr_t to, uintptr_t *first_bad)
{
    for (uintptr_t page = from & -(uintptr_t)PAGE_BYTES; page < to; page += PAGE_BYTES) {
        if (!stack_word_readable(page)) {
            *first_bad = page;
            return false;
        }
    }
    return true;
}

/* Tests from sp upwards and not from lo downwards, because a test below the main stack would make
 * it grow. */
bool stack_prove(struct stack *stack, uintptr_t sp)
{
    uintptr_t hole;
    if (sp >= stack->lo || sp < stack->floor || stack->lo - sp > PROVE_BYTES) {
        return false;
    }
    if (!stack_pages_readable(sp, stack->lo, &hole)) {
        stack->floor = hole; /* memory below a hole is another stack, and is not tested again */
        return false;
    }
    stack->lo = sp & -(uintptr_t)PAGE_BYTES;
    return true;
}
