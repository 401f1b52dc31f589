/* Looks for allocators in a module's symbol tables, and hooks their functions (families.h). The
 * table of exports is searched by its hash. The full table (.symtab) is read from the module's
 * file. The names of all markers end with "alloc", so one search in the file's names finds them. */
#include "recorder/families.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/large_static.h"
#include "entry/entry_jump.h"
#include "interpose/real.h"
#include "model/device_space.h"
#include "recorder/hooks.h"
#include "recorder/hooks_python.h"
#include "recorder/imports.h"
#include "recorder/patch.h"
#include "recorder/runtime_end.h"
#include "recorder/script_paths.h"
#include "recorder/session.h"
#include "recorder/shared.h"
#include "recorder/unseen.h"
#include "runtimes/python.h"
#include "unwind/signal_lock.h"

/* ---- The list ---- */

enum family {
#define FAMILY(id, what) FAMILY_##id,
#include "interpose/families.def"
    FAMILY_COUNT
};

static const uint8_t family_what[] = {
#define FAMILY(id, what) WIRE_UNSEEN_##what,
#include "interpose/families.def"
};

struct family_name {
    uint8_t family;
    const char *name;
};

static const struct family_name device_markers[] = {
#define DEVICE_MARKER(family, name) {FAMILY_##family, #name},
#include "interpose/families.def"
};

static const struct family_name markers[] = {
#define MARKER(family, name) {FAMILY_##family, #name},
#include "interpose/families.def"
};

#define NO       -1
#define AT(n)    n
#define FLAGS(n) ((n) + FAMILY_FLAGS)
static const struct family_row rows[] = {
#define ENTRY(family, name, does, kind, block, count, size, align)                                 \
    {#name, FAMILY_##family, FAMILY_##does, WIRE_##kind, block, count, size, align, NO, NO, false},
#include "interpose/families.def"
};
static const struct family_row device_rows[] = {
#define DEVICE(family, name, does, space, block, count, size)                                      \
    {#name, FAMILY_##family, FAMILY_##does, DEVICE_SPACE_##space, block, count, size, NO, NO, NO,  \
     false},
#include "interpose/families.def"
};
#undef NO
#undef AT
#undef FLAGS

enum { ROWS = sizeof rows / sizeof *rows, MARKERS = sizeof markers / sizeof *markers };
enum {
    DEVICE_ROWS = sizeof device_rows / sizeof *device_rows,
    DEVICE_MARKERS = sizeof device_markers / sizeof *device_markers
};
/* jemalloc without a prefix: the only marker that does not end with "alloc". */
static const char allocx[] = "mallocx";

/* ---- Threads ---- */

/* How many the process has; 0: not known. musl has no variable for that, so the kernel is asked:
 * the directory of threads has two links and one for each thread. */
static unsigned families_threads(void)
{
    struct stat facts;
    if (c_library_is_single_threaded())
        return 1;
    if (permitted_calls_is_forbidden(CALL_LIMITS) ||
        syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &facts, 0) != 0)
        return 0;
    return facts.st_nlink > 2 ? (unsigned)facts.st_nlink - 2 : 0;
}

/* ---- A module under examination ---- */

/* A part of a file, mapped. */
struct families_part {
    const char *bytes;
    size_t length;
    void *mapped;
    size_t mapped_length;
};

struct found {
    const struct family_row *row;
    uintptr_t address;
    size_t bytes;
};

enum { FOUND_MOST = 192 };

/* In borrowed memory, because it is too large for a thread's stack. */
struct examination {
    const struct dl_phdr_info *info;
    bool is_program;
    struct families_part symbols, strings; /* of .symtab; empty: the file has none */
    uint32_t families;                     /* set of enum family */
    bool is_hidden_jemalloc;               /* all its functions are in .symtab alone, malloc too */
    bool is_of_pools;                      /* the functions are those that the user has named */
    bool is_of_device;                     /* they are those of a device's driver */
    bool is_fresh; /* no other thread can be in the module, because it was just loaded */
    const struct family_row *chosen; /* of these, one that is chosen by the processor (IFUNC); NULL:
                                      * there is none */
    bool is_chosen_imported;
    const char *folded; /* a function of a driver that is another one too; NULL: there is none */
    uint32_t count;
    bool overflowed;
    struct found found[FOUND_MOST];
    struct entry_point points[FOUND_MOST];
};

static void families_unmap(struct families_part *part)
{
    if (part->mapped)
        syscall(SYS_munmap, part->mapped, part->mapped_length);
    *part = (struct families_part){0};
}

