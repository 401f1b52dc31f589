/* Encodes and decodes columns (number_columns.h). The collector's replay waits while a body is
 * encoded, so the encoding of a column is chosen by a sample of its rows. The cost of an encoding
 * is its bytes, and each number that is not 0 once more, because zeros pack to almost nothing. */
#include "profile/number_columns.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/varint.h"

enum { SAMPLES = 64 };

/* ---- Encoding ------------------------------------------------------------------------------ */

static inline size_t number_columns_cost(uint64_t value)
{
    unsigned top = 63 - (unsigned)__builtin_clzll(value | 1);
    return (top * 9 + 73) / 64 + (value != 0);
}

/* What an encoder knows of the columns before the one at hand. */
struct number_columns_encoder {
    const uint64_t *const *columns;
    size_t rows, step;                        /* every step-th row is a sample */
    size_t varied[COLUMNS_MAX], varied_count; /* those that are not all the same */
};

/* Most columns of sites are (all 0), and most others show early that they are not. */
static bool number_columns_all_same(const uint64_t *column, size_t rows)
{
    uint64_t first = rows ? column[0] : 0;
    size_t i = 0;
    for (; i + 4 <= rows; i += 4)
        if ((column[i] ^ first) | (column[i + 1] ^ first) | (column[i + 2] ^ first) |
            (column[i + 3] ^ first))
            return false;
    for (; i < rows; i++)
        if (column[i] != first)
            return false;
    return true;
}

/* The earlier column that is equal to this one most often, SIZE_MAX if none ever is. */
static size_t number_columns_most_alike(const struct number_columns_encoder *encoder,
                                        const uint64_t *column)
{
    size_t best = SIZE_MAX, best_equal = 0;
    for (size_t i = 0; i < encoder->varied_count; i++) {
        const uint64_t *other = encoder->columns[encoder->varied[i]];
        size_t equal = 0;
        for (size_t row = 0; row < encoder->rows; row += encoder->step)
            equal += column[row] == other[row];
        if (equal > best_equal) {
            best_equal = equal;
            best = encoder->varied[i];
        }
    }
    return best;
}

static enum columns_encoding number_columns_choose(const struct number_columns_encoder *encoder,
                                                   const uint64_t *column, const uint64_t *beside)
{
    size_t costs[COLUMNS_BESIDE + 1] = {0};
    for (size_t row = 0; row < encoder->rows; row += encoder->step) {
        uint64_t value = column[row];
        costs[COLUMNS_PLAIN] += number_columns_cost(value);
        costs[COLUMNS_NEXT] += number_columns_cost(value + 1);
        costs[COLUMNS_CHANGE] +=
            number_columns_cost(varint_zigzag(value - (row ? column[row - 1] : 0)));
        costs[COLUMNS_BESIDE] +=
            beside ? number_columns_cost(varint_zigzag(value - beside[row])) : SIZE_MAX / 8192;
    }
    enum columns_encoding best = COLUMNS_PLAIN;
    for (enum columns_encoding other = COLUMNS_NEXT; other <= COLUMNS_BESIDE; other++)
        if (costs[other] < costs[best])
            best = other;
    return best;
}

static unsigned char *number_columns_put_numbers(unsigned char *at, enum columns_encoding encoding,
                                                 const uint64_t *column, const uint64_t *beside,
                                                 size_t rows)
{
    uint64_t before = 0;
    switch (encoding) {
    case COLUMNS_NEXT:
        for (size_t i = 0; i < rows; i++)
            at = varint_put(at, column[i] + 1);
        break;
    case COLUMNS_CHANGE:
        for (size_t i = 0; i < rows; before = column[i++])
            at = varint_put(at, varint_zigzag(column[i] - before));
        break;
    case COLUMNS_BESIDE:
        for (size_t i = 0; i < rows; i++)
            at = varint_put(at, varint_zigzag(column[i] - beside[i]));
        break;
    default:
        for (size_t i = 0; i < rows; i++)
            at = varint_put(at, column[i]);
    }
    return at;
}

