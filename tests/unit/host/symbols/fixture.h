/* What the tests of this room share: addresses of symbols in the fixtures. */
#ifndef TIDEMARK_TESTS_SYMBOLS_FIXTURE_H
#define TIDEMARK_TESTS_SYMBOLS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "symbols/symbols.h"

struct fixture_symbol {
    uint64_t value, bytes;
};

/* Of .symtab or .dynsym of a fixture; fails the test if it is not there. */
static inline struct fixture_symbol fixture_symbol(const char *path, const char *name)
{
    struct fixture_symbol found = {0};
    elf_version(EV_CURRENT);
    int fd = open(path, O_RDONLY);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    assert_non_null(elf);
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        gelf_getshdr(section, &header);
        if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM)
            continue;
        GElf_Sym symbol;
        Elf_Data *data = elf_getdata(section, NULL);
        for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
            const char *text = elf_strptr(elf, header.sh_link, symbol.st_name);
            if (text && strcmp(text, name) == 0)
                found = (struct fixture_symbol){symbol.st_value, symbol.st_size};
        }
    }
    elf_end(elf);
    close(fd);
    if (!found.value)
        fail_msg("no symbol %s in %s", name, path);
    return found;
}

static inline const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "??";
}

#endif
