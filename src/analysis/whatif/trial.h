/* One run of the stream under one candidate, in a process of its own that can do no harm but to
 * itself. Inside the room. */
#ifndef TIDEMARK_WHATIF_TRIAL_H
#define TIDEMARK_WHATIF_TRIAL_H

#include <limits.h>
#include "alloc_stream/stream_result.h"
#include "whatif/whatif.h"

struct trial {
    char driver_path[PATH_MAX]; /* the program that runs streams */
    int stream_fd;              /* descriptor */
    uint32_t seat_count;
    uint64_t call_count;
    enum whatif_touch touch;
    uint64_t patience_ns;
};

struct trial_outcome {
    struct driver_result result; /* as far as it came */
    uint64_t calls;              /* done */
    struct strbuf failure;       /* "" if it came to its end */
};

/* Where tidemark-alloc-driver is: beside ourselves as built or as installed. False: nowhere. */
bool trial_find_driver(char path[PATH_MAX]);

/* candidate NULL: everything but the calls. 0: look at the outcome; -errno: no process could be
 * started. Release the outcome's failure in any case. */
int trial_run(const struct trial *trial, const struct whatif_candidate *candidate,
              struct trial_outcome *outcome);

#endif