static struct families_part families_map(int fd, uint64_t offset, uint64_t length)
{
    uint64_t from = offset & -(uint64_t)4096;
    struct families_part part = {.length = length, .mapped_length = offset - from + length};
    if (!length || offset + length < offset)
        return (struct families_part){0};
    long got = syscall(SYS_mmap, NULL, part.mapped_length, PROT_READ, MAP_PRIVATE, fd, from);
    if (got == -1)
        return (struct families_part){0};
    part.mapped = (void *)got;
    part.bytes = (const char *)got + (offset - from);
    return part;
}

/* ---- .symtab ---- */

static void families_map_tables(struct examination *examination, int fd, uint64_t file_bytes,
                                const ElfW(Shdr) *sections, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const ElfW(Shdr) *table = &sections[i];
        if (table->sh_type != SHT_SYMTAB || table->sh_link >= count)
            continue;
        const ElfW(Shdr) *names = &sections[table->sh_link];
        if (table->sh_offset + table->sh_size > file_bytes ||
            names->sh_offset + names->sh_size > file_bytes)
            continue;
        examination->strings = families_map(fd, names->sh_offset, names->sh_size);
        if (examination->strings.bytes)
            examination->symbols = families_map(fd, table->sh_offset, table->sh_size);
        return;
    }
}

static void families_read_sections(struct examination *examination, int fd)
{
    ElfW(Ehdr) header;
    long file_bytes = syscall(SYS_lseek, fd, 0L, SEEK_END);
    if (syscall(SYS_pread64, fd, &header, sizeof header, 0L) != sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || file_bytes <= 0 ||
        header.e_shentsize != sizeof(ElfW(Shdr)) || !header.e_shnum)
        return;
    uint64_t length = (uint64_t)header.e_shnum * sizeof(ElfW(Shdr));
    if (header.e_shoff % 8 || header.e_shoff + length > (uint64_t)file_bytes)
        return;
    struct families_part sections = families_map(fd, header.e_shoff, length);
    if (sections.bytes)
        families_map_tables(examination, fd, (uint64_t)file_bytes, (const void *)sections.bytes,
                            header.e_shnum);
    families_unmap(&sections);
}

static void families_open_file(struct examination *examination)
{
    const char *path = examination->is_program ? "/proc/self/exe" : examination->info->dlpi_name;
    if (permitted_calls_is_forbidden(CALL_FILES))
        return;
    /* O_NONBLOCK, because a FIFO may have the name by now, and the program must not wait. */
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd = *path == '/' ? (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0) : -1;
    if (fd < 0)
        return;
    families_read_sections(examination, fd);
    syscall(SYS_close, fd);
}

static size_t families_symbols(const struct examination *examination)
{
    return examination->symbols.length / sizeof(ElfW(Sym));
}

static const ElfW(Sym) *families_symbol(const struct examination *examination, size_t index)
{
    return (const ElfW(Sym) *)(const void *)examination->symbols.bytes + index;
}

static bool families_is_function(const ElfW(Sym) *symbol)
{
    return symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC;
}

/* "": it is not wholly in the table of strings. */
static const char *families_name(const struct examination *examination, const ElfW(Sym) *symbol)
{
    const struct families_part *strings = &examination->strings;
    if (symbol->st_name >= strings->length ||
        !memchr(strings->bytes + symbol->st_name, 0, strings->length - symbol->st_name))
        return "";
    return strings->bytes + symbol->st_name;
}

static bool families_in_table(const struct examination *examination, const char *name)
{
    for (size_t i = 0; i < families_symbols(examination); i++) {
        const ElfW(Sym) *symbol = families_symbol(examination, i);
        if (families_is_function(symbol) && strcmp(families_name(examination, symbol), name) == 0)
            return true;
    }
    return false;
}

static bool families_holds(const struct dl_phdr_info *info, const void *address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD &&
            (uintptr_t)address - info->dlpi_addr - segment->p_vaddr < segment->p_memsz)
            return true;
    }
    return false;
}

/* ---- Which allocators a module has ---- */

/* Is the end of a string the name of a marker? Names share their ends in the table of strings, so
 * the characters before do not matter. */
static void families_look_at_string(struct examination *examination, const char *end)
{
    for (unsigned i = 0; i < MARKERS; i++) {
        size_t length = strlen(markers[i].name);
        if ((size_t)(end - examination->strings.bytes) >= length &&
            memcmp(end - length, markers[i].name, length) == 0 &&
            !(examination->families & 1u << markers[i].family) &&
            families_in_table(examination, markers[i].name))
            examination->families |= 1u << markers[i].family;
    }
}

static void families_search_strings(struct examination *examination)
{
    static const char tail[] = "alloc"; /* with its NUL */
    const char *at = examination->strings.bytes, *end = at + examination->strings.length;
    while (at && (at = memmem(at, (size_t)(end - at), tail, sizeof tail))) {
        families_look_at_string(examination, at + sizeof tail - 1);
        at += sizeof tail;
    }
}

