/* Looks up symbols without dlsym (real.h). It walks the modules that are loaded and searches the
 * hash table of each. It runs inside the profiled program: it uses neither malloc nor stdio. */
#include "interpose/real.h"
#include "interpose/c_library.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct real real;

static bool real_late, real_passed_over;

bool real_is_late(void)
{
    return real_late;
}

bool real_is_passed_over(void)
{
    return real_passed_over;
}

/* The tables of a module's symbols, from its dynamic section. */
struct real_symbol_table {
    uintptr_t bias;
    const ElfW(Sym) *symbols;
    const char *strings;
    const uint16_t *versions; /* NULL: unversioned */
    const uint32_t *gnu_hash;
    const uint32_t *sysv_hash;
};

/* glibc relocates d_ptr in memory; musl does not, nor does the kernel in the vdso. */
static const void *real_dynamic_pointer(uintptr_t bias, ElfW(Addr) value)
{
    return (const void *)(value < bias ? value + bias : value);
}

static bool real_symbol_table_open(struct real_symbol_table *table, const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *entry = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    *table = (struct real_symbol_table){.bias = info->dlpi_addr};
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        const void *pointer = real_dynamic_pointer(table->bias, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB:
            table->symbols = pointer;
            break;
        case DT_STRTAB:
            table->strings = pointer;
            break;
        case DT_VERSYM:
            table->versions = pointer;
            break;
        case DT_GNU_HASH:
            table->gnu_hash = pointer;
            break;
        case DT_HASH:
            table->sysv_hash = pointer;
            break;
        }
    }
    return table->symbols && table->strings && (table->gnu_hash || table->sysv_hash);
}

/* Is it a definition that a new reference to the unversioned name would bind to? */
static bool real_symbol_matches(const struct real_symbol_table *table, uint32_t index,
                                const char *name)
{
    const ElfW(Sym) *symbol = &table->symbols[index];
    unsigned bind = ELF64_ST_BIND(symbol->st_info);
    bool hidden_version = table->versions && table->versions[index] & 0x8000;
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 && !hidden_version &&
           (bind == STB_GLOBAL || bind == STB_WEAK) &&
           strcmp(table->strings + symbol->st_name, name) == 0;
}

static uint32_t real_gnu_hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* [0] buckets, [1] first hashed symbol, [2] bloom words, then bloom, buckets, chains. */
static const ElfW(Sym) *real_find_gnu(const struct real_symbol_table *table, const char *name,
                                      uint32_t hash)
{
    const uint32_t *header = table->gnu_hash;
    const uint32_t *buckets = header + 4 + header[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chains = buckets + header[0];
    if (header[0] == 0)
        return NULL;
    uint32_t index = buckets[hash % header[0]];
    if (index < header[1])
        return NULL;
    for (;; index++) {
        uint32_t chain = chains[index - header[1]];
        if ((chain | 1) == (hash | 1) && real_symbol_matches(table, index, name))
            return &table->symbols[index];
        if (chain & 1)
            return NULL;
    }
}

static const ElfW(Sym) *real_find_sysv(const struct real_symbol_table *table, const char *name)
{
    uint32_t count = table->sysv_hash[1];
    for (uint32_t index = 1; index < count; index++)
        if (real_symbol_matches(table, index, name))
            return &table->symbols[index];
    return NULL;
}

struct real_search {
    const char *name;
    uint32_t hash;
    bool behind_us;       /* our own module has been passed */
    void *found, *before; /* the first behind us, the first ahead of us */
    size_t found_bytes, before_bytes;
};

static bool real_module_is_ours(const struct dl_phdr_info *info)
{
    uintptr_t here = (uintptr_t)&real - info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && here - segment->p_vaddr < segment->p_memsz)
            return true;
    }
    return false;
}

static const ElfW(Sym) *real_find_symbol(const struct real_symbol_table *table, const char *name,
                                         uint32_t hash)
{
    return table->gnu_hash ? real_find_gnu(table, name, hash) : real_find_sysv(table, name);
}

