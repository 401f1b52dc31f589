/* Code that is made as the program runs, without a frame pointer, whose call frame information is
 * registered as compilers at run time do it: each allocation's path goes through it to main. */
#include "victim.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

void __register_frame(void *frames);
void __deregister_frame(void *frames);

VICTIM void victim_allocates(void)
{
    free(keep(malloc(24)));
}

#if defined(__x86_64__)
/* push %rbp; mov $1, %ebp; sub $16, %rsp; call *%rdi; add $16, %rsp; pop %rbp; ret */
static const uint8_t code[] = {0x55, 0xbd, 1,    0,    0,    0,    0x48, 0x83, 0xec,
                               0x10, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3};
/* A CIE (CFA = rsp + 8, the return address at CFA - 8), an FDE whose code is filled in, the end. */
struct frames {
    uint8_t cie[24];
    uint32_t fde_bytes, to_cie;
    uint64_t code, bytes;
    uint8_t program[12];
    uint32_t end;
} __attribute__((packed));
static const struct frames of_code = {
    {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1},
    32,
    28,
    0,
    sizeof code,
    {0, 0x41, 0x0e, 16, 0x86, 2, 0x49, 0x0e, 32},
    0};

VICTIM void victim_calls_made_code(void)
{
    struct frames frames = of_code;
    void *made =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(made, code, sizeof code);
    frames.code = (uintptr_t)made;
    __register_frame(&frames);
    for (int i = 0; i < 100; i++)
        ((void (*)(void (*)(void)))made)(victim_allocates);
    __deregister_frame(&frames);
    barrier();
}
#else
VICTIM void victim_calls_made_code(void)
{
    for (int i = 0; i < 100; i++)
        victim_allocates();
    barrier();
}
#endif

static void *body(void *argument)
{
    victim_calls_made_code();
    return argument;
}

int main(int argc, char **argv)
{
    victim_in_threads(victim_thread_count(argc, argv), body);
    puts("registered: done");
    return 0;
}
