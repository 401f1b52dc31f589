#include "symbols/image.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/memory.h"

#define DEBUG_DIRECTORY "/usr/lib/debug"

/* A sane vdso has two to four pages. */
#define MAX_VDSO_BYTES (64u << 10)

static bool is_vdso(const char *path)
{
    return strcmp(path, "[vdso]") == 0 || strncmp(path, "linux-vdso", 10) == 0 ||
           strncmp(path, "linux-gate", 10) == 0;
}

/* Where libdwfl looks: beside the file, in .debug beside it, and in the debug directory, that of
 * the recorded process's root first. */
static char *debug_path_for(const char *root)
{
    char *path = NULL;
    int printed = *root ? asprintf(&path, ":.debug:%s" DEBUG_DIRECTORY ":" DEBUG_DIRECTORY, root)
                        : asprintf(&path, ":.debug:" DEBUG_DIRECTORY);
    return printed < 0 ? NULL : path;
}

static bool begin(struct image *image, const char *root)
{
    image->debug_path = debug_path_for(root);
    image->callbacks = (Dwfl_Callbacks){
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &image->debug_path,
    };
    image->dwfl = dwfl_begin(&image->callbacks);
    return image->dwfl != NULL;
}

/* Ends the reporting of the one module of this session and opens its ELF file. */
static bool opened(struct image *image)
{
    if (dwfl_report_end(image->dwfl, NULL, NULL) != 0 || !image->module)
        return false;
    image->elf = dwfl_module_getelf(image->module, &image->bias);
    return image->elf && elf_kind(image->elf) == ELF_K_ELF;
}

static bool open_vdso(struct image *image)
{
    const char *vdso = (const char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    if (!vdso || memcmp(vdso, ELFMAG, SELFMAG) != 0 || vdso[EI_CLASS] != ELFCLASS64)
        return false;
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)vdso;
    size_t bytes = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    if (bytes < sizeof *header || bytes > MAX_VDSO_BYTES)
        return false;
    image->memory = memory_zeroed(1, bytes);
    memcpy(image->memory, vdso, bytes);
    image->module =
        dwfl_report_offline_memory(image->dwfl, "[vdso]", "[vdso]", image->memory, bytes);
    return opened(image);
}

/* A path from a recording may name anything by now: a FIFO must not stop the report. */
static int open_regular(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool open_file(struct image *image, const char *path)
{
    int fd = open_regular(path);
    if (fd < 0)
        return false;
    image->module = dwfl_report_elf(image->dwfl, path, path, fd, 0, true);
    if (!image->module)
        close(fd);
    return opened(image);
}

/* An id longer than the recording could hold is compared as far as it goes. */
static bool has_id(const struct image *image, struct image_id id)
{
    const unsigned char *bits;
    GElf_Addr where;
    int length = dwfl_module_build_id(image->module, &bits, &where);
    if (id.length == 0)
        return true;
    return length > 0 && (size_t)length >= id.length && memcmp(bits, id.bytes, id.length) == 0;
}

static enum symbols_quality try_file(struct image *image, const char *root, const char *path,
                                     struct image_id id)
{
    enum symbols_quality quality = SYMBOLS_NONE;
    if (begin(image, root) && (is_vdso(path) ? open_vdso(image) : open_file(image, path)))
        quality = has_id(image, id) ? SYMBOLS_EXPORTS : SYMBOLS_CHANGED;
    if (quality != SYMBOLS_EXPORTS)
        image_close(image);
    return quality;
}

static enum symbols_quality try_under(struct image *image, const char *root, const char *prefix,
                                      const char *path, struct image_id id)
{
    char *full = NULL;
    if (asprintf(&full, "%s%s", prefix, path) < 0)
        return SYMBOLS_NONE;
    enum symbols_quality quality = try_file(image, root, full, id);
    free(full);
    return quality;
}

/* The debug file alone has the symbols, the lines and the same addresses. */
static enum symbols_quality try_debug_file(struct image *image, const char *root,
                                           const char *prefix, struct image_id id)
{
    char path[sizeof DEBUG_DIRECTORY "/.build-id/" + 2 * 64 + 16];
    if (id.length < 4 || id.length > 64)
        return SYMBOLS_NONE;
    int at = sprintf(path, DEBUG_DIRECTORY "/.build-id/%02x/", id.bytes[0]);
    for (size_t i = 1; i < id.length; i++)
        at += sprintf(path + at, "%02x", id.bytes[i]);
    strcpy(path + at, ".debug");
    return try_under(image, root, prefix, path, id);
}

enum symbols_quality image_open(struct image *image, const char *root, const char *path,
                                struct image_id id)
{
    *image = (struct image){0};
    enum symbols_quality best = SYMBOLS_NONE, quality;
    if (is_vdso(path))
        return try_file(image, root, path, id);
    const char *prefixes[] = {root, ""};
    for (int debug = 0; debug < 2; debug++) {
        for (int i = *root ? 0 : 1; i < 2; i++) {
            quality = debug ? try_debug_file(image, root, prefixes[i], id)
                            : try_under(image, root, prefixes[i], path, id);
            if (quality == SYMBOLS_EXPORTS)
                return quality;
            if (quality > best)
                best = quality;
        }
    }
    return best;
}

void image_close(struct image *image)
{
    if (image->dwfl)
        dwfl_end(image->dwfl);
    free(image->debug_path);
    free(image->memory);
    *image = (struct image){0};
}
