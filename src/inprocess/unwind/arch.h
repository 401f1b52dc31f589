/* What differs between processors and can be said in a line or two: the thread pointer, raw system
 * calls (libc's would touch errno), the words of a stack, code addresses. */
#ifndef TIDEMARK_UNWIND_ARCH_H
#define TIDEMARK_UNWIND_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#define likely(condition)   __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* the smallest size; where pages are larger this is still correct, and slower */
#define PAGE_BYTES 4096u

/* The thread pointer of the ABI. In glibc it points into the thread's own stack mapping, just above
 * the first frame, except in the main thread. */
static inline uintptr_t arch_thread_pointer(void)
{
    return (uintptr_t)__builtin_thread_pointer();
}

#if defined(__x86_64__)

static inline long arch_syscall4(long number, long a, long b, long c, long d)
{
    register long r10 __asm__("r10") = d;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

static inline void arch_relax(void)
{
    __builtin_ia32_pause();
}

/* Writes two words at once if both are 0, so that no reader finds one of them alone. False: they
 * are not 0. (cmpxchg16b: in every x86-64 processor since 2006.) */
static inline bool arch_claim16(void *place, uint64_t first, uint64_t second)
{
    uint64_t old_first = 0, old_second = 0;
    bool done;
    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(done), "+m"(*(unsigned __int128 *)place), "+a"(old_first),
                       "+d"(old_second)
                     : "b"(first), "c"(second)
                     : "memory");
    return done;
}

/* The address in code that a return address stands for. */
static inline uintptr_t arch_code_address(uintptr_t return_address)
{
    return return_address;
}

#elif defined(__aarch64__)

static inline long arch_syscall4(long number, long a, long b, long c, long d)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}

static inline void arch_relax(void)
{
    __asm__ volatile("yield");
}

static inline bool arch_claim16(void *place, uint64_t first, uint64_t second)
{
    uint64_t old_first, old_second;
    uint32_t failed;
    __asm__ volatile("1:	ldaxp	%0, %1, %3\n"
                     "	orr	%0, %0, %1\n"
                     "	cbnz	%0, 2f\n"
                     "	stlxp	%w2, %4, %5, %3\n"
                     "	cbnz	%w2, 1b\n"
                     "2:"
                     : "=&r"(old_first), "=&r"(old_second), "=&r"(failed),
                       "+Q"(*(unsigned __int128 *)place)
                     : "r"(first), "r"(second)
                     : "memory");
    return old_first == 0;
}

/* Signed return addresses carry their pointer authentication code in the upper bits. xpaclri is in
 * the hint space: it does nothing on processors without it. */
static inline uintptr_t arch_code_address(uintptr_t return_address)
{
    register uintptr_t x30 __asm__("x30") = return_address;
    __asm__("hint #7" : "+r"(x30));
    return x30;
}

#else
#error "unwinding knows x86-64 and aarch64"
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ARCH_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ARCH_SANITIZED 1
#endif
#endif

/* Loads a word of a stack, at any alignment. The load is hidden from sanitizers, because a walk
 * also reads between variables. */
static inline uintptr_t arch_load(uintptr_t address)
{
#ifdef ARCH_SANITIZED
    uintptr_t word;
#if defined(__x86_64__)
    __asm__ volatile("mov (%1), %0" : "=r"(word) : "r"(address));
#else
    __asm__ volatile("ldr %0, [%1]" : "=r"(word) : "r"(address));
#endif
    return word;
#else
    typedef uintptr_t __attribute__((may_alias, aligned(1))) stack_word;
    return *(const stack_word *)address;
#endif
}

#endif
