/* Writes a snapshot on a thread (snapshot_writing.h). writing_end() joins the thread and takes its
 * error over. Without a thread the caller writes the snapshot itself. */
#include "offline/snapshot_writing.h"

#include <stdio.h>
#include "base/error.h"
#include "profile/profile.h"

static void *writing_write_snapshot(void *context)
{
    struct writing *writing = context;
    writing->status = profile_build_write(writing->writer, writing->origins, &writing->snapshot);
    if (writing->status)
        snprintf(writing->sentence, sizeof writing->sentence, "%s", error_text());
    snapshot_release(&writing->snapshot);
    return NULL;
}

int writing_begin(struct writing *writing, bool beside)
{
    writing->is_under_way =
        beside && pthread_create(&writing->thread, NULL, writing_write_snapshot, writing) == 0;
    if (writing->is_under_way)
        return 0;
    writing_write_snapshot(writing);
    return writing->status ? error_set(writing->status, "%s", writing->sentence) : 0;
}

int writing_end(struct writing *writing)
{
    if (!writing->is_under_way)
        return 0;
    pthread_join(writing->thread, NULL);
    writing->is_under_way = false;
    return writing->status ? error_set(writing->status, "%s", writing->sentence) : 0;
}
