/* As much of an ELF file as tells whether the recorder can be loaded into it. Trusts nothing: all
 * offsets are checked by reading with pread. No libelf, which is not needed to start a program. */
#ifndef TIDEMARK_PROCFS_ELF_SNIFF_H
#define TIDEMARK_PROCFS_ELF_SNIFF_H

#include <limits.h>
#include <stdbool.h>

struct elf_sniff {
    bool is_elf;
    bool valid;   /* a program or shared object of this machine whose headers can be read */
    int bits;     /* 32 or 64, 0: neither */
    bool foreign; /* other machine, byte order or word size */
    bool position_independent;
    bool dynamic;               /* has a dynamic section */
    char interpreter[PATH_MAX]; /* "" if it has none */
    char sanitizer[128];        /* the library or symbol that gives it away; "" if none */
};

void elf_sniff(struct elf_sniff *elf, int fd);

#endif
