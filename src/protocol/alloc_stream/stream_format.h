/* An allocation stream: the recorded calls of a program, which `tidemark-alloc-driver` runs again.
 * Written by whatif/stream_author into an unnamed file, read by the driver on the same machine a
 * moment later; never kept.
 *
 *   header │ chunk │ chunk │ chunk │ … │ seats │ epochs
 *            └─ seat, bytes, where the seat's next chunk is │ operations of that seat, in order
 *
 * A *seat* is one ring's stream of the trace. It serves one thread after the other; these threads
 * are its *lanes*. Blocks are named by slots. A block that is allocated and freed in one seat has a
 * private slot of that seat, which no other thread uses. Other blocks have a shared slot and a turn
 * there. A thread that takes a block out of a shared slot waits until that block was put in; one
 * that puts a block in waits until the block before was taken out. A thread waits only for
 * operations that were recorded earlier, so there is always one thread that can go on.
 *
 * Epochs keep threads together that share no blocks: a lane that enters an epoch waits until all
 * lanes have ended the epochs before it.
 *
 * Operations, with varints (seven bits a byte, lowest first):
 *   MALLOC  CALLOC        size, slot
 *   ALIGNED               log2 of the alignment, size, slot
 *   REALLOC               size, how much of it is new, old slot, slot
 *   FREE                  slot
 *   SPAWN                 seat, which of its lanes (from 1) begins
 *   RELEASE               seat: its lane that has come to its END may leave
 *   EPOCH                 number
 *   SAMPLE                number of the reading of memory to be taken here
 *   END                   the lane is over
 * With STREAM_SHARED a slot (with STREAM_OLD_SHARED the old one) is followed by the turn. */
#ifndef TIDEMARK_ALLOC_STREAM_STREAM_FORMAT_H
#define TIDEMARK_ALLOC_STREAM_STREAM_FORMAT_H

#include <stdint.h>

#define STREAM_MAGIC 0x3154504952435354ull /* changes with the layout */

enum stream_kind {
    STREAM_END = 0,
    STREAM_MALLOC = 1,
    STREAM_CALLOC,
    STREAM_ALIGNED,
    STREAM_REALLOC,
    STREAM_FREE,
    STREAM_CALLS, /* kinds below this one call the allocator */
    STREAM_SPAWN = STREAM_CALLS,
    STREAM_RELEASE,
    STREAM_EPOCH,
    STREAM_SAMPLE,
    STREAM_KINDS,
};
enum { STREAM_KIND_MASK = 0x0f, STREAM_SHARED = 0x10, STREAM_OLD_SHARED = 0x20 };

enum {
    STREAM_CHUNK_BYTES = 64 << 10,       /* at most, its header included */
    STREAM_OP_BYTES = 64,                /* no operation is as long */
    STREAM_SAMPLES = 40,                 /* at even distances; the last is the end */
    STREAM_PEAK_SAMPLE = STREAM_SAMPLES, /* at the peak of the recorded live bytes */
    STREAM_READINGS = STREAM_PEAK_SAMPLE + 1,
    STREAM_MAX_SEATS = 1 << 18,
    STREAM_MAX_TURN = 1 << 30,
    STREAM_MAX_ALIGN_LOG2 = 40,
};

struct stream_header {
    uint64_t magic;
    uint32_t seat_count, shared_slots;
    uint32_t epoch_count; /* 0: threads go as they like */
    uint32_t reserved;
    uint64_t seats_offset;
    uint64_t epochs_offset; /* of one u32 for each epoch: the lanes that take part; 0: one lane in
                             * every epoch */
    uint64_t calls[STREAM_CALLS];
};

struct stream_seat {
    uint64_t first_chunk; /* 0: the seat has none */
    uint32_t private_slots;
    uint32_t lanes;
    uint32_t largest_chunk; /* bytes, header included */
    uint32_t reserved;
};

struct stream_chunk {
    uint32_t seat, bytes; /* of the operations behind it */
    uint64_t next;        /* offset of the seat's next one; 0: none */
};

#endif
