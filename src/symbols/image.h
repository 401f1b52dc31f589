/* One object file and what belongs to it, opened through libdwfl: the file, its separate debug
 * file (by build-id, debug link, or debuginfod if the user has set DEBUGINFOD_URLS: libdwfl asks
 * nobody otherwise), its alternate (dwz) file, its symbol tables.
 *
 * "Address" here and in the other headers is as in the ELF file. */
#ifndef TIDEMARK_SYMBOLS_IMAGE_H
#define TIDEMARK_SYMBOLS_IMAGE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/symbols.h"

struct image {
    Dwfl *dwfl;
    Dwfl_Module *module;
    Elf *elf;
    GElf_Addr bias;   /* address for libdwfl - address; 0 but for the vdso */
    char *debug_path; /* where libdwfl looks for debug files */
    char *memory;     /* the vdso's bytes */
    Dwfl_Callbacks callbacks;
};

struct image_id {
    const uint8_t *bytes;
    size_t length; /* 0: not known, any file will do */
};

/* SYMBOLS_NONE, SYMBOLS_CHANGED, or SYMBOLS_EXPORTS if it could be opened (what is in it is not
 * known yet). A file that is gone or changed is replaced by its debug file, if one is installed
 * under the recorded build-id. */
enum symbols_quality image_open(struct image *image, const char *root, const char *path,
                                struct image_id id);
void image_close(struct image *image);

#endif
