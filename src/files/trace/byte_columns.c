/* Packs the columns of a block, each by itself, with zstd or LZ4 (byte_columns.h). A list of
 * methods and lengths stands before the packed bytes. A column that does not get smaller is stored.
 */
#include "trace/byte_columns.h"

#include <errno.h>
#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>
#include "base/array.h"

enum { WORTH_PACKING = 32, USUAL_LEVEL = 3 };

int sink_reserve(struct byte_sink *sink, size_t bytes)
{
    if (sink->count + bytes <= sink->room)
        return 0;
    return array_make_bare_room(&sink->data, &sink->room, sink->count + bytes - 1, 1) ? 0 : -ENOMEM;
}

/* ---- Packing ------------------------------------------------------------------------------- */

int packer_init(struct packer *packer, enum pack_method method, int level)
{
    *packer = (struct packer){.method = method, .level = level};
    if (method != PACK_ZSTD)
        return 0;
    packer->zstd = ZSTD_createCCtx();
    return packer->zstd ? 0 : -ENOMEM;
}

void packer_release(struct packer *packer)
{
    ZSTD_freeCCtx(packer->zstd);
    free(packer->out.data);
}

static size_t byte_columns_bound_of(size_t bytes)
{
    size_t zstd = ZSTD_compressBound(bytes), lz4 = (size_t)LZ4_compressBound((int)bytes);

    return zstd > lz4 ? zstd : lz4;
}

/* Bytes of the packed column at `out`; 0: it does not get smaller. */
static size_t byte_columns_pack(const struct packer *packer, const struct byte_sink *column,
                                bool noise, unsigned char *out, size_t room)
{
    int level = noise && packer->level <= USUAL_LEVEL ? 1 : packer->level;
    size_t packed = 0;

    if (column->count < WORTH_PACKING)
        return 0;
    if (packer->method == PACK_ZSTD) {
        packed = ZSTD_compressCCtx(packer->zstd, out, room, column->data, column->count, level);
        if (ZSTD_isError(packed))
            return 0;
    } else if (packer->method == PACK_LZ4) {
        packed = (size_t)LZ4_compress_default((const char *)column->data, (char *)out,
                                              (int)column->count, (int)room);
    }
    return packed < column->count ? packed : 0;
}

/* The list of columns comes first, and its length depends on what they pack to: they are packed
 * behind where the longest list would end, and moved. */
int packer_pack(struct packer *packer, const struct byte_sink *columns, size_t count,
                uint64_t noise, uint64_t bits)
{
    struct byte_sink *out = &packer->out;
    size_t list_room = 1 + count * (1 + 2 * NUMBER_BYTES), room = list_room, first, at;

    for (size_t i = 0; i < count; i++)
        room += byte_columns_bound_of(columns[i].count);
    if (sink_reserve(out, room))
        return -ENOMEM;
    first = at = out->count + list_room;
    numbers_sink_byte(out, (unsigned)count);
    for (size_t i = 0; i < count; i++) {
        const struct byte_sink *column = &columns[i];
        size_t packed = 0;
        if (!(bits >> i & 1))
            packed = byte_columns_pack(packer, column, noise >> i & 1, out->data + at,
                                       byte_columns_bound_of(column->count));
        if (!packed && column->count)
            memcpy(out->data + at, column->data, column->count);
        numbers_sink_byte(out, packed ? packer->method : PACK_STORED);
        numbers_sink_varint(out, column->count);
        if (packed)
            numbers_sink_varint(out, packed);
        at += packed ? packed : column->count;
    }
    memmove(out->data + out->count, out->data + first, at - first);
    out->count += at - first;
    return 0;
}

/* ---- Unpacking ----------------------------------------------------------------------------- */

struct packed_column {
    unsigned method;
    uint64_t plain_bytes, packed_bytes;
};

void unpacker_release(struct unpacker *unpacker)
{
    ZSTD_freeDCtx(unpacker->zstd);
    free(unpacker->plain);
    *unpacker = (struct unpacker){0};
}

static int byte_columns_read_list(struct byte_source *body, struct packed_column *list,
                                  size_t *count, size_t *plain_bytes)
{
    *count = numbers_source_byte(body);
    *plain_bytes = 0;
    if (*count > FORMAT_COLUMNS)
        return -EBADMSG;
    for (size_t i = 0; i < *count; i++) {
        list[i].method = numbers_source_byte(body);
        list[i].plain_bytes = list[i].packed_bytes = numbers_source_varint(body);
        if (list[i].method != PACK_STORED)
            list[i].packed_bytes = numbers_source_varint(body);
        if (list[i].plain_bytes > FORMAT_COLUMN_BYTES)
            return -EBADMSG;
        *plain_bytes += list[i].plain_bytes;
    }
    return body->overrun ? -EBADMSG : 0;
}

static int byte_columns_unpack(struct unpacker *unpacker, const struct packed_column *column,
                               const unsigned char *packed, unsigned char *plain)
{
    size_t got = 0;

    if (column->method == PACK_STORED) {
        memcpy(plain, packed, column->plain_bytes);
        return 0;
    }
    if (column->method == PACK_ZSTD)
        got = ZSTD_decompressDCtx(unpacker->zstd, plain, column->plain_bytes, packed,
                                  column->packed_bytes);
    else if (column->method == PACK_LZ4 && column->packed_bytes <= LZ4_MAX_INPUT_SIZE)
        got = (size_t)LZ4_decompress_safe((const char *)packed, (char *)plain,
                                          (int)column->packed_bytes, (int)column->plain_bytes);
    return got == column->plain_bytes ? 0 : -EBADMSG;
}

static int byte_columns_make_room(struct unpacker *unpacker, size_t bytes)
{
    if (!unpacker->zstd && !(unpacker->zstd = ZSTD_createDCtx()))
        return -ENOMEM;
    bytes += UNPACKER_BEYOND;
    return array_make_bare_room(&unpacker->plain, &unpacker->room, bytes, 1) ? 0 : -ENOMEM;
}

int unpacker_unpack(struct unpacker *unpacker, const unsigned char *body, size_t bytes,
                    struct byte_source *columns, size_t count)
{
    struct byte_source source = {body, body + bytes, false};
    struct packed_column list[FORMAT_COLUMNS];
    size_t listed, plain_bytes;
    unsigned char *plain;
    int error = byte_columns_read_list(&source, list, &listed, &plain_bytes);

    if (!error)
        error = byte_columns_make_room(unpacker, plain_bytes);
    if (error)
        return error;
    plain = unpacker->plain;
    for (size_t i = 0; i < count; i++)
        columns[i] = (struct byte_source){plain, plain, false};
    for (size_t i = 0; i < listed; i++) {
        const unsigned char *packed = numbers_source_bytes(&source, list[i].packed_bytes);
        if (!packed || byte_columns_unpack(unpacker, &list[i], packed, plain))
            return -EBADMSG;
        if (i < count)
            columns[i] = (struct byte_source){plain, plain + list[i].plain_bytes, false};
        plain += list[i].plain_bytes;
    }
    memset(plain, 0, UNPACKER_BEYOND);
    return numbers_source_left(&source) ? -EBADMSG : 0;
}
