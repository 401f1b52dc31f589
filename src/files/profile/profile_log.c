/* Writes rows as a log (profile_log.h). Rows of one statement mostly come one after the other and
 * are alike: a bit stands for a value that is as before, and a number is written as its
 * difference. */
#include "profile/profile_log.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "base/varint.h"

/* Of what is small, level 1 takes twice the time for a seventh of the bytes. */
enum { LEVEL = 1, LEVEL_SMALL = -1, SMALL_BYTES = 8 << 10 };

enum { CODE_NULL, CODE_TEXT, CODE_BLOB, CODE_REAL, CODE_WHOLE, CODE_CHANGE };
/* Of a number that is one more than the last: a varint of one byte (2: 1 by zigzag). */
enum { NEXT_NUMBER = CODE_CHANGE + 2 };

/* What the next row of the same statement is compared with. */
static void profile_log_remember(struct values *before, const struct values *values)
{
    before->count = values->count;
    for (size_t i = 0; i < values->count; i++)
        before->at[i] =
            values->at[i].type == VALUE_NUMBER ? values->at[i] : (struct value){.type = VALUE_NULL};
}

static void profile_log_forget(struct values *before, size_t count)
{
    before->count = count;
    for (size_t i = 0; i < count; i++)
        before->at[i] = (struct value){.type = VALUE_NULL};
}

static uint64_t profile_log_number_of(const struct value *value)
{
    return value->type == VALUE_NUMBER ? (uint64_t)value->number : 0;
}

/* ---- Writing ------------------------------------------------------------------------------- */

void profile_log_init(struct profile_log *log)
{
    log->rows = STRBUF_INIT;
    log->count = 0;
    log->statement = -1;
    log->before.count = 0;
}

void profile_log_release(struct profile_log *log)
{
    strbuf_release(&log->rows);
}

static void profile_log_add_varint(struct strbuf *out, uint64_t number)
{
    unsigned char bytes[VARINT_BYTES];
    strbuf_add(out, bytes, (size_t)(varint_put(bytes, number) - bytes));
}

static void profile_log_add_whole(struct strbuf *out, int code, uint64_t bits)
{
    uint64_t whole = htole64(bits);
    strbuf_add_char(out, (char)code);
    strbuf_add(out, &whole, sizeof whole);
}

static void profile_log_add_bytes(struct strbuf *out, int code, const struct value *value)
{
    strbuf_add_char(out, (char)code);
    profile_log_add_varint(out, value->bytes);
    strbuf_add(out, value->data, value->bytes);
}

static void profile_log_add_number(struct strbuf *out, uint64_t number, uint64_t before)
{
    uint64_t change = varint_zigzag(number - before);
    if (change > UINT64_MAX - CODE_CHANGE)
        profile_log_add_whole(out, CODE_WHOLE, number);
    else
        profile_log_add_varint(out, change + CODE_CHANGE);
}

static void profile_log_add_value(struct strbuf *out, const struct value *value,
                                  const struct value *before)
{
    uint64_t bits;
    switch (value->type) {
    case VALUE_NULL:
        strbuf_add_char(out, CODE_NULL);
        break;
    case VALUE_NUMBER:
        profile_log_add_number(out, (uint64_t)value->number, profile_log_number_of(before));
        break;
    case VALUE_REAL:
        memcpy(&bits, &value->real, sizeof bits);
        profile_log_add_whole(out, CODE_REAL, bits);
        break;
    case VALUE_TEXT:
        profile_log_add_bytes(out, CODE_TEXT, value);
        break;
    case VALUE_BLOB:
        profile_log_add_bytes(out, CODE_BLOB, value);
        break;
    }
}

static bool profile_log_is_as_before(const struct value *value, const struct value *before)
{
    if (value->type == VALUE_NULL)
        return before->type == VALUE_NULL;
    return value->type == VALUE_NUMBER && before->type == VALUE_NUMBER &&
           value->number == before->number;
}

void profile_log_add(struct profile_log *log, int statement, const struct values *values)
{
    if (log->statement != statement)
        profile_log_forget(&log->before, values->count);
    log->statement = statement;
    log->count++;
    strbuf_add_char(&log->rows, (char)statement);
    unsigned char bits[(VALUES_MAX + 7) / 8] = {0};
    for (size_t i = 0; i < values->count; i++)
        if (!profile_log_is_as_before(&values->at[i], &log->before.at[i]))
            bits[i / 8] |= (unsigned char)(1u << i % 8);
    strbuf_add(&log->rows, bits, (values->count + 7) / 8);
    for (size_t i = 0; i < values->count; i++)
        if (bits[i / 8] >> i % 8 & 1)
            profile_log_add_value(&log->rows, &values->at[i], &log->before.at[i]);
    profile_log_remember(&log->before, values);
}

void profile_log_add_next(struct profile_log *log, size_t count)
{
    size_t bit_bytes = (log->before.count + 7) / 8, row_bytes = 1 + bit_bytes + 1;
    struct value *first = &log->before.at[0];
    char *row = strbuf_extend(&log->rows, count * row_bytes);
    for (size_t i = 0; i < count; i++, row += row_bytes) {
        memset(row, 0, row_bytes);
        row[0] = (char)log->statement;
        row[1] = 1;
        row[1 + bit_bytes] = NEXT_NUMBER;
    }
    log->count += count;
    first->number += (int64_t)count;
}