static void families_search_exports(struct examination *examination)
{
    for (unsigned i = 0; i < MARKERS; i++)
        if (real_defines(examination->info, markers[i].name))
            examination->families |= 1u << markers[i].family;
    if (real_defines(examination->info, allocx))
        examination->families |= 1u << FAMILY_JEMALLOC;
    if (examination->is_program && real_defines(examination->info, "malloc"))
        examination->families |= 1u << FAMILY_PROGRAM;
}

/* Looks for a jemalloc without a prefix whose functions a library does not export. */
static void families_search_hidden(struct examination *examination)
{
    const struct families_part *strings = &examination->strings;
    if (examination->families & 1u << FAMILY_JEMALLOC || !strings->bytes ||
        !memmem(strings->bytes, strings->length, allocx, sizeof allocx) ||
        !families_in_table(examination, allocx))
        return;
    examination->families |= 1u << FAMILY_JEMALLOC | 1u << FAMILY_PROGRAM;
    examination->is_hidden_jemalloc = !(real_defines(examination->info, "malloc"));
}

/* ---- Their functions ---- */

static bool families_has_address(const struct examination *examination, uintptr_t address)
{
    for (uint32_t i = 0; i < examination->count; i++)
        if (examination->found[i].address == address)
            return true;
    return false;
}

static void families_add(struct examination *examination, const struct family_row *row,
                         const ElfW(Sym) *symbol)
{
    uintptr_t address = examination->info->dlpi_addr + symbol->st_value;
    if (families_has_address(examination, address))
        return;
    if (examination->count == FOUND_MOST) {
        examination->overflowed = true;
        return;
    }
    examination->found[examination->count++] =
        (struct found){row, address, (size_t)symbol->st_size};
}

static bool families_wants(const struct examination *examination, const struct family_row *row)
{
    return examination->families & 1u << row->family;
}

static void families_add_exports(struct examination *examination)
{
    for (unsigned i = 0; i < ROWS; i++) {
        const ElfW(Sym) *symbol = families_wants(examination, &rows[i])
                                      ? real_symbol(examination->info, rows[i].name)
                                      : NULL;
        if (symbol && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
            families_add(examination, &rows[i], symbol);
    }
}

/* A quick test: most names are not in the list. */
static bool families_may_be(const char *name)
{
    return *name && strchr("mcrfapvxds_tTjn", *name) &&
           (*name != '_' || (name[1] == 'Z' ? name[2] == 'n' || name[2] == 'd' : name[1] == 'r'));
}

static void families_add_symbol(struct examination *examination, const ElfW(Sym) *symbol)
{
    const char *name = families_name(examination, symbol);
    if (!families_may_be(name))
        return;
    for (unsigned i = 0; i < ROWS; i++)
        if (families_wants(examination, &rows[i]) && strcmp(rows[i].name, name) == 0) {
            families_add(examination, &rows[i], symbol);
            return;
        }
}

static void families_add_symbols(struct examination *examination)
{
    for (size_t i = 0; i < families_symbols(examination); i++) {
        const ElfW(Sym) *symbol = families_symbol(examination, i);
        if (families_is_function(symbol))
            families_add_symbol(examination, symbol);
    }
}

/* ---- Hooking them ---- */

/* The most specific family: a program's own malloc may be jemalloc's. */
static enum wire_unseen_what families_what(const struct examination *examination)
{
    unsigned family = FAMILY_COUNT;
    if (examination->is_of_pools)
        return WIRE_UNSEEN_POOLS;
    while (family-- > 1)
        if (examination->families & 1u << family)
            return family_what[family];
    return family_what[0];
}

static void families_tell_of(const struct examination *examination, enum wire_unseen_what what,
                             enum wire_unseen_why why, const char *function)
{
    char program[512];
    long length = examination->is_program ? syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe",
                                                    program, sizeof program - 1)
                                          : 0;
    program[length > 0 ? length : 0] = '\0';
    unseen_tell(what, why, function,
                examination->is_program ? program : examination->info->dlpi_name);
}

static bool families_import(const struct examination *examination);

static void families_tell(const struct examination *examination, enum wire_unseen_why why,
                          const char *function)
{
    bool is_imported = examination->is_of_pools && families_import(examination);
    families_tell_of(examination,
                     is_imported ? WIRE_UNSEEN_POOLS_WITHIN : families_what(examination), why,
                     function);
}

#ifndef TIDEMARK_PAGES

static const struct family_name usables[] = {
#define USABLE(family, name) {FAMILY_##family, #name},
#include "interpose/families.def"
};

