/* Writes the words of modules (patch.h).
 *
 *   module ─ PT_DYNAMIC ─┬─ DT_RELA, DT_JMPREL ─▶ relocation ─▶ word ──▶ real function
 *                        └─ DT_SYMTAB, DT_STRTAB ─▶ its name         ╰─▶ or hook
 *
 * No list of written words is kept. Patching writes each word that holds a real function, and
 * undoing writes each word that holds a hook. So a module can be unloaded, and the program can
 * change a word, at any time. */
#include "recorder/patch.h"

#include <elf.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "api/provider.h"
#include "patched_functions.h" /* FUNCTIONS(X): made of functions.def, in the order of strcmp() */
#include "recorder/families.h"
#include "recorder/hooks.h"
#include "recorder/imports.h"
#include "recorder/session.h"
#include "recorder/shared.h"
#include "unwind/caller_memory.h"

#if defined(__x86_64__)
enum {
    RELOCATION_WORD = R_X86_64_64,
    RELOCATION_GOT = R_X86_64_GLOB_DAT,
    RELOCATION_CALL = R_X86_64_JUMP_SLOT
};
#elif defined(__aarch64__)
enum {
    RELOCATION_WORD = R_AARCH64_ABS64,
    RELOCATION_GOT = R_AARCH64_GLOB_DAT,
    RELOCATION_CALL = R_AARCH64_JUMP_SLOT
};
#endif

/* ---- What is replaced by what ---- */

static void *patch_hook_dlopen(const char *file, int mode);

/* The hooks by their exported names. They are declared as arrays, because only their addresses are
 * used. */

#define X(name) extern char stand_in_##name[] __asm__(#name);
FUNCTIONS(X)
#undef X

enum patch_function {
#define X(name) FUNCTION_##name,
    FUNCTIONS(X)
#undef X
        FUNCTION_COUNT
};

static const struct {
    const char *name;
    const void *hook;
} functions[] = {
#define X(function) {#function, stand_in_##function},
    FUNCTIONS(X)
#undef X
};

static const void *patch_hook_of(unsigned function)
{
    return function == FUNCTION_dlopen ? (const void *)patch_hook_dlopen : functions[function].hook;
}

