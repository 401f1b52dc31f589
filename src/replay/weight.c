/* See weight.h. */
#include "replay/weight.h"

#include <math.h>

struct weight weight_of_sample(uint64_t sample_bytes, uint64_t size_bytes, uint64_t slack_bytes)
{
    double interval = (double)sample_bytes, size = (double)size_bytes;
    double p = -expm1(-(size + 1) / interval), part = size / interval;

    return (struct weight){
        .count = (uint64_t)(ldexp(1 / p, WEIGHT_SHIFT) + 0.5),
        .bytes = (uint64_t)(size / p + 0.5),
        .slack_bytes = (uint64_t)((double)slack_bytes / p + 0.5),
        .variance = (uint64_t)(1024 * (1 - p) / (p * p) * part * part + 0.5),
    };
}
