#include "assembly/supplement.h"

#include <stdlib.h>
#include "profile/profile.h"

int supplement_into_trace(struct trace_writer *trace, const char *path, const char **error)
{
    void *bytes;
    size_t size;
    *error = NULL;
    int status = profile_supplement(path, &bytes, &size);
    if (status < 0) {
        *error = profile_error();
        return status;
    }
    status = trace_writer_supplement(trace, bytes, size);
    if (status < 0)
        *error = trace_error();
    free(bytes);
    return status;
}