static void number_columns_add_column(struct strbuf *out, enum columns_encoding encoding,
                                      const unsigned char *numbers, size_t bytes)
{
    unsigned char head[1 + VARINT_BYTES] = {(unsigned char)encoding};
    strbuf_add(out, head, (size_t)(varint_put(head + 1, bytes) - head));
    strbuf_add(out, numbers, bytes);
}

static void number_columns_encode_column(struct number_columns_encoder *encoder, size_t number,
                                         struct strbuf *out)
{
    unsigned char numbers[VARINT_BYTES * (COLUMNS_MAX_ROWS + 1)], *at = numbers;
    const uint64_t *column = encoder->columns[number];
    if (number_columns_all_same(column, encoder->rows)) {
        bool zero = !encoder->rows || !column[0];
        at = zero ? at : varint_put(at, column[0]);
        number_columns_add_column(out, zero ? COLUMNS_ZERO : COLUMNS_SAME, numbers,
                                  (size_t)(at - numbers));
        return;
    }
    size_t alike = number_columns_most_alike(encoder, column);
    const uint64_t *beside = alike == SIZE_MAX ? NULL : encoder->columns[alike];
    enum columns_encoding encoding = number_columns_choose(encoder, column, beside);
    if (encoding == COLUMNS_BESIDE)
        at = varint_put(at, alike);
    at = number_columns_put_numbers(at, encoding, column, beside, encoder->rows);
    number_columns_add_column(out, encoding, numbers, (size_t)(at - numbers));
    encoder->varied[encoder->varied_count++] = number;
}

void columns_encode(struct strbuf *out, const uint64_t *const *columns, size_t count, size_t rows)
{
    struct number_columns_encoder encoder = {
        .columns = columns, .rows = rows, .step = rows > SAMPLES ? rows / SAMPLES : 1};
    for (size_t number = 0; number < count; number++)
        number_columns_encode_column(&encoder, number, out);
}

/* ---- Decoding ------------------------------------------------------------------------------ */

struct bytes {
    const unsigned char *at, *end;
};

static bool number_columns_get_varint(struct bytes *from, uint64_t *value)
{
    const unsigned char *behind = varint_get(from->at, from->end, value);

    from->at = behind ? behind : from->end;
    return behind != NULL;
}

/* Nearly all are one or two bytes long. */
static bool number_columns_get_all(struct bytes *from, uint64_t *column, size_t rows)
{
    struct bytes bytes = *from;
    for (size_t i = 0; i < rows; i++) {
        const unsigned char *at = bytes.at;
        if (bytes.end - at >= 2 && (at[0] & at[1]) < 0x80) {
            bool two = at[0] >= 0x80;
            column[i] = two ? (at[0] & 0x7fu) | (unsigned)at[1] << 7 : at[0];
            bytes.at = at + 1 + two;
        } else {
            *from = bytes;
            if (!number_columns_get_varint(from, &column[i]))
                return false;
            bytes = *from;
        }
    }
    *from = bytes;
    return true;
}

static bool number_columns_get_same(struct bytes *from, uint64_t *column, size_t rows)
{
    uint64_t value;
    if (!number_columns_get_varint(from, &value))
        return false;
    for (size_t i = 0; i < rows; i++)
        column[i] = value;
    return true;
}

static bool number_columns_get_beside(struct bytes *from, const uint64_t *beside, uint64_t *column,
                                      size_t rows)
{
    if (!number_columns_get_all(from, column, rows))
        return false;
    for (size_t i = 0; i < rows; i++)
        column[i] = varint_unzigzag(column[i]) + beside[i];
    return true;
}