/* A function of the module itself, because one of another module does not know its blocks. */
static void *families_find_own(const struct examination *examination, const char *name)
{
    const ElfW(Sym) *symbol = real_symbol(examination->info, name);
    for (size_t i = 0; !symbol && i < families_symbols(examination); i++) {
        const ElfW(Sym) *one = families_symbol(examination, i);
        if (families_is_function(one) && strcmp(families_name(examination, one), name) == 0)
            symbol = one;
    }
    return symbol ? (void *)(examination->info->dlpi_addr + symbol->st_value) : NULL;
}

static void *families_usable_of(const struct examination *examination, unsigned family)
{
    for (size_t i = 0; i < sizeof usables / sizeof *usables; i++)
        if (usables[i].family == family)
            return families_find_own(examination, usables[i].name);
    return NULL;
}

static enum wire_unseen_why families_why(enum entry_fault fault)
{
    switch (fault) {
    case ENTRY_NO_ROOM:
        return WIRE_UNSEEN_WHY_NO_ROOM;
    case ENTRY_REFUSED:
        return WIRE_UNSEEN_WHY_REFUSED;
    case ENTRY_MACHINE:
        return WIRE_UNSEEN_WHY_MACHINE;
    default:
        return WIRE_UNSEEN_WHY_BEGINNING;
    }
}

/* Is there a jump of ours already? Then the module was examined before. */
static bool families_is_hooked(const struct examination *examination)
{
    return real_is_moved((const void *)examination->found[0].address);
}

static void families_use(struct examination *examination, struct family_entry *entries)
{
    for (uint32_t i = 0; i < examination->count; i++) {
        *(void **)&entries[i].original = examination->points[i].original;
        real_move(examination->points[i].function, examination->points[i].original);
    }
    if (examination->is_of_pools || examination->is_of_device)
        return; /* their calls are recorded as the program's */
    real_is_allocator_too(examination->points[0].function);
    hooks_new_forget();
}

static void families_fill(struct examination *examination, struct family_entry *entries)
{
    void *usable[FAMILY_COUNT];
    for (unsigned family = 0; family < FAMILY_COUNT; family++)
        usable[family] =
            examination->families & 1u << family ? families_usable_of(examination, family) : NULL;
    for (uint32_t i = 0; i < examination->count; i++) {
        const struct found *found = &examination->found[i];
        entries[i].row = found->row;
        *(void **)&entries[i].usable = usable[found->row->family];
        examination->points[i] = (struct entry_point){.function = (void *)found->address,
                                                      .bytes = found->bytes,
                                                      .hook = family_hook_of(found->row),
                                                      .context = &entries[i]};
    }
}

/* The name of the function that cannot be hooked; NULL: not known. */
static const char *families_culprit(struct examination *examination)
{
    struct entry_beginning beginning;
    for (uint32_t i = 0; i < examination->count; i++)
        if (entry_code_find((void *)examination->found[i].address, examination->found[i].bytes,
                            &beginning) != ENTRY_OK)
            return examination->found[i].row->name;
    return NULL;
}

/* Modules whose functions were hooked. Trampolines and entries of a module that was unloaded are
 * used for the next one, so a module that is loaded again and again takes no more memory. */
LARGE_STATIC static struct hooking {
    const void *function; /* the first of them; NULL: this place is free */
    struct family_entry *entries;
    uint32_t room; /* for so many entries */
    void *memory;
    size_t bytes;
} hookings[64];

static int families_look_for(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    return families_holds(info, *(const void **)context);
}

static bool families_is_gone(const struct examination *examination, const struct hooking *hooking)
{
    const void *function = hooking->function;
    if (families_holds(examination->info, function))
        return !real_is_moved(function); /* true if another module is there now */
    return !dl_iterate_phdr(families_look_for, &function);
}

static struct hooking *families_take_place(const struct examination *examination)
{
    for (size_t i = 0; i < sizeof hookings / sizeof *hookings; i++) {
        struct hooking *hooking = &hookings[i];
        if (!hooking->function ||
            (hooking->room >= examination->count && families_is_gone(examination, hooking)))
            return hooking;
    }
    return NULL;
}

static bool families_get_entries(struct hooking *hooking, uint32_t count)
{
    if (hooking->room < count)
        hooking->entries = private_map_kept(count * sizeof(struct family_entry));
    if (hooking->entries && hooking->room < count)
        hooking->room = count;
    return hooking->entries;
}

static void families_hook(struct examination *examination)
{
    struct hooking *hooking = families_take_place(examination);
    if (!hooking)
        return families_tell(examination, WIRE_UNSEEN_WHY_MANY, NULL);
    if (!families_get_entries(hooking, examination->count))
        return families_tell(examination, WIRE_UNSEEN_WHY_NO_ROOM, NULL);
    families_fill(examination, hooking->entries);
    enum entry_fault fault =
        entry_prepare(examination->points, examination->count, &hooking->memory, &hooking->bytes);
    if (fault == ENTRY_OK) {
        hooking->function = examination->points[0].function;
        families_use(examination, hooking->entries);
        fault = entry_set(examination->points, examination->count);
    }
    if (fault != ENTRY_OK)
        families_tell(examination, families_why(fault), families_culprit(examination));
}

