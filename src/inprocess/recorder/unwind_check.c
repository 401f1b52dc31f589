/* Compares our call paths with libunwind's (unwind_check.h). Runs inside the profiled program, in
 * the middle of its malloc: no malloc, no stdio of ours, errno kept.
 *
 *   hook ─ thread_capture() ─┬─ unwind_capture()             our node
 *                            ├─ unw_backtrace()              libunwind's frames, through its caches
 *                            │    differ?
 *                            ├─ unw_step() …                 the same without caches
 *                            │    differ still?
 *                            └─ count, print
 *
 * What libunwind itself allocates (a cache per thread, its thread-local block) appears in the
 * profile: a checked run is for its verdict, not for its figures. */
#include "recorder/unwind_check.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "interpose/real.h"
#include "recorder/shared.h"
#include "recorder/thread.h"
#include "unwind/own_write.h"

#if defined(__x86_64__)

#define MOST_FRAMES   65536u /* frames further out are not compared */
#define MOST_PRINTED  10u    /* differences */
#define FRAMES_AROUND 6u     /* printed on each side of a difference */

/* libunwind 1.x, x86-64 (libunwind.h); declared here so that nothing need be installed to build. */
enum { UNW_IP = 16, UNW_SP = 7 };
typedef uint64_t unw_cursor[127];
typedef uint64_t unw_proc_info[16];
static struct {
    int (*backtrace)(void **frames, int max);
    int (*getcontext)(ucontext_t *context);
    int (*init_local)(unw_cursor *cursor, ucontext_t *context);
    int (*step)(unw_cursor *cursor);
    int (*get_reg)(unw_cursor *cursor, int number, uintptr_t *value);
    void (*flush_cache)(void *space, uintptr_t lo, uintptr_t hi);
    int (*info_by_ip)(void *space, uintptr_t ip, unw_proc_info *info, void *argument);
    void **local_space;
} unwind_check_libunwind;

static struct {
    uint64_t every; /* 0: not asked for, or not possible */
    _Atomic uint64_t calls, captures, frames, differences, incomparable;
    _Atomic uint64_t unloads; /* the loader's count of unloads when libunwind's caches were last
                               * flushed */
} check;

/* Set while this thread checks, because libunwind's own allocations are not checked. */
static __thread bool unwind_check_checking;

/* ---- Room for two stacks --------------------------------------------------------------------- */

struct unwind_check_stacks {
    struct unwind_check_stacks *next;
    _Atomic bool taken;
    uint32_t our_count, their_count;
    uint32_t their_end; /* enum end */
    uintptr_t ours[MOST_FRAMES], theirs[MOST_FRAMES];
};
static struct unwind_check_stacks *_Atomic unwind_check_all_stacks; /* only ever grows */

static struct unwind_check_stacks *unwind_check_stacks_take(void)
{
    for (struct unwind_check_stacks *stacks = atomic_load(&unwind_check_all_stacks); stacks;
         stacks = stacks->next)
        if (!atomic_exchange(&stacks->taken, true))
            return stacks;
    struct unwind_check_stacks *made = private_map_lasting(sizeof *made);
    if (!made)
        return NULL;
    atomic_store(&made->taken, true);
    made->next = atomic_load(&unwind_check_all_stacks);
    while (!atomic_compare_exchange_weak(&unwind_check_all_stacks, &made->next, made))
        ;
    return made;
}

/* ---- Text without stdio ---------------------------------------------------------------------- */

struct unwind_check_text {
    size_t length;
    char bytes[4096];
};

static void unwind_check_put(struct unwind_check_text *text, const char *string)
{
    for (; *string && text->length < sizeof text->bytes; string++)
        text->bytes[text->length++] = *string;
}

static void unwind_check_put_number(struct unwind_check_text *text, uint64_t number, unsigned base)
{
    char digits[24], *at = digits + sizeof digits;
    *--at = 0;
    do
        *--at = "0123456789abcdef"[number % base];
    while (number /= base);
    unwind_check_put(text, base == 16 ? "0x" : "");
    unwind_check_put(text, at);
}