/* ---- Packing: compressing needs some memory, which a thread keeps for its next log. ---- */

static pthread_key_t profile_log_packers;
static pthread_once_t profile_log_packers_once = PTHREAD_ONCE_INIT;

static void profile_log_free_packer(void *packer)
{
    ZSTD_freeCCtx(packer);
}

static void profile_log_know_packers(void)
{
    pthread_key_create(&profile_log_packers, profile_log_free_packer);
}

static ZSTD_CCtx *profile_log_packer(void)
{
    pthread_once(&profile_log_packers_once, profile_log_know_packers);
    ZSTD_CCtx *packer = pthread_getspecific(profile_log_packers);
    if (!packer && (packer = ZSTD_createCCtx()))
        pthread_setspecific(profile_log_packers, packer);
    return packer;
}

int profile_log_pack(const struct profile_log *log, struct strbuf *out)
{
    size_t most = ZSTD_compressBound(log->rows.length), before = out->length;
    ZSTD_CCtx *packer = profile_log_packer();
    if (log->count > PROFILE_LOG_ROWS_MAX || log->rows.length > PROFILE_LOG_BYTES_MAX)
        return -EFBIG;
    if (!packer)
        return -ENOMEM;
    char *packed = strbuf_extend(out, most);
    size_t bytes = ZSTD_compressCCtx(packer, packed, most, log->rows.data, log->rows.length,
                                     log->rows.length < SMALL_BYTES ? LEVEL_SMALL : LEVEL);
    if (ZSTD_isError(bytes)) {
        strbuf_truncate(out, before);
        return -ENOMEM;
    }
    strbuf_truncate(out, before + bytes);
    return 0;
}

int profile_log_unpack(const void *body, size_t bytes, void **rows, size_t *row_bytes)
{
    unsigned long long size = ZSTD_getFrameContentSize(body, bytes);
    if (size > PROFILE_LOG_BYTES_MAX) /* as are the two errors */
        return -EBADMSG;
    *rows = malloc(size ? (size_t)size : 1);
    if (!*rows)
        return -ENOMEM;
    *row_bytes = ZSTD_decompress(*rows, (size_t)size, body, bytes);
    if (!ZSTD_isError(*row_bytes))
        return 0;
    free(*rows);
    *rows = NULL;
    return -EBADMSG;
}

/* ---- Reading ------------------------------------------------------------------------------- */

void profile_log_read(struct profile_log_reader *reader, const void *rows, size_t bytes)
{
    reader->at = rows;
    reader->end = reader->at + bytes;
    reader->before_statement = -1;
}

int profile_log_next(struct profile_log_reader *reader)
{
    if (reader->at == reader->end)
        return -1;
    reader->statement = *reader->at++;
    return reader->statement;
}

static bool profile_log_take_whole(struct profile_log_reader *reader, uint64_t *bits)
{
    if ((size_t)(reader->end - reader->at) < sizeof *bits)
        return false;
    memcpy(bits, reader->at, sizeof *bits);
    *bits = le64toh(*bits);
    reader->at += sizeof *bits;
    return true;
}

static bool profile_log_take_bytes(struct profile_log_reader *reader, struct value *value)
{
    uint64_t bytes;
    const unsigned char *at = varint_get(reader->at, reader->end, &bytes);
    if (!at || bytes > (size_t)(reader->end - at))
        return false;
    value->bytes = (size_t)bytes;
    value->data = at;
    reader->at = at + bytes;
    return true;
}

static bool profile_log_take_value(struct profile_log_reader *reader, struct value *value,
                                   const struct value *before)
{
    uint64_t code, bits;
    reader->at = varint_get(reader->at, reader->end, &code);
    if (!reader->at)
        return false;
    *value = (struct value){.type = VALUE_NULL};
    switch (code) {
    case CODE_NULL:
        return true;
    case CODE_TEXT:
    case CODE_BLOB:
        value->type = code == CODE_TEXT ? VALUE_TEXT : VALUE_BLOB;
        return profile_log_take_bytes(reader, value);
    case CODE_REAL:
    case CODE_WHOLE:
        value->type = code == CODE_REAL ? VALUE_REAL : VALUE_NUMBER;
        bool whole = profile_log_take_whole(reader, &bits);
        if (whole)
            memcpy(&value->number, &bits, sizeof bits); /* a double has its bytes in their place */
        return whole;
    default:
        bits = varint_unzigzag(code - CODE_CHANGE) + profile_log_number_of(before);
        *value = (struct value){.type = VALUE_NUMBER, .number = (int64_t)bits};
        return true;
    }
}

bool profile_log_values(struct profile_log_reader *reader, size_t count)
{
    const unsigned char *bits = reader->at;
    if (count > VALUES_MAX || (size_t)(reader->end - bits) < (count + 7) / 8)
        return false;
    if (reader->before_statement != reader->statement || reader->before.count != count)
        profile_log_forget(&reader->before, count);
    reader->before_statement = reader->statement;
    reader->at += (count + 7) / 8;
    reader->values.count = count;
    for (size_t i = 0; i < count; i++) {
        const struct value *before = &reader->before.at[i];
        if (!(bits[i / 8] >> i % 8 & 1))
            reader->values.at[i] = *before;
        else if (!profile_log_take_value(reader, &reader->values.at[i], before))
            return false;
    }
    profile_log_remember(&reader->before, &reader->values);
    return true;
}
