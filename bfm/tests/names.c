/* Under LD_PRELOAD=libbfm.so: every name of the C library's family is ours, and what it says adds
 * up. Says what is wrong; nothing otherwise. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed;

static void must(int holds, const char *what)
{
    if (!holds)
        printf("%s\n", what);
    failed |= !holds;
}

static void names_are_ours(void)
{
    static const char *const names[] = {
        "malloc",
        "calloc",
        "realloc",
        "reallocarray",
        "free",
        "cfree",
        "free_sized",
        "free_aligned_sized",
        "memalign",
        "aligned_alloc",
        "posix_memalign",
        "valloc",
        "pvalloc",
        "malloc_usable_size",
        "malloc_trim",
        "mallinfo",
        "mallinfo2",
        "malloc_stats",
        "malloc_info",
        "mallopt",
        "dlopen",
        "_Znwm",
        "_Znam",
        "_ZnwmRKSt9nothrow_t",
        "_ZnamRKSt9nothrow_t",
        "_ZnwmSt11align_val_t",
        "_ZnamSt11align_val_t",
        "_ZnwmSt11align_val_tRKSt9nothrow_t",
        "_ZnamSt11align_val_tRKSt9nothrow_t",
        "_ZdlPv",
        "_ZdaPv",
        "_ZdlPvm",
        "_ZdaPvm",
        "_ZdlPvRKSt9nothrow_t",
        "_ZdaPvRKSt9nothrow_t",
        "_ZdlPvSt11align_val_t",
        "_ZdaPvSt11align_val_t",
        "_ZdlPvmSt11align_val_t",
        "_ZdaPvmSt11align_val_t",
        "_ZdlPvSt11align_val_tRKSt9nothrow_t",
        "_ZdaPvSt11align_val_tRKSt9nothrow_t",
        "mallocx",
        "rallocx",
        "xallocx",
        "sallocx",
        "dallocx",
        "sdallocx",
        "nallocx",
        "malloc_size",
        "malloc_good_size",
        "reallocf",
        "vfree",
        "__libc_malloc",
        "__libc_calloc",
        "__libc_realloc",
        "__libc_free",
        "__libc_cfree",
        "__libc_memalign",
        "__libc_valloc",
        "__libc_pvalloc",
        "__posix_memalign",
    };
    Dl_info info;

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        void *at = dlsym(RTLD_DEFAULT, names[i]);
        must(at && dladdr(at, &info) && strstr(info.dli_fname, "libbfm.so"), names[i]);
    }
}

/* Of C23; this C library may lack them. */
void free_sized(void *block, size_t bytes) __attribute__((weak));
void free_aligned_sized(void *block, size_t align, size_t bytes) __attribute__((weak));

static void sized_frees_free(void)
{
    struct mallinfo2 before = mallinfo2();

    must(free_sized && free_aligned_sized, "no sized free");
    free_sized(NULL, 0);
    free_sized(malloc((size_t)40 << 20), (size_t)40 << 20);
    free_aligned_sized(aligned_alloc(4096, (size_t)40 << 20), 4096, (size_t)40 << 20);
    must(mallinfo2().hblks == before.hblks, "a sized free leaves its block");
}

static void sums_follow_blocks(void)
{
    struct mallinfo2 before = mallinfo2(), with;
    char *small = calloc(1000, 100), *large = malloc((size_t)40 << 20);
    void *many[200];

    for (int i = 0; i < 200; i++)
        many[i] = malloc(100);
    with = mallinfo2();
    must(with.uordblks >= before.uordblks + 100000, "mallinfo2: uordblks lacks a block");
    must(with.hblks == before.hblks + 1, "mallinfo2: hblks");
    must(with.hblkhd >= before.hblkhd + ((size_t)40 << 20), "mallinfo2: hblkhd");
    must(with.arena >= with.uordblks, "mallinfo2: more is in use than there is");
    free(small);
    free(large);
    for (int i = 0; i < 200; i++)
        free(many[i]);
    must(mallinfo2().hblks == before.hblks, "mallinfo2: hblks after free");
    must(mallinfo().hblks == (int)before.hblks, "mallinfo: hblks");
    must(malloc_trim(0) == 1, "malloc_trim gives nothing back");
    must(malloc_trim(0) == 0 || malloc_trim(0) == 0, "malloc_trim gives back for ever");
}

/* The last figure of this kind: that of the whole process. */
static size_t info_figure(const char *text, const char *kind)
{
    const char *at = NULL;

    for (const char *next = text; (next = strstr(next, kind)); next++)
        at = next;
    must(at && (at = strstr(at, "size=\"")) != NULL, kind);
    return strtoul(at + 6, NULL, 10);
}

/* As those who read the C library's text do: what is in use is what the system gave less what is
 * free. */
static void info_adds_up(const char *text)
{
    size_t system = info_figure(text, "<system type=\"current\""),
           free_bytes = info_figure(text, "<total type=\"fast\"") +
                        info_figure(text, "<total type=\"rest\"");

    must(system > free_bytes && system <= info_figure(text, "<system type=\"max\"") &&
             system <= info_figure(text, "<aspace type=\"total\""),
         "malloc_info's figures");
    must(strstr(text, "<total type=\"mmap\"") != NULL, "malloc_info's mappings");
}

static void texts_are_whole(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);

    must(malloc_info(0, stream) == 0, "malloc_info fails");
    fclose(stream);
    must(strncmp(text, "<malloc version=\"1\">\n", 21) == 0 && strstr(text, "</malloc>"),
         "malloc_info's text");
    info_adds_up(text);
    free(text);
    errno = 0;
    must(malloc_info(1, stdout) == -1 && errno == EINVAL, "malloc_info takes options");
    must(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1 && mallopt(12345, 0) == 0, "mallopt");
    malloc_stats();
}

int main(void)
{
    names_are_ours();
    sized_frees_free();
    sums_follow_blocks();
    texts_are_whole();
    return failed;
}
