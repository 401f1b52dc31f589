/* What a replay tells, in plain numbers (numbers.h). */
#ifndef TIDEMARK_TESTS_REPLAY_NUMBERS_H
#define TIDEMARK_TESTS_REPLAY_NUMBERS_H

#include "../../model/numbers.h"
#include "replay/replay.h"

static inline void numbers_program(struct replay *replay, struct program_numbers *out)
{
    replay_program(replay, (struct program_metrics *)(void *)out);
}

static inline struct thread_numbers numbers_thread(const struct replay *replay, size_t index)
{
    struct thread_metrics thread = replay_thread(replay, index);

    return *thread_numbers_of(&thread);
}

/* Valid until the next call. */
static inline const struct bucket_numbers *numbers_timeline(const struct replay *replay,
                                                            size_t *count, uint64_t *bucket_ticks)
{
    return bucket_numbers_of(replay_timeline(replay, count, bucket_ticks));
}

#endif
