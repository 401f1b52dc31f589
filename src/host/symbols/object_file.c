/* Opens an ELF file and its debug file (object_file.h). The file is mapped, its build-id is
 * compared with the recorded one, and only then the mapping is passed to libdwfl. A debug file
 * found by build-id stands in for a file that is gone or changed. */
#include "symbols/object_file.h"
#include "base/regular.h"

#include <dlfcn.h>
#include <elf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/name_memory.h"
#include "symbols/unpack_limit.h"
#include "symbols/unpacked_copy.h"

#define DEBUG_DIRECTORY "/usr/lib/debug"

/* A sane vdso has two to four pages. */
#define MAX_VDSO_BYTES (64u << 10)

/* ---- Debug servers ------------------------------------------------------------------------- */

#define DEBUG_SERVERS "DEBUGINFOD_URLS"

/* libdwfl loads the library for debug servers, and with it those for HTTP, TLS, LDAP and Kerberos,
 * even if no server is named. None of its functions searches only the directories. So this dlopen()
 * replaces libc's for all libraries of this program, and loads that library only if servers are
 * named. */
__attribute__((visibility("default"))) void *dlopen(const char *name, int mode)
{
    void *(*next)(const char *name, int mode) =
        (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    const char *servers = getenv(DEBUG_SERVERS);
    bool is_for_servers = name && strncmp(name, "libdebuginfod", strlen("libdebuginfod")) == 0;

    return next && !(is_for_servers && (!servers || !*servers)) ? next(name, mode) : NULL;
}

/* ---- Session ------------------------------------------------------------------------------- */

/* Where libdwfl looks: beside the file, in .debug beside it, and in the debug directory, that of
 * the recorded process's root first. */
static char *object_file_debug_path_for(const char *root)
{
    char *path = NULL;
    int printed = *root ? asprintf(&path, ":.debug:%s" DEBUG_DIRECTORY ":" DEBUG_DIRECTORY, root)
                        : asprintf(&path, ":.debug:" DEBUG_DIRECTORY);
    return printed < 0 ? NULL : path;
}

static uid_t object_file_owner_of(const char *root)
{
    struct stat status;
    return *root && stat(root, &status) == 0 ? status.st_uid : geteuid();
}

bool object_file_session_begin(struct object_file_session *session, const char *root)
{
    session->root = root;
    session->owner = object_file_owner_of(root);
    session->debug_path = object_file_debug_path_for(root);
    session->callbacks = (Dwfl_Callbacks){
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &session->debug_path,
    };
    elf_version(EV_CURRENT);
    session->dwfl = dwfl_begin(&session->callbacks);
    return session->dwfl != NULL;
}

void object_file_session_end(struct object_file_session *session)
{
    if (session->dwfl)
        dwfl_end(session->dwfl);
    free(session->debug_path);
    *session = (struct object_file_session){0};
}

/* ---- Bytes --------------------------------------------------------------------------------- */

static bool object_file_is_vdso(const char *path)
{
    return strcmp(path, "[vdso]") == 0 || strncmp(path, "linux-vdso", 10) == 0 ||
           strncmp(path, "linux-gate", 10) == 0;
}

static bool object_file_map(struct object_file *image, size_t length, int flags, int fd)
{
    void *bytes = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | flags, fd, 0);
    if (bytes == MAP_FAILED)
        return false;
    image->bytes = bytes;
    image->length = length;
    image->owner = geteuid();
    return true;
}

/* Our own vdso, which can stand for the recorded one if the build-ids are equal. They are compared
 * as for files. */
static bool object_file_map_vdso(struct object_file *image)
{
    const char *vdso = (const char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    if (!vdso || memcmp(vdso, ELFMAG, SELFMAG) != 0 || vdso[EI_CLASS] != ELFCLASS64)
        return false;
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)vdso;
    size_t length = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    if (length < sizeof *header || length > MAX_VDSO_BYTES ||
        !object_file_map(image, length, MAP_ANONYMOUS, -1))
        return false;
    memcpy(image->bytes, vdso, length);
    return true;
}