static int patch_find_function(const char *name)
{
    unsigned low = 0, high = FUNCTION_COUNT;
    if (name[0] == '_' && name[1] == 'Z' && name[2] != 'n' && name[2] != 'd')
        return -1; /* as most names of a C++ library */
    while (low < high) {
        unsigned middle = (low + high) / 2;
        int order = strcmp(name, functions[middle].name);
        if (order == 0)
            return (int)middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

/* ---- The protocol ----
 *
 * A *pass* goes over the loaded modules and writes words. A whole pass runs inside one callback of
 * dl_iterate_phdr(), that is, under the loader's lock on its list of modules. The lock is
 * recursive, so a pass can ask for the list again, and meanwhile no module comes and none goes. All
 * that a pass knows (the real functions, whether unbound words are certain) is in its own `struct
 * pass`.
 *
 *   variable     written by                               read by
 *   on           patch_on(), patch_off(), under the       a pass, under the lock. Hooks, without:
 *                lock                                     a hint, and then a pass decides
 *   patch_adds_seen    each pass at its end, under the lock     patch_new(), without the lock: a hint
 *   due          any thread; the thread that answers      thread_make_room(): a hint
 *                exchanges it
 *   patch_deep_from    patch_expect_deep() lowers it            patch_see_deep(), by that exchange
 *                (release). patch_see_deep() exchanges
 *                it for NONE (acquire), and puts it
 *                back if it is not done, unless a lower
 *                value is there. patch_before_close()
 *                sets NONE
 *   patch_deep_adds    patch_expect_deep(), while patch_deep_from     patch_see_deep(): nothing has been loaded
 *                is NONE and before it sets patch_deep_from.    if it is the loader's count
 *                patch_see_deep() sets 0
 *   patch_deep_tries   patch_expect_deep() sets it,             patch_see_deep()
 *                patch_see_deep() counts it down to 0
 *
 * Invariant of a recorder that was loaded late: a pass that writes hooks runs only while `on`, and
 * patch_off() clears `on` and takes the hooks back under the same lock. So a pass that was asked
 * for before patch_off() cannot write hooks after it.
 *
 * `deep_*` are used only by a recorder that was preloaded. Such a recorder never takes hooks back.
 * So a stale value costs one pass too many or one event's delay, and never writes a wrong word. */
enum { NONE = -1u, DEEP_TRIES = 200 };

static bool patch_is_on;
static bool patch_due;
static unsigned long long
    patch_adds_seen; /* the loader's count of loads at the last complete pass */
/* After a dlopen whose modules are not bound to our hooks, and could not be patched at once: */
static unsigned patch_deep_from = NONE; /* the number of modules before it; NONE: there was no such
                                   * dlopen */
static unsigned patch_deep_tries;       /* at so many events more it is tested at once */
static unsigned long long patch_deep_adds;

enum pass_kind {
    PASS_ON,      /* hooks, from now on */
    PASS_NEW,     /* hooks, if they are still wanted */
    PASS_OFF,     /* the real functions, from now on */
    PASS_IMPORTS, /* stand-ins of imports.h, and nothing else */
};

struct patch_pass {
    enum pass_kind kind;
    unsigned skipped; /* the number of first modules that stay as they are */
    unsigned left_out;
    unsigned constructed; /* modules bound past us that have constructors of their own */
    unsigned long long adds;
    bool has_imports;
    /* May a word that is not bound yet get a hook? Only if it is certain that it would be bound to
     * the same function as all others. */
    bool lazy_is_certain;
    void *real_functions[FUNCTION_COUNT]; /* NULL: no module has it (yet) */
};

static void patch_find_real(struct patch_pass *pass)
{
    for (unsigned i = 0; i < FUNCTION_COUNT; i++)
        pass->real_functions[i] = real_find(functions[i].name);
}

/* ---- A module ---- */

struct patch_module {
    uintptr_t bias;
    const ElfW(Phdr) *segments;
    unsigned segment_count;
    const ElfW(Sym) *symbols;
    const char *strings;
    const ElfW(Rela) *tables[2];
    size_t counts[2];
    uintptr_t relro, relro_end; /* whole pages that the loader made read-only; equal: none */
    size_t constructors;        /* the compiler's own included */
    bool opened;                /* we made the relro pages writable */
    bool changed;               /* a word was changed */
};

static const void *patch_pointer(uintptr_t bias, ElfW(Addr) value)
{
    return (const void *)(value < bias ? value + bias : value);
}

static void patch_read_entry(struct patch_module *module, const ElfW(Dyn) *entry)
{
    const void *target = patch_pointer(module->bias, entry->d_un.d_ptr);
    switch (entry->d_tag) {
    case DT_SYMTAB:
        module->symbols = target;
        break;
    case DT_STRTAB:
        module->strings = target;
        break;
    case DT_RELA:
        module->tables[0] = target;
        break;
    case DT_RELASZ:
        module->counts[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
        break;
    case DT_JMPREL:
        module->tables[1] = target;
        break;
    case DT_INIT_ARRAYSZ:
        module->constructors = entry->d_un.d_val / sizeof(ElfW(Addr));
        break;
    case DT_PLTRELSZ:
        module->counts[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
        break;
    }
}

static bool patch_module_open(struct patch_module *module, const struct dl_phdr_info *info)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const ElfW(Dyn) *entry = NULL;
    *module = (struct patch_module){
        .bias = info->dlpi_addr, .segments = info->dlpi_phdr, .segment_count = info->dlpi_phnum};
    for (unsigned i = 0; i < module->segment_count; i++) {
        const ElfW(Phdr) *segment = &module->segments[i];
        uintptr_t start = module->bias + segment->p_vaddr;
        if (segment->p_type == PT_DYNAMIC)
            entry = (const void *)start;
        if (segment->p_type == PT_GNU_RELRO) { /* rounded as the loader does */
            module->relro = start & -page;
            module->relro_end = (start + segment->p_memsz) & -page;
        }
    }
    for (; entry && entry->d_tag != DT_NULL; entry++)
        patch_read_entry(module, entry);
    for (unsigned i = 0; i < 2; i++)
        module->counts[i] = module->tables[i] ? module->counts[i] : 0;
    return module->symbols && module->strings;
}

/* In a loaded segment of the given permissions. */
static bool patch_is_within(const struct patch_module *module, uintptr_t address,
                            ElfW(Word) permission)
{
    for (unsigned i = 0; i < module->segment_count; i++) {
        const ElfW(Phdr) *segment = &module->segments[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & permission &&
            address - module->bias - segment->p_vaddr < segment->p_memsz)
            return true;
    }
    return false;
}

/* Makes the kernel add 0 to the word. It fails with EFAULT if the word is not writable, and no word
 * changes. */
static bool patch_is_writable(uintptr_t address)
{
    uint32_t nobody = 0;
    long operation = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0);
    int saved_errno = errno;
    long status =
        syscall(SYS_futex, &nobody, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, address, operation);
    errno = saved_errno;
    return status >= 0;
}

/* The loader makes the pages read-only after it has relocated the module. Before that, only the
 * loader may write the words, and our read-only pages would make it crash. */
static bool patch_is_being_loaded(const struct patch_module *module)
{
    return module->relro < module->relro_end && patch_is_writable(module->relro);
}

bool patch_is_relocated(const struct dl_phdr_info *info)
{
    struct patch_module module;
    return patch_module_open(&module, info) && module.relro < module.relro_end &&
           !patch_is_writable(module.relro);
}

static bool patch_protect(const struct patch_module *module, int protection)
{
    return syscall(SYS_mprotect, module->relro, module->relro_end - module->relro, protection) == 0;
}

static bool patch_open_for(struct patch_module *module, uintptr_t word)
{
    if (word - module->relro >= module->relro_end - module->relro)
        return patch_is_within(module, word, PF_W);
    if (!module->opened)
        module->opened = patch_protect(module, PROT_READ | PROT_WRITE);
    return module->opened;
}

/* ---- A word ---- */

static bool patch_is_unbound(const struct patch_module *module, const ElfW(Rela) *relocation,
                             uintptr_t value)
{
    const ElfW(Sym) *symbol = &module->symbols[ELF64_R_SYM(relocation->r_info)];
    return ELF64_R_TYPE(relocation->r_info) == RELOCATION_CALL && symbol->st_shndx == SHN_UNDEF &&
           patch_is_within(module, value, PF_X);
}

/* libtidemark-api's word for our table is 0 if there was no recorder. It is never set back, because
 * a call may be between its test of the word and its use. The table's functions do nothing while
 * nothing is recorded. */
static bool patch_is_to_change(const struct patch_pass *pass, const struct patch_module *module,
                               const ElfW(Rela) *relocation, unsigned function, uintptr_t value)
{
    uintptr_t real_one = (uintptr_t)pass->real_functions[function];
    bool to_hook = pass->kind != PASS_OFF;
    if (function == FUNCTION_tidemark_recorder_1)
        return to_hook && value == 0;
    if (!real_one)
        return false;
    if (!to_hook)
        return value == (uintptr_t)patch_hook_of(function);
    return value == real_one ||
           (pass->lazy_is_certain && patch_is_unbound(module, relocation, value));
}

/* By compare-and-swap, because the loader may be binding the word at this moment. */
static bool patch_write(struct patch_module *module, uintptr_t *word, uintptr_t value,
                        uintptr_t wanted)
{
    return patch_open_for(module, (uintptr_t)word) &&
           __atomic_compare_exchange_n(word, &value, wanted, false, __ATOMIC_RELEASE,
                                       __ATOMIC_RELAXED);
}

static void patch_change(const struct patch_pass *pass, struct patch_module *module,
                         const ElfW(Rela) *relocation, unsigned function)
{
    uintptr_t *word = (uintptr_t *)(module->bias + relocation->r_offset);
    uintptr_t value = __atomic_load_n(word, __ATOMIC_RELAXED);
    if (pass->kind == PASS_IMPORTS ||
        !patch_is_to_change(pass, module, relocation, function, value))
        return;
    module->changed |=
        patch_write(module, word, value,
                    pass->kind != PASS_OFF ? (uintptr_t)patch_hook_of(function)
                                           : (uintptr_t)pass->real_functions[function]);
}

static void patch_change_import(const struct patch_pass *pass, struct patch_module *module,
                                const ElfW(Rela) *relocation, const char *name)
{
    uintptr_t *word = (uintptr_t *)(module->bias + relocation->r_offset);
    uintptr_t value = __atomic_load_n(word, __ATOMIC_RELAXED);
    uintptr_t wanted = imports_wanted(name, value, patch_is_unbound(module, relocation, value),
                                      pass->kind != PASS_OFF);
    if (wanted != value)
        patch_write(module, word, value, wanted);
}

static bool patch_is_of_interest(unsigned type)
{
    return type == RELOCATION_CALL || type == RELOCATION_GOT || type == RELOCATION_WORD;
}

static void patch_change_table(const struct patch_pass *pass, struct patch_module *module,
                               const ElfW(Rela) *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const ElfW(Rela) *relocation = &table[i];
        unsigned index = ELF64_R_SYM(relocation->r_info);
        if (!patch_is_of_interest(ELF64_R_TYPE(relocation->r_info)) || !index ||
            relocation->r_addend)
            continue;
        const char *name = module->strings + module->symbols[index].st_name;
        int function = patch_find_function(name);
        if (function >= 0)
            patch_change(pass, module, relocation, (unsigned)function);
        else if (pass->has_imports)
            patch_change_import(pass, module, relocation, name);
    }
}

/* ---- All of them ---- */

static bool patch_is_ours(const struct patch_module *module)
{
    return patch_is_within(module, (uintptr_t)&patch_change_table, PF_X);
}

static int patch_change_module(struct dl_phdr_info *info, size_t size, void *context)
{
    struct patch_pass *pass = context;
    struct patch_module module;
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs))
        pass->adds = info->dlpi_adds;
    if (pass->skipped) {
        pass->skipped--;
        return 0;
    }
    if (!patch_module_open(&module, info) || patch_is_ours(&module))
        return 0;
    if (patch_is_being_loaded(&module)) {
        pass->left_out++;
        return 0;
    }
    for (unsigned i = 0; i < 2; i++)
        patch_change_table(pass, &module, module.tables[i], module.counts[i]);
    if (module.opened)
        patch_protect(&module, PROT_READ);
    pass->constructed += module.changed && module.constructors > 1; /* one is the compiler's */
    return 0;
}

