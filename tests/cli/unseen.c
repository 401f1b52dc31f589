/* What cannot be seen, by the first argument:
 *   short      mimalloc's names, and one function that no jump can be written over
 *   namespace  a library in a namespace of its own
 *   mapped     64 MiB by a system call that passes the C library by
 *   plugin     a library with an allocator of its own, the second argument
 *   threads    the same while a thread runs */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef SHORT
static char area[1 << 16];

void *mi_malloc(size_t size);
void mi_free(void *block);

__attribute__((noipa)) void *mi_malloc(size_t size)
{
    static size_t used;
    return area + (used += size);
}
__asm__(".pushsection .text\n.globl mi_free\n.type mi_free,@function\n"
        "mi_free: mov $1, %ecx\n1: loop 1b\n inc %ecx\n jrcxz mi_free+1\n ret\n.size mi_free, "
        ".-mi_free\n"
        ".popsection");

static int allocate(void)
{
    static void *volatile kept;
    for (int i = 0; i < 10; i++)
        kept = mi_malloc(100);
    mi_free(kept);
    return 0;
}
#else
static int allocate(void)
{
    return 2;
}
#endif

static int map(void)
{
    long address, bytes = 64 << 20;
    register long flags __asm__("r10") = MAP_PRIVATE | MAP_ANONYMOUS, fd __asm__("r8") = -1,
                        offset __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "=a"(address)
                     : "a"(SYS_mmap), "D"(0), "S"(bytes), "d"(PROT_READ | PROT_WRITE), "r"(flags),
                       "r"(fd), "r"(offset)
                     : "rcx", "r11", "memory");
    memset((void *)address, 1, (size_t)bytes);
    return 0;
}

static int load(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void (*work)(void) = plugin ? (void (*)(void))dlsym(plugin, "unseen_plugin_work") : NULL;
    if (!work)
        return 1;
    work();
    return 0;
}

static pthread_mutex_t end = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_end(void *unused)
{
    pthread_mutex_lock(&end);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "short"))
        return allocate();
    if (!strcmp(what, "namespace"))
        return !dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
    if (!strcmp(what, "mapped"))
        return map();
    if (!strcmp(what, "threads")) {
        pthread_mutex_lock(&end);
        pthread_create(&thread, NULL, wait_for_end, NULL);
    }
    return argc > 2 ? load(argv[2]) : 2;
}