const ElfW(Sym) *real_symbol(const struct dl_phdr_info *module, const char *name)
{
    struct real_symbol_table table;
    if (!real_symbol_table_open(&table, module))
        return NULL;
    return real_find_symbol(&table, name, real_gnu_hash_of(name));
}

bool real_defines(const struct dl_phdr_info *module, const char *name)
{
    return real_symbol(module, name) != NULL;
}

static int real_search_module(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct real_search *search = context;
    struct real_symbol_table table;
    if (real_module_is_ours(info)) {
        search->behind_us = true;
        return 0;
    }
    if (!real_symbol_table_open(&table, info))
        return 0;
    const ElfW(Sym) *symbol = real_find_symbol(&table, search->name, search->hash);
    if (!symbol)
        return 0;
    uintptr_t address = table.bias + symbol->st_value;
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
        address = (uintptr_t)((void *(*)(void))address)();
    if (search->behind_us) {
        search->found = (void *)address;
        search->found_bytes = symbol->st_size;
    } else if (!search->before) {
        search->before = (void *)address;
        search->before_bytes = symbol->st_size;
    }
    return search->found != NULL;
}

static struct real_search real_find_function(const char *name)
{
    struct real_search search = {
        .name = name, .hash = real_gnu_hash_of(name), .behind_us = real_late};
    dl_iterate_phdr(real_search_module, &search);
    return search;
}

void *real_find(const char *name)
{
    struct real_search search = real_find_function(name);
    /* A module ahead of us (the executable) may define it too. The loader then bound all calls to
     * that one, so whoever comes to us wants the next definition behind us. The one ahead is the
     * last resort. */
    return search.found ? search.found : search.before;
}

/* ---- Functions whose beginning was replaced by a jump ---- */

/* A call of such a function by its address would come to our hook, so we call `original`
 * instead. */
static struct {
    const void *function;
    void *original;
} real_moved[512];
static uint32_t real_moved_count;

static void *real_original_of(void *function)
{
    for (uint32_t i = 0; i < real_moved_count; i++)
        if (real_moved[i].function == function)
            return real_moved[i].original;
    return function;
}

bool real_is_moved(const void *function)
{
    const uint8_t *jump = function;
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    uintptr_t original = (uintptr_t)real_original_of((void *)(uintptr_t)function);
    int32_t distance;
    if (original == (uintptr_t)function)
        return false;
    jump += memcmp(jump, endbr64, sizeof endbr64) == 0 ? sizeof endbr64 : 0;
    memcpy(&distance, jump + 1, sizeof distance);
    uintptr_t target = (uintptr_t)jump + 5 + (uintptr_t)(intptr_t)distance;
    return *jump == 0xe9 && original - target < 4096;
}

#define MOVE(name)                                                                                 \
    if (*(void **)&real.name == function)                                                          \
        __atomic_store_n((void **)&real.name, original, __ATOMIC_RELEASE);

void real_move(void *function, void *original)
{
    uint32_t at = 0;
    while (at < real_moved_count && real_moved[at].function != function)
        at++; /* a module may be loaded again at the same address */
    if (at < sizeof real_moved / sizeof *real_moved) {
        real_moved[at].function = function;
        real_moved[at].original = original;
        real_moved_count += at == real_moved_count;
    }
#define ALLOCATION(name, ...)     MOVE(name)
#define ALLOCATION_OUT(name, ...) MOVE(name)
#define RELEASE(name, ...)        MOVE(name)
#define REALLOCATION(name, ...)   MOVE(name)
#include "interpose/functions.def"
}

/* ---- Where the allocator lives ---- */

struct real_range {
    uintptr_t address; /* asked for */
    uintptr_t start, end;
    bool is_program; /* of the executable */
};

