/* Finds the module of an address. glibc >= 2.35 does that without a lock (_dl_find_object, made for
 * unwinders and async-signal-safe). Before there is only dl_iterate_phdr, which takes the loader's
 * lock: a signal handler that allocates while its own thread is in dlopen could wait for ever
 * there. */
#include "unwind/unwind_modules.h"

#include <errno.h>

#if defined(__x86_64__)
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include "unwind/registered.h"
#include "unwind/stack_bounds.h"

bool modules_find_without_loader;

#ifdef DLFO_STRUCT_HAS_EH_DBASE
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

static bool module_find_by_loader(uintptr_t pc, struct cfi_module *module)
{
    struct dl_find_object found;
    if (_dl_find_object((void *)pc, &found) != 0 || !found.dlfo_eh_frame) {
        return false;
    }
    module->lo = found.dlfo_map_start;
    module->hi = found.dlfo_map_end;
    module->header = found.dlfo_eh_frame;
    return true;
}
#define HAVE_FIND_OBJECT (&_dl_find_object != NULL)
#else
static bool module_find_by_loader(uintptr_t pc, struct cfi_module *module)
{
    (void)pc;
    (void)module;
    return false;
}
#define HAVE_FIND_OBJECT false
#endif

struct unwind_modules_search {
    uintptr_t pc;
    struct cfi_module *module;
};

static int module_look_at(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct unwind_modules_search *search = context;
    uintptr_t lo = UINTPTR_MAX, hi = 0, header = 0;
    bool holds = false;
    (void)bytes;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr, end = start + segment->p_memsz;
        if (segment->p_type == PT_GNU_EH_FRAME) {
            header = start;
        } else if (segment->p_type == PT_LOAD) {
            lo = start < lo ? start : lo;
            hi = end > hi ? end : hi;
            holds |= search->pc >= start && search->pc < end;
        }
    }
    if (!holds || !header) {
        return 0;
    }
    *search->module =
        (struct cfi_module){(const uint8_t *)lo, (const uint8_t *)hi, (const uint8_t *)header};
    return 1;
}

/* Looks in the main program, by its headers from the kernel. Takes no lock. */
static bool module_find_main(struct unwind_modules_search *search)
{
    struct dl_phdr_info program = {.dlpi_phdr = (const ElfW(Phdr) *)getauxval(AT_PHDR),
                                   .dlpi_phnum = (ElfW(Half))getauxval(AT_PHNUM)};
    for (unsigned i = 0; i < program.dlpi_phnum; i++) {
        if (program.dlpi_phdr[i].p_type == PT_PHDR) {
            program.dlpi_addr = (uintptr_t)program.dlpi_phdr - program.dlpi_phdr[i].p_vaddr;
        }
    }
    return module_look_at(&program, sizeof program, search) != 0;
}

static bool module_holds_its_header(const struct cfi_module *module)
{
    return module->header >= module->lo && module->header < module->hi;
}

/* If a program has holes between its segments (as node's has), the loader gives the bounds of the
 * one segment, and the call frame information is in another one. Then the program headers are
 * used. */
static bool module_find(uintptr_t pc, struct cfi_module *module)
{
    struct unwind_modules_search search = {pc, module};
    if (HAVE_FIND_OBJECT && !modules_find_without_loader) {
        if (!module_find_by_loader(pc, module)) {
            return false;
        }
        if (module_holds_its_header(module)) {
            return true;
        }
    }
    return module_find_main(&search) || dl_iterate_phdr(module_look_at, &search) != 0;
}

int module_find_row(uintptr_t ip, bool exact, struct cfi_row *row)
{
    struct cfi_module module;
    uintptr_t pc = exact ? ip : ip - 1;
    return module_find(pc, &module) ? cfi_find_row(&module, pc, row) : registered_find_row(pc, row);
}

int module_find_function(uintptr_t pc, uintptr_t *lo, uintptr_t *hi)
{
    struct cfi_module module;
    return module_find(pc, &module) ? cfi_find_function(&module, pc, lo, hi) : -ENOENT;
}

bool module_find_bounds(uintptr_t pc, uintptr_t *lo, uintptr_t *hi)
{
    struct cfi_module module;
    if (!module_find(pc, &module)) {
        return false;
    }
    *lo = (uintptr_t)module.lo;
    *hi = (uintptr_t)module.hi;
    return true;
}

bool module_is_signal_return(uintptr_t ip)
{
    static const uint8_t code[9] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    return stack_word_readable(ip) && stack_word_readable(ip + 1) &&
           memcmp((const void *)ip, code, sizeof code) == 0;
}

#else

int module_find_function(uintptr_t pc, uintptr_t *lo, uintptr_t *hi)
{
    (void)pc, (void)lo, (void)hi;
    return -ENOENT;
}

bool module_find_bounds(uintptr_t pc, uintptr_t *lo, uintptr_t *hi)
{
    (void)pc, (void)lo, (void)hi;
    return false;
}

#endif
