/* Writes trampolines and the jumps to them (entry_jump.h). All trampolines of a call lie in one
 * mapping within reach of a 32-bit jump. The mapping is written first and then made executable, and
 * is never both at once. The program's code is writable only while the jumps are written. */
#include "entry/entry_jump.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)

enum {
    PAGE_BYTES = 4096,
    STUB_BYTES = 32, /* mov r9, context (10), if there is one; jmp *hook (6); hook (8) */
    SLOT_BYTES = STUB_BYTES + ENTRY_MOVED_BYTES,
};

/* ---- Memory within reach ---- */

/* of a 32-bit jump, with a reserve for the size of the functions */
#define REACH ((uintptr_t)0x70000000)

struct entry_jump_span {
    uintptr_t lo, hi; /* the lowest and the highest address of the functions */
};

static struct entry_jump_span entry_span(const struct entry_point *points, unsigned count)
{
    struct entry_jump_span span = {UINTPTR_MAX, 0};
    for (unsigned i = 0; i < count; i++) {
        uintptr_t start = (uintptr_t)points[i].function;
        span.lo = start < span.lo ? start : span.lo;
        span.hi = start > span.hi ? start : span.hi;
    }
    return span;
}

static bool entry_reaches(const struct entry_jump_span *span, uintptr_t address)
{
    return address + REACH > span->hi && address < span->lo + REACH;
}

/* Maps memory at `wanted`. If that is not free, the kernel takes another address, which may be out
 * of reach; then NULL. */
static void *entry_map_at(const struct entry_jump_span *span, uintptr_t wanted, size_t bytes)
{
    long got = syscall(SYS_mmap, wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0L);
    if (got == -1)
        return NULL;
    if (entry_reaches(span, (uintptr_t)got))
        return (void *)got;
    syscall(SYS_munmap, got, bytes);
    return NULL;
}

/* Below the functions first, because above those of a program is its heap, which has to grow. */
static void *entry_map_near(const struct entry_jump_span *span, size_t bytes)
{
    enum { STEP = 1 << 20 };
    uintptr_t lo = span->lo & -(uintptr_t)PAGE_BYTES,
              hi = (span->hi + REACH) & -(uintptr_t)PAGE_BYTES;
    void *found = NULL;
    for (uintptr_t down = STEP; !found && down < REACH && down + STEP < lo; down += STEP)
        found = entry_map_at(span, lo - down, bytes);
    for (uintptr_t down = STEP; !found && down < REACH; down += STEP)
        found = entry_map_at(span, hi - down, bytes);
    return found;
}

/* ---- Trampolines ---- */

static void entry_write_stub(uint8_t *to, const struct entry_point *point)
{
    static const uint8_t move[] = {0x49, 0xb9}, jump[] = {0xff, 0x25, 0, 0, 0, 0};
    if (point->context) {
        memcpy(to, move, 2);
        memcpy(to + 2, &point->context, 8);
        to += 10;
    }
    memcpy(to, jump, 6);
    memcpy(to + 6, &point->hook, 8);
}

static enum entry_fault entry_write(struct entry_point *points, unsigned count, uint8_t *memory)
{
    for (unsigned i = 0; i < count; i++) {
        uint8_t *slot = memory + (size_t)i * SLOT_BYTES;
        entry_write_stub(slot, &points[i]);
        points[i].original = slot + STUB_BYTES;
        if (!entry_code_move(points[i].function, &points[i].beginning, slot + STUB_BYTES,
                             (uintptr_t)slot + STUB_BYTES))
            return ENTRY_UNKNOWN;
    }
    return ENTRY_OK;
}

/* Does the processor compare this thread's returns with a shadow stack? Then a call cannot be
 * moved. Without a shadow stack the instruction does nothing. */
static bool entry_has_shadow_stack(void)
{
    uint64_t pointer = 0;
    __asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8" : "+a"(pointer)); /* rdsspq %rax */
    return pointer != 0;
}

