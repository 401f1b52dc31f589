#include "rerun/writing.h"

#include <stdio.h>
#include "profile/profile.h"
#include "rerun/error.h"

static void *write_snapshot(void *context)
{
    struct writing *writing = context;
    writing->status = writer_write(writing->writer, writing->origins, &writing->snapshot);
    if (writing->status)
        snprintf(writing->sentence, sizeof writing->sentence, "%s", profile_error());
    snapshot_release(&writing->snapshot);
    return NULL;
}

int writing_begin(struct writing *writing, bool beside)
{
    writing->is_under_way =
        beside && pthread_create(&writing->thread, NULL, write_snapshot, writing) == 0;
    if (writing->is_under_way)
        return 0;
    write_snapshot(writing);
    return writing->status ? rerun_fail(writing->status, "%s", writing->sentence) : 0;
}

int writing_end(struct writing *writing)
{
    if (!writing->is_under_way)
        return 0;
    pthread_join(writing->thread, NULL);
    writing->is_under_way = false;
    return writing->status ? rerun_fail(writing->status, "%s", writing->sentence) : 0;
}