static int real_find_range(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct real_range *range = context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && range->address - start < segment->p_memsz) {
            range->start = start;
            range->end = start + segment->p_memsz;
            range->is_program = !info->dlpi_name[0];
            return 1;
        }
    }
    return 0;
}

bool real_code_around(const void *function, uintptr_t *lo, uintptr_t *hi)
{
    struct real_range range = {.address = (uintptr_t)function};
    bool found = dl_iterate_phdr(real_find_range, &range);
    *lo = range.start;
    *hi = range.end;
    return found;
}

/* Code of allocators: our own module, malloc's (and that of a malloc ahead of us), and every
 * operator that is in neither. `end` is written last, and is 0 if the module was unloaded. */
static struct real_range real_allocators[64];
static uint32_t real_allocator_count;

bool real_is_allocator(uintptr_t ip)
{
    uint32_t count = __atomic_load_n(&real_allocator_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++)
        if (ip >= real_allocators[i].start && ip < real_allocators[i].end)
            return true;
    return false;
}

/* The modules of malloc, and of a malloc ahead of us, if they are allocators and nothing else. */
static struct real_range real_allocator_modules[2];
static uint32_t real_allocator_module_count;

static bool real_is_in(const struct real_range *range, uintptr_t address)
{
    return address - range->start < range->end - range->start;
}

bool real_is_allocator_module(uintptr_t ip)
{
    uint32_t count = __atomic_load_n(&real_allocator_module_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++)
        if (real_is_in(&real_allocator_modules[i], ip))
            return true;
    return false;
}

static void real_see_allocator_module(const void *function)
{
    struct real_range range = {.address = (uintptr_t)function};
    uint32_t count = real_allocator_module_count;
    if (!function || count == sizeof real_allocator_modules / sizeof *real_allocator_modules ||
        real_is_allocator_module((uintptr_t)function) ||
        !dl_iterate_phdr(real_find_range, &range) || range.is_program ||
        real_is_in(&range, (uintptr_t)real._exit) || real_is_in(&range, (uintptr_t)real_init))
        return;
    real_allocator_modules[count] = range;
    __atomic_store_n(&real_allocator_module_count, count + 1, __ATOMIC_RELEASE);
}

static void real_add_range(struct real_range range)
{
    uint32_t count = real_allocator_count, at = 0;
    if (real_is_allocator(range.address))
        return;
    while (at < count && real_allocators[at].end)
        at++; /* the place of an unloaded module is used again */
    if (at == sizeof real_allocators / sizeof *real_allocators)
        return;
    real_allocators[at].address =
        range.address; /* if two threads come at once, one range is lost until
                                             * it is added again */
    real_allocators[at].start = range.start;
    __atomic_store_n(&real_allocators[at].end, range.end, __ATOMIC_RELEASE);
    if (at == count)
        __atomic_store_n(&real_allocator_count, count + 1, __ATOMIC_RELEASE);
}

struct real_gone {
    uint32_t count;
    uintptr_t ends[sizeof real_allocators / sizeof *real_allocators];
    bool seen[sizeof real_allocators / sizeof *real_allocators];
};

static int real_see_ranges(struct dl_phdr_info *info, size_t size, void *context)
{
    struct real_gone *gone = context;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        for (uint32_t k = 0; segment->p_type == PT_LOAD && k < gone->count; k++)
            gone->seen[k] |= real_allocators[k].address - start < segment->p_memsz;
    }
    return 0;
}

/* Drops ranges of unloaded modules, because other code may be loaded at their addresses. A range
 * that another thread has put there since we read `end` stays. */
