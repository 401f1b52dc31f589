/* Finds out whether another malloc is between the program and the counters: that of a library that
 * the linker put ahead of ours, or of the program itself. If it calls ours, its calls are counted.
 * If not, its name is noted, because the figures are not the program's. Runs inside other programs:
 * no malloc, no stdio. */
#include "counters/counters.h"
#include "interpose/real.h"

#include <errno.h>
#include <link.h>
#include <string.h>

extern const char hook_malloc[]
    __attribute__((visibility("hidden"))); /* ours, under a name of its own */

/* Stops at the first module that defines malloc, because the loader binds all modules to that
 * one. */
static int in_front_visit(struct dl_phdr_info *module, size_t size, void *context)
{
    const ElfW(Sym) *symbol = real_symbol(module, "malloc");
    const char *path = module->dlpi_name, *slash = strrchr(path, '/');
    (void)size, (void)context;
    if (!symbol)
        return 0;
    if (module->dlpi_addr + symbol->st_value == (uintptr_t)hook_malloc)
        return 1;
    const char *name = *path ? slash ? slash + 1 : path : program_invocation_short_name;
    memcpy(count_state.in_front, name, strnlen(name, sizeof count_state.in_front - 1));
    return 1;
}

void count_see_in_front(void)
{
    if (!real.malloc)
        count_find_real();
    if (real_is_passed_over())
        dl_iterate_phdr(in_front_visit, NULL);
}
