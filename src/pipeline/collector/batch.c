/* Gathers short runs of records into one larger piece for the replay (batch.h). Records are copied,
 * and neighbours of the same thread become one run. A run of 4 KiB or more goes to the replay
 * directly. */
#include "collector/batch.h"

#include <string.h>

/* From this length on, looking ahead within a run is enough. */
enum { LONG_RUN_BYTES = 4 << 10 };

void batch_flush(struct batch *batch, struct event_sink *sink)
{
    event_sink_runs(sink, batch->runs, batch->run_count, batch->records);
    batch->bytes = 0;
    batch->run_count = 0;
}

static struct replay_run *batch_run_of(struct batch *batch, uint32_t thread)
{
    if (batch->run_count > 0 && batch->runs[batch->run_count - 1].thread == thread)
        return &batch->runs[batch->run_count - 1];
    batch->runs[batch->run_count] = (struct replay_run){thread, 0};
    return &batch->runs[batch->run_count++];
}

void batch_add(struct batch *batch, struct event_sink *sink, uint32_t thread, const void *records,
               size_t bytes)
{
    if (bytes >= LONG_RUN_BYTES || batch->bytes + bytes > BATCH_BYTES ||
        batch->run_count == BATCH_RUNS)
        batch_flush(batch, sink);
    if (bytes >= LONG_RUN_BYTES) {
        event_sink_runs(sink, &(struct replay_run){thread, (uint32_t)bytes}, 1, records);
        return;
    }
    memcpy(batch->records + batch->bytes, records, bytes);
    batch->bytes += bytes;
    batch_run_of(batch, thread)->bytes += (uint32_t)bytes;
}
