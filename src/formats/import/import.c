/* Recognizes and reads other tools' files (import.h). A file is unpacked from gzip or zstd in
 * memory. The first format in the table whose test accepts the beginning reads it. */
#include "import/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "base/allowance.h"
#include "base/error.h"
#include "base/regular.h"
#include "gzip/gzip.h"
#include "import/importers.h"
#include "profile/pack.h"

/* pprof comes after all others that are text: its first byte says little, but no pickle has it. */
const struct import_format import_formats[] = {
    {"heaptrack", import_is_heaptrack, import_heaptrack},
    {"massif", import_is_massif, import_massif},
    {"dhat", import_is_dhat, import_dhat},
    {"jemalloc", import_is_jemalloc, import_jemalloc},
    {"pprof", import_is_pprof, import_pprof},
    {"tracemalloc", import_is_tracemalloc, import_tracemalloc},
    {NULL, NULL, NULL},
};

const struct import_format *import_format_find(const char *name)
{
    for (const struct import_format *format = import_formats; format->name; format++)
        if (!strcmp(format->name, name))
            return format;
    return NULL;
}

static int import_fail(struct strbuf *why, int error, const char *path, const char *reason)
{
    strbuf_reset(why);
    strbuf_addf(why, "cannot read %s: %s", path, reason);
    return error;
}

/* ---- Unpacking ----------------------------------------------------------------------------- */

static int import_unpack_zstd(struct strbuf *out, const void *packed, size_t count)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    ZSTD_inBuffer in = {packed, count, 0};
    size_t piece = ZSTD_DStreamOutSize(), result = 1;
    int error = stream ? 0 : -ENOMEM;
    while (!error && (in.pos < in.size || result)) {
        ZSTD_outBuffer room = {strbuf_extend(out, piece), piece, 0};
        size_t before = in.pos;
        result = ZSTD_decompressStream(stream, &room, &in);
        strbuf_truncate(out, out->length - piece + room.pos);
        if (ZSTD_isError(result) || (in.pos == before && !room.pos))
            error = -EBADMSG;
        else if (out->length > IMPORT_LIMIT)
            error = -EFBIG;
    }
    ZSTD_freeDStream(stream);
    return error;
}

static bool import_begins_with(const char *bytes, size_t count, const char *magic, size_t length)
{
    return count >= length && !memcmp(bytes, magic, length);
}

/* Replaces what is packed by what is in it. */
static int import_unpack(const char **bytes, size_t *count, struct strbuf *unpacked)
{
    int error = 0;
    if (import_begins_with(*bytes, *count, "\x1f\x8b", 2))
        error = gzip_unpack(unpacked, *bytes, *count, IMPORT_LIMIT);
    else if (import_begins_with(*bytes, *count, "\x28\xb5\x2f\xfd", 4))
        error = import_unpack_zstd(unpacked, *bytes, *count);
    else
        return 0;
    *bytes = unpacked->data;
    *count = unpacked->length;
    return error;
}

/* ---- Reading ------------------------------------------------------------------------------- */

static const struct import_format *import_recognise(const char *bytes, size_t count)
{
    for (const struct import_format *format = import_formats; format->name; format++)
        if (format->is_it(bytes, count))
            return format;
    return NULL;
}

/* No format took the file: most likely it is one of tidemark's own. */
static const char *import_why_unknown(const char *bytes, size_t count)
{
    if (pack_is_packed(bytes, count))
        return "it is a profile of Tidemark's own already: tidemark report shows it";
    if (count >= 16 && !memcmp(bytes, "SQLite format 3", 16))
        return "it is a database, as unpacked profiles are: tidemark report shows those";
    if (count >= 8 && !memcmp(bytes, "TMTRACE\n", 8))
        return "it is a trace of Tidemark's own: tidemark replay makes a profile of it";
    if (count >= 2 && bytes[0] == '\x80' && bytes[1] <= 5)
        return "it looks like a pickle, but not like a snapshot of tracemalloc, the only pickles "
               "that are read";
    return "it is none of heaptrack, massif, DHAT, pprof, jemalloc's heap dumps and tracemalloc's "
           "snapshots; --from says what it is";
}

int import_bytes(struct gather **gather, const char *bytes, size_t count,
                 const struct import_format *format, struct strbuf *why)
{
    *gather = gather_new();
    int error = format->read(*gather, bytes, count, why);
    if (!error)
        gather_settle(*gather);
    return error;
}

static int import_unpacked(const char *path, const char *bytes, size_t count, const char *output,
                           const struct import_format **as, struct strbuf *why)
{
    const struct import_format *format = *as ? *as : import_recognise(bytes, count);
    if (!format)
        return import_fail(why, -EINVAL, path, import_why_unknown(bytes, count));
    *as = format;
    struct gather *gather = gather_new();
    gather->names_from_files = true;
    int error = format->read(gather, bytes, count, why);
    if (!error) {
        gather_settle(gather);
        error = gather_write(gather, output, gather->tool ? gather->tool : format->name);
        if (error)
            strbuf_addf(why, "%s", error_text());
    }
    gather_free(gather);
    return error;
}

static int import_regular(const char *path, const struct regular_file *file, const char *output,
                          const struct import_format **as, struct strbuf *why)
{
    struct strbuf unpacked = STRBUF_INIT;
    const char *bytes = file->bytes;
    size_t count = file->count;
    int error = import_unpack(&bytes, &count, &unpacked);
    if (error)
        import_fail(why, error, path,
                    error == -EBADMSG ? "what is packed in it is damaged or larger than 8 GiB"
                                      : strerror(-error));
    else
        error = import_unpacked(path, bytes, count, output, as, why);
    strbuf_release(&unpacked);
    return error;
}

int import_file(const char *path, const struct import_format *format, const char *output,
                const struct import_format **as, struct strbuf *why)
{
    struct regular_file file;
    *as = format;
    int error = regular_file_read(&file, path, IMPORT_LIMIT);
    if (error)
        return import_fail(why, error, path,
                           error == -EINVAL ? "it is no regular file" : strerror(-error));
    allowance_begin(path, file.count);
    error = import_regular(path, &file, output, as, why);
    allowance_end();
    free(file.bytes);
    return error;
}
