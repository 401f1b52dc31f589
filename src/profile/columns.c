/* See columns.h. Encoding is on the way of the events (the collector's replay waits for it), so an
 * encoding is chosen by a sample of the rows; what it would cost counts bytes, and each number that
 * is not 0 once more, because packing makes next to nothing of zeros. */
#include "profile/columns.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { VARINT_MAX_BYTES = 10, SAMPLES = 64 };

static inline uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ -(difference >> 63);
}

static inline uint64_t zagzig(uint64_t value)
{
    return value >> 1 ^ -(value & 1);
}

/* ---- Encoding ------------------------------------------------------------------------------ */

static inline unsigned char *put_varint(unsigned char *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *at++ = (unsigned char)value;
    return at;
}

static inline size_t cost(uint64_t value)
{
    unsigned top = 63 - (unsigned)__builtin_clzll(value | 1);
    return (top * 9 + 73) / 64 + (value != 0);
}

/* What an encoder knows of the columns before the one at hand. */
struct encoder {
    const uint64_t *const *columns;
    size_t rows, step; /* every step-th row is a sample */
    size_t varied[COLUMNS_MAX], varied_count; /* those that are not all the same */
};

/* Most columns of sites are (all 0), and most others show early that they are not. */
static bool all_same(const uint64_t *column, size_t rows)
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
static size_t most_alike(const struct encoder *encoder, const uint64_t *column)
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

static enum columns_encoding choose(const struct encoder *encoder, const uint64_t *column,
                                    const uint64_t *beside)
{
    size_t costs[COLUMNS_BESIDE + 1] = {0};
    for (size_t row = 0; row < encoder->rows; row += encoder->step) {
        uint64_t value = column[row];
        costs[COLUMNS_PLAIN] += cost(value);
        costs[COLUMNS_NEXT] += cost(value + 1);
        costs[COLUMNS_CHANGE] += cost(zigzag(value - (row ? column[row - 1] : 0)));
        costs[COLUMNS_BESIDE] += beside ? cost(zigzag(value - beside[row])) : SIZE_MAX / 8192;
    }
    enum columns_encoding best = COLUMNS_PLAIN;
    for (enum columns_encoding other = COLUMNS_NEXT; other <= COLUMNS_BESIDE; other++)
        if (costs[other] < costs[best])
            best = other;
    return best;
}

static unsigned char *put_numbers(unsigned char *at, enum columns_encoding encoding,
                                  const uint64_t *column, const uint64_t *beside, size_t rows)
{
    uint64_t before = 0;
    switch (encoding) {
    case COLUMNS_NEXT:
        for (size_t i = 0; i < rows; i++)
            at = put_varint(at, column[i] + 1);
        break;
    case COLUMNS_CHANGE:
        for (size_t i = 0; i < rows; before = column[i++])
            at = put_varint(at, zigzag(column[i] - before));
        break;
    case COLUMNS_BESIDE:
        for (size_t i = 0; i < rows; i++)
            at = put_varint(at, zigzag(column[i] - beside[i]));
        break;
    default:
        for (size_t i = 0; i < rows; i++)
            at = put_varint(at, column[i]);
    }
    return at;
}

static void add_column(struct strbuf *out, enum columns_encoding encoding,
                       const unsigned char *numbers, size_t bytes)
{
    unsigned char head[1 + VARINT_MAX_BYTES] = {(unsigned char)encoding};
    strbuf_add(out, head, (size_t)(put_varint(head + 1, bytes) - head));
    strbuf_add(out, numbers, bytes);
}

static void encode_column(struct encoder *encoder, size_t number, struct strbuf *out)
{
    unsigned char numbers[VARINT_MAX_BYTES * (COLUMNS_MAX_ROWS + 1)], *at = numbers;
    const uint64_t *column = encoder->columns[number];
    if (all_same(column, encoder->rows)) {
        bool zero = !encoder->rows || !column[0];
        at = zero ? at : put_varint(at, column[0]);
        add_column(out, zero ? COLUMNS_ZERO : COLUMNS_SAME, numbers, (size_t)(at - numbers));
        return;
    }
    size_t alike = most_alike(encoder, column);
    const uint64_t *beside = alike == SIZE_MAX ? NULL : encoder->columns[alike];
    enum columns_encoding encoding = choose(encoder, column, beside);
    if (encoding == COLUMNS_BESIDE)
        at = put_varint(at, alike);
    at = put_numbers(at, encoding, column, beside, encoder->rows);
    add_column(out, encoding, numbers, (size_t)(at - numbers));
    encoder->varied[encoder->varied_count++] = number;
}