static bool number_columns_get_numbers(struct bytes *from, enum columns_encoding encoding,
                                       const uint64_t *beside, uint64_t *column, size_t rows)
{
    uint64_t before = 0;
    switch (encoding) {
    case COLUMNS_ZERO:
        memset(column, 0, rows * sizeof *column);
        return true;
    case COLUMNS_SAME:
        return number_columns_get_same(from, column, rows);
    case COLUMNS_PLAIN:
        return number_columns_get_all(from, column, rows);
    case COLUMNS_NEXT:
        if (!number_columns_get_all(from, column, rows))
            return false;
        for (size_t i = 0; i < rows; i++)
            column[i]--;
        return true;
    case COLUMNS_CHANGE:
        if (!number_columns_get_all(from, column, rows))
            return false;
        for (size_t i = 0; i < rows; i++)
            column[i] = before += varint_unzigzag(column[i]);
        return true;
    case COLUMNS_BESIDE:
        return number_columns_get_beside(from, beside, column, rows);
    }
    return false;
}

/* Room for one column more, grown by what really comes. */
static bool number_columns_make_room(struct columns *columns)
{
    size_t needed = (columns->decoded + 1) * columns->rows;
    return array_make_bare_room(&columns->numbers, &columns->capacity, needed,
                                sizeof *columns->numbers);
}

/* Where the columns of a body lie in it. */
struct number_columns_bodies {
    enum columns_encoding encodings[COLUMNS_MAX];
    struct bytes numbers[COLUMNS_MAX];
};

static int number_columns_decode_one(struct columns *columns, struct number_columns_bodies *bodies,
                                     size_t number);

/* The column beside which column `number` was written comes before it. */
static int number_columns_decode_beside(struct columns *columns,
                                        struct number_columns_bodies *bodies, size_t number,
                                        uint64_t *beside)
{
    if (bodies->encodings[number] != COLUMNS_BESIDE)
        return 0;
    if (!number_columns_get_varint(&bodies->numbers[number], beside) || *beside >= number)
        return -EBADMSG;
    return number_columns_decode_one(columns, bodies, (size_t)*beside);
}

static int number_columns_decode_one(struct columns *columns, struct number_columns_bodies *bodies,
                                     size_t number)
{
    struct bytes *numbers = &bodies->numbers[number];
    uint64_t beside = 0;
    if (columns->place[number])
        return 0;
    int error = number_columns_decode_beside(columns, bodies, number, &beside);
    if (!error && !number_columns_make_room(columns))
        error = -ENOMEM;
    if (error)
        return error;
    uint64_t *column = columns->numbers + columns->decoded * columns->rows;
    if (!number_columns_get_numbers(numbers, bodies->encodings[number],
                                    columns_at(columns, (size_t)beside), column, columns->rows) ||
        numbers->at != numbers->end)
        return -EBADMSG;
    columns->place[number] = (uint16_t)++columns->decoded;
    return 0;
}

static bool number_columns_find(struct columns *columns, struct number_columns_bodies *bodies,
                                struct bytes body)
{
    while (body.at < body.end) {
        enum columns_encoding encoding = *body.at++;
        uint64_t bytes;
        if (!number_columns_get_varint(&body, &bytes) || bytes > (uint64_t)(body.end - body.at) ||
            columns->count == COLUMNS_MAX)
            return false;
        bodies->encodings[columns->count] = encoding;
        bodies->numbers[columns->count++] = (struct bytes){body.at, body.at + bytes};
        body.at += bytes;
    }
    memset(columns->place, 0, columns->count * sizeof *columns->place);
    return true;
}

int columns_decode(struct columns *columns, const void *body, size_t bytes, size_t rows,
                   const bool *wanted)
{
    struct number_columns_bodies bodies;
    columns->count = columns->decoded = 0;
    columns->rows = rows;
    if (!rows || rows > COLUMNS_MAX_ROWS)
        return -EBADMSG;
    if (!bytes)
        return 0; /* and `body` may be NULL */
    const unsigned char *from = body;
    int error =
        number_columns_find(columns, &bodies, (struct bytes){from, from + bytes}) ? 0 : -EBADMSG;
    for (size_t i = 0; i < columns->count && !error; i++)
        if (!wanted || wanted[i])
            error = number_columns_decode_one(columns, &bodies, i);
    if (error)
        columns->count = 0;
    return error;
}

void columns_release(struct columns *columns)
{
    free(columns->numbers);
    *columns = (struct columns){0};
}
