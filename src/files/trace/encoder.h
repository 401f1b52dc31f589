/* Records become the columns of one block of events (doc/FORMAT-trace.md, "Events"). Inside the
 * room. */
#ifndef TIDEMARK_TRACE_ENCODER_H
#define TIDEMARK_TRACE_ENCODER_H

#include <stdbool.h>
#include "trace/block_ends.h"
#include "trace/live_set.h"
#include "trace/prediction.h"
#include "trace/numbers.h"
#include "trace/trace.h"

enum { ENCODER_TIMES = 2048 };

/* Times that wait to be encoded. The clock's step is found from the first ones of a block, and many
 * in a row are encoded faster. They are few enough to stay in the nearest caches. */
struct encoder_times {
    uint64_t ticks[ENCODER_TIMES];
    unsigned char contexts[ENCODER_TIMES]; /* prediction_time_context() of each */
    uint32_t count;
    bool has_step; /* `step` has been found from the block's first times */
    uint32_t step; /* of the clock: times are multiples of it */
    uint64_t grid;
    uint32_t on_grid; /* records since the last one that was not */
    uint64_t off;     /* of the record before; 0: it was on the grid */
    struct bit_sink rest;
};

struct encoder {
    struct live_set lives;
    struct block_ends ends;
    uint32_t events, runs; /* in the block under way */
    uint32_t room_events;  /* for so many */
    uint64_t first_ticks, last_ticks;
    struct byte_sink columns[COLUMNS];
    struct bit_sink bits;           /* COLUMN_BITS */
    size_t most_bytes;              /* that the columns of a block have had */
    unsigned char kind_number[256]; /* 0: the kind has none yet */
    unsigned char kind_class[256];  /* prediction_op_class_of() */
    /* the run under way; 0 records and no cut-off bytes: none */
    uint32_t run_stream, last_stream;
    uint32_t run_records, run_cut;
    uint32_t runs_at_note;
    uint32_t thread_count; /* streams begun and not ended */
    uint32_t serial_base;  /* number of the block's first birth, in 24 bits */
    struct encoder_times times;
    struct prediction *model;
    struct prediction_guesses guesses; /* of the path of the record under way */
};

int encoder_init(struct encoder *encoder, uint64_t start_ticks, uint64_t sample_bytes);
void encoder_release(struct encoder *encoder);

void encoder_begin_block(struct encoder *encoder);

/* Is there nothing in the block? Is there room for no more? */
bool encoder_is_empty(const struct encoder *encoder);
bool encoder_is_full(const struct encoder *encoder);

/* Takes what fits of a run; returns the bytes taken. */
size_t encoder_add(struct encoder *encoder, uint32_t stream, const unsigned char *records,
                   size_t bytes);
void encoder_note(struct encoder *encoder, const struct trace_note *note);

/* Nothing more comes: completes the columns. */
void encoder_end_block(struct encoder *encoder);

#endif
