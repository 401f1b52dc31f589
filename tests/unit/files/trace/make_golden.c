/* Wrote tests/golden/trace-v2.*.tmt: make_trace_golden DIRECTORY. Files of a version are never
 * written again: they are what readers must be able to read for ever. */
#include <stdlib.h>
#include "sample.h"
#include "base/error.h"

static int make(const char *directory, const char *name, enum trace_compression compression)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/trace-v2.%s.tmt", directory, name);
    if (sample_write(path, compression) == 0)
        return 0;
    fprintf(stderr, "%s\n", error_text());
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    return make(argv[1], "zstd", TRACE_ZSTD) | make(argv[1], "lz4", TRACE_LZ4) |
           make(argv[1], "stored", TRACE_STORED);
}