static enum entry_fault entry_find_all(struct entry_point *points, unsigned count)
{
    enum entry_fault fault = entry_has_shadow_stack() ? ENTRY_REFUSED : ENTRY_OK;
    for (unsigned i = 0; fault == ENTRY_OK && i < count; i++)
        fault = entry_code_find(points[i].function, points[i].bytes, &points[i].beginning);
    return fault;
}

/* Makes the memory of an earlier call writable, to use it again; NULL: it is too small or too
 * far. */
static void *entry_take_over(const struct entry_jump_span *span, void *memory, size_t has,
                             size_t needs)
{
    return memory && has >= needs && entry_reaches(span, (uintptr_t)memory) &&
                   syscall(SYS_mprotect, memory, has, PROT_READ | PROT_WRITE) == 0
               ? memory
               : NULL;
}

enum entry_fault entry_prepare(struct entry_point *points, unsigned count, void **memory,
                               size_t *bytes)
{
    struct entry_jump_span span = entry_span(points, count);
    enum entry_fault fault = entry_find_all(points, count);
    size_t needs = ((size_t)count * SLOT_BYTES + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES;
    if (fault != ENTRY_OK)
        return fault;
    void *old = entry_take_over(&span, *memory, *bytes, needs);
    void *made = old ? old : entry_map_near(&span, needs);
    if (!made)
        return ENTRY_NO_ROOM;
    fault = entry_write(points, count, made);
    if (fault == ENTRY_OK && syscall(SYS_mprotect, made, needs, PROT_READ | PROT_EXEC) != 0)
        fault = ENTRY_REFUSED;
    if (fault != ENTRY_OK && !old)
        entry_discard(made, needs);
    if (fault != ENTRY_OK || old)
        return fault;
    *memory = made;
    *bytes = needs;
    return ENTRY_OK;
}

void entry_discard(void *memory, size_t bytes)
{
    syscall(SYS_munmap, memory, bytes);
}

/* ---- Jumps ---- */

static bool entry_protect(const struct entry_point *point, int protection)
{
    uintptr_t start = (uintptr_t)point->function + point->beginning.skipped,
              end = start + point->beginning.bytes;
    start &= -(uintptr_t)PAGE_BYTES;
    end = (end + PAGE_BYTES - 1) & -(uintptr_t)PAGE_BYTES;
    return syscall(SYS_mprotect, start, end - start, protection) == 0;
}

static void entry_close(const struct entry_point *points, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        entry_protect(&points[i], PROT_READ | PROT_EXEC);
}

static void entry_write_jump(const struct entry_point *point)
{
    uint8_t jump[ENTRY_JUMP_BYTES];
    uint8_t *at = (uint8_t *)point->function + point->beginning.skipped;
    if (entry_code_jump(jump, (uintptr_t)at, (uintptr_t)point->original - STUB_BYTES))
        memcpy(at, jump, sizeof jump);
}

enum entry_fault entry_set(const struct entry_point *points, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!entry_protect(&points[i], PROT_READ | PROT_WRITE)) {
            entry_close(points, i + 1);
            return ENTRY_REFUSED;
        }
    for (unsigned i = 0; i < count; i++)
        entry_write_jump(&points[i]);
    entry_close(points, count);
    return ENTRY_OK;
}

bool entry_is_set(const void *function, const void *original)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    const uint8_t *at = function;
    uint8_t jump[ENTRY_JUMP_BYTES];
    at += memcmp(at, endbr64, sizeof endbr64) == 0 ? sizeof endbr64 : 0;
    return entry_code_jump(jump, (uintptr_t)at, (uintptr_t)original - STUB_BYTES) &&
           memcmp(at, jump, sizeof jump) == 0;
}

#else

bool entry_is_set(const void *function, const void *original)
{
    (void)function, (void)original;
    return false;
}

enum entry_fault entry_prepare(struct entry_point *points, unsigned count, void **memory,
                               size_t *bytes)
{
    (void)points, (void)count, (void)memory, (void)bytes;
    return ENTRY_MACHINE;
}

enum entry_fault entry_set(const struct entry_point *points, unsigned count)
{
    (void)points, (void)count;
    return ENTRY_MACHINE;
}

void entry_discard(void *memory, size_t bytes)
{
    (void)memory, (void)bytes;
}

#endif