/* Counts the modules that define malloc beside the C library and us. */
static int patch_count_mallocs(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct patch_module module;
    void *libc = (void *)real._exit;
    if (patch_module_open(&module, info) && !patch_is_ours(&module) &&
        !patch_is_within(&module, (uintptr_t)libc, PF_X) && real_defines(info, "malloc"))
        ++*(unsigned *)context;
    return 0;
}

/* A preloaded recorder patches single modules only (RTLD_DEEPBIND), and never calls patch_off(). */
static bool patch_is_wanted(const struct patch_pass *pass)
{
    return pass->kind != PASS_NEW || !real_is_late() ||
           __atomic_load_n(&patch_is_on, __ATOMIC_RELAXED);
}

static int patch_run_imports(struct patch_pass *pass)
{
    dl_iterate_phdr(patch_change_module, pass);
    return 1;
}

/* The whole pass, called for the first module that is listed. */
static int patch_run(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info;
    (void)size;
    struct patch_pass *pass = context;
    unsigned foreign_mallocs = 0;
    pass->has_imports = imports_are_there();
    if (pass->kind == PASS_IMPORTS)
        return patch_run_imports(pass);
    bool was_on = __atomic_load_n(&patch_is_on, __ATOMIC_RELAXED);
    if (!patch_is_wanted(pass))
        return 1;
    if (pass->kind != PASS_NEW)
        __atomic_store_n(&patch_is_on, pass->kind == PASS_ON, __ATOMIC_RELEASE);
    patch_find_real(pass);
    dl_iterate_phdr(patch_count_mallocs, &foreign_mallocs);
    pass->lazy_is_certain = foreign_mallocs == 0 || (foreign_mallocs == 1 && !real_is_glibc());
    dl_iterate_phdr(patch_change_module, pass);
    if (pass->kind == PASS_NEW && pass->constructed && !was_on && shared_header())
        atomic_fetch_add(&shared_header()->unseen_constructors, pass->constructed);
    __atomic_store_n(&patch_adds_seen, pass->left_out ? 0 : pass->adds, __ATOMIC_RELAXED);
    return 1;
}