static bool families_redescribe_entry(struct family_entry *entry, const struct family_row *row)
{
    if (!entry->row || strcmp(entry->row->name, row->name) != 0 ||
        entry->row->does < FAMILY_POOL_ALLOCATES)
        return true;
    if (family_hook_of(entry->row) != family_hook_of(row))
        return false;
    entry->row = row;
    return true;
}

/* Gives a function that an earlier session has hooked its new row. False: the new row needs another
 * hook. */
static bool families_redescribe(const struct examination *examination, const struct family_row *row)
{
    bool done = true;
    for (size_t i = 0; i < sizeof hookings / sizeof *hookings; i++)
        if (hookings[i].function && families_holds(examination->info, hookings[i].function))
            for (uint32_t k = 0; k < hookings[i].room; k++)
                done &= families_redescribe_entry(&hookings[i].entries[k], row);
    return done;
}

static bool families_may_hook(struct examination *examination)
{
    if (families_is_hooked(examination))
        return false;
    if (permitted_calls_is_forbidden(CALL_CODE)) {
        families_tell(examination, WIRE_UNSEEN_WHY_REFUSED, NULL);
        return false;
    }
    if (families_threads() == 1 || (examination->is_fresh && examination->is_of_device))
        return true;
    families_tell(examination, real_is_late() ? WIRE_UNSEEN_WHY_LATE : WIRE_UNSEEN_WHY_THREADS,
                  NULL);
    return false;
}

#else

static bool families_may_hook(struct examination *examination)
{
    families_tell(examination, WIRE_UNSEEN_WHY_PAGES, NULL);
    return false;
}

static void families_hook(struct examination *examination)
{
    (void)examination;
}

static bool families_redescribe(const struct examination *examination, const struct family_row *row)
{
    (void)examination, (void)row;
    return true;
}

#endif

/* ---- Allocators without functions of their own ---- */

static bool families_has_text(const struct dl_phdr_info *info, const char *text)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && segment->p_flags == PF_R &&
            memmem((const void *)(info->dlpi_addr + segment->p_vaddr), segment->p_filesz, text,
                   strlen(text)))
            return true;
    }
    return false;
}

/* Go's linker writes a note of this owner. */
static bool families_is_go(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const ElfW(Nhdr) *note = (const void *)(info->dlpi_addr + segment->p_vaddr);
        if (segment->p_type == PT_NOTE && segment->p_filesz >= sizeof *note + 4 &&
            note->n_namesz == 4 && memcmp(note + 1, "Go\0", 4) == 0)
            return true;
    }
    return false;
}

static void families_tell_inlined(const struct examination *examination)
{
    if (families_is_go(examination->info))
        families_tell_of(examination, WIRE_UNSEEN_GO, WIRE_UNSEEN_WHY_INLINED, NULL);
    if (examination->families & 1u << FAMILY_PROGRAM &&
        families_has_text(examination->info, "partition_alloc"))
        families_tell_of(examination, WIRE_UNSEEN_PARTITION_ALLOC, WIRE_UNSEEN_WHY_INLINED, NULL);
}

/* ---- Functions that the user has named ---- */

/* Rows of earlier sessions too, because their functions stay hooked. */
enum { POOL_ROWS = 2 * WIRE_POOL_FUNCTIONS };
LARGE_STATIC static struct family_row families_pool_rows[POOL_ROWS];
LARGE_STATIC static char families_pool_names[POOL_ROWS][WIRE_POOL_NAME_BYTES];
LARGE_STATIC static uint8_t
    families_pool_places[POOL_ROWS]; /* places in the header, of rows that are not
                                                     * idle */
static unsigned families_pool_row_count;

static bool families_is_named(const struct family_row *row, const struct wire_pool_function *named)
{
    return strcmp(row->name, named->name) == 0 &&
           row->does == FAMILY_POOL_ALLOCATES + named->does && row->block == named->block &&
           row->count == named->count && row->size == named->size && row->pool == named->pool &&
           row->out == named->out;
}

/* The number of the function's row, which is made if there is none; POOL_ROWS: there is no room. */
static unsigned families_row_of(const struct wire_pool_function *named)
{
    unsigned i = 0;
    while (i < families_pool_row_count && !families_is_named(&families_pool_rows[i], named))
        i++;
    if (i < families_pool_row_count || i == POOL_ROWS)
        return i;
    memcpy(families_pool_names[i], named->name, WIRE_POOL_NAME_BYTES - 1);
    families_pool_rows[i] = (struct family_row){.name = families_pool_names[i],
                                                .does = FAMILY_POOL_ALLOCATES + named->does,
                                                .kind = WIRE_POOL & 0xff,
                                                .block = named->block,
                                                .count = named->count,
                                                .size = named->size,
                                                .align = -1,
                                                .pool = named->pool,
                                                .out = named->out};
    return families_pool_row_count++;
}

