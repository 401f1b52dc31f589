/* Replaces the beginning of functions that end a runtime by a jump to a hook, which asks the
 * collector for a look and waits for it (runtime_end.h). Runs inside the profiled program: no
 * malloc, no stdio. */
#include "recorder/runtime_end.h"

#include <string.h>
#include "entry/entry_jump.h"
#include "interpose/real.h"
#include "recorder/session.h"
#include "recorder/shared.h"
#include "runtimes/python.h"
#include "unwind/permitted_calls.h"

typedef uintptr_t runtime_end_function(uintptr_t a1, uintptr_t a2, uintptr_t a3, uintptr_t a4,
                                       uintptr_t a5);

static struct runtime_end {
    const char *function; /* its symbol */
    enum wire_request request;
    bool of_python;
    const char *program;        /* hooked only in programs whose name begins so; NULL: in all */
    const char *main_variable;  /* points to the one whose end counts; NULL: each one's does */
    uintptr_t *main_there;      /* that variable; NULL: not found */
    unsigned command;           /* the first argument that ends the runtime; 0: every call does */
    const void *function_there; /* the address that has our jump; NULL: none */
    void *memory;               /* of the trampoline; used again if its module was unloaded */
    size_t bytes;
    runtime_end_function *original;
} ends[] = {
    {.function = "Py_FinalizeEx", .request = WIRE_REQUEST_LOOK, .of_python = true},
    /* Ruby unmaps the pages of its objects, and leaves what they had allocated. */
    {.function = "ruby_vm_destruct", .request = WIRE_REQUEST_LOOK_LOST},
    /* Perl frees the structure that points to all that it has, and leaves that. Who has a Perl
     * inside may end and begin many. A thread of Perl's is an interpreter with its own end, which
     * lets go of nothing of the others. */
    {.function = "perl_free",
     .request = WIRE_REQUEST_LOOK_LOST,
     .program = "/perl",
     .main_variable = "PL_curinterp"},
    /* libgcrypt, GCRYCTL_TERM_SECMEM: it unmaps its secure memory, as GnuPG wants it at its
     * ends. */
    {.function = "gcry_control", .request = WIRE_REQUEST_LOOK_LOST, .command = 25},
};

/* If a program has a copy of the variable, its library's is never set. */
static bool runtime_end_is_main(const struct runtime_end *end, uintptr_t argument)
{
    uintptr_t of_main = end->main_there ? *end->main_there : 0;
    return !of_main || of_main == argument;
}

static __attribute__((noinline)) uintptr_t runtime_end_hook(uintptr_t a1, uintptr_t a2,
                                                            uintptr_t a3, uintptr_t a4,
                                                            uintptr_t a5,
                                                            const struct runtime_end *end)
{
    enum { LOOK_MS = 10000 };
    struct session_answer nothing;
    bool ends_now = (!end->command || (unsigned)a1 == end->command) && runtime_end_is_main(end, a1);
    if (ends_now && shared_header()->flags & WIRE_FLAG_EXIT_LOOKED)
        session_ask(end->request, 0, LOOK_MS, &nothing);
    return end->original(a1, a2, a3, a4, a5);
}

static bool runtime_end_is_of_program(const struct runtime_end *end)
{
    char path[512];
    const char *name = end->program ? session_program_name(path, sizeof path) : NULL;
    return !end->program || (name && strncmp(name, end->program, strlen(end->program)) == 0);
}

static void runtime_end_watch(const struct dl_phdr_info *info, struct runtime_end *end)
{
    const ElfW(Sym) *symbol = real_symbol(info, end->function);
    bool had_memory = end->memory != NULL;
    if (!symbol || !runtime_end_is_of_program(end) || permitted_calls_is_forbidden(CALL_CODE))
        return;
    struct entry_point point = {.function = (void *)(info->dlpi_addr + symbol->st_value),
                                .bytes = symbol->st_size,
                                .hook = (const void *)runtime_end_hook,
                                .context = end};
    if (entry_prepare(&point, 1, &end->memory, &end->bytes) != ENTRY_OK)
        return;
    symbol = end->main_variable ? real_symbol(info, end->main_variable) : NULL;
    end->main_there = symbol ? (uintptr_t *)(info->dlpi_addr + symbol->st_value) : NULL;
    /* A free-threaded Python leaves constants and types, which nothing points to any more. */
    if (end->of_python)
        end->request = python_is_free_threaded(info) ? WIRE_REQUEST_LOOK_LOST : WIRE_REQUEST_LOOK;
    *(void **)&end->original = point.original;
    if (entry_set(&point, 1) == ENTRY_OK) {
        end->function_there = point.function;
    } else if (!had_memory) {
        entry_discard(end->memory, end->bytes);
        end->memory = NULL;
    }
}

static int runtime_end_look_for(struct dl_phdr_info *info, size_t size, void *context)
{
    const struct runtime_end *end = context;
    const ElfW(Sym) *symbol = real_symbol(info, end->function);
    (void)size;
    return symbol && (const void *)(info->dlpi_addr + symbol->st_value) == end->function_there;
}

/* Is the function hooked in a module that is still loaded? A module that was loaded in its place
 * has no jump. */
static bool runtime_end_is_watched(struct runtime_end *end)
{
    return end->function_there && dl_iterate_phdr(runtime_end_look_for, end) &&
           entry_is_set(end->function_there, (const void *)end->original);
}

void runtime_end_see_module(const struct dl_phdr_info *info, bool is_python)
{
    if (real_is_late())
        return;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if ((is_python || !ends[i].of_python) && !runtime_end_is_watched(&ends[i]))
            runtime_end_watch(info, &ends[i]);
}
