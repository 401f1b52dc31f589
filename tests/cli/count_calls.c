/* Counts what the program asks of the allocator, from beneath the recorder: preloaded behind it, it
 * stands where the recorder takes the real allocator to be. So it sees the program's calls and any
 * that the recorder would make, with or without the recorder. At the end each thread's calls stand
 * in $COUNT_FILE.PID, one line for each kind: name, calls, bytes asked for. */
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <errno.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);

enum kind { MALLOC, CALLOC, REALLOC, ALIGNED, FREE, KINDS };
static const char *const names[KINDS] = {"malloc", "calloc", "realloc", "aligned", "free"};
static _Atomic uint64_t calls[KINDS], asked[KINDS];

static void count(enum kind kind, size_t bytes)
{
    atomic_fetch_add_explicit(&calls[kind], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&asked[kind], bytes, memory_order_relaxed);
}

void *malloc(size_t bytes)
{
    count(MALLOC, bytes);
    return __libc_malloc(bytes);
}

void *calloc(size_t number, size_t bytes)
{
    count(CALLOC, number * bytes);
    return __libc_calloc(number, bytes);
}

void *realloc(void *block, size_t bytes)
{
    count(REALLOC, bytes);
    return __libc_realloc(block, bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
    count(ALIGNED, bytes);
    return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    *block = memalign(alignment, bytes);
    return *block ? 0 : ENOMEM;
}

void free(void *block)
{
    if (block)
        count(FREE, 0);
    __libc_free(block);
}

/* Without stdio, which allocates. Registered first of all destructors, so it runs last. */
__attribute__((destructor(101))) static void say(void)
{
    const char *name = getenv("COUNT_FILE");
    char path[512], line[128];
    int file;

    if (!name)
        return;
    snprintf(path, sizeof path, "%s.%d", name, (int)getpid());
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (int kind = 0; file >= 0 && kind < KINDS; kind++) {
        int length = snprintf(line, sizeof line, "%s %llu %llu\n", names[kind],
                              (unsigned long long)calls[kind], (unsigned long long)asked[kind]);
        if (write(file, line, (size_t)length) != length)
            _exit(99);
    }
    close(file);
}
