/* Packs and unpacks a profile as a row of zstd frames (pack.h). Packing reads and compresses 4 MiB
 * at a time. Unpacking keeps all frames before a damaged one and reports the damage. */
#include "profile/pack.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include "base/error.h"
#include "base/own_file.h"
#include "base/strbuf.h"
#include "base/whole.h"
#include "profile/appendix.h"

enum {
    PIECE_BYTES = 4 << 20,
    PIECE_BYTES_MAX = 64 << 20, /* of a file that asks for more, we say it is damaged */
    FLAG_MODEL = 1,
    MODEL_WINDOW_LOG = 23, /* a piece and what it is packed against */
};
#define PLAIN_BYTES_MAX (1ull << 36)

struct pack_header {
    uint32_t skippable_magic, skippable_bytes;
    char magic[8];
    uint64_t plain_bytes;
    uint32_t piece_bytes, flags;
};
_Static_assert(sizeof(struct pack_header) == PACK_HEADER_BYTES, "no padding in the file");

static const char magic[8] = OWN_FILE_PACK_MAGIC;

bool pack_is_packed(const void *head, size_t bytes)
{
    const struct pack_header *header = head;
    /* Any version: the last character is checked on reading. */
    return bytes >= 16 && !memcmp(header->magic, magic, sizeof magic - 1);
}

uint64_t pack_plain_bytes(const void *packed, size_t count)
{
    struct pack_header header;
    if (count < sizeof header)
        return 0;
    memcpy(&header, packed, sizeof header);
    return le64toh(header.plain_bytes);
}

/* What the model has where the piece at `at` begins. */
static struct pack_model pack_model_part(const struct pack_model *model, size_t at,
                                         size_t piece_bytes)
{
    size_t left = at < model->bytes ? model->bytes - at : 0;
    return (struct pack_model){(const char *)model->plain + (left ? at : 0),
                               left < piece_bytes ? left : piece_bytes};
}

/* ---- Writing ------------------------------------------------------------------------------- */

static struct pack_header pack_header_of(uint64_t plain_bytes)
{
    struct pack_header header = {
        .skippable_magic = htole32(ZSTD_MAGIC_SKIPPABLE_START + 14),
        .skippable_bytes = htole32(PACK_HEADER_BYTES - 8),
        .plain_bytes = htole64(plain_bytes),
        .piece_bytes = htole32(PIECE_BYTES),
    };
    memcpy(header.magic, magic, sizeof magic);
    return header;
}

static int pack_write_header(int to, uint64_t plain_bytes)
{
    struct pack_header header = pack_header_of(plain_bytes);
    return whole_write(to, &header, sizeof header);
}

struct profile_packer {
    ZSTD_CCtx *zstd;
    char *plain, *packed;
    size_t packed_bytes;
};

/* For so many bytes: a small profile needs no room for a whole piece. */
static int pack_packer_init(struct profile_packer *packer, int level, uint64_t bytes)
{
    size_t piece_bytes = bytes < PIECE_BYTES ? (size_t)bytes : PIECE_BYTES;
    packer->packed_bytes = ZSTD_compressBound(piece_bytes);
    packer->zstd = ZSTD_createCCtx();
    packer->plain = malloc(piece_bytes + 1);
    packer->packed = malloc(packer->packed_bytes);
    if (!packer->zstd || !packer->plain || !packer->packed)
        return -ENOMEM;
    ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_checksumFlag, 1);
    return 0;
}

static void pack_packer_release(struct profile_packer *packer)
{
    ZSTD_freeCCtx(packer->zstd);
    free(packer->plain);
    free(packer->packed);
}

static int pack_pieces(struct profile_packer *packer, int from, int to, uint64_t *left)
{
    while (*left) {
        size_t want = *left < PIECE_BYTES ? (size_t)*left : PIECE_BYTES;
        ssize_t got = whole_read(from, packer->plain, want);
        if (got < 0 || (size_t)got != want)
            return got < 0 ? (int)got : -EIO;
        size_t packed =
            ZSTD_compress2(packer->zstd, packer->packed, packer->packed_bytes, packer->plain, want);
        if (ZSTD_isError(packed))
            return -ENOMEM;
        int error = whole_write(to, packer->packed, packed);
        if (error)
            return error;
        *left -= want;
    }
    return 0;
}

