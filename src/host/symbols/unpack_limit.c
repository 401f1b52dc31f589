/* Limits how much packed debug information may be unpacked (unpack_limit.h). Functions of
 * libelf's names stand before libelf's and ask first. The chunks of .xz files are walked to
 * learn their unpacked size. */
#include "symbols/unpack_limit.h"

#include <dlfcn.h>
#include <gelf.h>
#include <pthread.h>
#include <string.h>
#include "base/allowance.h"
#include "base/guarded_open.h"
#include "symbols/variable_symbols.h"

#define UNPACK_TIMES 64

/* ---- What there was, and what may be ------------------------------------------------------- */

static pthread_mutex_t unpack_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t unpack_packed, unpack_made;     /* bytes of this process until now */
static bool (*unpack_has_room)(uint64_t bytes); /* NULL: there is no bound */
static __thread bool unpack_was_refused;
static __thread bool unpack_has_no_room; /* for the file that this thread is at */

static bool unpack_limit_holds(uint64_t packed, uint64_t made)
{
    uint64_t most;
    return __builtin_mul_overflow(packed, UNPACK_TIMES, &most) ||
           __builtin_add_overflow(most, allowance_least(), &most) || made <= most;
}

bool unpack_limit_accepts(uint64_t bytes, uint64_t unpacked)
{
    uint64_t packed, made;
    pthread_mutex_lock(&unpack_lock);
    bool accepted = !__builtin_add_overflow(unpack_packed, bytes, &packed) &&
                    !__builtin_add_overflow(unpack_made, unpacked, &made) &&
                    unpack_limit_holds(packed, made) && unpacked <= allowance_most() &&
                    !unpack_has_no_room;
    if (accepted) {
        unpack_packed = packed;
        unpack_made = made;
    }
    pthread_mutex_unlock(&unpack_lock);
    unpack_was_refused |= !accepted;
    return accepted;
}

bool unpack_limit_was_met(void)
{
    bool met = unpack_was_refused;
    unpack_was_refused = false;
    return met;
}

void unpack_limit_bound(bool (*has_room)(uint64_t bytes))
{
    unpack_has_room = has_room;
}

/* The function reads files of /proc, which a guarded thread may not open. */
static bool unpack_limit_has_room(uint64_t bytes)
{
    struct guarded_open before = guarded_open_pause();
    bool has_room = unpack_has_room(bytes);
    guarded_open_restore(before);
    return has_room;
}

/* libdw's tables of units and abbreviations take as much memory again as the unpacked sections. */
void unpack_limit_begin(Elf *elf)
{
    uint64_t bytes = unpack_has_room && elf ? variable_unpacked_bytes(elf) : 0, all;
    unpack_has_no_room =
        bytes && (__builtin_mul_overflow(bytes, 2, &all) || !unpack_limit_has_room(all));
}

void unpack_limit_begin_file(int fd)
{
    if (!unpack_has_room)
        return;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    unpack_limit_begin(elf && elf_kind(elf) == ELF_K_ELF ? elf : NULL);
    elf_end(elf);
}

/* ---- Sections ------------------------------------------------------------------------------ */

/* Sections that are not packed or are damaged are left to libelf. */
static bool unpack_limit_accepts_section(Elf_Scn *section)
{
    GElf_Shdr header;
    GElf_Chdr unpacked;
    return !gelf_getshdr(section, &header) || !(header.sh_flags & SHF_COMPRESSED) ||
           !gelf_getchdr(section, &unpacked) ||
           unpack_limit_accepts(header.sh_size, unpacked.ch_size);
}

/* The head of .zdebug_…: "ZLIB" and the size in eight bytes, the most significant first. */
static bool unpack_limit_accepts_gnu_section(Elf_Scn *section)
{
    enum { MAGIC = 4, HEAD = MAGIC + 8 };
    const Elf_Data *data = elf_rawdata(section, NULL);
    uint64_t unpacked = 0;
    if (!data || !data->d_buf || data->d_size < HEAD || memcmp(data->d_buf, "ZLIB", MAGIC) != 0)
        return true;
    for (unsigned i = MAGIC; i < HEAD; i++)
        unpacked = unpacked << 8 | ((const uint8_t *)data->d_buf)[i];
    return unpack_limit_accepts(data->d_size, unpacked);
}

/* With type 0 both unpack. */
__attribute__((visibility("default"))) int elf_compress(Elf_Scn *section, int type, unsigned flags)
{
    int (*next)(Elf_Scn * section, int type, unsigned flags) =
        (int (*)(Elf_Scn *, int, unsigned))dlsym(RTLD_NEXT, "elf_compress");
    if (!next || (section && type == 0 && !unpack_limit_accepts_section(section)))
        return -1;
    return next(section, type, flags);
}