static unsigned patch_pass(enum pass_kind kind, unsigned skipped)
{
    struct patch_pass pass = {.kind = kind, .skipped = skipped};
    dl_iterate_phdr(patch_run, &pass);
    return pass.left_out;
}

unsigned patch_on(void)
{
    int saved_errno = errno;
    unsigned left_out = patch_pass(PASS_ON, 0);
    errno = saved_errno;
    return left_out;
}

void patch_off(void)
{
    int saved_errno = errno;
    patch_pass(PASS_OFF, 0);
    errno = saved_errno;
}

static int patch_read_adds(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(unsigned long long *)context = info->dlpi_adds;
    return 1;
}

static void patch_soon(void);

/* Modules that another thread is loading are patched at a later event. */
static bool patch_imports_left;

void patch_imports(void)
{
    int saved_errno = errno;
    bool is_left = imports_are_there() && patch_pass(PASS_IMPORTS, 0) > 0;
    __atomic_store_n(&patch_imports_left, is_left, __ATOMIC_RELAXED);
    if (is_left)
        patch_soon();
    errno = saved_errno;
}

/* ---- Modules bound past us by a dlopen that we jumped to ---- */

static int patch_count_module(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info;
    (void)size;
    ++*(unsigned *)context;
    return 0;
}

static unsigned patch_count_modules(void)
{
    unsigned count = 0;
    dl_iterate_phdr(patch_count_module, &count);
    return count;
}

