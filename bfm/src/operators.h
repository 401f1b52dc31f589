/* In libbfm.so only, at the end of alloc.c: C++'s operators new and delete in every form, and names
 * that other allocators have (jemalloc's mallocx, the C library's __libc_malloc). A program that is
 * linked with another allocator finds all of them here, so that no block is given to another
 * allocator's free.
 *
 * Nothing here needs a C++ library. When memory runs out, new_handler and bad_alloc are those of
 * the program's C++ library. A handler that throws ends a program that called a nothrow form. */
#include <dlfcn.h>

/* ---- new ---- */

static void *alloc_cxx(const char *symbol)
{
    return dlsym(RTLD_DEFAULT, symbol);
}

/* true: a new_handler was called, and there may be memory now. */
static bool alloc_new_handled(void)
{
    void (*(*get)(void))(void) = NULL, (*handler)(void);

    *(void **)&get = alloc_cxx("_ZSt15get_new_handlerv");
    handler = get ? get() : NULL;
    if (handler)
        handler();
    return handler != NULL;
}

static void alloc_throw(void)
{
    void (*throw_it)(void) = NULL;

    *(void **)&throw_it = alloc_cxx("_ZSt17__throw_bad_allocv");
    if (throw_it)
        throw_it();
    os_fatal("operator new finds no memory, and no C++ library to say so", NULL);
}

static SLOW void *alloc_new_again(struct want want, bool throws, const struct caller *caller)
{
    void *block = NULL;

    while (!block && alloc_new_handled())
        block = TAKE(&bfm_default_heap, want, caller);
    if (!block && throws)
        alloc_throw();
    return block;
}

static __attribute__((noinline)) void *alloc_new_slow(size_t bytes)
{
    void *block = TAKE(&bfm_default_heap, WANT(bytes, ALIGN, false), CALLER);

    return likely(block != NULL) ? block : alloc_new_again(WANT(bytes, ALIGN, false), true, CALLER);
}

static __attribute__((noinline)) void *alloc_new_nothrow_slow(size_t bytes)
{
    void *block = TAKE(&bfm_default_heap, WANT(bytes, ALIGN, false), CALLER);

    return likely(block != NULL) ? block
                                 : alloc_new_again(WANT(bytes, ALIGN, false), false, CALLER);
}

static inline __attribute__((always_inline)) void *alloc_from_stack(size_t bytes)
{
    struct cache *cache = bfm_cache;
    unsigned code;

    if (unlikely(bytes > SMALL_MAX))
        return NULL;
    code = cache_code(cache, bytes);
    return likely(cache->top[code] != cache->base[code]) ? *--cache->top[code] : NULL;
}

#define OPERATOR __attribute__((visibility("default"), used))

OPERATOR void *_Znwm(size_t bytes);
OPERATOR void *_Znwm(size_t bytes)
{
    void *block = alloc_from_stack(bytes);

    return likely(block != NULL) ? block : alloc_new_slow(bytes);
}

OPERATOR void *_ZnwmRKSt9nothrow_t(size_t bytes, const void *tag);
OPERATOR void *_ZnwmRKSt9nothrow_t(size_t bytes, const void *tag)
{
    void *block = alloc_from_stack(bytes);

    (void)tag;
    return likely(block != NULL) ? block : alloc_new_nothrow_slow(bytes);
}

static inline __attribute__((always_inline)) void *
alloc_new_aligned(size_t bytes, size_t align, bool throws, const struct caller *caller)
{
    struct want want = {bytes, align < ALIGN ? ALIGN : alloc_power_of_two(align), false};
    void *block = want.align ? TAKE(&bfm_default_heap, want, caller) : NULL;

    return likely(block != NULL) ? block : alloc_new_again(want, throws, caller);
}

OPERATOR void *_ZnwmSt11align_val_t(size_t bytes, size_t align);
OPERATOR void *_ZnwmSt11align_val_t(size_t bytes, size_t align)
{
    return alloc_new_aligned(bytes, align, true, CALLER);
}

OPERATOR void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align, const void *tag);
OPERATOR void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align, const void *tag)
{
    (void)tag;
    return alloc_new_aligned(bytes, align, false, CALLER);
}

void *_Znam(size_t bytes) SAME_AS(_Znwm);
void *_ZnamRKSt9nothrow_t(size_t bytes, const void *tag) SAME_AS(_ZnwmRKSt9nothrow_t);
void *_ZnamSt11align_val_t(size_t bytes, size_t align) SAME_AS(_ZnwmSt11align_val_t);
void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align, const void *tag)
    SAME_AS(_ZnwmSt11align_val_tRKSt9nothrow_t);

/* ---- delete: sizes and alignments are not needed ---- */

