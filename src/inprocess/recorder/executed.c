/* Reads the head of the file, and follows "#!" lines through at most four scripts (executed.h). Of
 * an ELF file, it reads the dynamic section: the libraries that it needs, and by its hash table
 * whether a sanitizer's run-time is linked into it. Every reading is checked for its length. One
 * pread() fills a window of 1 KiB, because the next bytes are mostly read next: a small program
 * takes four calls instead of twenty-three. */
#include "recorder/executed.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "interpose/preloads.h"

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE
#endif

enum { MOST_SCRIPTS = 4, SCRIPT_BYTES = 256 }; /* as the kernel */
enum { MOST_SEGMENTS = 64, MOST_DYNAMIC = 512, MOST_NEEDED = 64 };

struct executed_file {
    int fd;
    uint64_t offset; /* of the window, in the file */
    size_t bytes;    /* bytes in the window; fewer at the file's end */
    char window[1024];
};

static bool executed_is_in_window(const struct executed_file *file, uint64_t offset, size_t bytes)
{
    uint64_t within = offset - file->offset;
    return offset >= file->offset && within <= file->bytes && file->bytes - within >= bytes;
}

static bool executed_move_window(struct executed_file *file, uint64_t offset)
{
    long got = -1;
    if (offset <= INT64_MAX)
        got = syscall(SYS_pread64, file->fd, file->window, sizeof file->window, (off_t)offset);
    file->offset = offset;
    file->bytes = got > 0 ? (size_t)got : 0;
    return got >= 0;
}

/* `bytes`: at most as many as the window has. */
static bool executed_read(struct executed_file *file, uint64_t offset, void *to, size_t bytes)
{
    if (!executed_is_in_window(file, offset, bytes) &&
        (!executed_move_window(file, offset) || !executed_is_in_window(file, offset, bytes)))
        return false;
    memcpy(to, file->window + (offset - file->offset), bytes);
    return true;
}

/* ---- Sanitizers ---- */

struct executed_dynamic {
    struct executed_file *file;
    Elf64_Phdr loads[8]; /* map addresses to offsets in the file */
    unsigned load_count;
    uint64_t strings, symbols, hash; /* addresses; 0: there is none */
    uint64_t needed[MOST_NEEDED];    /* offsets in the strings */
    unsigned needed_count;
};

static bool executed_read_address(const struct executed_dynamic *dynamic, uint64_t address,
                                  void *to, size_t bytes)
{
    for (unsigned i = 0; i < dynamic->load_count; i++) {
        const Elf64_Phdr *load = &dynamic->loads[i];
        uint64_t within = address - load->p_vaddr;
        if (within < load->p_filesz && load->p_filesz - within >= bytes)
            return executed_read(dynamic->file, load->p_offset + within, to, bytes);
    }
    return false;
}

static void executed_take_dynamic(struct executed_dynamic *dynamic, const Elf64_Dyn *entry)
{
    if (entry->d_tag == DT_STRTAB)
        dynamic->strings = entry->d_un.d_ptr;
    else if (entry->d_tag == DT_SYMTAB)
        dynamic->symbols = entry->d_un.d_ptr;
    else if (entry->d_tag == DT_GNU_HASH)
        dynamic->hash = entry->d_un.d_ptr;
    else if (entry->d_tag == DT_NEEDED && dynamic->needed_count < MOST_NEEDED)
        dynamic->needed[dynamic->needed_count++] = entry->d_un.d_val;
}

static void executed_read_dynamic(struct executed_dynamic *dynamic, const Elf64_Phdr *segment)
{
    Elf64_Dyn entries[16];
    for (unsigned at = 0; at < MOST_DYNAMIC; at++) {
        unsigned in_part = at % 16;
        uint64_t offset = at * sizeof *entries;
        if (offset + sizeof *entries > segment->p_filesz)
            return;
        uint64_t left = segment->p_filesz - offset;
        if (in_part == 0 && !executed_read(dynamic->file, segment->p_offset + offset, entries,
                                           left < sizeof entries ? left : sizeof entries))
            return;
        if (entries[in_part].d_tag == DT_NULL)
            return;
        executed_take_dynamic(dynamic, &entries[in_part]);
    }
}

