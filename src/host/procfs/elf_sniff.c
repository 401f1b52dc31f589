/* Reads the few facts of an ELF file that decide whether it can be recorded (elf_sniff.h). It reads
 * the header, the segments, the interpreter and the dynamic section by pread. A sanitizer is found
 * among the needed libraries or in the dynamic strings. */
#include "procfs/elf_sniff.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SEGMENTS      512u
#define MAX_DYNAMIC       4096u
#define MAX_STRINGS_BYTES (64u << 20) /* Chromium's has 2 MB */

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#elif defined(__riscv)
#define OUR_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define OUR_MACHINE EM_PPC64
#elif defined(__s390x__)
#define OUR_MACHINE EM_S390
#else
#error "which e_machine does this machine have?"
#endif
#define OUR_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)
#define OUR_DATA  (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

struct segments {
    ElfW(Phdr) headers[MAX_SEGMENTS];
    size_t count;
};

static bool elf_sniff_read_at(int fd, uint64_t offset, void *to, size_t bytes)
{
    return offset <= INT64_MAX && pread(fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* Where the loaded address `address` stands in the file. */
static bool elf_sniff_offset_of(const struct segments *segments, uint64_t address, uint64_t *offset)
{
    for (size_t i = 0; i < segments->count; i++) {
        const ElfW(Phdr) *segment = &segments->headers[i];
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr ||
            address - segment->p_vaddr >= segment->p_filesz)
            continue;
        *offset = segment->p_offset + (address - segment->p_vaddr);
        return true;
    }
    return false;
}

static bool elf_sniff_is_sanitizer_library(const char *name)
{
    static const char *const marks[] = {
        "libasan.so",       "libtsan.so",       "liblsan.so",         "libhwasan.so",
        "libclang_rt.asan", "libclang_rt.tsan", "libclang_rt.hwasan", "libclang_rt.msan"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (strncmp(name, marks[i], strlen(marks[i])) == 0)
            return true;
    }
    return false;
}

/* Clang links its runtimes into the program: their symbols are in the dynamic string table. */
static const char *elf_sniff_sanitizer_symbol(const char *strings, size_t bytes)
{
    static const char *const marks[] = {"__asan_init", "__tsan_init", "__msan_init",
                                        "__hwasan_init", "__lsan_init"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t length = strlen(marks[i]) + 1;
        const char *found = memmem(strings, bytes, marks[i], length);
        if (found && (found == strings || found[-1] == '\0'))
            return marks[i];
    }
    return NULL;
}

struct elf_sniff_dynamic {
    uint64_t strings_address, strings_bytes;
    uint64_t needed[256]; /* offsets in the strings */
    size_t needed_count;
};

static void elf_sniff_read_dynamic(struct elf_sniff_dynamic *dynamic, int fd,
                                   const ElfW(Phdr) *segment)
{
    uint64_t count = segment->p_filesz / sizeof(ElfW(Dyn));
    for (uint64_t i = 0; i < count && i < MAX_DYNAMIC; i++) {
        ElfW(Dyn) entry;
        if (!elf_sniff_read_at(fd, segment->p_offset + i * sizeof entry, &entry, sizeof entry) ||
            entry.d_tag == DT_NULL)
            return;
        if (entry.d_tag == DT_STRTAB)
            dynamic->strings_address = entry.d_un.d_ptr;
        else if (entry.d_tag == DT_STRSZ)
            dynamic->strings_bytes = entry.d_un.d_val;
        else if (entry.d_tag == DT_NEEDED && dynamic->needed_count < 256)
            dynamic->needed[dynamic->needed_count++] = entry.d_un.d_val;
    }
}

static void elf_sniff_find_sanitizer(struct elf_sniff *elf, int fd, const struct segments *segments,
                                     const ElfW(Phdr) *segment)
{
    struct elf_sniff_dynamic dynamic = {0};
    uint64_t offset;
    elf_sniff_read_dynamic(&dynamic, fd, segment);
    size_t bytes = dynamic.strings_bytes;
    if (!bytes || bytes > MAX_STRINGS_BYTES ||
        !elf_sniff_offset_of(segments, dynamic.strings_address, &offset))
        return;
    char *strings = calloc(1, bytes + 1);
    const char *found = NULL;
    if (strings && elf_sniff_read_at(fd, offset, strings, bytes)) {
        for (size_t i = 0; i < dynamic.needed_count && !found; i++) {
            if (dynamic.needed[i] < bytes &&
                elf_sniff_is_sanitizer_library(strings + dynamic.needed[i]))
                found = strings + dynamic.needed[i];
        }
        if (!found)
            found = elf_sniff_sanitizer_symbol(strings, bytes);
    }
    if (found)
        strncpy(elf->sanitizer, found, sizeof elf->sanitizer - 1);
    free(strings);
}

static bool elf_sniff_read_segments(struct segments *segments, int fd, const ElfW(Ehdr) *header)
{
    segments->count = header->e_phnum;
    if (header->e_phentsize != sizeof(ElfW(Phdr)) || segments->count > MAX_SEGMENTS)
        return false;
    return elf_sniff_read_at(fd, header->e_phoff, segments->headers,
                             segments->count * sizeof(ElfW(Phdr)));
}

static bool elf_sniff_read_interpreter(struct elf_sniff *elf, int fd, const ElfW(Phdr) *segment)
{
    return segment->p_filesz > 0 && segment->p_filesz < sizeof elf->interpreter &&
           elf_sniff_read_at(fd, segment->p_offset, elf->interpreter, segment->p_filesz);
}

static void elf_sniff_read_own(struct elf_sniff *elf, int fd)
{
    ElfW(Ehdr) header;
    struct segments *segments = calloc(1, sizeof *segments);
    if (!segments || !elf_sniff_read_at(fd, 0, &header, sizeof header) ||
        !elf_sniff_read_segments(segments, fd, &header))
        goto done;
    elf->position_independent = header.e_type == ET_DYN;
    elf->valid = header.e_type == ET_DYN || header.e_type == ET_EXEC;
    for (size_t i = 0; i < segments->count; i++) {
        const ElfW(Phdr) *segment = &segments->headers[i];
        if (segment->p_type == PT_INTERP)
            elf->valid &= elf_sniff_read_interpreter(elf, fd, segment);
        if (segment->p_type != PT_DYNAMIC)
            continue;
        elf->dynamic = true;
        elf_sniff_find_sanitizer(elf, fd, segments, segment);
    }
done:
    free(segments);
}

void elf_sniff(struct elf_sniff *elf, int fd)
{
    unsigned char start[20]; /* e_ident, e_type, e_machine: at the same place in both classes */
    *elf = (struct elf_sniff){0};
    if (!elf_sniff_read_at(fd, 0, start, SELFMAG) || memcmp(start, ELFMAG, SELFMAG) != 0)
        return;
    elf->is_elf = true;
    if (!elf_sniff_read_at(fd, 0, start, sizeof start))
        return;
    elf->bits = start[EI_CLASS] == ELFCLASS64 ? 64 : start[EI_CLASS] == ELFCLASS32 ? 32 : 0;
    uint16_t machine;
    memcpy(&machine, start + 18, sizeof machine);
    elf->foreign =
        start[EI_CLASS] != OUR_CLASS || start[EI_DATA] != OUR_DATA || machine != OUR_MACHINE;
    if (!elf->foreign)
        elf_sniff_read_own(elf, fd);
}
