/* Decides whether a stopped thread may be made to load a library (safe_place.h). Zones are the code
 * of the loader, of malloc and of functions that hold locks. The thread's stack must have no return
 * address in a zone. Without unwind tables every word of the stack is tested. */
#include "attach/safe_place.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include "attach/target_memory.h"
#include "base/guarded_open.h"

/* Static functions of malloc's file in the C library lie before the first exported one. */
enum { MALLOC_AHEAD = 0x8000, MALLOC_MOST = 0x20000, STACK_MOST = 256 << 10 };

static void safe_place_add_zone(struct place *place, uintptr_t start, uintptr_t end)
{
    if (start && start < end && place->count < PLACE_ZONES)
        place->zones[place->count++] = (struct place_zone){start, end};
}

static bool safe_place_is_in(const struct place_zone *zone, uintptr_t address)
{
    return address - zone->start < zone->end - zone->start;
}

static bool safe_place_is_forbidden(const struct place *place, uintptr_t address)
{
    for (unsigned i = 0; i < place->count; i++)
        if (safe_place_is_in(&place->zones[i], address))
            return true;
    return false;
}

/* ---- Which code ---- */

static void safe_place_add_malloc(struct place *place, const struct target_module *libc)
{
    static const char *const family[] = {
#define ALLOCATION(name, ...)     #name,
#define ALLOCATION_OUT(name, ...) #name,
#define REALLOCATION(name, ...)   #name,
#define RELEASE(name, ...)        #name,
#define CALLED(name, ...)         #name,
#define LEFT(name, ...)           #name,
#include "interpose/functions.def"
    };
    uintptr_t first = UINTPTR_MAX, last = 0;
    for (size_t i = 0; i < sizeof family / sizeof *family; i++) {
        struct target_symbol found = target_find_in(place->target, libc, family[i]);
        if (!found.address)
            continue;
        first = found.address < first ? found.address : first;
        last = found.address + found.bytes > last ? found.address + found.bytes : last;
    }
    if (first < last && last - first < MALLOC_MOST)
        safe_place_add_zone(place, first - MALLOC_AHEAD, last);
    else /* they are far apart: then the whole C library is a zone */
        safe_place_add_zone(place, libc->code, libc->code_end);
}

/* Functions that wait while they hold locks that loading a library takes. */
static void safe_place_add_functions(struct place *place, const struct target_module *libc)
{
    static const char *const names[] = {"pthread_create", "pthread_exit", "fork",   "_Fork",
                                        "vfork",          "posix_spawn",  "dlopen", "dlclose",
                                        "dlsym",          "setlocale",    "exit"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct target_symbol found = target_find_in(place->target, libc, names[i]);
        safe_place_add_zone(place, found.address, found.address + found.bytes);
    }
}

/* Also true for libtidemark.so. */
static bool safe_place_has_malloc(const struct target *target, const struct target_module *module,
                                  const struct target_module *libc)
{
    return module != libc && target_find_in(target, module, "malloc").address;
}

void place_open(struct place *place, const struct target *target, const struct target_module *libc)
{
    const struct target_module *ours = target_module_called(target, "libtidemark.so");
    *place = (struct place){.target = target, .libc = {libc->code, libc->code_end}};
    for (size_t i = 0; i < target->count; i++)
        if (target_is_loader(&target->modules[i]) ||
            safe_place_has_malloc(target, &target->modules[i], libc))
            safe_place_add_zone(place, target->modules[i].code, target->modules[i].code_end);
    safe_place_add_malloc(place, libc);
    safe_place_add_functions(place, libc);
    if (ours)
        place->ours = (struct place_zone){ours->code, ours->code_end};
}

/* ---- By unwinding ---- */

struct safe_place_walk {
    const struct place *place;
    bool met; /* forbidden code */
};

static int safe_place_see_frame(Dwfl_Frame *frame, void *context)
{
    struct safe_place_walk *walk = context;
    Dwarf_Addr ip;
    bool is_activation;
    if (!dwfl_frame_pc(frame, &ip, &is_activation))
        return DWARF_CB_ABORT;
    walk->met |= safe_place_is_forbidden(walk->place, is_activation ? ip : ip - 1);
    return walk->met ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* True: walked to the end, or until forbidden code was met. */
static bool safe_place_walk_stack(const struct tracee *thread, struct safe_place_walk *walk)
{
    static char *no_debug_path; /* no debug files are looked for */
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                             .find_debuginfo = dwfl_standard_find_debuginfo,
                                             .debuginfo_path = &no_debug_path};
    no_debug_path = (char *)"";
    /* A library's path may be any file by now, and opening it must not block while the thread is
     * stopped. */
    struct guarded_open before = guarded_open_begin((struct guarded_open){.trusts_all = true});
    Dwfl *dwfl = dwfl_begin(&callbacks);
    bool whole = dwfl && dwfl_linux_proc_report(dwfl, thread->pid) == 0 &&
                 dwfl_report_end(dwfl, NULL, NULL) == 0 &&
                 dwfl_linux_proc_attach(dwfl, thread->pid, true) == 0 &&
                 dwfl_getthread_frames(dwfl, thread->tid, safe_place_see_frame, walk) == 0;
    if (dwfl)
        dwfl_end(dwfl);
    guarded_open_restore(before);
    return whole || walk->met;
}

/* ---- By looking at every word ---- */

static bool safe_place_follows_call(const struct place *place, uintptr_t address)
{
    unsigned char code[7]; /* the bytes before it */
    if (memory_read(place->target->pid, address - sizeof code, code, sizeof code) < 0)
        return true;
    return code[2] == 0xe8 || code[5] == 0xff || code[4] == 0xff || code[1] == 0xff ||
           code[0] == 0xff;
}

static bool safe_place_scan_stack(const struct place *place, const struct tracee *thread)
{
    uintptr_t words[512];
    uintptr_t sp = tracee_sp(thread) & ~(uintptr_t)7;
    for (uintptr_t at = sp; at - sp < STACK_MOST; at += sizeof words) {
        size_t bytes = sizeof words;
        while (bytes && memory_read(place->target->pid, at, words, bytes) < 0)
            bytes = bytes > 8 ? bytes / 2 & ~(size_t)7 : 0;
        for (size_t i = 0; i < bytes / sizeof *words; i++)
            if (safe_place_is_forbidden(place, words[i]) &&
                safe_place_follows_call(place, words[i]))
                return true;
        if (bytes < sizeof words)
            return false; /* the stack's end */
    }
    return false;
}

/* ---- Both ---- */

static bool safe_place_is_creation(long number)
{
#if defined(SYS_fork)
    if (number == SYS_fork || number == SYS_vfork)
        return true;
#endif
    return number == SYS_clone || number == SYS_clone3 || number == SYS_execve ||
           number == SYS_execveat;
}

bool place_is_outside(const struct place *place, const struct tracee *thread)
{
    return !safe_place_is_in(&place->ours, tracee_ip(thread));
}

bool place_is_safe(const struct place *place, const struct tracee *thread)
{
    struct safe_place_walk walk = {.place = place};
    long number;
    bool waits = tracee_waits(thread, &number);
    if (safe_place_is_forbidden(place, tracee_ip(thread)) ||
        (waits && safe_place_is_creation(number)) ||
        (!waits && safe_place_is_in(&place->libc, tracee_ip(thread))))
        return false;
    if (safe_place_walk_stack(thread, &walk))
        return !walk.met;
    return !safe_place_scan_stack(place, thread);
}
