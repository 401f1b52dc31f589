/* In libbfm.so only, at the end of alloc.c: the C library's names for the same functions. */
#define SAME_AS(function)                                                                          \
    __attribute__((alias(#function), copy(function), visibility("default"), used))

void *malloc(size_t bytes) SAME_AS(bfm_malloc);
void *calloc(size_t count, size_t bytes) SAME_AS(bfm_calloc);
void *realloc(void *block, size_t bytes) SAME_AS(bfm_realloc);
void *reallocarray(void *block, size_t count, size_t bytes) SAME_AS(bfm_reallocarray);
void free(void *block) SAME_AS(bfm_free);
void cfree(void *block) SAME_AS(bfm_free);
void *memalign(size_t align, size_t bytes) SAME_AS(bfm_memalign);
void *aligned_alloc(size_t align, size_t bytes) SAME_AS(bfm_aligned_alloc);
int posix_memalign(void **block, size_t align, size_t bytes) SAME_AS(bfm_posix_memalign);
void *valloc(size_t bytes) SAME_AS(bfm_valloc);
void *pvalloc(size_t bytes) SAME_AS(bfm_pvalloc);
size_t malloc_usable_size(void *block) SAME_AS(bfm_malloc_usable_size);
