/* Marks around a call, for the counter of instructions: long no-operations that programs do not
 * contain. Without the counter they are what they are. */
#ifndef BENCH_ALLOC_MARKS_H
#define BENCH_ALLOC_MARKS_H

#define MARK_BEGIN 0x5449444d
#define MARK_END   0x5449444e
/* The call just ended was a free. */
#define MARK_END_FREE 0x5449444f

#if defined(__x86_64__)
#define MARK_TEXT(value) #value
#define MARK_NOP(value)  __asm__ volatile("nopl " MARK_TEXT(value) "(%%rax)" ::: "memory")
#define MARKS_KNOWN      1
#else
#define MARK_NOP(value) ((void)0)
#define MARKS_KNOWN     0
#endif

#define mark_begin()    MARK_NOP(0x5449444d)
#define mark_end()      MARK_NOP(0x5449444e)
#define mark_end_free() MARK_NOP(0x5449444f)

#endif
