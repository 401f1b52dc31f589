/* The tables of the size classes: bytes, blocks in a record, inverse for the division, and class by
 * size. They follow from the rule in classes.h, and tests/test_parts.c checks every entry against
 * it. */
#include "bfm/classes.h"

const uint16_t bfm_class_bytes[CLASS_CODES] = {
    0,   16,  32,  48,  64,  80,  96,  112, 128, 144, 160, 176, 192, 208, 224,
    240, 256, 272, 288, 304, 320, 336, 352, 368, 384, 400, 416, 448, 480, 512,
};

const uint16_t bfm_class_blocks[CLASS_CODES] = {
    0,  512, 256, 170, 128, 102, 85, 73, 64, 56, 51, 46, 42, 39, 36,
    34, 32,  30,  28,  26,  25,  24, 23, 22, 21, 20, 19, 18, 17, 16,
};

const uint32_t bfm_class_inverse[CLASS_CODES] = {
    0,      1048576, 524288, 349526, 262144, 209716, 174763, 149797, 131072, 116509,
    104858, 95326,   87382,  80660,  74899,  69906,  65536,  61681,  58255,  55189,
    52429,  49933,   47663,  45591,  43691,  41944,  40330,  37450,  34953,  32768,
};

const uint8_t bfm_class_of[SMALL_MAX / ALIGN + 1] = {
    1,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
    17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 27, 28, 28, 29, 29,
};
