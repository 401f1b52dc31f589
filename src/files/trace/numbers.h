/* Numbers as bytes, in two forms (doc/FORMAT-trace.md, "Numbers"):
 *
 *   varint    base/varint.h
 *   token     one byte in one column gives the number or its size; the bits left over are in
 *             another column. Tokens pack well, the bits left over are mostly noise.
 *
 * A writer needs room for NUMBER_BYTES per number. A reader never reads beyond the end: there it
 * gets zeros, and `overrun` becomes true.
 *
 *   sink: count <= room        source: at <= end
 *
 * Inside the room; inlined into the hot paths of writer and reader. */
#ifndef TIDEMARK_TRACE_NUMBERS_H
#define TIDEMARK_TRACE_NUMBERS_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/varint.h"

enum { NUMBER_BYTES = VARINT_BYTES };

struct byte_sink {
    unsigned char *data;
    size_t count, room;
};

struct byte_source {
    const unsigned char *at, *end;
    bool overrun; /* more was asked for than there is */
};

static inline void numbers_sink_byte(struct byte_sink *sink, unsigned byte)
{
    sink->data[sink->count++] = (unsigned char)byte;
}

static inline void numbers_sink_varint(struct byte_sink *sink, uint64_t number)
{
    sink->count = (size_t)(varint_put(sink->data + sink->count, number) - sink->data);
}

static inline void numbers_sink_bytes(struct byte_sink *sink, const void *bytes, size_t count)
{
    memcpy(sink->data + sink->count, bytes, count);
    sink->count += count;
}

static inline size_t numbers_source_left(const struct byte_source *source)
{
    return (size_t)(source->end - source->at);
}

static inline unsigned numbers_source_byte(struct byte_source *source)
{
    if (source->at < source->end)
        return *source->at++;
    source->overrun = true;
    return 0;
}

static inline uint64_t numbers_source_varint(struct byte_source *source)
{
    uint64_t number;
    const unsigned char *behind = varint_get(source->at, source->end, &number);

    if (!behind) {
        source->overrun = true;
        source->at = source->end;
        return 0;
    }
    source->at = behind;
    return number;
}

/* NULL: there are not so many. */
static inline const unsigned char *numbers_source_bytes(struct byte_source *source, uint64_t count)
{
    const unsigned char *at = source->at;

    if (count > numbers_source_left(source)) {
        source->overrun = true;
        source->at = source->end;
        return NULL;
    }
    source->at += count;
    return at;
}

/* ---- Tokens --------------------------------------------------------------------------------
 *
 *   0 … 127     the number
 *   128 … 191   2^e <= number < 2^(e+1), e = 7 … 22: four tokens for each e, by the two bits behind
 *               the highest; the e - 2 bits left over in as few bytes as hold them, the lowest
 *               first
 *   192 … 232   e = 23 … 63, one token each; the e lower bits
 */
enum {
    TOKEN_PLAIN = 128,
    TOKEN_QUARTERS_END = 23,
    TOKEN_LARGE = 192,
    TOKEN_LARGEST = 232,
    TOKEN_BACK = 255,                                   /* of times */
    TOKEN_WIDE = TOKEN_LARGE + 58 - TOKEN_QUARTERS_END, /* from here on e > 57 */
};

/* The token of a number, and how many bits of the number it leaves over. */
static inline unsigned numbers_token_of(uint64_t number, unsigned *left_bits)
{
    unsigned e;

    *left_bits = 0;
    if (number < TOKEN_PLAIN)
        return (unsigned)number;
    e = 63 - (unsigned)__builtin_clzll(number);
    *left_bits = e < TOKEN_QUARTERS_END ? e - 2 : e;
    return e < TOKEN_QUARTERS_END ? TOKEN_PLAIN + (e - 7) * 4 + (unsigned)(number >> (e - 2) & 3)
                                  : TOKEN_LARGE + e - TOKEN_QUARTERS_END;
}

/* Of a token from TOKEN_PLAIN on: the bits left over, and the number without them. Those above
 * TOKEN_LARGEST are for the caller. */
static inline uint64_t numbers_token(unsigned token, unsigned *left_bits)
{
    if (token < TOKEN_LARGE) {
        *left_bits = 5 + (token - TOKEN_PLAIN) / 4;
        return (4ull | (token & 3)) << *left_bits;
    }
    *left_bits = TOKEN_QUARTERS_END + token - TOKEN_LARGE;
    return 1ull << *left_bits;
}

/* All of that by the token, for readers without branches. Those above TOKEN_LARGEST are 0. */
struct number_tokens {
    uint64_t base[256], mask[256];       /* the number without its rest; the bits of the rest */
    unsigned char bits[256], bytes[256]; /* of the rest */
};

static inline void numbers_list_tokens(struct number_tokens *all)
{
    memset(all, 0, sizeof *all);
    for (unsigned token = 0; token < TOKEN_PLAIN; token++)
        all->base[token] = token;
    for (unsigned token = TOKEN_PLAIN; token <= TOKEN_LARGEST; token++) {
        unsigned bits;
        all->base[token] = numbers_token(token, &bits);
        all->mask[token] = (1ull << bits) - 1;
        all->bits[token] = (unsigned char)bits;
        all->bytes[token] = (unsigned char)((bits + 7) / 8);
    }
}

