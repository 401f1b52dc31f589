/* The hook of syscall(). Some programs map memory by it (SBCL), and all install filters by it. It
 * is only a jump, in assembly, because calls of clone return twice and because a hook that it jumps
 * to must find the stack as the program left it: its frame's caller is the one who called
 * syscall(). Our own library calls syscall() too; what it maps is not the program's. */
#include "recorder/hooks_syscall.h"

#include <sys/syscall.h>
#include "recorder/hooks.h"

_Static_assert(offsetof(struct real, syscall) == 0, "the code jumps through the first member");
#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

/* MAPS(NAME, FUNCTION): system call NAME is FUNCTION without the number. */
#define ALL_THAT_MAP                                                                               \
    MAPS(mmap, hooks_map_mmap_by_syscall)                                                          \
    MAPS(mremap, hooks_map_mremap_by_syscall)                                                      \
    MAPS(munmap, hooks_map_munmap_by_syscall)                                                      \
    MAPS(mprotect, hooks_map_mprotect_by_syscall)                                                  \
    MAPS(madvise, hooks_map_madvise_by_syscall)                                                    \
    MAPS(shmat, hooks_map_shmat_by_syscall)                                                        \
    MAPS(shmdt, hooks_map_shmdt_by_syscall)

/* clang-format off */
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        ".hidden __ehdr_start\n"
        ".hidden _end\n"
        ".balign 16\n"
        "syscall:\n"
        ".cfi_startproc\n"
#if defined(__x86_64__)
        "endbr64\n"
        "cmpq $" TEXT(__NR_seccomp) ", %rdi\n"
        "je hooks_filter_seccomp_by_syscall\n"
#define MAPS(name, function)                                                                       \
        "cmpq $" TEXT(__NR_##name) ", %rdi\n"                                                      \
        "leaq " #function "(%rip), %rax\n"                                                         \
        "je .Lsyscall_maps\n"
        ALL_THAT_MAP
#undef MAPS
        ".Lsyscall_passes:\n"
        "movq real(%rip), %rax\n"
        "testq %rax, %rax\n"
        "je hooks_filter_raw_syscall\n"
        "jmp *%rax\n"
        ".Lsyscall_maps:\n"
        "leaq __ehdr_start(%rip), %r10\n"
        "cmpq %r10, (%rsp)\n"
        "jb .Lsyscall_is_the_programs\n"
        "leaq _end(%rip), %r10\n"
        "cmpq %r10, (%rsp)\n"
        "jb .Lsyscall_passes\n"
        ".Lsyscall_is_the_programs:\n"
        "movq %rsi, %rdi\n"
        "movq %rdx, %rsi\n"
        "movq %rcx, %rdx\n"
        "movq %r8, %rcx\n"
        "movq %r9, %r8\n"
        "movq 8(%rsp), %r9\n"
        "jmp *%rax\n"
#elif defined(__aarch64__)
        "hint #34\n" /* bti c */
        "cmp x0, #" TEXT(__NR_seccomp) "\n"
        "b.eq hooks_filter_seccomp_by_syscall\n"
#define MAPS(name, function)                                                                       \
        "cmp x0, #" TEXT(__NR_##name) "\n"                                                         \
        "adrp x16, " #function "\n"                                                                \
        "add x16, x16, #:lo12:" #function "\n"                                                     \
        "b.eq .Lsyscall_maps\n"
        ALL_THAT_MAP
#undef MAPS
        ".Lsyscall_passes:\n"
        "adrp x16, real\n"
        "ldr x16, [x16, #:lo12:real]\n"
        "cbz x16, hooks_filter_raw_syscall\n"
        "br x16\n"
        ".Lsyscall_maps:\n"
        "adrp x17, __ehdr_start\n"
        "add x17, x17, #:lo12:__ehdr_start\n"
        "cmp x30, x17\n"
        "b.lo .Lsyscall_is_the_programs\n"
        "adrp x17, _end\n"
        "add x17, x17, #:lo12:_end\n"
        "cmp x30, x17\n"
        "b.lo .Lsyscall_passes\n"
        ".Lsyscall_is_the_programs:\n"
        "mov x0, x1\n"
        "mov x1, x2\n"
        "mov x2, x3\n"
        "mov x3, x4\n"
        "mov x4, x5\n"
        "mov x5, x6\n"
        "br x16\n"
#endif
        ".cfi_endproc\n"
        ".size syscall, .-syscall\n");
/* clang-format on */
HOOKED(syscall)
