/* Modules and symbols of another process (target.h). Modules come from /proc/PID/maps. Symbols are
 * looked up in each module's GNU hash table, which is read from the process's memory word by word.
 */
#include "attach/target.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include "attach/target_memory.h"
#include "procfs/process.h"

enum { MOST_SEGMENTS = 64, MOST_ENTRIES = 512, MOST_CHAIN = 1 << 16, NAME_BYTES = 256 };

/* ---- Modules ---- */

/* Mappings of one file, one after the other, are one module: a library that is loaded a second time
 * begins with offset 0 again. */
static bool target_goes_on(const struct target_module *module,
                           const struct process_mapping *mapping)
{
    return mapping->inode == module->inode && mapping->offset_bytes != 0 &&
           !strcmp(mapping->path, module->path);
}

static struct target_module *target_module_add(struct target *target,
                                               const struct process_mapping *mapping)
{
    struct target_module *modules = realloc(target->modules, (target->count + 1) * sizeof *modules);
    if (!modules)
        return NULL;
    target->modules = modules;
    struct target_module *module = &modules[target->count];
    *module = (struct target_module){
        .path = strdup(mapping->path), .inode = mapping->inode, .start = mapping->start};
    if (!module->path)
        return NULL;
    target->count++;
    return module;
}

static int target_see_mapping(const struct process_mapping *mapping, void *context)
{
    struct target *target = context;
    struct target_module *module = target->count ? &target->modules[target->count - 1] : NULL;
    if (mapping->path[0] != '/')
        return 0;
    if (!module || !target_goes_on(module, mapping)) {
        if (mapping->offset_bytes != 0)
            return 0;
        module = target_module_add(target, mapping);
        if (!module)
            return -ENOMEM;
    }
    module->end = mapping->end;
    if (mapping->executable) {
        module->code = module->code ? module->code : mapping->start;
        module->code_end = mapping->end;
    }
    return 0;
}

static uintptr_t target_placed(const struct target_module *module, uintptr_t value)
{
    return value < module->bias ? value + module->bias : value;
}

static void target_read_dynamic(const struct target *target, struct target_module *module,
                                uintptr_t address)
{
    ElfW(Dyn) entry;
    for (size_t i = 0; i < MOST_ENTRIES; i++) {
        if (memory_read(target->pid, address + i * sizeof entry, &entry, sizeof entry) < 0 ||
            entry.d_tag == DT_NULL)
            return;
        if (entry.d_tag == DT_SYMTAB)
            module->symbols = target_placed(module, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_STRTAB)
            module->strings = target_placed(module, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_GNU_HASH)
            module->gnu_hash = target_placed(module, entry.d_un.d_ptr);
    }
}

void target_read_module(const struct target *target, struct target_module *module)
{
    ElfW(Ehdr) header;
    ElfW(Phdr) segments[MOST_SEGMENTS];
    uintptr_t lowest = UINTPTR_MAX, dynamic = 0;
    if (memory_read(target->pid, module->start, &header, sizeof header) < 0 ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof *segments || header.e_phnum > MOST_SEGMENTS ||
        memory_read(target->pid, module->start + header.e_phoff, segments,
                    header.e_phnum * sizeof *segments) < 0)
        return;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr < lowest)
            lowest = segments[i].p_vaddr;
        if (segments[i].p_type == PT_DYNAMIC)
            dynamic = segments[i].p_vaddr;
    }
    if (!dynamic || lowest == UINTPTR_MAX)
        return;
    module->bias = module->start - (lowest & ~(uintptr_t)0xfff);
    target_read_dynamic(target, module, module->bias + dynamic);
}

int target_open(struct target *target, pid_t pid)
{
    *target = (struct target){.pid = pid};
    int status = process_maps(pid, target_see_mapping, target);
    for (size_t i = 0; status == 0 && i < target->count; i++) {
        target_read_module(target, &target->modules[i]);
        target->has_loader |= !strncmp(basename(target->modules[i].path), "ld-linux", 8);
    }
    if (status < 0)
        target_close(target);
    return status;
}

