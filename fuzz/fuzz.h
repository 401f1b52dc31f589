/* What every fuzzer has: the entry that libFuzzer and run_corpus.c call, and a check that ends the
 * process in every build. */
#ifndef TIDEMARK_FUZZ_FUZZ_H
#define TIDEMARK_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void must(int holds)
{
    if (!holds)
        abort();
}

#endif