/* Copies the named functions at the session's beginning, because the header does not outlive the
 * session. */
static void families_read_pools(void)
{
    const struct wire_header *header = shared_header();
    imports_begin();
    for (unsigned i = 0; i < families_pool_row_count; i++)
        families_pool_rows[i].is_idle = true;
    for (unsigned i = 0; i < header->pool_function_count && i < WIRE_POOL_FUNCTIONS; i++) {
        unsigned row = families_row_of(&header->pool_functions[i]);
        if (row == POOL_ROWS)
            continue;
        families_pool_rows[row].is_idle = false;
        families_pool_places[row] = (uint8_t)i;
    }
}

/* The address to which other modules bind the name; 0: it is not exported. */
static uintptr_t families_exported(const struct examination *examination, const char *name)
{
    const ElfW(Sym) *symbol = real_symbol(examination->info, name);
    return symbol ? examination->info->dlpi_addr + symbol->st_value : 0;
}

/* Hooks all functions where other modules import them, or none. Not those of the program itself,
 * which mostly calls them without an import. */
static bool families_import(const struct examination *examination)
{
    if (examination->is_program)
        return false;
    for (uint32_t i = 0; i < examination->count; i++)
        if (families_exported(examination, examination->found[i].row->name) !=
            examination->found[i].address)
            return false;
    uint32_t added = 0;
    while (added < examination->count &&
           imports_add(examination->found[added].row, examination->found[added].address))
        added++;
    for (uint32_t i = 0; i < added && added < examination->count; i++)
        imports_drop(examination->found[i].row, examination->found[i].address);
    return added == examination->count;
}

/* Hooks an IFUNC where other modules import it: they are bound to the function that its resolver
 * returns. The resolver is code of a module that another thread may be loading, so the module has
 * to be relocated. On other machines than x86-64 a resolver takes arguments. */
static bool families_import_chosen(const struct examination *examination,
                                   const struct family_row *row)
{
#if defined(__x86_64__)
    uintptr_t chooser = families_exported(examination, row->name);
    return chooser && !examination->is_program && patch_is_relocated(examination->info) &&
           imports_add(row, ((uintptr_t(*)(void))chooser)());
#else
    (void)examination, (void)row;
    return false;
#endif
}

static void families_add_pool(struct examination *examination, const struct family_row *row,
                              const ElfW(Sym) *symbol)
{
    if (symbol->st_shndx == SHN_UNDEF)
        return;
    atomic_store(
        &shared_header()->pool_functions[families_pool_places[row - families_pool_rows]].is_there,
        1);
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC) {
        examination->chosen = row;
        examination->is_chosen_imported = families_import_chosen(examination, row);
    } else if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC) {
        if (!real_is_moved((const void *)(examination->info->dlpi_addr + symbol->st_value)))
            families_add(examination, row, symbol);
        else if (!families_redescribe(examination, row))
            families_tell_of(examination, WIRE_UNSEEN_POOLS, WIRE_UNSEEN_WHY_BEGINNING, row->name);
    }
}

static void families_find_pools(struct examination *examination)
{
    for (unsigned i = 0; i < families_pool_row_count; i++) {
        const ElfW(Sym) *symbol = families_pool_rows[i].is_idle
                                      ? NULL
                                      : real_symbol(examination->info, families_pool_rows[i].name);
        if (symbol)
            families_add_pool(examination, &families_pool_rows[i], symbol);
    }
    for (size_t k = 0; k < families_symbols(examination); k++) {
        const ElfW(Sym) *symbol = families_symbol(examination, k);
        const char *name = families_name(examination, symbol);
        for (unsigned i = 0; *name && i < families_pool_row_count; i++)
            if (*name == *families_pool_rows[i].name && !families_pool_rows[i].is_idle &&
                strcmp(name, families_pool_rows[i].name) == 0)
                families_add_pool(examination, &families_pool_rows[i], symbol);
    }
}

static void families_examine_pools(struct examination *examination)
{
    if (!families_pool_row_count)
        return;
    examination->is_of_pools = true;
    examination->count = 0;
    examination->families = 0;
    examination->overflowed = false;
    examination->chosen = NULL;
    families_find_pools(examination);
    if (examination->count && families_may_hook(examination))
        families_hook(examination);
    if (examination->chosen)
        families_tell_of(examination,
                         examination->is_chosen_imported ? WIRE_UNSEEN_POOLS_WITHIN
                                                         : WIRE_UNSEEN_POOLS,
                         WIRE_UNSEEN_WHY_INDIRECT, examination->chosen->name);
}

