/* What is run while calls of the recorder fail: threads, a fork, another program, a library that is
 * loaded, rings that are full, and a snapshot. It prints what it counted. Its output and exit
 * status depend on nothing else, and it says when errno or a descriptor is not what it was. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, BLOCKS = 200, STATUS = 7, CHILD_STATUS = 3 };

static void *program_allocate(void *argument)
{
    uintptr_t sum = 0;
    void *block[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        errno = 77;
        block[i] = malloc((size_t)i + 1);
        if (!block[i] || errno != 77)
            sum += 1000000;
        sum += (unsigned)i;
    }
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = realloc(block[i], 2 * (size_t)i + 8);
        sum += !block[i];
    }
    for (int i = 0; i < BLOCKS; i += argument ? 2 : 1)
        free(block[i]);
    return (void *)sum;
}

static uintptr_t program_in_threads(void)
{
    static char odd[1];
    pthread_t thread[THREADS];
    uintptr_t sum = 0;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, program_allocate, odd))
            exit(99);
    for (int i = 0; i < THREADS; i++) {
        void *part;
        pthread_join(thread[i], &part);
        sum += (uintptr_t)part;
    }
    return sum;
}

static int program_wait_for(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

/* More than a ring holds. */
static size_t program_fill_rings(size_t pairs)
{
    size_t count = 0;
    for (size_t i = 0; i < pairs; i++) {
        void *volatile block = malloc(16 + i % 64);
        count += block != NULL;
        free(block);
    }
    return count;
}

static int program_fork(void)
{
    pid_t child = fork();
    if (child == 0) {
        program_allocate(NULL);
        program_fill_rings(2000); /* fewer leave no profile */
        exit(CHILD_STATUS);
    }
    return program_wait_for(child);
}

static int program_execute(const char *program)
{
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, "small", NULL);
        _exit(98);
    }
    return program_wait_for(child);
}

static const char *program_map(void)
{
    char *pages = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return "not mapped";
    pages[4096] = 1;
    return munmap(pages, 1 << 20) ? "not unmapped" : "mapped";
}

static const char *program_load(void)
{
    void *library = dlopen("libm.so.6", RTLD_NOW);
    double (*root)(double) = library ? (double (*)(double))dlsym(library, "sqrt") : NULL;
    const char *said = root && root(81.0) == 9.0 ? "loaded" : "not loaded";
    if (library)
        dlclose(library);
    return said;
}

/* Which descriptors it has must not depend on us. */
static int program_next_descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(fd);
    return fd;
}

/* Is at work until a line comes: what went wrong meanwhile is counted. */
static void *program_work(void *argument)
{
    _Atomic int *ends = argument;
    uintptr_t wrong = 0;
    while (!*ends)
        wrong += (uintptr_t)program_allocate(NULL) != 19900;
    return (void *)wrong;
}

static int program_live(void)
{
    static _Atomic int ends;
    pthread_t thread;
    char line[8];
    void *wrong;
    if (pthread_create(&thread, NULL, program_work, &ends))
        return 99;
    puts("ready");
    fflush(stdout);
    bool told = fgets(line, sizeof line, stdin) != NULL;
    ends = 1;
    pthread_join(thread, &wrong);
    printf("lives: %ju\n", (uintmax_t)(uintptr_t)wrong);
    return told ? STATUS : 98;
}

/* A trace of this does not pack well: `count` allocations of random sizes, and more until `file` is
 * there. */
static int program_churn(size_t count, const char *file)
{
    enum { SLOTS = 4096, AT_ONCE = 100000 };
    static void *volatile slots[SLOTS];
    uint32_t random = 1;
    for (size_t i = 0; i < count || i % AT_ONCE || access(file, F_OK) != 0; i++) {
        random = random * 1103515245 + 12345;
        size_t slot = random >> 8 & (SLOTS - 1);
        free(slots[slot]);
        slots[slot] = malloc(16 + (random >> 16) % 500);
    }
    puts("churn: done");
    return STATUS;
}

int main(int argc, char **argv)
{
    int before = program_next_descriptor();
    if (argc > 3 && !strcmp(argv[1], "churn"))
        return program_churn((size_t)atol(argv[2]), argv[3]);
    if (argc > 1 && !strcmp(argv[1], "lives"))
        return program_live();
    if (argc > 1 && !strcmp(argv[1], "small")) {
        printf("small: %ju, next %d\n", (uintmax_t)(uintptr_t)program_allocate(NULL), before);
        return CHILD_STATUS;
    }
    printf("threads: %ju\n", (uintmax_t)program_in_threads());
    printf("pairs: %zu\n", program_fill_rings(argc > 1 ? 40000 : 3000));
    fflush(stdout);
    printf("child: %d\n", program_fork());
    fflush(stdout);
    printf("program: %d\n", program_execute("/proc/self/exe"));
    printf("memory: %s\nlibrary: %s\n", program_map(), program_load());
    printf("next: %d %d\n", before, program_next_descriptor());
    return STATUS;
}