static void unwind_check_put_out(struct unwind_check_text *text)
{
    own_write_all(STDERR_FILENO, text->bytes, text->length);
    text->length = 0;
}

struct unwind_check_place {
    uintptr_t ip;
    const char *module;
    uintptr_t offset;
};

static int unwind_check_find_place(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct unwind_check_place *place = context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && place->ip - start < segment->p_memsz) {
            const char *slash = strrchr(info->dlpi_name, '/');
            place->module = slash ? slash + 1 : *info->dlpi_name ? info->dlpi_name : "program";
            place->offset = place->ip - info->dlpi_addr;
            return 1;
        }
    }
    return 0;
}

static void unwind_check_put_frame(struct unwind_check_text *text, const uintptr_t *ips,
                                   uint32_t count, uint32_t i)
{
    if (i >= count) {
        unwind_check_put(text, "-");
        return;
    }
    struct unwind_check_place place = {.ip = ips[i]};
    unwind_check_put_number(text, ips[i], 16);
    if (dl_iterate_phdr(unwind_check_find_place, &place)) {
        unwind_check_put(text, " ");
        unwind_check_put(text, place.module);
        unwind_check_put(text, "+");
        unwind_check_put_number(text, place.offset, 16);
    }
}

static void unwind_check_print_diff(const struct unwind_check_stacks *stacks, uint32_t first,
                                    uint32_t node)
{
    struct unwind_check_text text = {0};
    uint32_t most =
        stacks->our_count > stacks->their_count ? stacks->our_count : stacks->their_count;
    unwind_check_put(&text, "tidemark: check: path ");
    unwind_check_put_number(&text, node, 10);
    unwind_check_put(&text, ": ");
    unwind_check_put_number(&text, stacks->our_count, 10);
    unwind_check_put(&text, " frames, libunwind has ");
    unwind_check_put_number(&text, stacks->their_count, 10);
    unwind_check_put(&text, "; the same up to #");
    unwind_check_put_number(&text, first, 10);
    unwind_check_put(&text, "\n");
    unwind_check_put_out(&text);
    for (uint32_t i = first < FRAMES_AROUND ? 0 : first - FRAMES_AROUND;
         i < most && i < first + FRAMES_AROUND; i++) {
        bool same = i < first;
        unwind_check_put(&text, same ? "    #" : "  ! #");
        unwind_check_put_number(&text, i, 10);
        unwind_check_put(&text, "  ");
        unwind_check_put_frame(&text, stacks->ours, stacks->our_count, i);
        if (!same) {
            unwind_check_put(&text, "   |   ");
            unwind_check_put_frame(&text, stacks->theirs, stacks->their_count, i);
        }
        unwind_check_put(&text, "\n");
        unwind_check_put_out(&text);
    }
}

/* ---- libunwind's answer ---------------------------------------------------------------------- */

enum end { END_FULL, END_CLEAN, END_ERROR };

static int unwind_check_read_unloads(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uint64_t *)context = info->dlpi_subs;
    return 1;
}

/* libunwind does not notice that a module was loaded where another one was unloaded. */
static void unwind_check_flush_after_unloading(void)
{
    uint64_t unloads = 0;
    dl_iterate_phdr(unwind_check_read_unloads, &unloads);
    if (atomic_exchange(&check.unloads, unloads) != unloads)
        unwind_check_libunwind.flush_cache(*unwind_check_libunwind.local_space, 0, 0);
}

static void unwind_check_ask_quickly(struct unwind_check_stacks *stacks,
                                     const struct unwind_start *start)
{
    int all = unwind_check_libunwind.backtrace((void **)stacks->theirs, MOST_FRAMES), skip = 0;
    while (skip < all && stacks->theirs[skip] != start->ip)
        skip++;
    stacks->their_count = all > skip ? (uint32_t)(all - skip) : 0;
    stacks->their_end = all == MOST_FRAMES ? END_FULL : END_CLEAN;
    memmove(stacks->theirs, stacks->theirs + skip, stacks->their_count * sizeof *stacks->theirs);
}

