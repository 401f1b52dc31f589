/* The few facts of an ELF file that decide whether the recorder can be loaded into it. The file is
 * not trusted: pread fails for wrong offsets, and all lengths are bounded. Without libelf, which is
 * not needed to start a program. */
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
    char sanitizer[128];        /* the library or symbol by which it was found; "" if none */
};

void elf_sniff(struct elf_sniff *elf, int fd);

#endif
