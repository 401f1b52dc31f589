/* What cannot be seen, by the first argument:
 *   short      mimalloc's names, and one function that no jump can be written over
 *   namespace  a library in a namespace of its own
 *   mapped     64 MiB by a system call that passes the C library by
 *   plugin     a library with an allocator of its own, the second argument
 *   cycles     loads and unloads it 200 times; the status is 3 if there are more mappings in the end
 *   threads    the same as plugin while a thread runs */
#include <dlfcn.h>
#include <fcntl.h>
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

static int load(const char *path, int closes)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void (*work)(void) = plugin ? (void (*)(void))dlsym(plugin, "unseen_plugin_work") : NULL;
    if (!work)
        return 1;
    work();
    return closes ? dlclose(plugin) : 0;
}

static int count_mappings(void)
{
    char text[4096];
    int fd = open("/proc/self/maps", O_RDONLY), lines = 0;
    for (long got; (got = read(fd, text, sizeof text)) > 0;)
        for (long i = 0; i < got; i++)
            lines += text[i] == '\n';
    close(fd);
    return lines;
}

static int cycle(const char *path)
{
    int before = 0, failed = 0;
    for (int i = 0; i < 200 && !failed; i++) {
        failed = load(path, 1);
        before = i == 20 ? count_mappings() : before;
    }
    return failed ? 1 : count_mappings() > before + 8 ? 3 : 0;
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
    if (argc < 3)
        return 2;
    return strcmp(what, "cycles") ? load(argv[2], 0) : cycle(argv[2]);
}