/* Step by step, from the caller of the hook: known by its stack pointer too. */
static void unwind_check_ask_carefully(struct unwind_check_stacks *stacks,
                                       const struct unwind_start *start)
{
    ucontext_t context;
    unw_cursor cursor;
    uintptr_t ip = 0, sp = 0;
    uint32_t count = 0;
    int status;
    unwind_check_libunwind.flush_cache(*unwind_check_libunwind.local_space, 0, 0);
    unwind_check_libunwind.getcontext(&context);
    unwind_check_libunwind.init_local(&cursor, &context);
    do {
        unwind_check_libunwind.get_reg(&cursor, UNW_IP, &ip);
        unwind_check_libunwind.get_reg(&cursor, UNW_SP, &sp);
        if (count || (ip == start->ip && sp == start->sp))
            stacks->theirs[count++] = ip;
        status = unwind_check_libunwind.step(&cursor);
    } while (status > 0 && count < MOST_FRAMES);
    stacks->their_count = count;
    stacks->their_end = status < 0 ? END_ERROR : status == 0 ? END_CLEAN : END_FULL;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static uint32_t unwind_check_mark_of(const struct unwind_check_stacks *stacks)
{
    uintptr_t last = stacks->our_count ? stacks->ours[stacks->our_count - 1] : 0;
    return last < WIRE_MARK_LIMIT ? (uint32_t)last : 0;
}

/* The first frame that differs; `*agree` if there is none. A stack that either side gives only in
 * part (--max-depth, more than we compare) agrees if that part does. */
static uint32_t unwind_check_compare(const struct unwind_check_stacks *stacks, bool *agree)
{
    uint32_t mark = unwind_check_mark_of(stacks), ours = stacks->our_count - (mark != 0), i = 0;
    bool cut = mark == WIRE_MARK_MAX_DEPTH || stacks->our_count == MOST_FRAMES;
    while (i < ours && i < stacks->their_count && stacks->ours[i] == stacks->theirs[i])
        i++;
    *agree = (i == ours && (cut || (!mark && i == stacks->their_count))) ||
             (i == stacks->their_count && stacks->their_end == END_FULL);
    return i;
}

static bool unwind_check_has_entry(uintptr_t ip)
{
    unw_proc_info info;
    return unwind_check_libunwind.info_by_ip(*unwind_check_libunwind.local_space, ip - 1, &info,
                                             NULL) == 0;
}

/* Beyond code without call frame information (what a JIT compiler wrote) both sides guess, with
 * frame pointers that this code may have put to another use. */
static bool unwind_check_is_guess(const struct unwind_check_stacks *stacks, uint32_t first)
{
    return first > 0 && !unwind_check_has_entry(stacks->ours[first - 1]);
}

static void unwind_check_compare_and_count(struct unwind_check_stacks *stacks,
                                           const struct unwind_start *start, uint32_t node)
{
    bool agree;
    unwind_check_flush_after_unloading();
    stacks->our_count = (uint32_t)unwind_path_ips(node, stacks->ours, MOST_FRAMES);
    unwind_check_ask_quickly(stacks, start);
    uint32_t first = unwind_check_compare(stacks, &agree);
    if (!agree) {
        unwind_check_ask_carefully(stacks, start);
        first = unwind_check_compare(stacks, &agree);
    }
    atomic_fetch_add(&check.captures, 1);
    atomic_fetch_add(&check.frames, first);
    if (agree)
        return;
    if (unwind_check_is_guess(stacks, first))
        atomic_fetch_add(&check.incomparable, 1);
    else if (atomic_fetch_add(&check.differences, 1) < MOST_PRINTED)
        unwind_check_print_diff(stacks, first, node);
}

static void __attribute__((noinline)) check_node(uint32_t node, const struct unwind_start *start)
{
    int saved_errno = errno;
    struct unwind_check_stacks *stacks = unwind_check_stacks_take();
    if (stacks) {
        unwind_check_compare_and_count(stacks, start, node);
        atomic_store(&stacks->taken, false);
    }
    errno = saved_errno;
}

/* Signals are blocked meanwhile. A handler that allocates would wait for ever if libunwind holds
 * the loader's lock, and a handler may not leave a check by longjmp. */
static uint32_t unwind_check_capture(struct unwind_memory *memory, const struct unwind_start *start)
{
    uint32_t node = unwind_capture(memory, start);
    uint64_t all = ~0ull, before = 0;
    if (!node || unwind_check_checking || atomic_fetch_add(&check.calls, 1) % check.every != 0)
        return node;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    unwind_check_checking = true;
    check_node(node, start);
    unwind_check_checking = false;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    return node;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static const char *unwind_check_load(void)
{
    static const struct {
        const char *name;
        void *where;
    } wanted[] = {
        {"unw_backtrace", &unwind_check_libunwind.backtrace},
        {"_Ux86_64_getcontext", &unwind_check_libunwind.getcontext},
        {"_ULx86_64_init_local", &unwind_check_libunwind.init_local},
        {"_ULx86_64_step", &unwind_check_libunwind.step},
        {"_ULx86_64_get_reg", &unwind_check_libunwind.get_reg},
        {"_Ux86_64_flush_cache", &unwind_check_libunwind.flush_cache},
        {"_ULx86_64_get_proc_info_by_ip", &unwind_check_libunwind.info_by_ip},
        {"_ULx86_64_local_addr_space", &unwind_check_libunwind.local_space},
    };
    void *(*open)(const char *, int);
    *(void **)&open = real_find("dlopen");
    if (!open || !open("libunwind.so.8", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE))
        return "libunwind.so.8 cannot be loaded (Debian: libunwind8)";
    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!(*(void **)wanted[i].where = real_find(wanted[i].name)))
            return "libunwind.so.8 lacks a function that the check needs";
    return NULL;
}

static void unwind_check_begin_first(const char *value, uint32_t stacks)
{
    const char *problem = stacks != UNWIND_CFI ? "only --stacks=unwind can be checked"
                          : real_is_passed_over()
                              ? "the program has a malloc of its own, which libunwind "
                                "would call while it holds its locks"
                              : unwind_check_load();
    if (problem) {
        struct unwind_check_text text = {0};
        unwind_check_put(&text, "tidemark: check: ");
        unwind_check_put(&text, problem);
        unwind_check_put(&text, "; nothing is checked\n");
        unwind_check_put_out(&text);
        return;
    }
    check.every = strtoul(value, NULL, 10);
    if (check.every)
        thread_capture = unwind_check_capture;
}

void check_begin(uint32_t stacks)
{
    static bool begun;
    if (!begun) {
        const char *value = getenv("TIDEMARK_CHECK_UNWIND");
        begun = true;
        if (value && *value && strcmp(value, "0") != 0)
            unwind_check_begin_first(value, stacks);
    }
    atomic_store(&unwind_check_all_stacks, NULL);
    unwind_check_checking = false;
    check.captures = check.frames = check.differences = check.incomparable = 0;
}

static __attribute__((noinline)) void unwind_check_say_sum(void)
{
    struct unwind_check_text text = {0};
    unwind_check_put(&text, "tidemark: check: ");
    unwind_check_put_number(&text, check.captures, 10);
    unwind_check_put(&text, " captures, ");
    unwind_check_put_number(&text, check.frames, 10);
    unwind_check_put(&text, " frames, ");
    unwind_check_put_number(&text, check.differences, 10);
    unwind_check_put(&text, " differences (");
    unwind_check_put_number(&text, check.incomparable, 10);
    unwind_check_put(&text, " not comparable)\n");
    unwind_check_put_out(&text);
}

/* The text is in a frame of its own: the process may end in a signal handler on a small stack. */
void check_end(void)
{
    if (check.every)
        unwind_check_say_sum();
}

#else

/* aarch64's libunwind follows the call frame information, we follow frame records: the comparison
 * is left to the unit tests (tests/aarch64.sh). */
void check_begin(uint32_t stacks)
{
    (void)stacks;
}

void check_end(void)
{
}

#endif
