/* For hooks of functions that may have been compiled together with their callers. Then the compiler
 * knows which registers the function does not change (gcc -fipa-ra), and the caller may keep values
 * there. So such a hook preserves all registers: the general ones by an attribute, and the lower 16
 * bytes of the vector registers, which hold floating-point numbers, by KEEPS_VECTORS() at its
 * beginning. Sources with such hooks are compiled for general registers only. */
#ifndef TIDEMARK_RECORDER_KEPT_REGISTERS_H
#define TIDEMARK_RECORDER_KEPT_REGISTERS_H

#if defined(__x86_64__)
#define KEEPS_GENERAL __attribute__((noinline, used, no_caller_saved_registers))

struct kept_vectors {
    char vectors[16][16];
};

/* No clobbers are declared, because the compiler uses none of these registers here. */
/* clang-format off */
#define KEPT_ALL(DO)                                                                               \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)                                                \
    DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)
/* clang-format on */
#define KEPT_STORE(n) "movups %%xmm" #n ", 16*" #n "(%0)\n"
#define KEPT_LOAD(n)  "movups 16*" #n "(%0), %%xmm" #n "\n"

static inline __attribute__((always_inline)) void kept_vectors_store(struct kept_vectors *kept)
{
    __asm__ volatile(KEPT_ALL(KEPT_STORE) : : "r"(kept) : "memory");
}

static inline __attribute__((always_inline)) void kept_vectors_load(struct kept_vectors *kept)
{
    __asm__ volatile(KEPT_ALL(KEPT_LOAD) : : "r"(kept) : "memory");
}

#define KEEPS_VECTORS()                                                                            \
    __attribute__((cleanup(kept_vectors_load))) struct kept_vectors kept_vectors_;                 \
    kept_vectors_store(&kept_vectors_)
#else
#define KEEPS_GENERAL   __attribute__((noinline, used))
#define KEEPS_VECTORS() ((void)0)
#endif

#endif
