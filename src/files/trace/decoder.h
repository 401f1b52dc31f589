/* The columns of a block of events become records again. Columns may hold anything: each number is
 * checked, the decoder always ends, and its memory is bounded by the number of events. Inside the
 * room. */
#ifndef TIDEMARK_TRACE_DECODER_H
#define TIDEMARK_TRACE_DECODER_H

#include "trace/byte_columns.h"
#include "trace/prediction.h"
#include "trace/trace.h"

/* Of a record with a kind of births that has no number as one (it stood in `raw`). */
#define DECODER_UNNUMBERED (MODEL_NONE - 1)

struct decoder {
    uint32_t *met; /* NULL, or by record: the birth in the block that a free names, or MODEL_NONE */
    uint32_t records_done;
    struct unpacker unpacker;
    struct byte_source columns[COLUMNS];
    struct bit_source bits, time_bits; /* version 2: COLUMN_BITS, COLUMN_TIME_R */
    unsigned version;                  /* of the format */
    struct prediction *model;
    uint64_t grid, last_off, until_off;
    int64_t step;
    struct number_tokens tokens;
    struct replay_run *runs;
    size_t run_count, run_room;
    unsigned char *records;
    size_t bytes, room;
    struct trace_placed_note *notes;
    size_t note_count, note_room;
};

/* Begin with all zero. -EBADMSG, -ENOMEM. */
int decoder_decode(struct decoder *decoder, unsigned version, const unsigned char *body,
                   size_t bytes, uint32_t events);
void decoder_release(struct decoder *decoder);

#endif