/* Of two numbers the lower one is kept, so that the earliest module is included. */
static void patch_set_deep(unsigned from)
{
    unsigned found = __atomic_load_n(&patch_deep_from, __ATOMIC_RELAXED);
    while (from < found && !__atomic_compare_exchange_n(&patch_deep_from, &found, from, true,
                                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
}

static __attribute__((noinline)) void patch_expect_deep(void)
{
    if (__atomic_load_n(&patch_deep_from, __ATOMIC_ACQUIRE) == NONE) {
        unsigned long long adds = 0;
        dl_iterate_phdr(patch_read_adds, &adds);
        __atomic_store_n(&patch_deep_adds, adds, __ATOMIC_RELAXED);
    }
    patch_set_deep(patch_count_modules());
    __atomic_store_n(&patch_deep_tries, DEEP_TRIES, __ATOMIC_RELAXED);
    patch_soon();
}

/* Before a jump to dlopen: the modules that it loads are looked for at later events. */
static __attribute__((noinline)) void patch_expect(int mode)
{
    if (mode & RTLD_DEEPBIND)
        patch_expect_deep();
    else
        patch_soon();
}

/* Counts one try down, atomically. False: none is left. */
static bool patch_take_deep_try(void)
{
    unsigned tries = __atomic_load_n(&patch_deep_tries, __ATOMIC_RELAXED);
    while (tries && !__atomic_compare_exchange_n(&patch_deep_tries, &tries, tries - 1, true,
                                                 __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return tries > 0;
}

/* Called at events, first at those of the loader itself. The load is not over as long as no module
 * has come, or one is still being loaded. A load that has failed is never over, so after DEEP_TRIES
 * events it is tested more seldom. */
static bool patch_see_deep(void)
{
    unsigned long long adds = 0;
    if (__atomic_load_n(&patch_deep_from, __ATOMIC_RELAXED) == NONE)
        return false;
    unsigned from = __atomic_exchange_n(&patch_deep_from, NONE, __ATOMIC_ACQUIRE);
    if (from == NONE) /* another thread is at it */
        return false;
    dl_iterate_phdr(patch_read_adds, &adds);
    if (adds != __atomic_load_n(&patch_deep_adds, __ATOMIC_RELAXED)) {
        if (patch_pass(PASS_NEW, from) == 0)
            return false;
        __atomic_store_n(&patch_deep_adds, 0, __ATOMIC_RELAXED);
    }
    patch_set_deep(from);
    __atomic_store_n(&patch_due, true, __ATOMIC_RELAXED);
    return patch_take_deep_try();
}

bool patch_new(void)
{
    unsigned long long adds = 0;
    families_new();
    if (__atomic_load_n(&patch_imports_left, __ATOMIC_RELAXED))
        patch_imports();
    if (!__atomic_load_n(&patch_is_on, __ATOMIC_ACQUIRE))
        return patch_see_deep();
    dl_iterate_phdr(patch_read_adds, &adds);
    if (adds != __atomic_load_n(&patch_adds_seen, __ATOMIC_RELAXED)) {
        int saved_errno = errno;
        patch_pass(PASS_NEW, 0);
        errno = saved_errno;
    }
    return false;
}

void patch_before_close(void)
{
    int saved_errno = errno;
    if (__atomic_load_n(&patch_is_on, __ATOMIC_ACQUIRE))
        return;
    patch_new();
    errno = saved_errno;
    __atomic_store_n(&patch_deep_from, NONE,
                     __ATOMIC_RELEASE); /* indexes in the loader's list change */
}

bool patch_is_due(void)
{
    return unlikely(__atomic_load_n(&patch_due, __ATOMIC_RELAXED)) &&
           __atomic_exchange_n(&patch_due, false, __ATOMIC_RELAXED);
}

/* ---- Modules that come later ---- */

struct patch_caller {
    uintptr_t ip;
    bool matters;
};

/* dlopen searches a name without a slash in its caller's RUNPATH, and in the RPATHs of the modules
 * that loaded the caller. Our library has neither. */
static int patch_has_search_path(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct patch_caller *caller = context;
    struct patch_module module;
    if (!patch_module_open(&module, info))
        return 0;
    bool is_caller = patch_is_within(&module, caller->ip, PF_X);
    for (unsigned i = 0; i < module.segment_count; i++) {
        if (module.segments[i].p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *entry = (const void *)(module.bias + module.segments[i].p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++)
            caller->matters |=
                entry->d_tag == DT_RPATH || (is_caller && entry->d_tag == DT_RUNPATH);
    }
    return caller->matters;
}

static __attribute__((noinline)) bool patch_caller_matters(const char *file, uintptr_t ip)
{
    struct patch_caller caller = {.ip = ip};
    if (!file || !caller_memory_has_text(file) || (strchr(file, '/') && !strchr(file, '$')))
        return false;
    dl_iterate_phdr(patch_has_search_path, &caller);
    return caller.matters;
}

/* New modules are patched at this thread's next event. */
static void patch_soon(void)
{
    struct thread *thread = thread_current;
    __atomic_store_n(&patch_due, true, __ATOMIC_RELAXED);
    if (thread)
        thread->limit = 0;
}

/* Where the caller's search path matters, dlopen is called by a jump, so that it finds its caller
 * and not us. */
static __attribute__((noinline)) void *patch_hook_dlopen(const char *file, int mode)
{
    if (!__atomic_load_n(&patch_is_on, __ATOMIC_ACQUIRE))
        return real.dlopen(file, mode);
    if (patch_caller_matters(file, (uintptr_t)__builtin_return_address(0))) {
        patch_soon();
        return real.dlopen(file, mode);
    }
    void *handle = real.dlopen(file, mode);
    int saved_errno = errno;
    patch_new();
    families_new();
    errno = saved_errno;
    return handle;
}

/* New modules are last in the list. Earlier modules keep what the loader bound them to. */
static __attribute__((noinline)) void *patch_load_and_patch(const char *file, int mode)
{
    unsigned before = patch_count_modules();
    struct families_load load = families_load_begins();
    void *handle = real.dlopen(file, mode);
    int saved_errno = errno;
    if (handle && mode & RTLD_DEEPBIND)
        patch_pass(PASS_NEW, before);
    families_load_ends(load);
    errno = saved_errno;
    return handle;
}

/* No local variable may have its address taken, because then the compiler would not make the call a
 * jump. */
__attribute__((noinline)) void *patch_dlopen(const char *file, int mode)
{
    if (!session_is_on() || __atomic_load_n(&patch_is_on, __ATOMIC_ACQUIRE))
        return REAL(dlopen)(file, mode);
    if (patch_caller_matters(file, (uintptr_t)__builtin_return_address(0))) {
        patch_expect(mode);
        return real.dlopen(file, mode);
    }
    return patch_load_and_patch(file, mode);
}
