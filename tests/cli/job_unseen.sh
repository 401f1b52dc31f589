# What ranks lack is said of the job too: in its report, as JSON, and in the profile that is made of it.
. "$HERE/lib.sh"
cat >own.c <<'EOC'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
void *volatile kept;
/* The system call itself: what maps by syscall() is seen. */
static char *map(long bytes)
{
#ifdef __x86_64__
    long address;
    register long flags __asm__("r10") = MAP_PRIVATE | MAP_ANONYMOUS, fd __asm__("r8") = -1, at __asm__("r9") = 0;
    __asm__ volatile("syscall" : "=a"(address)
                     : "a"(SYS_mmap), "D"(0), "S"(bytes), "d"(PROT_READ | PROT_WRITE), "r"(flags), "r"(fd), "r"(at)
                     : "rcx", "r11", "memory");
#else
    register long address __asm__("x0") = 0, length __asm__("x1") = bytes, may __asm__("x2") = PROT_READ | PROT_WRITE,
                  flags __asm__("x3") = MAP_PRIVATE | MAP_ANONYMOUS, fd __asm__("x4") = -1, at __asm__("x5") = 0,
                  number __asm__("x8") = SYS_mmap;
    __asm__ volatile("svc 0" : "+r"(address)
                     : "r"(length), "r"(may), "r"(flags), "r"(fd), "r"(at), "r"(number) : "memory");
#endif
    return (char *)address;
}
int main(int argc, char **argv)
{
    char *own = map(64 << 20);
    kept = malloc(1000);
    if (argc > 1)
        memset(own, 1, 64 << 20);
    usleep(50000);
    return 0;
}
EOC
cc -o own own.c
for rank in 0 1 2; do
    PMI_RANK=$rank PMI_SIZE=3 tidemark record -q --job=runs --job-id=x ./own $([ $rank = 0 ] || echo more)
done
tidemark job runs | sed -n '/^Not as/,/^$/p'
tidemark job --json runs | jq -c '.ranks[] | [.unattributed, (.unseen | map(.what))]'
tidemark job -o job.tmk runs >/dev/null && tidemark report --json job.tmk | jq -c '.unseen | map(.what)'
# Each level of memory but the resident one lacks it.
PMI_RANK=0 PMI_SIZE=1 tidemark record -q -o own.tmk ./own more
for level in heap mapped all resident; do
    echo "$level $(tidemark report --of=$level own.tmk | grep -c 'loss  *not seen: who mapped 64.0 MiB')"
done