static bool executed_needs_sanitizer(const struct executed_dynamic *dynamic)
{
    for (unsigned i = 0; i < dynamic->needed_count; i++) {
        char name[20];
        if (executed_read_address(dynamic, dynamic->strings + dynamic->needed[i], name,
                                  sizeof name) &&
            preloads_is_sanitizer(name, sizeof name))
            return true;
    }
    return false;
}

static uint32_t executed_hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static bool executed_symbol_is(const struct executed_dynamic *dynamic, uint64_t number,
                               const char *name)
{
    Elf64_Sym symbol;
    char text[16];
    size_t bytes = strlen(name) + 1;
    return executed_read_address(dynamic, dynamic->symbols + number * sizeof symbol, &symbol,
                                 sizeof symbol) &&
           executed_read_address(dynamic, dynamic->strings + symbol.st_name, text, bytes) &&
           memcmp(text, name, bytes) == 0;
}

/* In the table of DT_GNU_HASH: [0] buckets, [1] first hashed symbol, [2] bloom words, [3] shift. */
static bool executed_exports(const struct executed_dynamic *dynamic, const char *name)
{
    enum { MOST_CHAIN = 64 };
    uint32_t head[4], bucket, link, hash = executed_hash_of(name);
    uint64_t bloom, at = dynamic->hash + sizeof head;
    if (!executed_read_address(dynamic, dynamic->hash, head, sizeof head) || !head[0] || !head[2] ||
        !executed_read_address(dynamic, at + hash / 64 % head[2] * sizeof bloom, &bloom,
                               sizeof bloom) ||
        !(bloom >> hash % 64 & bloom >> (hash >> head[3] % 32) % 64 & 1))
        return false;
    at += head[2] * sizeof bloom;
    if (!executed_read_address(dynamic, at + hash % head[0] * sizeof bucket, &bucket,
                               sizeof bucket) ||
        bucket < head[1])
        return false;
    at += head[0] * sizeof bucket;
    for (uint64_t number = bucket; number < (uint64_t)bucket + MOST_CHAIN; number++) {
        if (!executed_read_address(dynamic, at + (number - head[1]) * sizeof link, &link,
                                   sizeof link))
            return false;
        if ((link | 1) == (hash | 1) && executed_symbol_is(dynamic, number, name))
            return true;
        if (link & 1)
            return false;
    }
    return false;
}

/* Clang links a sanitizer's run-time into the program, which exports its functions for
 * libraries. */
static bool executed_has_sanitizer(const struct executed_dynamic *dynamic)
{
    static const char *const marks[] = {"__asan_init", "__tsan_init", "__msan_init",
                                        "__hwasan_init", "__lsan_init"};
    if (!dynamic->strings)
        return false;
    for (unsigned i = 0; dynamic->hash && i < sizeof marks / sizeof *marks; i++)
        if (executed_exports(dynamic, marks[i]))
            return true;
    return executed_needs_sanitizer(dynamic);
}

/* ---- What kind of a program ---- */

static enum executed executed_ours(struct executed_file *file, const Elf64_Ehdr *elf)
{
    struct executed_dynamic dynamic = {.file = file};
    Elf64_Phdr segment, tables = {0};
    bool has_loader = false;
    for (unsigned i = 0; i < elf->e_phnum && i < MOST_SEGMENTS; i++) {
        if (!executed_read(file, elf->e_phoff + i * sizeof segment, &segment, sizeof segment))
            return EXECUTED_LOADS_US; /* not known */
        has_loader |= segment.p_type == PT_INTERP;
        if (segment.p_type == PT_DYNAMIC)
            tables = segment;
        if (segment.p_type == PT_LOAD && dynamic.load_count < 8)
            dynamic.loads[dynamic.load_count++] = segment;
    }
    if (!has_loader)
        return EXECUTED_STATIC;
    executed_read_dynamic(&dynamic, &tables);
    return executed_has_sanitizer(&dynamic) ? EXECUTED_HARMED : EXECUTED_LOADS_US;
}

