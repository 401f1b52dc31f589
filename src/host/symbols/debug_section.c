/* Finds a section of debug information by its name (debug_section.h), among the headers of a file
 * that libdw has opened, and has unpacked if it was packed. */
#include "symbols/debug_section.h"

#include <gelf.h>

static bool debug_section_is_ours(Elf *elf)
{
    GElf_Ehdr header;

    return gelf_getehdr(elf, &header) && header.e_ident[EI_DATA] == ELFDATA2LSB &&
           header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_type != ET_REL;
}

static Elf_Data *debug_section_data(Elf *elf, const char *wanted)
{
    size_t names;

    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS ||
            header.sh_flags & SHF_COMPRESSED)
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        if (name && strcmp(name, wanted) == 0)
            return elf_rawdata(section, NULL);
    }
    return NULL;
}

struct section_bytes debug_section_find(Elf *elf, const char *name)
{
    Elf_Data *data = elf && debug_section_is_ours(elf) ? debug_section_data(elf, name) : NULL;

    return data && data->d_buf ? (struct section_bytes){data->d_buf, data->d_size}
                               : (struct section_bytes){0};
}