/* A path from a recording may be anything by now: a FIFO, say, must not block the report. */
static bool object_file_map_file(struct object_file *image, const char *path)
{
    struct stat status;
    int fd = regular_file_open(path, &status);
    if (fd < 0)
        return false;
    bool mapped = status.st_size > (off_t)sizeof(Elf32_Ehdr) &&
                  object_file_map(image, (size_t)status.st_size, 0, fd) &&
                  memcmp(image->bytes, ELFMAG, SELFMAG) == 0;
    if (mapped)
        image->owner = status.st_uid;
    close(fd);
    return mapped;
}

static int object_file_begin_packed(int fd)
{
    unpack_limit_begin_file(fd);
    return fd;
}

static int object_file_begin_debug(int fd)
{
    return object_file_begin_packed(unpacked_copy_instead(fd));
}

/* Packed files are replaced by their unpacked copies. Not without a build-id, because libdwfl then
 * compares debug files by a checksum of their bytes. */
struct guarded_open object_file_guard(const struct object_file *image)
{
    const void *id;
    bool has_id = image->elf && dwelf_elf_gnu_build_id(image->elf, &id) > 0;
    return guarded_open_begin((struct guarded_open){.owner = image->owner,
                                                    .instead = has_id ? object_file_begin_debug
                                                                      : object_file_begin_packed});
}

void object_file_release(struct object_file *image)
{
    if (image->bytes)
        munmap(image->bytes, image->length);
    *image = (struct object_file){0};
}

/* ---- Opening ------------------------------------------------------------------------------- */

/* An id longer than the recording could hold is compared as far as it goes. */
static bool object_file_has_id(Elf *elf, struct object_file_id id)
{
    const void *found;
    ssize_t length = id.length ? dwelf_elf_gnu_build_id(elf, &found) : 0;
    return id.length == 0 ||
           (length > 0 && (size_t)length >= id.length && memcmp(found, id.bytes, id.length) == 0);
}

/* Whether it is the right file, before libdwfl sees it: a file once reported stays in the session,
 * and dwfl_report_offline_memory() of 0.188 crashes on a file that ends within its header. */
static enum symbols_quality object_file_inspect(const struct object_file *image,
                                                struct object_file_id id)
{
    GElf_Ehdr header;
    enum symbols_quality quality = SYMBOLS_NONE;
    Elf *elf = elf_memory(image->bytes, image->length);
    if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header))
        quality = object_file_has_id(elf, id) ? SYMBOLS_EXPORTS : SYMBOLS_CHANGED;
    if (quality == SYMBOLS_EXPORTS)
        unpack_limit_hide_debugdata(elf, image->bytes, image->length);
    elf_end(elf);
    return quality;
}

/* The name is unique, because libdwfl takes two modules of one name and place for the same
 * module. */
static bool object_file_report(struct object_file *image, struct object_file_session *session,
                               const char *path)
{
    char name[32];
    snprintf(name, sizeof name, "%p", image->bytes);
    dwfl_report_begin_add(session->dwfl);
    image->module =
        dwfl_report_offline_memory(session->dwfl, name, path, image->bytes, image->length);
    if (dwfl_report_end(session->dwfl, NULL, NULL) != 0 || !image->module)
        return false;
    image->elf = dwfl_module_getelf(image->module, &image->bias);
    return image->elf && elf_kind(image->elf) == ELF_K_ELF;
}

static enum symbols_quality object_file_try(struct object_file *image,
                                            struct object_file_session *session, const char *path,
                                            struct object_file_id id)
{
    enum symbols_quality quality = SYMBOLS_NONE;
    if (object_file_is_vdso(path) ? object_file_map_vdso(image) : object_file_map_file(image, path))
        quality = object_file_inspect(image, id);
    if (quality == SYMBOLS_EXPORTS && !object_file_report(image, session, path))
        quality = SYMBOLS_NONE;
    if (quality != SYMBOLS_EXPORTS && !image->module)
        object_file_release(image);
    return quality;
}