/* ---- Drivers of devices ---- */

/* The driver is asked for "cuMemAlloc" and hands out cuMemAlloc_v2. */
static bool families_is_asked(const char *row, const char *name)
{
    size_t length = strlen(name);
    return strncmp(row, name, length) == 0 && (row[length] == '\0' || row[length] == '_');
}

const struct family_row *families_device_row(const char *name, uint8_t family)
{
    for (unsigned i = 0; *name && i < DEVICE_ROWS; i++)
        if (device_rows[i].family == family && families_is_asked(device_rows[i].name, name))
            return &device_rows[i];
    return NULL;
}

/* Of what is freed, its allocation has said the space: hipFree may be hipHostFree. */
static bool families_do_alike(const struct family_row *one, const struct family_row *other)
{
    bool is_one_space = one->kind == other->kind || one->does == FAMILY_DEVICE_FREES;
    return one->does == other->does && is_one_space && one->block == other->block &&
           one->count == other->count && one->size == other->size;
}

/* A stub of a driver may be linked with --icf, which makes functions of the same code one. Its
 * callers mean several functions by one address, so no hook is right for all of them. */
static void families_look_for_folded(struct examination *examination, const struct family_row *row,
                                     const ElfW(Sym) *symbol)
{
    uintptr_t address = examination->info->dlpi_addr + symbol->st_value;
    for (uint32_t i = 0; i < examination->count; i++)
        if (examination->found[i].address == address &&
            !families_do_alike(examination->found[i].row, row))
            examination->folded = row->name;
}

