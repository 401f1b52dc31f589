/* The bucket sizes: every multiple of 16 up to 512, but for those that fit no more often into a
 * record than the next larger (432, 464, 496 hold 18, 17 and 16 blocks, as do 448, 480 and 512). So
 * a request wastes at most 23 bytes within its block, and below 417 bytes at most 15. */
#ifndef TIDEMARK_BFM_CLASSES_H
#define TIDEMARK_BFM_CLASSES_H

#include "bfm/layout.h"

extern const uint16_t bfm_class_bytes[CLASS_CODES];  /* by code; [0] is 0 */
extern const uint16_t bfm_class_blocks[CLASS_CODES]; /* in a record */
extern const uint32_t bfm_class_inverse[CLASS_CODES];
extern const uint8_t bfm_class_of[SMALL_MAX / ALIGN + 1]; /* code by (bytes + 15) / 16 */

static inline unsigned class_code(size_t bytes)
{
    return bfm_class_of[(bytes + ALIGN - 1) / ALIGN];
}

/* offset / size without a division, exact for offsets within a page (the unit test tries all). */
static inline unsigned class_index(unsigned code, size_t offset)
{
    return (unsigned)((uint64_t)offset * bfm_class_inverse[code] >> 24);
}

#endif
