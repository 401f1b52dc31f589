/* See align.h. Dynamic programming over possible pairs: what the best way is worth that ends with
 * a pair follows from those that end with an earlier one. */
#include "diff/align.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* A pair is worth more than its distance costs. A change of distance by a line costs one, up to
 * SHIFT_MOST. */
enum { PAIR = 1000, SHIFT_MOST = 100, FIRST_MOST = 20, FIRST_PART = 4 };

static int64_t align_shift_of(const struct align_call *before, const struct align_call *after)
{
    return (int64_t)after->line - (int64_t)before->line;
}

static int64_t align_least(int64_t value, int64_t most)
{
    value = value < 0 ? -value : value;
    return value < most ? value : most;
}

static int64_t align_worth(int64_t shift, int64_t previous)
{
    return PAIR - align_least(shift - previous, SHIFT_MOST);
}

/* That a function moved as a whole costs little. */
static int64_t align_worth_first(int64_t shift)
{
    return PAIR - align_least(shift / FIRST_PART, FIRST_MOST);
}

int64_t align_score(const struct align_call *before, size_t before_count,
                    const struct align_call *after, const int32_t *partner)
{
    int64_t score = 0, previous = 0;
    bool first = true;
    for (size_t i = 0; i < before_count; i++) {
        if (partner[i] == ALIGN_NONE)
            continue;
        int64_t shift = align_shift_of(&before[i], &after[partner[i]]);
        score += first ? align_worth_first(shift) : align_worth(shift, previous);
        previous = shift;
        first = false;
    }
    return score;
}

struct align_pair {
    uint32_t before, after;
    int64_t shift, score;
    int32_t previous; /* -1: none */
};

static size_t align_find_pairs(const struct align_call *before, size_t before_count,
                               const struct align_call *after, size_t after_count,
                               struct align_pair *pairs)
{
    size_t count = 0;
    for (size_t i = 0; i < before_count; i++)
        for (size_t j = 0; j < after_count; j++) {
            if (before[i].callee != after[j].callee)
                continue;
            if (count < ALIGN_PAIRS_MAX)
                pairs[count] = (struct align_pair){(uint32_t)i, (uint32_t)j,
                                                   align_shift_of(&before[i], &after[j]), 0, -1};
            if (count++ == ALIGN_PAIRS_MAX)
                return count;
        }
    return count;
}

static void align_extend(struct align_pair *pairs, size_t at)
{
    struct align_pair *pair = &pairs[at];
    pair->score = align_worth_first(pair->shift);
    for (size_t i = 0; i < at; i++) {
        if (pairs[i].before >= pair->before || pairs[i].after >= pair->after)
            continue;
        int64_t score = pairs[i].score + align_worth(pair->shift, pairs[i].shift);
        if (score > pair->score) {
            pair->score = score;
            pair->previous = (int32_t)i;
        }
    }
}

static void align_best_way(struct align_pair *pairs, size_t count, int32_t *partner)
{
    int32_t best = -1;
    for (size_t i = 0; i < count; i++) {
        align_extend(pairs, i);
        if (best < 0 || pairs[i].score > pairs[best].score)
            best = (int32_t)i;
    }
    for (; best >= 0; best = pairs[best].previous)
        partner[pairs[best].before] = (int32_t)pairs[best].after;
}

/* Generated code with thousands of calls. Which calls lie in order is not asked. */
static void align_by_rank(const struct align_call *before, size_t before_count,
                          const struct align_call *after, size_t after_count, int32_t *partner,
                          bool *taken)
{
    for (size_t i = 0; i < before_count; i++)
        for (size_t j = 0; j < after_count; j++)
            if (!taken[j] && after[j].callee == before[i].callee) {
                taken[j] = true;
                partner[i] = (int32_t)j;
                break;
            }
}

int align_calls(const struct align_call *before, size_t before_count,
                const struct align_call *after, size_t after_count, int32_t *partner)
{
    for (size_t i = 0; i < before_count; i++)
        partner[i] = ALIGN_NONE;
    struct align_pair *pairs = malloc(ALIGN_PAIRS_MAX * sizeof *pairs);
    bool *taken = calloc(after_count + 1, sizeof *taken);
    bool complete = pairs && taken;
    if (complete) {
        size_t count = align_find_pairs(before, before_count, after, after_count, pairs);
        if (count <= ALIGN_PAIRS_MAX)
            align_best_way(pairs, count, partner);
        else
            align_by_rank(before, before_count, after, after_count, partner, taken);
    }
    free(pairs);
    free(taken);
    return complete ? 0 : -ENOMEM;
}
