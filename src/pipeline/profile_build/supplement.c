/* Copies the facts of a finished profile that no event tells into the trace of the same recording.
 * The profile's bytes become one supplement of the trace. */
#include "profile_build/supplement.h"

#include <stdlib.h>
#include "base/error.h"
#include "profile/profile.h"

int supplement_into_trace(struct trace_writer *trace, const char *path, const char **error)
{
    void *bytes;
    size_t size;
    *error = NULL;
    int status = profile_supplement(path, &bytes, &size);
    if (status < 0) {
        *error = error_text();
        return status;
    }
    status = trace_writer_supplement(trace, bytes, size);
    if (status < 0)
        *error = error_text();
    free(bytes);
    return status;
}
