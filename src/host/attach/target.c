/* Modules and symbols of another process (target.h). Modules come from /proc/PID/maps. Symbols are
 * looked up in each module's GNU hash table, which is read from the process's memory word by word.
 */
#include "attach/target.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "attach/target_memory.h"
#include "procfs/process.h"

enum { MOST_SEGMENTS = 64, MOST_ENTRIES = 512, MOST_CHAIN = 1 << 16, NAME_BYTES = 256 };

/* ---- Modules ---- */

/* Consecutive mappings of one file are one module. A library that is loaded a second time begins
 * with offset 0 again. */
static bool target_goes_on(const struct target_module *module,
                           const struct process_mapping *mapping)
{
    return mapping->inode == module->inode && mapping->offset_bytes != 0 &&
           !strcmp(mapping->path, module->path);
}

static struct target_module *target_module_add(struct target *target,
                                               const struct process_mapping *mapping)
{
    if (!array_make_bare_room(&target->modules, &target->room, target->count,
                              sizeof *target->modules))
        return NULL;
    struct target_module *module = &target->modules[target->count];
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

/* The number of segments; 0: there are no valid headers. */
static unsigned target_read_segments(const struct target *target,
                                     const struct target_module *module,
                                     ElfW(Phdr) segments[MOST_SEGMENTS])
{
    ElfW(Ehdr) header;
    if (memory_read(target->pid, module->start, &header, sizeof header) < 0 ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof *segments || header.e_phnum > MOST_SEGMENTS ||
        memory_read(target->pid, module->start + header.e_phoff, segments,
                    header.e_phnum * sizeof *segments) < 0)
        return 0;
    return header.e_phnum;
}

void target_read_module(const struct target *target, struct target_module *module)
{
    ElfW(Phdr) segments[MOST_SEGMENTS];
    uintptr_t lowest = UINTPTR_MAX, dynamic = 0;
    unsigned count = target_read_segments(target, module, segments);
    for (unsigned i = 0; i < count; i++) {
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
    for (size_t i = 0; status == 0 && i < target->count; i++)
        target_read_module(target, &target->modules[i]);
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

bool target_is_loader(const struct target_module *module)
{
    return !strncmp(basename(module->path), "ld-linux", 8);
}

/* After the name of a deleted file comes the kernel's mark. */
static bool target_is_file(const struct target_module *module, const char *name)
{
    const char *base = basename(module->path);
    size_t length = strlen(name);
    return !strncmp(base, name, length) && (!base[length] || !strcmp(base + length, " (deleted)"));
}

const struct target_module *target_module_called(const struct target *target, const char *name)
{
    for (size_t i = 0; i < target->count; i++)
        if (target->modules[i].symbols && target_is_file(&target->modules[i], name))
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

/* ---- Instructions ---- */

enum { CODE_CHUNK = 64 << 10, GADGET_MOST = 48 };

static uintptr_t target_find_syscall(const struct target *target, const struct target_module *libc)
{
    static const unsigned char instruction[TARGET_SYSCALL_BYTES] = {0x0f, 0x05};
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

/* The code to which signal handlers return. */
static bool target_is_sigreturn(const unsigned char *code)
{
    static const unsigned char instructions[TARGET_SIGRETURN_BYTES] = {0x48, 0xc7, 0xc0, 0x0f, 0,
                                                                       0,    0,    0x0f, 0x05};
    return !memcmp(code, instructions, sizeof instructions);
}

/* The bytes that instructions up to the next ret take from the stack, if they are only add $x, %rsp
 * and pop (not of %rsp); -1: there are others. */
static int target_pops(const unsigned char *code, const unsigned char *end)
{
    int pops = 0;
    while (code + 4 <= end && *code != 0xc3) {
        bool extended = code[0] == 0x41;
        if (code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xc4 && code[3] < 0x80) {
            pops += code[3];
            code += 4;
        } else if (code[extended] >= 0x58 && code[extended] <= 0x5f &&
                   (extended || *code != 0x5c)) {
            pops += 8;
            code += 1 + extended;
        } else {
            return -1;
        }
    }
    return code < end && *code == 0xc3 && pops % 8 == 0 && pops <= 128 ? pops : -1;
}

/* mov %rax, offset(register), with one of the registers that functions preserve (%rbx, %rbp, %r12
 * to %r15). Returns its length; 0: it is another instruction. */
static size_t target_keep_length(const unsigned char *code, int *offset)
{
    bool extended = code[0] == 0x49;
    unsigned mode = code[2] >> 6, base = code[2] & 7;
    if ((code[0] != 0x48 && !extended) || code[1] != 0x89 || code[2] & 0x38 || mode > 1 ||
        (extended ? base < 4 : base != 3 && base != 5) || (mode == 0 && base == 5))
        return 0;
    size_t at = 3;
    if (base == 4 && code[at++] != 0x24) /* SIB: only %r12 */
        return 0;
    *offset = mode ? (signed char)code[at] : 0;
    return at + mode;
}

static bool target_is_keep(const unsigned char *code, struct target_gadgets *gadgets)
{
    int offset, pops;
    size_t bytes = target_keep_length(code, &offset);
    if (!bytes || (pops = target_pops(code + bytes, code + GADGET_MOST)) < 0)
        return false;
    gadgets->keep_offset = offset;
    gadgets->keep_pops = (unsigned)pops;
    return true;
}

static void target_see_code(const unsigned char *code, size_t bytes, uintptr_t address,
                            struct target_gadgets *gadgets)
{
    for (size_t i = 0; i + GADGET_MOST <= bytes; i++) {
        if (!gadgets->sigreturn && target_is_sigreturn(code + i))
            gadgets->sigreturn = address + i;
        if (!gadgets->keep && target_is_keep(code + i, gadgets))
            gadgets->keep = address + i;
    }
}

/* Whether the bytes are zeros, or a frame of an earlier call whose caller has died. */
static bool target_is_margin(const struct target *target, uintptr_t address, size_t bytes,
                             uintptr_t sigreturn)
{
    char found[4096];
    if (memory_read(target->pid, address, found, bytes) < 0)
        return false;
    if (!memcmp(found, &sigreturn, sizeof sigreturn))
        return true;
    for (size_t i = 0; i < bytes; i++)
        if (found[i])
            return false;
    return true;
}

static void target_find_margin_in(const struct target *target, const struct target_module *module,
                                  struct target_gadgets *gadgets)
{
    enum { PAGE = 4096 };
    ElfW(Phdr) segments[MOST_SEGMENTS];
    unsigned count = module->symbols ? target_read_segments(target, module, segments) : 0;
    for (unsigned i = 0; i < count; i++) {
        uintptr_t start = module->bias + segments[i].p_vaddr + segments[i].p_memsz;
        start = (start + 63) & ~(uintptr_t)63;
        size_t bytes = -start & (PAGE - 1);
        if (segments[i].p_type == PT_LOAD && !(segments[i].p_flags & PF_W) &&
            start > module->start && start < module->end && bytes > gadgets->margin_bytes &&
            target_is_margin(target, start, bytes, gadgets->sigreturn)) {
            gadgets->margin = start;
            gadgets->margin_bytes = bytes;
        }
    }
}

/* Reads no further than needed, because pages that are read become resident in the process. */
bool target_find_gadgets(const struct target *target, const struct target_module *libc,
                         struct target_gadgets *gadgets)
{
    unsigned char *code = malloc(CODE_CHUNK);
    *gadgets = (struct target_gadgets){.system_call = target_find_syscall(target, libc)};
    for (uintptr_t at = libc->code; code && at < libc->code_end; at += CODE_CHUNK - GADGET_MOST) {
        size_t left = libc->code_end - at, bytes = left < CODE_CHUNK ? left : CODE_CHUNK;
        if (memory_read(target->pid, at, code, bytes) < 0)
            break;
        target_see_code(code, bytes, at, gadgets);
        if (gadgets->sigreturn && gadgets->keep)
            break;
    }
    free(code);
    for (size_t i = 0; i < target->count; i++)
        target_find_margin_in(target, &target->modules[i], gadgets);
    return gadgets->system_call && gadgets->sigreturn && gadgets->keep;
}