/* By exports alone, because programs find a driver's functions by name. */
static void families_find_device(struct examination *examination, unsigned family)
{
    for (unsigned i = 0; i < DEVICE_ROWS; i++) {
        const ElfW(Sym) *symbol = device_rows[i].family == family
                                      ? real_symbol(examination->info, device_rows[i].name)
                                      : NULL;
        if (!symbol || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
            continue;
        families_look_for_folded(examination, &device_rows[i], symbol);
        families_add(examination, &device_rows[i], symbol);
    }
}

static void families_examine_device(struct examination *examination)
{
    for (unsigned i = 0; shared_header()->flags & WIRE_FLAG_DEVICES && i < DEVICE_MARKERS; i++) {
        if (!real_defines(examination->info, device_markers[i].name))
            continue;
        examination->is_of_device = true;
        examination->families = 1u << device_markers[i].family;
        examination->count = 0;
        examination->folded = NULL;
        families_find_device(examination, device_markers[i].family);
        if (examination->folded)
            families_tell(examination, WIRE_UNSEEN_WHY_FOLDED, examination->folded);
        else if (examination->count && families_may_hook(examination))
            families_hook(examination);
    }
    examination->is_of_device = false;
}

/* ---- All modules ---- */

static void families_examine_tables(struct examination *examination)
{
    families_search_exports(examination);
    families_search_strings(examination);
    families_search_hidden(examination);
    if (python_has_mimalloc_inside(
            examination->info)) /* hooked where the interpreter asks for it */
        examination->families &= ~(1u << FAMILY_MIMALLOC);
    if (!examination->families)
        return;
    if (!examination->is_hidden_jemalloc)
        families_add_exports(examination);
    families_add_symbols(examination);
    if (examination->overflowed)
        families_tell(examination, WIRE_UNSEEN_WHY_MANY, NULL);
    else if (examination->count && families_may_hook(examination))
        families_hook(examination);
}

struct families_survey {
    struct examination *examination;
    unsigned index, from; /* modules before `from` are known */
    bool of_pools_alone, is_fresh;
};

/* Is it our library, the C library, the loader or the vdso? */
static bool families_is_system(const struct dl_phdr_info *info)
{
    return families_holds(info, &markers) || families_holds(info, (const void *)real._exit) ||
           (info->dlpi_addr && info->dlpi_addr == getauxval(AT_BASE)) ||
           info->dlpi_addr == getauxval(AT_SYSINFO_EHDR);
}

static void families_examine_all(struct examination *examination)
{
    families_examine_tables(examination);
    families_tell_inlined(examination);
    families_examine_device(examination);
#ifndef TIDEMARK_PAGES
    bool is_python = script_paths_see_module(examination->info, examination->is_program);
    if (is_python)
        hooks_python_begin();
    else if (python_is_free_threaded(examination->info))
        families_tell_of(examination, WIRE_UNSEEN_MIMALLOC, WIRE_UNSEEN_WHY_INLINED, NULL);
    runtime_end_see_module(examination->info, is_python);
#endif
}

static int families_examine(struct dl_phdr_info *info, size_t size, void *context)
{
    struct families_survey *survey = context;
    bool is_program = survey->index == 0;
    (void)size;
    if (survey->index++ < survey->from || (!is_program && families_is_system(info)))
        return 0;
    struct examination *examination = survey->examination;
    /* `found` is not cleared, because `count` says what is valid: most modules have nothing, and
     * its pages stay untouched. */
    memset(examination, 0, offsetof(struct examination, found));
    examination->info = info;
    examination->is_program = is_program;
    examination->is_fresh = survey->is_fresh;
    families_open_file(examination);
    if (!survey->of_pools_alone)
        families_examine_all(examination);
    families_examine_pools(examination);
    families_unmap(&examination->symbols);
    families_unmap(&examination->strings);
    return 0;
}

static unsigned long long families_adds_seen;

static int families_read_adds(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(unsigned long long *)context = info->dlpi_adds;
    return 1;
}

static int families_count(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info, (void)size;
    ++*(unsigned *)context;
    return 0;
}

/* New modules are last in the loader's list. */
static void families_survey(unsigned long long adds, bool is_fresh)
{
    unsigned modules = 0;
    unsigned long long fresh = adds - families_adds_seen;
    struct families_survey survey = {.examination = private_borrow(sizeof *survey.examination),
                                     .is_fresh = is_fresh};
    if (!survey.examination)
        return;
    dl_iterate_phdr(families_count, &modules);
    survey.from = fresh < modules ? modules - (unsigned)fresh : 0;
    dl_iterate_phdr(families_examine, &survey);
    private_return(survey.examination, sizeof *survey.examination);
    families_adds_seen = adds;
}

/* A recorder that was loaded late makes a pass over all modules anyway (patch.h). */
static void families_set_imports(void)
{
    if (!real_is_late() && imports_are_there())
        patch_imports();
}

void families_begin(void)
{
    unsigned long long adds = 0;
    int saved_errno = errno;
    uint64_t signals = signal_lock_block();
    families_adds_seen = 0;
    families_read_pools();
    dl_iterate_phdr(families_read_adds, &adds);
    families_survey(adds, false);
    families_set_imports();
    signal_lock_restore(signals);
    errno = saved_errno;
}

/* Functions of the session before stay hooked; this session may name others. */
static void families_survey_pools(void)
{
    struct families_survey survey = {.examination = private_borrow(sizeof *survey.examination),
                                     .of_pools_alone = true};
    if (!survey.examination)
        return;
    dl_iterate_phdr(families_examine, &survey);
    private_return(survey.examination, sizeof *survey.examination);
}

void families_renew(void)
{
    int saved_errno = errno;
    uint64_t signals = signal_lock_block();
    families_read_pools();
    if (shared_header()->pool_function_count)
        families_survey_pools();
    signal_lock_restore(signals);
    errno = saved_errno;
}

static void families_see_new(bool is_fresh)
{
    unsigned long long adds = 0;
    int saved_errno = errno;
    if (!session_is_on())
        return;
    uint64_t signals = signal_lock_block();
    dl_iterate_phdr(families_read_adds, &adds);
    if (adds != families_adds_seen) {
        families_survey(adds, is_fresh);
        families_set_imports();
    }
    signal_lock_restore(signals);
    errno = saved_errno;
}

void families_new(void)
{
    families_see_new(false);
}

/* ---- What a dlopen has loaded ---- */

/* How many threads are between the beginning of a dlopen and the examination of what it loaded, and
 * whether one of them writes jumps. A thread that gets the same module from a dlopen of its own
 * waits for that, so it cannot be in the module. */
static _Atomic unsigned families_loading;
static _Atomic bool families_writes;

struct families_load families_load_begins(void)
{
    int saved_errno = errno;
    unsigned others = atomic_fetch_add(&families_loading, 1);
    struct families_load load = {others ? 0 : families_threads()};
    errno = saved_errno;
    return load;
}

/* Not for ever: the thread that writes may not be in this child of a fork. */
static void families_wait_for_writer(void)
{
    enum { TRIES = 10000 };
    for (unsigned i = 0; i < TRIES && atomic_load(&families_writes); i++)
        signal_lock_let_others();
}

/* If the module's constructors have made threads, these may be in it. */
void families_load_ends(struct families_load load)
{
    int saved_errno = errno;
    bool is_fresh = load.threads && atomic_load(&families_loading) == 1 &&
                    !atomic_exchange(&families_writes, true);
    if (is_fresh) {
        families_see_new(families_threads() == load.threads);
        atomic_store(&families_writes, false);
    } else {
        families_wait_for_writer();
        families_see_new(false);
    }
    atomic_fetch_sub(&families_loading, 1);
    errno = saved_errno;
}