__attribute__((visibility("default"))) int elf_compress_gnu(Elf_Scn *section, int type,
                                                            unsigned flags)
{
    int (*next)(Elf_Scn * section, int type, unsigned flags) =
        (int (*)(Elf_Scn *, int, unsigned))dlsym(RTLD_NEXT, "elf_compress_gnu");
    if (!next || (section && type == 0 && !unpack_limit_accepts_gnu_section(section)))
        return -1;
    return next(section, type, flags);
}

/* ---- .xz ----------------------------------------------------------------------------------- */

struct xz {
    const uint8_t *bytes;
    size_t length, at;
    uint64_t unpacked;
};

static size_t unpack_limit_xz_left(const struct xz *xz)
{
    return xz->length - xz->at;
}

static bool unpack_limit_xz_skip(struct xz *xz, size_t bytes)
{
    if (bytes > unpack_limit_xz_left(xz))
        return false;
    xz->at += bytes;
    return true;
}

/* Skips a chunk of LZMA2. False: it is the end mark, or no chunk. */
static bool unpack_limit_xz_skip_chunk(struct xz *xz)
{
    const uint8_t *chunk = xz->bytes + xz->at;
    if (unpack_limit_xz_left(xz) < 6 || *chunk == 0 || (*chunk > 2 && *chunk < 0x80))
        return false;
    size_t low = (size_t)chunk[1] << 8 | chunk[2];
    if (*chunk < 0x80) { /* stored unpacked */
        xz->unpacked += low + 1;
        return unpack_limit_xz_skip(xz, 3 + low + 1);
    }
    size_t packed = ((size_t)chunk[3] << 8 | chunk[4]) + 1;
    xz->unpacked += ((size_t)(*chunk & 0x1f) << 16 | low) + 1;
    return unpack_limit_xz_skip(xz, (*chunk >= 0xc0 ? 6 : 5) + packed);
}

/* Skips a block: its head, chunks up to the end mark, and a checksum. */
static bool unpack_limit_xz_skip_block(struct xz *xz, size_t check_bytes)
{
    if (unpack_limit_xz_left(xz) < 1 || xz->bytes[xz->at] == 0 || /* the index */
        !unpack_limit_xz_skip(xz, (xz->bytes[xz->at] + 1u) * 4))
        return false;
    while (unpack_limit_xz_skip_chunk(xz))
        ;
    if (unpack_limit_xz_left(xz) < 1 || xz->bytes[xz->at] != 0)
        return false;
    xz->at = (xz->at + 1 + 3) & ~(size_t)3;
    return xz->at <= xz->length && unpack_limit_xz_skip(xz, check_bytes);
}

uint64_t unpack_limit_of_xz(const uint8_t *bytes, size_t length)
{
    static const uint8_t check_bytes[16] = {0,  4,  4,  4,  8,  8,  8,  16,
                                            16, 16, 32, 32, 32, 64, 64, 64};
    enum { STREAM_HEAD = 12, CHECK = 7 };
    struct xz xz = {.bytes = bytes, .length = length, .at = STREAM_HEAD};
    if (length >= 2 && bytes[0] == 0x5d && bytes[1] == 0)
        return UINT64_MAX;
    if (length < STREAM_HEAD || memcmp(bytes,
                                       "\xfd"
                                       "7zXZ",
                                       6) != 0)
        return 0;
    while (unpack_limit_xz_skip_block(&xz, check_bytes[bytes[CHECK] & 15]))
        ;
    return xz.unpacked;
}

/* ---- .gnu_debugdata ------------------------------------------------------------------------ */

static bool unpack_limit_is_debugdata(Elf *elf, const GElf_Shdr *header)
{
    size_t names;
    const char *name =
        elf_getshdrstrndx(elf, &names) ? NULL : elf_strptr(elf, names, header->sh_name);
    return name && strcmp(name, ".gnu_debugdata") == 0;
}

/* libdwfl finds the section by its name and the type PROGBITS, and copies its header from here, so
 * a header of zeros hides it. */
static void unpack_limit_hide(Elf *elf, size_t index, uint8_t *bytes, size_t length)
{
    GElf_Ehdr header;
    size_t each = gelf_fsize(elf, ELF_T_SHDR, 1, EV_CURRENT), at;
    if (!gelf_getehdr(elf, &header) || __builtin_mul_overflow(index, each, &at) ||
        __builtin_add_overflow(at, header.e_shoff, &at) || at > length || length - at < each)
        return;
    memset(bytes + at, 0, each);
}

void unpack_limit_hide_debugdata(Elf *elf, void *bytes, size_t length)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        const Elf_Data *data;
        if (!gelf_getshdr(section, &header) || !unpack_limit_is_debugdata(elf, &header) ||
            !(data = elf_rawdata(section, NULL)) || !data->d_buf)
            continue;
        if (!unpack_limit_accepts(data->d_size, unpack_limit_of_xz(data->d_buf, data->d_size)))
            unpack_limit_hide(elf, elf_ndxscn(section), bytes, length);
    }
}
