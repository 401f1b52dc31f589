/* BFM's system calls, and its error messages. errno stays as it was. */
#ifndef TIDEMARK_BFM_OS_H
#define TIDEMARK_BFM_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed memory, resident only when it is touched. `align`: a power of two; below the system's
 * page: a page. NULL: the system refuses (RLIMIT_AS, the number of mappings, overcommit). */
void *os_map(size_t bytes, size_t align);
/* The same, counted by the system as memory that will be used, so it may be refused. */
void *os_map_block(size_t bytes, size_t align);
void os_unmap(void *start, size_t bytes);

/* Addresses without access, and giving and taking that access. false: the process has too many
 * mappings, or no more memory that the system would count; then nothing has changed. */
void *os_reserve(size_t bytes, size_t align);
bool os_open(void *start, size_t bytes);
bool os_close(void *start, size_t bytes);
/* As if the range had been reserved now, so it becomes one mapping with what is reserved beside it:
 * after os_close() alone it may stay a mapping for ever. */
bool os_reserve_again(void *start, size_t bytes);

/* The range reads as zeros and is resident no more; false when the system refuses (locked memory):
 * then nothing has changed. The price is about 65 µs a MiB of small pages, 6 of a huge one. */
bool os_discard(void *start, size_t bytes);

void os_use_huge_pages(void *start, size_t bytes, bool use);

/* Makes pages resident, cheaper than by faults. Does nothing where the system cannot. */
void os_populate(void *start, size_t bytes);

/* Are at least nine of ten pages resident? false, too, if that is not known. At most 4 MiB. */
bool os_is_resident(void *start, size_t bytes);

/* Sets bit 0 of a byte of `state` for each resident page, in order. From Linux 6.7 on pages that
 * were only read do not count. At most OS_PAGES_MOST pages, of one mapping. `file`: of
 * os_pagemap_open(). 0 or -errno. */
enum { OS_PAGES_MOST = 512 };
int os_pages_resident(int file, void *start, size_t bytes, unsigned char *state);
int os_pagemap_open(void); /* -1: there is none */
void os_pagemap_close(int file);

/* mremap that may move; NULL leaves the old mapping as it is. */
void *os_remap(void *start, size_t old_bytes, size_t new_bytes);
/* Undoes it: the addresses were left a moment ago. */
void os_move_back(void *start, size_t bytes, size_t old_bytes, void *to);

/* Monotonic, to a few milliseconds. */
uint64_t os_now_ms(void);

/* Processor time of this process. A system call. */
uint64_t os_cpu_ns(void);
/* The same of this thread. */
uint64_t os_thread_cpu_ns(void);

/* A number that is hard to guess. */
uint64_t os_random(void);

size_t os_page_bytes(void);
unsigned os_processors(void); /* that this process may use; 1 when that is not known */

/* Zeroed memory for descriptors, never given back. NULL: no memory. Thread-safe. */
void *os_meta(size_t bytes);

/* The front of each mapping that os_meta() takes memory from. The list is under os_meta_lock(). */
struct os_meta {
    const struct os_meta *before;
    size_t bytes;
};
const struct os_meta *os_meta_newest(void);
void os_meta_lock(void);
void os_meta_unlock(void);

/* "BFM: WHAT (ADDRESS)" on stderr, then abort(). */
_Noreturn void os_fatal(const char *what, const void *address);
void os_say(const char *text);

#endif
