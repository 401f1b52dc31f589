/* An allocator linked into the program whose functions change no register but the result's. A compiler
 * that sees them and their caller keeps the caller's values in all others (gcc -fipa-ra), so whoever
 * stands in front of them has to keep those too. r9 is left out: a hook's own argument comes in it. */
#include <stdint.h>
#include "victim.h"

enum { GENERAL = 7, VECTORS = 16 };

__attribute__((used)) static char kept_area[64 << 20] __attribute__((aligned(64)));
__attribute__((used)) static char *kept_next = kept_area;
__attribute__((used)) static uintptr_t kept_freed, kept_frees;

__asm__(".text\n"
        ".globl mi_malloc, mi_realloc, mi_free\n"
        ".type mi_malloc, @function\n.type mi_realloc, @function\n.type mi_free, @function\n"
        ".p2align 4\n"
        "mi_malloc: movl $128, %eax\n lock xaddq %rax, kept_next(%rip)\n ret\n"
        ".size mi_malloc, . - mi_malloc\n"
        ".p2align 4\n"
        "mi_realloc: movl $128, %eax\n lock xaddq %rax, kept_next(%rip)\n ret\n"
        ".size mi_realloc, . - mi_realloc\n"
        ".p2align 4\n"
        "mi_free: movq %rdi, kept_freed(%rip)\n lock incq kept_frees(%rip)\n ret\n"
        ".size mi_free, . - mi_free\n");

void mi_malloc(void), mi_realloc(void), mi_free(void);

struct registers {
    uint64_t general[GENERAL]; /* rdi, rsi, rdx, rcx, r8, r10, r11 */
    uint64_t result;
    uint64_t vectors[VECTORS][2];
};

/* Loads all registers, calls, and stores them. Its frame pointer tells where the stack was. */
VICTIM __attribute__((optimize("no-omit-frame-pointer"))) void
victim_kept(struct registers *registers, void (*function)(void))
{
    register struct registers *all __asm__("rbx") = registers;
    register void (*called)(void) __asm__("r12") = function;
#define LOAD(n)  "movups 64+16*" #n "(%%rbx), %%xmm" #n "\n"
#define STORE(n) "movups %%xmm" #n ", 64+16*" #n "(%%rbx)\n"
/* clang-format off */
#define ALL(DO)                                                                                    \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)                                                \
    DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)
    /* clang-format on */
    __asm__ volatile(
        "movq %%rsp, %%r13\n subq $128, %%rsp\n andq $-64, %%rsp\n" ALL(
            LOAD) "movq (%%rbx), %%rdi\n movq 8(%%rbx), %%rsi\n movq 16(%%rbx), %%rdx\n"
                  "movq 24(%%rbx), %%rcx\n movq 32(%%rbx), %%r8\n movq 40(%%rbx), %%r10\n"
                  "movq 48(%%rbx), %%r11\n call *%%r12\n"
                  "movq %%rdi, (%%rbx)\n movq %%rsi, 8(%%rbx)\n movq %%rdx, 16(%%rbx)\n"
                  "movq %%rcx, 24(%%rbx)\n movq %%r8, 32(%%rbx)\n movq %%r10, 40(%%rbx)\n"
                  "movq %%r11, 48(%%rbx)\n movq %%rax, 56(%%rbx)\n" ALL(STORE) "movq %%r13, %%rsp\n"
        : "+r"(all), "+r"(called)
        :
        : "rax", "rdi", "rsi", "rdx", "rcx", "r8", "r9", "r10", "r11", "r13", "memory", "xmm0",
          "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
          "xmm12", "xmm13", "xmm14", "xmm15");
}

static uintptr_t kept_check(void (*function)(void), uintptr_t first, uintptr_t second)
{
    struct registers before, after;
    uint64_t *words = (uint64_t *)&before;
    for (size_t i = 0; i < sizeof before / sizeof *words; i++)
        words[i] = 0x9e3779b97f4a7c15u * (i + 1);
    before.general[0] = first;
    before.general[1] = second;
    after = before;
    victim_kept(&after, function);
    for (size_t i = 0; i < GENERAL; i++)
        CHECK(after.general[i] == before.general[i]);
    for (size_t i = 0; i < VECTORS; i++)
        CHECK(after.vectors[i][0] == before.vectors[i][0] &&
              after.vectors[i][1] == before.vectors[i][1]);
    return after.result;
}

static void calls(void)
{
    for (int i = 0; i < 50; i++) {
        uintptr_t block = kept_check(mi_malloc, 100, 1);
        block = kept_check(mi_realloc, block, 120);
        if (i % 2)
            kept_check(mi_free, block, 2);
    }
    barrier();
}

static void *all(void *unused)
{
    calls();
    return unused;
}

int main(int argc, char **argv)
{
    victim_in_threads(victim_thread_count(argc, argv), all);
    puts("kept_registers: done");
    return 7;
}