#define DELETE(name) void name(void *block) SAME_AS(bfm_free);
DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm)
DELETE(_ZdaPvm)
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdaPvRKSt9nothrow_t)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdlPvmSt11align_val_t)
DELETE(_ZdaPvmSt11align_val_t)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)

/* ---- jemalloc's names. Flags: the alignment's logarithm in six bits, and zeroing. Those of arenas
 * and caches are ignored. ---- */

enum { X_ALIGN = 0x3f, X_ZERO = 0x40 };

static struct want alloc_x_want(size_t bytes, int flags)
{
    size_t align = (size_t)1 << (flags & X_ALIGN);

    return WANT(bytes, align < ALIGN ? ALIGN : align, (flags & X_ZERO) != 0);
}

/* The usable bytes of a block of so many bytes; 0: there can be none. */
static size_t alloc_good_size(size_t bytes, size_t align)
{
    unsigned code = bytes <= SMALL_MAX ? alloc_aligned_code(bytes, align) : 0;

    if (bytes > PTRDIFF_MAX || align > PTRDIFF_MAX / 2)
        return 0;
    if (code)
        return bfm_class_bytes[code];
    if (bytes >= LARGE_MIN || align >= LARGE_MIN || bytes + align > LARGE_MIN)
        return layout_round_up(bytes, os_page_bytes());
    return chunk_need(bytes) - CHUNK_TAG;
}

OPERATOR void *mallocx(size_t bytes, int flags);
OPERATOR void *mallocx(size_t bytes, int flags)
{
    struct want want = alloc_x_want(bytes, flags);

    return TAKE(&bfm_default_heap, want, CALLER);
}

OPERATOR size_t nallocx(size_t bytes, int flags);
OPERATOR size_t nallocx(size_t bytes, int flags)
{
    return alloc_good_size(bytes, alloc_x_want(bytes, flags).align);
}

OPERATOR size_t sallocx(const void *block, int flags);
OPERATOR size_t sallocx(const void *block, int flags)
{
    (void)flags;
    return bfm_malloc_usable_size((void *)block);
}

/* A new block, unless the old one fits, or only its size changes. */
OPERATOR void *rallocx(void *block, size_t bytes, int flags);
OPERATOR void *rallocx(void *block, size_t bytes, int flags)
{
    struct want want = alloc_x_want(bytes, flags);
    size_t held = bfm_malloc_usable_size(block);
    void *moved;

    if (want.align == ALIGN && !want.zero)
        return bfm_realloc(block, bytes ? bytes : 1);
    if (held >= bytes && held / 2 <= bytes && (uintptr_t)block % want.align == 0)
        return block;
    moved = TAKE(&bfm_default_heap, want, CALLER);
    if (!moved)
        return NULL;
    memcpy(moved, block, held < bytes ? held : bytes);
    bfm_free(block);
    return moved;
}

/* Never resizes. Returns the usable bytes. */
OPERATOR size_t xallocx(void *block, size_t bytes, size_t extra, int flags);
OPERATOR size_t xallocx(void *block, size_t bytes, size_t extra, int flags)
{
    (void)bytes;
    (void)extra;
    (void)flags;
    return bfm_malloc_usable_size(block);
}

DELETE(dallocx)
DELETE(sdallocx)

/* ---- names of other C libraries and allocators for the malloc family ---- */

OPERATOR size_t malloc_size(const void *block);
OPERATOR size_t malloc_size(const void *block)
{
    return bfm_malloc_usable_size((void *)block);
}

OPERATOR size_t malloc_good_size(size_t bytes);
OPERATOR size_t malloc_good_size(size_t bytes)
{
    return alloc_good_size(bytes, ALIGN);
}

OPERATOR void *reallocf(void *block, size_t bytes);
OPERATOR void *reallocf(void *block, size_t bytes)
{
    void *moved = bfm_realloc(block, bytes);

    if (!moved && bytes)
        bfm_free(block);
    return moved;
}

void vfree(void *block) SAME_AS(bfm_free);
void *__libc_malloc(size_t bytes) SAME_AS(bfm_malloc);
void *__libc_calloc(size_t count, size_t bytes) SAME_AS(bfm_calloc);
void *__libc_realloc(void *block, size_t bytes) SAME_AS(bfm_realloc);
void __libc_free(void *block) SAME_AS(bfm_free);
void __libc_cfree(void *block) SAME_AS(bfm_free);
void *__libc_memalign(size_t align, size_t bytes) SAME_AS(bfm_memalign);
void *__libc_valloc(size_t bytes) SAME_AS(bfm_valloc);
void *__libc_pvalloc(size_t bytes) SAME_AS(bfm_pvalloc);
int __posix_memalign(void **block, size_t align, size_t bytes) SAME_AS(bfm_posix_memalign);
