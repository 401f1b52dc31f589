/* A malloc that fails at one place of `tidemark`: preloaded into it, and into nothing that it
 * starts but its own forks (the collector), with which it shares what is counted.
 * FAULTS_MALLOC=list:FILE writes the places of its code that allocate, with the number of
 * times; FAULTS_MALLOC=fail:PLACE+PLACE:N[:sticky] has the Nth allocation there fail. */
#include <execinfo.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

enum { PLACES = 2, DEPTH = 24, SITES = 4096 };

struct site {
    uintptr_t place[PLACES];
    unsigned count;
};

/* Of the command and of its forks. */
static struct counted {
    pthread_mutex_t lock;
    struct site sites[SITES];
    size_t site_count;
    unsigned seen; /* calls at `wanted` */
} * counted;

static struct site wanted;
static unsigned wanted_at;
static bool lists, fails, sticky;
static const char *file;
static uintptr_t text_start, text_end, text_bias;
static _Thread_local bool inside;

/* ---- Where ---- */

/* The first one is the executable. */
static int malloc_find_text(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size, (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        text_start = info->dlpi_addr + part->p_vaddr;
        text_end = text_start + part->p_memsz;
        text_bias = text_start - part->p_offset;
    }
    return 1;
}

static struct site malloc_site(void)
{
    void *stack[DEPTH];
    struct site site = {.count = 1};
    int count = backtrace(stack, DEPTH), found = 0;
    for (int i = 0; i < count && found < PLACES; i++)
        if ((uintptr_t)stack[i] - text_start < text_end - text_start)
            site.place[found++] = (uintptr_t)stack[i] - text_bias;
    return site;
}

static bool malloc_is_same(const struct site *one, const struct site *other)
{
    return !memcmp(one->place, other->place, sizeof one->place);
}

static void malloc_list(const struct site *site)
{
    for (size_t i = 0; i < counted->site_count; i++)
        if (malloc_is_same(&counted->sites[i], site)) {
            counted->sites[i].count++;
            return;
        }
    if (counted->site_count < SITES)
        counted->sites[counted->site_count++] = *site;
}

static bool malloc_must_fail(void)
{
    if (inside || !(lists || fails))
        return false;
    inside = true;
    struct site site = malloc_site();
    pthread_mutex_lock(&counted->lock);
    bool fail = false;
    if (lists)
        malloc_list(&site);
    else if (malloc_is_same(&site, &wanted))
        fail = ++counted->seen == wanted_at || (sticky && counted->seen > wanted_at);
    pthread_mutex_unlock(&counted->lock);
    inside = false;
    if (fail)
        errno = ENOMEM;
    return fail;
}

/* ---- What it stands in for ---- */

void *malloc(size_t bytes)
{
    return malloc_must_fail() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return malloc_must_fail() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes)
{
    return malloc_must_fail() ? NULL : __libc_realloc(block, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return malloc_must_fail() ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    void *made = malloc_must_fail() ? NULL : __libc_memalign(alignment, bytes);
    if (made)
        *block = made;
    return made ? 0 : ENOMEM;
}

/* ---- What is wanted ---- */

static bool malloc_share(void)
{
    pthread_mutexattr_t shared;
    counted =
        mmap(NULL, sizeof *counted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counted == MAP_FAILED)
        return false;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    return pthread_mutex_init(&counted->lock, &shared) == 0;
}

__attribute__((constructor)) static void malloc_begin(void)
{
    static char text[256];
    const char *told = getenv("FAULTS_MALLOC");
    void *stack[1];
    if (!told || strlen(told) >= sizeof text ||
        strcmp(program_invocation_short_name, "tidemark") != 0 || !malloc_share())
        return;
    strcpy(text, told);
    unsetenv("LD_PRELOAD");
    unsetenv("FAULTS_MALLOC");
    backtrace(stack, 1); /* loads what it needs */
    dl_iterate_phdr(malloc_find_text, NULL);
    if (!strncmp(text, "list:", 5)) {
        file = text + 5;
        lists = true;
    } else if (sscanf(text, "fail:%lx+%lx:%u", &wanted.place[0], &wanted.place[1], &wanted_at) ==
               3) {
        sticky = strstr(text, ":sticky") != NULL;
        fails = true;
    }
}

__attribute__((destructor)) static void malloc_end(void)
{
    FILE *out = lists && file ? fopen(file, "we") : NULL;
    lists = fails = false;
    for (size_t i = 0; out && i < counted->site_count; i++)
        fprintf(out, "%lx+%lx %u\n", counted->sites[i].place[0], counted->sites[i].place[1],
                counted->sites[i].count);
    if (out)
        fclose(out);
}
