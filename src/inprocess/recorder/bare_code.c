/* Frames of musl's C library are read from its instructions (entry_frame.h). A program without
 * PT_GNU_EH_FRAME still has call frame information: its place is in the file's table of sections.
 * It is then registered like information of a JIT compiler (bare_code.h). */
#include "recorder/bare_code.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "entry/entry_frame.h"
#include "interpose/c_library.h"
#include "interpose/real.h"
#include "unwind/unwind.h"

static struct entry_code bare_code;

/* ---- The C library ---- */

static void bare_code_begin_libc(void)
{
    static const char *const names[] = {
        "exit",         "_Exit",     "_exit",         "abort",      "longjmp",
        "pthread_exit", "thrd_exit", "__assert_fail", "quick_exit", "__stack_chk_fail"};
    unsigned count = 0;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        uintptr_t function = (uintptr_t)real_find(names[i]);
        if (function)
            bare_code.no_return[count++] = function;
    }
    if (!count || !real_code_around((void *)bare_code.no_return[0], &bare_code.lo, &bare_code.hi))
        bare_code.lo = bare_code.hi = 0;
}

bool bare_code_frame(uintptr_t ip, struct unwind_frame *frame)
{
    struct entry_frame found;
    if (ip - bare_code.lo >= bare_code.hi - bare_code.lo ||
        !entry_frame_find(&bare_code, ip, &found))
        return false;
    *frame = (struct unwind_frame){found.ends, found.from_bp, found.bp_saved, found.cfa_offset,
                                   found.bp_offset};
    return true;
}

/* ---- The program ---- */

static bool bare_code_read(int fd, uint64_t offset, void *to, size_t bytes)
{
    return syscall(SYS_pread64, fd, to, bytes, (off_t)offset) == (long)bytes;
}

/* The section's address as in the file; 0: there is no such section that is loaded. */
static uintptr_t bare_code_section(int fd)
{
    static const char name[] = ".eh_frame";
    Elf64_Ehdr elf;
    Elf64_Shdr names, section;
    char said[sizeof name];
    if (!bare_code_read(fd, 0, &elf, sizeof elf) || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
        !bare_code_read(fd, elf.e_shoff + elf.e_shstrndx * sizeof names, &names, sizeof names))
        return 0;
    for (unsigned i = 0; i < elf.e_shnum; i++)
        if (bare_code_read(fd, elf.e_shoff + i * sizeof section, &section, sizeof section) &&
            section.sh_flags & SHF_ALLOC &&
            bare_code_read(fd, names.sh_offset + section.sh_name, said, sizeof said) &&
            memcmp(said, name, sizeof name) == 0)
            return section.sh_addr;
    return 0;
}

static bool bare_code_is_loaded(const ElfW(Phdr) *segments, unsigned count, uintptr_t address)
{
    for (unsigned i = 0; i < count; i++)
        if (segments[i].p_type == PT_LOAD && address - segments[i].p_vaddr < segments[i].p_filesz)
            return true;
    return false;
}

static void bare_code_begin_program(void)
{
    const ElfW(Phdr) *segments = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    unsigned count = (unsigned)getauxval(AT_PHNUM);
    uintptr_t bias = 0, section = 0;
    for (unsigned i = 0; segments && i < count; i++) {
        if (segments[i].p_type == PT_GNU_EH_FRAME)
            return;
        if (segments[i].p_type == PT_PHDR)
            bias = (uintptr_t)segments - segments[i].p_vaddr;
    }
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        section = bare_code_section(fd);
        syscall(SYS_close, fd);
    }
    if (section && bare_code_is_loaded(segments, count, section))
        unwind_frames_added((const void *)(bias + section));
}

void bare_code_begin(void)
{
#if defined(__x86_64__)
    bare_code_begin_program();
    if (!c_library_is_glibc())
        bare_code_begin_libc();
#endif
}
