#include "collector/batch.h"

#include <string.h>

/* From this length on, looking ahead within a run is enough. */
enum { LONG_RUN_BYTES = 4 << 10 };

void batch_flush(struct batch *batch, struct feed *feed)
{
    feed_runs(feed, batch->runs, batch->run_count, batch->records);
    batch->bytes = 0;
    batch->run_count = 0;
}

static struct replay_run *run_of(struct batch *batch, uint32_t thread)
{
    if (batch->run_count > 0 && batch->runs[batch->run_count - 1].thread == thread)
        return &batch->runs[batch->run_count - 1];
    batch->runs[batch->run_count] = (struct replay_run){thread, 0};
    return &batch->runs[batch->run_count++];
}

void batch_add(struct batch *batch, struct feed *feed, uint32_t thread, const void *records,
               size_t bytes)
{
    if (bytes >= LONG_RUN_BYTES || batch->bytes + bytes > BATCH_BYTES ||
        batch->run_count == BATCH_RUNS)
        batch_flush(batch, feed);
    if (bytes >= LONG_RUN_BYTES) {
        feed_runs(feed, &(struct replay_run){thread, (uint32_t)bytes}, 1, records);
        return;
    }
    memcpy(batch->records + batch->bytes, records, bytes);
    batch->bytes += bytes;
    run_of(batch, thread)->bytes += (uint32_t)bytes;
}
