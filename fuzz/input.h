/* An input that is read as a list of strokes, number by number. */
#ifndef TIDEMARK_FUZZ_INPUT_H
#define TIDEMARK_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct input {
    const uint8_t *at, *end;
};

/* Beyond the end there are zeros. */
static inline uint64_t take(struct input *input, size_t bytes)
{
    uint64_t value = 0;
    size_t left = (size_t)(input->end - input->at);
    memcpy(&value, input->at, bytes < left ? bytes : left);
    input->at += bytes < left ? bytes : left;
    return value;
}

#endif
