/* Looks at one program: whether it can be recorded, and how much of it will have names. The ELF
 * file is read for its kind, its debug information, its compiler's options and its unwind
 * tables. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "doctor/doctor.h"
#include "base/regular.h"
#include "procfs/executable.h"
#include "symbols/symbols.h"

static const char *const advice_of[] = {
    [PROGRAM_STATIC] = "link it dynamically: nothing can be loaded into a static program",
    [PROGRAM_STATIC_PIE] = "link it dynamically: nothing can be loaded into a static program",
    [PROGRAM_FOREIGN] = "build it for this machine, 64-bit",
    [PROGRAM_PRIVILEGED] = "record a copy of it without setuid, setgid and capabilities",
    [PROGRAM_SANITIZED] = "build it without sanitizers",
    [PROGRAM_NOT_FOUND] = "give its path",
    [PROGRAM_NOT_EXECUTABLE] = "chmod +x, or record its interpreter with it as argument",
    [PROGRAM_DIRECTORY] = "give a program",
    [PROGRAM_NO_INTERPRETER] = "install what its first line or its loader asks for",
    [PROGRAM_TOO_DEEP] = "record the interpreter itself",
    [PROGRAM_BROKEN] = "build it again",
};

static void doctor_program_look_at_names(struct doctor *doctor, const char *path)
{
    struct symbols *symbols = symbols_new("");
    if (!symbols)
        return;
    int module = symbols_add_module(symbols, path, NULL, 0);
    switch (symbols_module_quality(symbols, module)) {
    case SYMBOLS_LINES:
        doctor_add(doctor, "names", DOCTOR_OK, NULL,
                   "functions, inlined ones too, files and lines");
        break;
    case SYMBOLS_FUNCTIONS:
        doctor_add(doctor, "names", DOCTOR_NOTE,
                   "compile with -g (Fortran, C, C++), debuginfo=1 (Rust): code stays as fast; or "
                   "install its debug package",
                   "functions, but no files and lines");
        break;
    case SYMBOLS_EXPORTS:
        doctor_add(doctor, "names", DOCTOR_NOTE,
                   "it is stripped: keep its symbols, compile with -g, install its debug package, "
                   "or set DEBUGINFOD_URLS",
                   "exported functions only");
        break;
    case SYMBOLS_PACKED:
        doctor_add(
            doctor, "names", DOCTOR_NOTE,
            "TIDEMARK_READ_MEMORY=BYTES allows more, if you know who made the program",
            "some are missing: its packed debug information would take more memory than that "
            "of a file of its size may");
        break;
    default:
        doctor_add(doctor, "names", DOCTOR_NOTE, "make the file readable",
                   "none: %s cannot be read", path);
    }
    symbols_free(symbols);
}

/* Adds the compiler, and GCC's options, from the first unit that names its producer. */
static void doctor_program_look_at_compiler(struct doctor *doctor, int fd)
{
    Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
    Dwarf_Off offset = 0, next;
    size_t header;
    while (dwarf && !dwarf_nextcu(dwarf, offset, &next, &header, NULL, NULL, NULL)) {
        Dwarf_Die unit;
        Dwarf_Attribute attribute;
        const char *producer = dwarf_offdie(dwarf, offset + header, &unit) &&
                                       dwarf_attr(&unit, DW_AT_producer, &attribute)
                                   ? dwarf_formstring(&attribute)
                                   : NULL;
        offset = next;
        if (!producer || strstr(producer, "GNU AS"))
            continue;
        doctor_add(doctor, "compiler", DOCTOR_OK, NULL, "%.300s", producer);
        break;
    }
    if (dwarf)
        dwarf_end(dwarf);
}

static bool doctor_program_has_section(Elf *elf, const char *name)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names))
        return true; /* no section headers: not known */
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        const char *called =
            gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (called && !strcmp(called, name))
            return true;
    }
    return false;
}

static void doctor_program_look_at_unwinding(struct doctor *doctor, int fd)
{
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    if (elf && !doctor_program_has_section(elf, ".eh_frame"))
        doctor_add(doctor, "call paths", DOCTOR_NOTE,
                   "compile with -fasynchronous-unwind-tables, or with -fno-omit-frame-pointer",
                   "the program has no unwind tables (.eh_frame): paths may end in it");
    else if (elf)
        doctor_add(doctor, "call paths", DOCTOR_OK, NULL,
                   "it has unwind tables; frame pointers are not needed");
    elf_end(elf);
}

void doctor_look_at_program(struct doctor *doctor, const char *name)
{
    static struct program program;
    executable_classify(&program, name, getenv("PATH"));
    if (program.kind != PROGRAM_DYNAMIC) {
        doctor_add(doctor, "program", DOCTOR_PROBLEM, advice_of[program.kind], "%s",
                   *program.detail ? program.detail : name);
        if (program.kind >= PROGRAM_NOT_FOUND)
            return;
    } else {
        doctor_add(doctor, "program", DOCTOR_OK, NULL, "%s can be recorded%s%s", program.path,
                   program.script ? ", by its interpreter " : "",
                   program.script ? program.interpreter : "");
    }
    const char *file = program.script ? program.interpreter : program.path;
    struct stat status;
    int fd = regular_file_open(file, &status);
    doctor_program_look_at_names(doctor, file);
    if (fd < 0)
        return;
    doctor_program_look_at_unwinding(doctor, fd);
    doctor_program_look_at_compiler(doctor, fd);
    close(fd);
}
