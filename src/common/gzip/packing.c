/* A FILE that packs what is written to it (packing.h). fopencookie() passes each piece of stdio's
 * buffer to zlib or zstd, and their output goes to the underlying FILE. */
#include "gzip/packing.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { GZIP_WINDOW = 15 + 16, GZIP_LEVEL = 6, ZSTD_LEVEL = 3, OUT_BYTES = 64 << 10 };

struct gzip_packer {
    FILE *to;
    enum packing packing;
    z_stream gzip;
    ZSTD_CStream *zstd;
    unsigned char out[OUT_BYTES];
};

static bool packing_ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), of_ending = strlen(ending);
    return length > of_ending && !strcmp(name + length - of_ending, ending);
}

enum packing packing_of(const char *name)
{
    return packing_ends_with(name, ".gz")    ? PACKING_GZIP
           : packing_ends_with(name, ".zst") ? PACKING_ZSTD
                                             : PACKING_NONE;
}

static int packing_put(struct gzip_packer *packer, size_t bytes)
{
    return fwrite(packer->out, 1, bytes, packer->to) == bytes ? 0 : -1; /* errno is its own */
}

/* zlib counts in 32 bits; stdio's pieces are far smaller. */
static int packing_deflate_all(struct gzip_packer *packer, const char *bytes, size_t count,
                               bool end)
{
    z_stream *stream = &packer->gzip;
    stream->next_in = (unsigned char *)bytes;
    stream->avail_in = (uInt)count;
    do {
        stream->next_out = packer->out;
        stream->avail_out = OUT_BYTES;
        deflate(stream, end ? Z_FINISH : Z_NO_FLUSH);
        if (packing_put(packer, OUT_BYTES - stream->avail_out))
            return -1;
    } while (!stream->avail_out);
    return 0;
}

static int packing_compress_all(struct gzip_packer *packer, const char *bytes, size_t count,
                                bool end)
{
    ZSTD_inBuffer in = {bytes, count, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {packer->out, OUT_BYTES, 0};
        left = ZSTD_compressStream2(packer->zstd, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) {
            errno = ENOMEM;
            return -1;
        }
        if (packing_put(packer, out.pos))
            return -1;
    } while (end ? left > 0 : in.pos < in.size);
    return 0;
}

static int packing_pack(struct gzip_packer *packer, const char *bytes, size_t count, bool end)
{
    return packer->packing == PACKING_GZIP ? packing_deflate_all(packer, bytes, count, end)
                                           : packing_compress_all(packer, bytes, count, end);
}

static ssize_t packing_write_piece(void *cookie, const char *bytes, size_t count)
{
    size_t most = count < (1 << 30) ? count : 1 << 30;
    return packing_pack(cookie, bytes, most, false) ? 0 : (ssize_t)most; /* 0: an error, to stdio */
}

static int packing_end_stream(void *cookie)
{
    struct gzip_packer *packer = cookie;
    int error = packing_pack(packer, NULL, 0, true) ? errno : 0;
    if (packer->packing == PACKING_GZIP)
        deflateEnd(&packer->gzip);
    ZSTD_freeCStream(packer->zstd);
    free(packer);
    errno = error;
    return error ? -1 : 0;
}

static bool packing_begin(struct gzip_packer *packer)
{
    if (packer->packing == PACKING_GZIP)
        return deflateInit2(&packer->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8,
                            Z_DEFAULT_STRATEGY) == Z_OK;
    packer->zstd = ZSTD_createCStream();
    return packer->zstd &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL));
}

FILE *packing_open(FILE *to, enum packing packing)
{
    static const cookie_io_functions_t functions = {.write = packing_write_piece,
                                                    .close = packing_end_stream};
    struct gzip_packer *packer = calloc(1, sizeof *packer);
    if (!packer)
        return NULL;
    packer->to = to;
    packer->packing = packing;
    FILE *stream = packing_begin(packer) ? fopencookie(packer, "w", functions) : NULL;
    if (!stream) {
        ZSTD_freeCStream(packer->zstd);
        if (packing == PACKING_GZIP)
            deflateEnd(&packer->gzip);
        free(packer);
    }
    return stream;
}