int pack_write(int from, int to)
{
    struct stat stat;
    if (fstat(from, &stat) || lseek(from, 0, SEEK_SET))
        return -errno;
    struct profile_packer packer = {0};
    uint64_t left = (uint64_t)stat.st_size;
    int error = pack_packer_init(&packer, PACK_LEVEL, left);
    if (!error)
        error = pack_write_header(to, left);
    if (!error)
        error = pack_pieces(&packer, from, to, &left);
    pack_packer_release(&packer);
    return error;
}

/* The model is for the next frame alone. */
static void pack_refer_to_model(struct profile_packer *packer, const struct pack_model *model,
                                size_t at)
{
    struct pack_model part = pack_model_part(model, at, PIECE_BYTES);
    ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_windowLog, MODEL_WINDOW_LOG);
    ZSTD_CCtx_refPrefix(packer->zstd, part.plain, part.bytes);
}

static int pack_image_against(struct strbuf *out, const void *plain, size_t bytes, int level,
                              const struct pack_model *model)
{
    struct profile_packer packer = {0};
    struct pack_header header = pack_header_of(bytes);
    int error = pack_packer_init(&packer, level, bytes);
    header.flags = htole32(model->plain ? FLAG_MODEL : 0);
    strbuf_add(out, &header, sizeof header);
    for (size_t at = 0; at < bytes && !error; at += PIECE_BYTES) {
        size_t count = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        if (model->plain)
            pack_refer_to_model(&packer, model, at);
        size_t packed = ZSTD_compress2(packer.zstd, packer.packed, packer.packed_bytes,
                                       (const char *)plain + at, count);
        if (ZSTD_isError(packed))
            error = -ENOMEM;
        else
            strbuf_add(out, packer.packed, packed);
    }
    pack_packer_release(&packer);
    return error;
}

int pack_image(struct strbuf *out, const void *plain, size_t bytes, int level)
{
    return pack_image_against(out, plain, bytes, level, &(struct pack_model){NULL, 0});
}

int pack_again(struct strbuf *out, const void *packed, size_t count, const struct pack_model *model)
{
    unsigned char *plain = NULL;
    size_t bytes = 0, from = out->length;
    bool damaged = false;
    int error = pack_unpack(packed, count, "a profile", &plain, &bytes, &damaged);
    if (!error && damaged)
        error = -EBADMSG;
    if (!error)
        error = pack_image_against(out, plain, bytes, PACK_LEVEL, model);
    if (!error)
        appendix_move(out, from, packed, count);
    free(plain);
    return error;
}

/* ---- Reading ------------------------------------------------------------------------------- */

struct profile_unpacker {
    const char *name;
    const unsigned char *at;
    size_t left;
    uint64_t plain_bytes;
    size_t piece_bytes;
    struct pack_model model;
    bool has_model; /* it is packed against it */
    unsigned char *plain;
    size_t filled, capacity;
    bool damaged, no_memory;
};

static int pack_check_header(struct profile_unpacker *unpacker)
{
    struct pack_header header;
    if (unpacker->left < sizeof header)
        return error_set(-EBADMSG, "%s is cut off after %zu bytes: nothing in it can be read",
                         unpacker->name, unpacker->left);
    memcpy(&header, unpacker->at, sizeof header);
    if (memcmp(header.magic, magic, sizeof magic) || le32toh(header.flags) & ~(uint32_t)FLAG_MODEL)
        return error_set(-EPROTONOSUPPORT,
                         "%s was packed by a newer version of tidemark: update to read it",
                         unpacker->name);
    unpacker->plain_bytes = le64toh(header.plain_bytes);
    unpacker->piece_bytes = le32toh(header.piece_bytes);
    if (le32toh(header.skippable_bytes) != PACK_HEADER_BYTES - 8 || unpacker->piece_bytes < 512 ||
        unpacker->piece_bytes > PIECE_BYTES_MAX || unpacker->plain_bytes > PLAIN_BYTES_MAX)
        return error_set(-EBADMSG, "%s is damaged: its header makes no sense", unpacker->name);
    unpacker->has_model = le32toh(header.flags) & FLAG_MODEL;
    if (unpacker->has_model && !unpacker->model.plain)
        return error_set(-EBADMSG, "%s is packed against another profile, which is not there",
                         unpacker->name);
    unpacker->at += sizeof header;
    unpacker->left -= sizeof header;
    return 0;
}