void target_close(struct target *target)
{
    for (size_t i = 0; i < target->count; i++)
        free(target->modules[i].path);
    free(target->modules);
    *target = (struct target){.pid = target->pid};
}

const struct target_module *target_module_called(const struct target *target, const char *name)
{
    for (size_t i = 0; i < target->count; i++)
        if (!strcmp(basename(target->modules[i].path), name) && target->modules[i].symbols)
            return &target->modules[i];
    return NULL;
}

const struct target_module *target_module_at(const struct target *target, uintptr_t address)
{
    for (size_t i = 0; i < target->count; i++)
        if (address - target->modules[i].start < target->modules[i].end - target->modules[i].start)
            return &target->modules[i];
    return NULL;
}

/* ---- Symbols ---- */

static uint32_t target_hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static bool target_read_word(const struct target *target, uintptr_t address, uint32_t *word)
{
    return memory_read(target->pid, address, word, sizeof *word) == 0;
}

static bool target_is_called(const struct target *target, const struct target_module *module,
                             uint32_t index, const char *name, ElfW(Sym) *symbol)
{
    char text[NAME_BYTES];
    return memory_read(target->pid, module->symbols + index * sizeof *symbol, symbol,
                       sizeof *symbol) == 0 &&
           symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
           memory_read_string(target->pid, module->strings + symbol->st_name, text, sizeof text) ==
               0 &&
           !strcmp(text, name);
}

struct target_symbol target_find_in(const struct target *target, const struct target_module *module,
                                    const char *name)
{
    const struct target_symbol none = {0, 0};
    uint32_t header[4], hash = target_hash_of(name), index, chain;
    ElfW(Sym) symbol;
    if (!module->gnu_hash || !module->symbols || !module->strings ||
        memory_read(target->pid, module->gnu_hash, header, sizeof header) < 0 || !header[0])
        return none;
    uintptr_t buckets =
        module->gnu_hash + sizeof header + (uintptr_t)header[2] * sizeof(ElfW(Addr));
    uintptr_t chains = buckets + (uintptr_t)header[0] * 4;
    if (!target_read_word(target, buckets + (uintptr_t)(hash % header[0]) * 4, &index) ||
        index < header[1])
        return none;
    for (uint32_t steps = 0; steps < MOST_CHAIN; steps++, index++) {
        if (!target_read_word(target, chains + (uintptr_t)(index - header[1]) * 4, &chain))
            return none;
        if ((chain | 1) == (hash | 1) && target_is_called(target, module, index, name, &symbol))
            return (struct target_symbol){module->bias + symbol.st_value, symbol.st_size};
        if (chain & 1)
            return none;
    }
    return none;
}

struct target_symbol target_find(const struct target *target, const char *name,
                                 const struct target_module **module)
{
    for (size_t i = 0; i < target->count; i++) {
        struct target_symbol found = target_find_in(target, &target->modules[i], name);
        if (found.address) {
            *module = &target->modules[i];
            return found;
        }
    }
    *module = NULL;
    return (struct target_symbol){0, 0};
}

/* ---- A system call instruction ---- */

uintptr_t target_gadget(const struct target *target, const struct target_module *libc)
{
    static const unsigned char instruction[] = {0x0f, 0x05}; /* syscall */
    struct target_symbol function = target_find_in(target, libc, "syscall");
    unsigned char code[256];
    size_t bytes = function.bytes < sizeof code ? function.bytes : sizeof code;
    if (!function.address || memory_read(target->pid, function.address, code, bytes) < 0)
        return 0;
    for (size_t i = 0; i + sizeof instruction <= bytes; i++)
        if (!memcmp(code + i, instruction, sizeof instruction))
            return function.address + i;
    return 0;
}
