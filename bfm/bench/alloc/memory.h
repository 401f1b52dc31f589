/* The harness's own memory, and what the kernel says of the process. Nothing here calls malloc:
 * whatever allocator is loaded sees only what a pattern asks of it. What the harness keeps is
 * mapped, touched before anything is measured, and known to the byte, so that it can be taken
 * out. */
#ifndef BENCH_ALLOC_MEMORY_H
#define BENCH_ALLOC_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed and resident. Never fails: without memory the process says so and ends with 125. */
void *memory_map(size_t bytes);
void memory_unmap(void *memory, size_t bytes);

/* Bytes that memory_map() gave and memory_unmap() did not take back, in whole pages. */
uint64_t memory_mapped_bytes(void);

struct memory_status {
    uint64_t rss_bytes, rss_peak_bytes; /* resident now and at most since memory_reset_peak() */
    uint64_t vm_bytes, vm_peak_bytes;   /* mapped now and ever */
    uint64_t file_bytes;                /* of rss_bytes: pages of files, programs' code above all */
};

#define MEMORY_UNKNOWN UINT64_MAX

/* Fields that the kernel does not say are MEMORY_UNKNOWN. */
void memory_status(struct memory_status *status);
void memory_reset_peak(void);

uint64_t memory_cpu_ns(void);  /* of the process, all threads */
uint64_t memory_user_ns(void); /* of it, what was not the system's */
uint64_t memory_wall_ns(void);

/* One sentence on stderr, then exit status 125. Uses no heap. */
_Noreturn void memory_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
