/* Writes and reads the appendix of a packed profile (appendix.h). One read at the end of the file
 * has nearly always all of it. */
#include "profile/appendix.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include "base/regular.h"
#include "base/strbuf.h"
#include "base/whole.h"
#include "profile/pack.h"

enum {
    APPENDIX_LEVEL = 12,       /* of zstd: 20 KB take a millisecond, and a reader pays nothing */
    APPENDIX_FIRST = 16 << 10, /* what is read at once */
    APPENDIX_MOST = 16 << 20,  /* packed or not: of more we say that there is none */
    APPENDIX_HEAD = 8,
};
#define APPENDIX_WHOLE_FILE UINT64_MAX

static const char appendix_magic[8] = "TMKAPPX1";

struct appendix_trailer {
    uint64_t offset;
    uint32_t packed_bytes, flags;
    char magic[8];
};
_Static_assert(sizeof(struct appendix_trailer) == 24, "no padding in the file");

/* ---- Writing ------------------------------------------------------------------------------- */

static int appendix_pack(struct strbuf *out, uint64_t offset, const void *bytes, size_t count)
{
    size_t bound = ZSTD_compressBound(count);
    char *packed = malloc(bound);
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    size_t packed_bytes = 0;
    if (packed && zstd) {
        ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, APPENDIX_LEVEL);
        ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
        packed_bytes = ZSTD_compress2(zstd, packed, bound, bytes, count);
    }
    bool is_packed = packed_bytes && !ZSTD_isError(packed_bytes);
    if (is_packed) {
        struct appendix_trailer trailer = {.offset = htole64(offset),
                                           .packed_bytes = htole32((uint32_t)packed_bytes)};
        uint32_t head[2] = {htole32(ZSTD_MAGIC_SKIPPABLE_START + 13),
                            htole32((uint32_t)(packed_bytes + sizeof trailer))};
        memcpy(trailer.magic, appendix_magic, sizeof appendix_magic);
        strbuf_add(out, head, sizeof head);
        strbuf_add(out, packed, packed_bytes);
        strbuf_add(out, &trailer, sizeof trailer);
    }
    ZSTD_freeCCtx(zstd);
    free(packed);
    return is_packed ? 0 : -ENOMEM;
}

static int appendix_add_to(int fd, const void *bytes, size_t count)
{
    char head[PACK_HEADER_BYTES];
    struct stat stat;
    struct strbuf appendix = STRBUF_INIT;
    if (fstat(fd, &stat) || lseek(fd, 0, SEEK_END) < 0)
        return -errno;
    ssize_t got = whole_read_at(fd, head, sizeof head, 0);
    if (got < 0 || !S_ISREG(stat.st_mode) || !pack_is_packed(head, (size_t)got) ||
        count > APPENDIX_MOST / 2)
        return got < 0 ? (int)got : -EINVAL;
    int error = appendix_pack(&appendix, (uint64_t)stat.st_size, bytes, count);
    if (!error && (error = whole_write(fd, appendix.data, appendix.length)) &&
        ftruncate(fd, stat.st_size))
        error = -errno;
    strbuf_release(&appendix);
    return error;
}

int appendix_add(const char *path, const void *bytes, size_t count)
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int error = appendix_add_to(fd, bytes, count);
    close(fd);
    return error;
}

/* ---- Reading ------------------------------------------------------------------------------- */

static int appendix_unpack(const void *packed, size_t packed_bytes, void **bytes, size_t *count)
{
    unsigned long long plain = ZSTD_getFrameContentSize(packed, packed_bytes);
    if (plain > APPENDIX_MOST) /* so are both errors */
        return -ENODATA;
    *bytes = malloc((size_t)plain + 1);
    if (!*bytes)
        return -ENOMEM;
    *count = ZSTD_decompress(*bytes, (size_t)plain, packed, packed_bytes);
    if (*count == plain)
        return 0;
    free(*bytes);
    *bytes = NULL;
    return -ENODATA;
}

/* How many bytes of the file's end the appendix is; 0: there is none. */
static uint64_t appendix_bytes(const struct appendix_trailer *trailer, uint64_t file_bytes)
{
    uint64_t all = APPENDIX_HEAD + (uint64_t)le32toh(trailer->packed_bytes) + sizeof *trailer;
    if (memcmp(trailer->magic, appendix_magic, sizeof appendix_magic) || trailer->flags ||
        all > APPENDIX_MOST || all > file_bytes || le64toh(trailer->offset) != file_bytes - all)
        return 0;
    return all;
}

void appendix_move(struct strbuf *out, size_t from, const void *file, size_t bytes)
{
    struct appendix_trailer trailer;
    const char *end = (const char *)file + bytes;
    if (bytes < sizeof trailer)
        return;
    memcpy(&trailer, end - sizeof trailer, sizeof trailer);
    uint64_t all = appendix_bytes(&trailer, bytes);
    if (!all)
        return;
    trailer.offset = htole64(out->length - from);
    strbuf_add(out, end - all, (size_t)all - sizeof trailer);
    strbuf_add(out, &trailer, sizeof trailer);
}

static int appendix_read_rest(int fd, uint64_t file_end, uint64_t all, void **bytes, size_t *count)
{
    unsigned char *whole = malloc((size_t)all);
    if (!whole)
        return -ENOMEM;
    int error = -ENODATA;
    if (whole_read_at(fd, whole, (size_t)all, file_end - all) == (ssize_t)all)
        error = appendix_unpack(whole + APPENDIX_HEAD,
                                (size_t)all - APPENDIX_HEAD - sizeof(struct appendix_trailer),
                                bytes, count);
    free(whole);
    return error;
}

static int appendix_read_from(int fd, uint64_t at, uint64_t file_bytes, void **bytes, size_t *count)
{
    unsigned char end[APPENDIX_FIRST];
    struct appendix_trailer trailer;
    size_t want = file_bytes < sizeof end ? (size_t)file_bytes : sizeof end;
    ssize_t got = whole_read_at(fd, end, want, at + file_bytes - want);
    if (got != (ssize_t)want || want < sizeof trailer)
        return got < 0 ? (int)got : -ENODATA;
    memcpy(&trailer, end + want - sizeof trailer, sizeof trailer);
    uint64_t all = appendix_bytes(&trailer, file_bytes);
    if (!all)
        return -ENODATA;
    if (all > want)
        return appendix_read_rest(fd, at + file_bytes, all, bytes, count);
    return appendix_unpack(end + want - all + APPENDIX_HEAD,
                           (size_t)all - APPENDIX_HEAD - sizeof trailer, bytes, count);
}

int appendix_read_part(const char *path, uint64_t at, uint64_t part_bytes, void **bytes,
                       size_t *count)
{
    struct stat stat;
    int fd = regular_file_open(path, &stat);
    *bytes = NULL;
    *count = 0;
    if (fd < 0)
        return fd;
    uint64_t file_bytes = (uint64_t)stat.st_size;
    int error = -ENODATA;
    if (part_bytes == APPENDIX_WHOLE_FILE)
        error = appendix_read_from(fd, 0, file_bytes, bytes, count);
    else if (at <= file_bytes && part_bytes <= file_bytes - at)
        error = appendix_read_from(fd, at, part_bytes, bytes, count);
    close(fd);
    return error;
}

int appendix_read(const char *path, void **bytes, size_t *count)
{
    return appendix_read_part(path, 0, APPENDIX_WHOLE_FILE, bytes, count);
}