void columns_encode(struct strbuf *out, const uint64_t *const *columns, size_t count, size_t rows)
{
    struct encoder encoder = {
        .columns = columns, .rows = rows, .step = rows > SAMPLES ? rows / SAMPLES : 1};
    for (size_t number = 0; number < count; number++)
        encode_column(&encoder, number, out);
}

/* ---- Decoding ------------------------------------------------------------------------------ */

struct bytes {
    const unsigned char *at, *end;
};

static bool get_long_varint(struct bytes *from, uint64_t *value)
{
    uint64_t all = 0;
    for (unsigned shift = 0; shift < 64 && from->at < from->end; shift += 7) {
        unsigned char byte = *from->at++;
        all |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = all;
            return shift < 63 || byte <= 1;
        }
    }
    return false;
}

static inline bool get_varint(struct bytes *from, uint64_t *value)
{
    if (from->at < from->end && *from->at < 0x80) {
        *value = *from->at++;
        return true;
    }
    return get_long_varint(from, value);
}

/* Nearly all are one or two bytes long. */
static bool get_all(struct bytes *from, uint64_t *column, size_t rows)
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
            if (!get_varint(from, &column[i]))
                return false;
            bytes = *from;
        }
    }
    *from = bytes;
    return true;
}

static bool get_same(struct bytes *from, uint64_t *column, size_t rows)
{
    uint64_t value;
    if (!get_varint(from, &value))
        return false;
    for (size_t i = 0; i < rows; i++)
        column[i] = value;
    return true;
}

static bool get_beside(struct bytes *from, const struct columns *columns, uint64_t *column)
{
    uint64_t number;
    if (!get_varint(from, &number) || number >= columns->count ||
        !get_all(from, column, columns->rows))
        return false;
    const uint64_t *beside = columns_at(columns, (size_t)number);
    for (size_t i = 0; i < columns->rows; i++)
        column[i] = zagzig(column[i]) + beside[i];
    return true;
}

static bool get_numbers(struct bytes *from, enum columns_encoding encoding,
                        const struct columns *columns, uint64_t *column)
{
    size_t rows = columns->rows;
    uint64_t before = 0;
    switch (encoding) {
    case COLUMNS_ZERO:
        memset(column, 0, rows * sizeof *column);
        return true;
    case COLUMNS_SAME:
        return get_same(from, column, rows);
    case COLUMNS_PLAIN:
        return get_all(from, column, rows);
    case COLUMNS_NEXT:
        if (!get_all(from, column, rows))
            return false;
        for (size_t i = 0; i < rows; i++)
            column[i]--;
        return true;
    case COLUMNS_CHANGE:
        if (!get_all(from, column, rows))
            return false;
        for (size_t i = 0; i < rows; i++)
            column[i] = before += zagzig(column[i]);
        return true;
    case COLUMNS_BESIDE:
        return get_beside(from, columns, column);
    }
    return false;
}

/* Room for one column more, grown by what really comes. */
static uint64_t *make_room(struct columns *columns)
{
    size_t needed = (columns->count + 1) * columns->rows;
    if (needed > columns->capacity) {
        uint64_t *numbers = realloc(columns->numbers, 2 * needed * sizeof *numbers);
        if (!numbers)
            return NULL;
        columns->numbers = numbers;
        columns->capacity = 2 * needed;
    }
    return columns->numbers + columns->count * columns->rows;
}

static int decode_column(struct columns *columns, struct bytes *body)
{
    enum columns_encoding encoding = *body->at++;
    uint64_t bytes;
    if (!get_varint(body, &bytes) || bytes > (uint64_t)(body->end - body->at) ||
        columns->count == COLUMNS_MAX)
        return -EBADMSG;
    struct bytes numbers = {body->at, body->at + bytes};
    body->at += bytes;
    uint64_t *column = make_room(columns);
    if (!column)
        return -ENOMEM;
    if (!get_numbers(&numbers, encoding, columns, column) || numbers.at != numbers.end)
        return -EBADMSG;
    columns->count++;
    return 0;
}

int columns_decode(struct columns *columns, const void *body, size_t bytes, size_t rows)
{
    columns->count = 0;
    columns->rows = rows;
    if (!rows || rows > COLUMNS_MAX_ROWS)
        return -EBADMSG;
    if (!bytes)
        return 0; /* and `body` may be NULL */
    struct bytes from = {body, (const unsigned char *)body + bytes};
    int error = 0;
    while (from.at < from.end && !error)
        error = decode_column(columns, &from);
    if (error)
        columns->count = 0;
    return error;
}

void columns_release(struct columns *columns)
{
    free(columns->numbers);
    *columns = (struct columns){0};
}