void real_forget_gone(void)
{
    struct real_gone gone = {.count = __atomic_load_n(&real_allocator_count, __ATOMIC_ACQUIRE)};
    for (uint32_t i = 0; i < gone.count; i++)
        gone.ends[i] = __atomic_load_n(&real_allocators[i].end, __ATOMIC_ACQUIRE);
    dl_iterate_phdr(real_see_ranges, &gone);
    for (uint32_t i = 0; i < gone.count; i++)
        if (gone.ends[i] && !gone.seen[i])
            __atomic_compare_exchange_n(&real_allocators[i].end, &gone.ends[i], 0, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void real_add_module(void *function)
{
    struct real_range range = {.address = (uintptr_t)function};
    if (dl_iterate_phdr(real_find_range, &range))
        real_add_range(range);
}

void real_is_allocator_too(void *function)
{
    real_add_module(function);
}

static void real_add_function(void *function, size_t bytes)
{
    uintptr_t address = (uintptr_t)function;
    if (address)
        real_add_range((struct real_range){address, address, address + bytes + 1, false});
}

/* The program may define some of the operators itself (groff: plain new and delete). The other
 * operators, which are the C++ library's and come to us, call the program's, and those call malloc.
 * Without these ranges that allocation would be recorded twice. */
static void real_add_operators_ahead(void)
{
    static const char *const called[] = {
#define NEW(name, ...)    #name,
#define DELETE(name, ...) #name,
#include "interpose/functions.def"
    };
    static bool known;
    if (__atomic_exchange_n(&known, true, __ATOMIC_RELAXED))
        return;
    for (size_t i = 0; i < sizeof called / sizeof *called; i++) {
        struct real_search search = real_find_function(called[i]);
        real_add_function(search.before, search.before_bytes);
    }
}

void *real_find_operator(const char *name)
{
    struct real_search search = real_find_function(name);
    real_add_operators_ahead();
    if (search.found)
        real_add_function(search.found, search.found_bytes);
    else
        real_add_function(search.before, search.before_bytes);
    return real_original_of(search.found ? search.found : search.before);
}

/* The C library is the module of _exit; a malloc in the same segment is its own. Not musl's, whose
 * calloc calls malloc by its name. */
bool real_is_glibc(void)
{
    struct real_range range = {.address = (uintptr_t)real.malloc};
    return c_library_is_glibc() && dl_iterate_phdr(real_find_range, &range) &&
           (uintptr_t)real._exit - range.start < range.end - range.start;
}

/* Not malloc, which real_init() sets last: once it is set, the others are. */
#define FIND(name)                                                                                 \
    if (offsetof(struct real, name) != offsetof(struct real, malloc))                              \
        *(void **)&real.name = real_find(#name);

static void real_find_all(void)
{
#define ALLOCATION(name, ...)     FIND(name)
#define ALLOCATION_OUT(name, ...) FIND(name)
#define RELEASE(name, ...)        FIND(name)
#define REALLOCATION(name, ...)   FIND(name)
#define FUNCTION(name, ...)       FIND(name)
#define CALLED(name, ...)         FIND(name)
#include "interpose/functions.def"
}

bool real_init(void)
{
    if (real.malloc)
        return true;
    c_library_init();
    /* A preloaded library is before the C library in the loader's order; one that is loaded later
     * is behind it. */
    struct real_search libc = real_find_function("_exit");
    real_late = libc.before && !libc.found;
    real_find_all();
    struct real_search allocator = real_find_function("malloc");
    void *found = allocator.found ? allocator.found : allocator.before;
    if (!REAL_MALLOC_IS_OURS) { /* else malloc is our own */
        real_add_module(found);
        real_see_allocator_module(found);
        real_see_allocator_module(allocator.before);
    }
    /* A malloc ahead of us (another profiler's, or the program's own) may call ours. If operator
     * new calls it, the call that comes to us from there belongs to the operator. */
    real_passed_over = !real_late && allocator.before;
    if (!REAL_MALLOC_IS_OURS && allocator.before)
        real_add_module(allocator.before);
    /* operator new[] may end in a jump to operator new; then the caller's address is in our own
     * hook. */
    real_add_module((void *)real_init);
    __atomic_store_n((void **)&real.malloc, found, __ATOMIC_RELEASE);
    return found && real.free && real.realloc && real.calloc;
}

void real_need(void)
{
    if (!real_init())
        abort();
}
