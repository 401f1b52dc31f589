/* gzip from memory to memory (gzip.h). One loop drives zlib's deflate() or inflate() in pieces of
 * 64 KiB until the stream ends or the output exceeds its limit. */
#include "gzip/gzip.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16, PIECE_BYTES = 64 << 10 };

/* Runs `step` until the stream ends; zlib counts what is given and wanted in 32 bits. */
static int gzip_run(z_stream *stream, int (*step)(z_stream *, int), struct strbuf *out,
                    const void *bytes, size_t count, size_t limit)
{
    size_t before = out->length;
    int result = Z_OK;
    stream->next_in = (unsigned char *)bytes;
    while (result == Z_OK) {
        if (!stream->avail_in && count) {
            stream->avail_in = count > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uInt)count;
            count -= stream->avail_in;
        }
        stream->next_out = (unsigned char *)strbuf_extend(out, PIECE_BYTES);
        stream->avail_out = PIECE_BYTES;
        result = step(stream, count ? Z_NO_FLUSH : Z_FINISH);
        strbuf_truncate(out, out->length - stream->avail_out);
        bool moved = stream->avail_out < PIECE_BYTES;
        if (result == Z_BUF_ERROR && moved)
            result = Z_OK;
        if (out->length - before > limit)
            result = Z_DATA_ERROR;
    }
    if (result == Z_STREAM_END)
        return 0;
    strbuf_truncate(out, before);
    return result == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

int gzip_pack(struct strbuf *out, const void *bytes, size_t count, int level)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, level, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    int error = gzip_run(&stream, deflate, out, bytes, count, SIZE_MAX);
    deflateEnd(&stream);
    return error;
}

int gzip_unpack(struct strbuf *out, const void *packed, size_t count, size_t limit)
{
    z_stream stream = {0};
    if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
        return -ENOMEM;
    int error = gzip_run(&stream, inflate, out, packed, count, limit);
    inflateEnd(&stream);
    return error;
}