static inline uint64_t number_low(uint64_t number, unsigned bits)
{
    return number & ((1ull << bits) - 1);
}

/* ---- Rests in bytes ------------------------------------------------------------------------ */

static inline void numbers_sink_low_bytes(struct byte_sink *sink, uint64_t number, unsigned bits)
{
    number = htole64(number);
    memcpy(sink->data + sink->count, &number, 8); /* there is room for 8 */
    sink->count += (bits + 7) / 8;
}

static inline void numbers_sink(struct byte_sink *tokens, struct byte_sink *rest, uint64_t number)
{
    unsigned bits;

    numbers_sink_byte(tokens, numbers_token_of(number, &bits));
    if (bits)
        numbers_sink_low_bytes(rest, number_low(number, bits), bits);
}

static inline uint64_t numbers_source_low_bytes(struct byte_source *source, unsigned bits)
{
    const unsigned char *at = source->at;
    unsigned count = (bits + 7) / 8;
    uint64_t number = 0;

    if (numbers_source_left(source) >= 8) {
        memcpy(&number, at, 8);
        source->at += count;
    } else if ((at = numbers_source_bytes(source, count))) {
        memcpy(&number, at, count);
    }
    return le64toh(number) & (~0ull >> (64 - bits));
}

/* The number of a token; tokens above TOKEN_LARGEST are for the caller: overrun. */
static inline uint64_t numbers_source_rest(struct byte_source *rest, unsigned token)
{
    uint64_t number;
    unsigned bits;

    if (token < TOKEN_PLAIN)
        return token;
    if (token > TOKEN_LARGEST) {
        rest->overrun = true;
        return 0;
    }
    number = numbers_token(token, &bits);
    return number | numbers_source_low_bytes(rest, bits);
}

static inline uint64_t numbers_source(struct byte_source *tokens, struct byte_source *rest)
{
    return numbers_source_rest(rest, numbers_source_byte(tokens));
}

/* ---- Rests in bits -------------------------------------------------------------------------
 * What is noise in any case takes just the bits that it has, and is not packed. The lowest bit of a
 * byte comes first. */

enum { BITS_AT_ONCE = 32 };

struct bit_sink {
    struct byte_sink *bytes;
    uint64_t held; /* what makes no whole byte yet: */
    unsigned held_bits;
};

struct bit_source {
    const unsigned char *data;
    uint64_t at, end; /* in bits */
    bool overrun;
};

/* There is room for 8 bytes. */
static inline void numbers_sink_few_bits(struct bit_sink *sink, uint64_t number, unsigned bits)
{
    struct byte_sink *bytes = sink->bytes;
    uint64_t word;

    sink->held |= number << sink->held_bits;
    sink->held_bits += bits;
    word = htole64(sink->held);
    memcpy(bytes->data + bytes->count, &word, 8);
    bytes->count += sink->held_bits / 8;
    sink->held >>= sink->held_bits & ~7u;
    sink->held_bits &= 7;
}

/* `number` has no more bits than that. */
static inline void numbers_sink_bits(struct bit_sink *sink, uint64_t number, unsigned bits)
{
    if (bits > BITS_AT_ONCE) {
        numbers_sink_few_bits(sink, number_low(number, BITS_AT_ONCE), BITS_AT_ONCE);
        number >>= BITS_AT_ONCE;
        bits -= BITS_AT_ONCE;
    }
    numbers_sink_few_bits(sink, number, bits);
}

static inline void numbers_sink_last_bits(struct bit_sink *sink)
{
    if (sink->held_bits)
        numbers_sink_byte(sink->bytes, (unsigned)sink->held);
    sink->held = sink->held_bits = 0;
}

static inline void numbers_sink_number_bits(struct byte_sink *tokens, struct bit_sink *rest,
                                            uint64_t number)
{
    unsigned bits;

    numbers_sink_byte(tokens, numbers_token_of(number, &bits));
    if (bits)
        numbers_sink_bits(rest, number_low(number, bits), bits);
}

static inline struct bit_source numbers_bit_source_of(const struct byte_source *bytes)
{
    return (struct bit_source){bytes->at, 0, 8 * (uint64_t)numbers_source_left(bytes), false};
}

/* No more was asked for than there is, and less than a byte is left. */
static inline bool numbers_bit_source_is_used_up(const struct bit_source *source)
{
    return !source->overrun && source->end - source->at < 8;
}

static inline uint64_t numbers_source_few_bits(struct bit_source *source, unsigned bits)
{
    uint64_t byte = source->at / 8, left = source->end / 8 - byte, word = 0;

    if (bits > source->end - source->at) {
        source->overrun = true;
        source->at = source->end;
        return 0;
    }
    memcpy(&word, source->data + byte, left < 8 ? left : 8);
    word = le64toh(word) >> source->at % 8;
    source->at += bits;
    return number_low(word, bits);
}

static inline uint64_t numbers_source_bits(struct bit_source *source, unsigned bits)
{
    uint64_t low;

    if (bits <= BITS_AT_ONCE)
        return numbers_source_few_bits(source, bits);
    low = numbers_source_few_bits(source, BITS_AT_ONCE);
    return low | numbers_source_few_bits(source, bits - BITS_AT_ONCE) << BITS_AT_ONCE;
}

#endif