static enum symbols_quality object_file_try_under(struct object_file *image,
                                                  struct object_file_session *session,
                                                  const char *prefix, const char *path,
                                                  struct object_file_id id)
{
    char *full = NULL;
    if (asprintf(&full, "%s%s", prefix, path) < 0)
        return SYMBOLS_NONE;
    enum symbols_quality quality = object_file_try(image, session, full, id);
    free(full);
    return quality;
}

/* The debug file alone has the symbols, the lines and the same addresses. */
static enum symbols_quality object_file_try_debug(struct object_file *image,
                                                  struct object_file_session *session,
                                                  const char *prefix, struct object_file_id id)
{
    char path[sizeof DEBUG_DIRECTORY "/.build-id/" + 2 * 64 + 16];
    if (id.length < 4 || id.length > 64)
        return SYMBOLS_NONE;
    int at = sprintf(path, DEBUG_DIRECTORY "/.build-id/%02x/", id.bytes[0]);
    for (size_t i = 1; i < id.length; i++)
        at += sprintf(path + at, "%02x", id.bytes[i]);
    strcpy(path + at, ".debug");
    /* The image is gone, so the owner of its root stands for its owner. */
    struct guarded_open before =
        guarded_open_begin((struct guarded_open){.owner = session->owner, .root = session->root});
    enum symbols_quality quality = object_file_try_under(image, session, prefix, path, id);
    guarded_open_restore(before);
    return quality;
}

static enum symbols_quality object_file_find(struct object_file *image,
                                             struct object_file_session *session, const char *path,
                                             struct object_file_id id)
{
    const char *prefixes[] = {session->root, ""};
    enum symbols_quality best = SYMBOLS_NONE;
    *image = (struct object_file){0};
    if (object_file_is_vdso(path))
        return object_file_try(image, session, path, id);
    for (int debug = 0; debug < 2; debug++) {
        for (int i = *session->root ? 0 : 1; i < 2; i++) {
            enum symbols_quality quality =
                debug ? object_file_try_debug(image, session, prefixes[i], id)
                      : object_file_try_under(image, session, prefixes[i], path, id);
            if (quality == SYMBOLS_EXPORTS || image->module)
                return quality;
            if (quality > best)
                best = quality;
        }
    }
    return best;
}

/* The program's own files may belong to any user, because their build-ids show that they are the
 * recorded ones. */
enum symbols_quality object_file_open(struct object_file *image,
                                      struct object_file_session *session, const char *path,
                                      struct object_file_id id)
{
    struct guarded_open before =
        guarded_open_begin((struct guarded_open){.trusts_all = true, .root = session->root});
    enum symbols_quality quality = object_file_find(image, session, path, id);
    guarded_open_restore(before);
    return quality;
}

static bool object_file_is_code(const struct object_file *image, const GElf_Shdr *section,
                                uint64_t address)
{
    return section->sh_type == SHT_PROGBITS && section->sh_flags & SHF_EXECINSTR &&
           address >= section->sh_addr && address - section->sh_addr < section->sh_size &&
           section->sh_offset <= image->length &&
           section->sh_size <= image->length - section->sh_offset;
}

bool object_file_find_code(const struct object_file *image, uint64_t address,
                           struct object_file_code *code)
{
    GElf_Shdr section;
    for (Elf_Scn *at = NULL; image->bytes && image->elf && (at = elf_nextscn(image->elf, at));)
        if (gelf_getshdr(at, &section) && object_file_is_code(image, &section, address)) {
            *code = (struct object_file_code){(const uint8_t *)image->bytes + section.sh_offset,
                                              section.sh_addr, section.sh_size};
            return true;
        }
    return false;
}
