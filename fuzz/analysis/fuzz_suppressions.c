/* Any bytes as a list of known leaks: patterns are matched against a text of their own, too. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "budget/suppressions.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct suppressions suppressions = {0};
    struct strbuf why = STRBUF_INIT;
    unsigned line;
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    int error = suppressions_add(&suppressions, text, size, &why);
    must(error ? sscanf(why.data, "line %u: ", &line) == 1 && line >= 1 : !why.length);
    for (size_t i = 0; i < suppressions.count && !error; i++) {
        const struct suppression *one = &suppressions.list[i];
        must(one->name && one->step_count > 0 && one->step_count <= SUPPRESSION_STEPS_MAX);
        for (size_t j = 0; j < one->step_count; j++) {
            const char *pattern = one->steps[j].pattern;
            must(suppressions_glob_matches(pattern, pattern) || strpbrk(pattern, "*?"));
        }
    }
    suppressions_release(&suppressions);
    strbuf_release(&why);
    free(text);
    return 0;
}