/* Memory grows with what really comes out of frames, not with what the header promises. */
static bool pack_make_room(struct profile_unpacker *unpacker)
{
    size_t needed = unpacker->filled + unpacker->piece_bytes;
    if (needed <= unpacker->capacity)
        return true;
    size_t capacity = unpacker->capacity * 2 > needed ? unpacker->capacity * 2 : needed;
    if (capacity > unpacker->plain_bytes && needed <= unpacker->plain_bytes)
        capacity = unpacker->plain_bytes;
    unsigned char *plain = realloc(unpacker->plain, capacity);
    if (!plain)
        return false;
    unpacker->plain = plain;
    unpacker->capacity = capacity;
    return true;
}

/* False at the end or at damage. */
static bool pack_unpack_piece(struct profile_unpacker *unpacker, ZSTD_DCtx *zstd)
{
    uint64_t rest = unpacker->plain_bytes - unpacker->filled;
    size_t expected = rest < unpacker->piece_bytes ? (size_t)rest : unpacker->piece_bytes;
    if (!expected)
        return false;
    size_t packed = ZSTD_findFrameCompressedSize(unpacker->at, unpacker->left);
    unpacker->damaged = ZSTD_isError(packed) || packed > unpacker->left;
    unpacker->no_memory = !unpacker->damaged && !pack_make_room(unpacker);
    if (unpacker->damaged || unpacker->no_memory)
        return false;
    if (unpacker->has_model) {
        struct pack_model part =
            pack_model_part(&unpacker->model, unpacker->filled, unpacker->piece_bytes);
        ZSTD_DCtx_refPrefix(zstd, part.plain, part.bytes);
    }
    size_t got = ZSTD_decompressDCtx(zstd, unpacker->plain + unpacker->filled, expected,
                                     unpacker->at, packed);
    if (ZSTD_isError(got) || got != expected) {
        unpacker->damaged = true;
        return false;
    }
    unpacker->filled += got;
    unpacker->at += packed;
    unpacker->left -= packed;
    return true;
}

static int pack_unpack_mapped(struct profile_unpacker *unpacker)
{
    int error = pack_check_header(unpacker);
    if (error)
        return error;
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    if (!zstd)
        return error_set(-ENOMEM, "out of memory while reading %s", unpacker->name);
    while (pack_unpack_piece(unpacker, zstd))
        ;
    ZSTD_freeDCtx(zstd);
    if (unpacker->no_memory)
        return error_set(-ENOMEM, "out of memory while reading %s", unpacker->name);
    if (!unpacker->filled)
        return error_set(-EBADMSG, "%s is damaged: nothing in it can be read", unpacker->name);
    return 0;
}

/* Read and not mapped: a file that shrinks meanwhile must not kill the reader. */
static int pack_read_file(int fd, const char *name, unsigned char **out, size_t *bytes)
{
    struct stat stat;
    if (fstat(fd, &stat) || lseek(fd, 0, SEEK_SET))
        return error_set(-errno, "cannot read %s: %s", name, strerror(errno));
    unsigned char *all = malloc(stat.st_size ? (size_t)stat.st_size : 1);
    if (!all)
        return error_set(-ENOMEM, "out of memory while reading %s", name);
    ssize_t got = whole_read(fd, all, (size_t)stat.st_size);
    if (got < 0) {
        free(all);
        return error_set((int)got, "cannot read %s: %s", name, strerror((int)-got));
    }
    *out = all;
    *bytes = (size_t)got;
    return 0;
}

int pack_unpack_against(const void *packed, size_t count, const char *name,
                        const struct pack_model *model, unsigned char **out, size_t *bytes,
                        bool *damaged)
{
    struct profile_unpacker unpacker = {.name = name, .at = packed, .left = count, .model = *model};
    int error = pack_unpack_mapped(&unpacker);
    if (error) {
        free(unpacker.plain);
        return error;
    }
    *out = unpacker.plain;
    *bytes = unpacker.filled;
    *damaged = unpacker.damaged;
    return 0;
}

int pack_unpack(const void *packed, size_t count, const char *name, unsigned char **out,
                size_t *bytes, bool *damaged)
{
    return pack_unpack_against(packed, count, name, &(struct pack_model){NULL, 0}, out, bytes,
                               damaged);
}

int pack_read(int fd, const char *name, unsigned char **out, size_t *bytes, bool *damaged)
{
    unsigned char *packed = NULL;
    size_t count = 0;
    int error = pack_read_file(fd, name, &packed, &count);
    if (error)
        return error;
    error = pack_unpack(packed, count, name, out, bytes, damaged);
    free(packed);
    return error;
}