/* Of 32 bits. */
static enum executed executed_narrow(struct executed_file *file, const Elf32_Ehdr *elf)
{
    Elf32_Phdr segment;
    for (unsigned i = 0; i < elf->e_phnum && i < MOST_SEGMENTS; i++)
        if (!executed_read(file, elf->e_phoff + i * sizeof segment, &segment, sizeof segment) ||
            segment.p_type == PT_INTERP)
            return EXECUTED_HARMED;
    return EXECUTED_STATIC;
}

static enum executed executed_elf(struct executed_file *file, const Elf64_Ehdr *elf)
{
    enum executed kind;
    if (elf->e_ident[EI_DATA] != ELFDATA2LSB)
        return EXECUTED_HARMED;
    if (elf->e_ident[EI_CLASS] != ELFCLASS64)
        return executed_narrow(file, (const Elf32_Ehdr *)elf);
    kind = executed_ours(file, elf);
    return kind == EXECUTED_LOADS_US && elf->e_machine != OUR_MACHINE ? EXECUTED_HARMED : kind;
}

/* Is it setuid or setgid? Then the loader ignores LD_PRELOAD. */
static bool executed_gets_privileges(const struct stat *facts)
{
    bool user = facts->st_mode & S_ISUID && facts->st_uid != getuid();
    bool group = facts->st_mode & S_ISGID && facts->st_mode & S_IXGRP && facts->st_gid != getgid();
    return user || group;
}

union executed_head {
    char text[SCRIPT_BYTES];
    Elf64_Ehdr elf;
};

static bool executed_read_head(struct executed_file *file, union executed_head *head)
{
    if (!executed_move_window(file, 0))
        return false;
    size_t bytes = file->bytes < sizeof head->text ? file->bytes : sizeof head->text;
    memset(head->text, 0, sizeof head->text);
    memcpy(head->text, file->window, bytes);
    return true;
}

/* Moves the interpreter's name of a "#!" line to the text's beginning. False: there is none. */
static bool executed_script(char text[SCRIPT_BYTES])
{
    if (text[0] != '#' || text[1] != '!')
        return false;
    text[SCRIPT_BYTES - 1] = '\0';
    char *start = text + 2 + strspn(text + 2, " \t");
    size_t bytes = strcspn(start, " \t\r\n");
    memmove(text, start, bytes);
    text[bytes] = '\0';
    return bytes;
}

/* -1: it is a script, and the head begins with its interpreter's name. */
static int executed_look_once(const char *path, union executed_head *head)
{
    struct stat facts;
    int kind = EXECUTED_LOADS_US;
    if (syscall(SYS_newfstatat, AT_FDCWD, path, &facts, 0) < 0 || !S_ISREG(facts.st_mode))
        return EXECUTED_LOADS_US;
    bool privileged = executed_gets_privileges(&facts); /* scripts get no privileges */
    struct executed_file file;
    file.fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file.fd < 0)
        return privileged ? EXECUTED_PRIVILEGED : EXECUTED_LOADS_US;
    if (executed_read_head(&file, head)) {
        if (memcmp(head->elf.e_ident, ELFMAG, SELFMAG) == 0)
            kind = privileged ? EXECUTED_PRIVILEGED : (int)executed_elf(&file, &head->elf);
        else if (executed_script(head->text))
            kind = -1;
    }
    syscall(SYS_close, file.fd);
    return kind;
}

enum executed executed_look_at(const char *path)
{
    union executed_head head, next;
    int kind = executed_look_once(path, &head);
    for (unsigned scripts = 0; kind < 0 && scripts < MOST_SCRIPTS; scripts++) {
        next = head;
        kind = executed_look_once(next.text, &head);
    }
    return kind < 0 ? EXECUTED_LOADS_US : (enum executed)kind;
}
