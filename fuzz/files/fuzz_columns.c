/* Any bytes as the body of a block: the first two say how many rows. What decodes must come back
 * from an encoder. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "profile/number_columns.h"
#include "fuzz.h"

static void check_round_trip(const struct columns *columns)
{
    const uint64_t *numbers[COLUMNS_MAX];
    struct strbuf body = STRBUF_INIT;
    struct columns again = {0};

    for (size_t i = 0; i < columns->count; i++)
        numbers[i] = columns_at(columns, i);
    columns_encode(&body, numbers, columns->count, columns->rows);
    must(columns_decode(&again, body.data, body.length, columns->rows, NULL) == 0);
    must(again.count == columns->count);
    for (size_t i = 0; i < columns->count; i++)
        must(memcmp(columns_at(&again, i), numbers[i], columns->rows * sizeof(uint64_t)) == 0);
    columns_release(&again);
    strbuf_release(&body);
}

/* Half of the columns are as among all. */
static void check_wanted(const struct columns *columns, const void *body, size_t bytes)
{
    struct columns some = {0};
    bool wanted[COLUMNS_MAX];

    for (size_t i = 0; i < COLUMNS_MAX; i++)
        wanted[i] = i % 2;
    must(columns_decode(&some, body, bytes, columns->rows, wanted) == 0);
    for (size_t i = 1; i < columns->count; i += 2)
        must(memcmp(columns_at(columns, i), columns_at(&some, i),
                    columns->rows * sizeof(uint64_t)) == 0);
    columns_release(&some);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct columns columns = {0};
    uint8_t *body;
    size_t rows;

    if (size < 2)
        return 0;
    rows = data[0] | (size_t)data[1] << 8;
    body = malloc(size > 2 ? size - 2 : 1); /* its own block, so that sanitizers see its ends */
    memcpy(body, data + 2, size - 2);
    if (columns_decode(&columns, body, size - 2, rows, NULL) == 0) {
        check_round_trip(&columns);
        check_wanted(&columns, body, size - 2);
    } else {
        must(columns.count == 0);
    }
    columns_release(&columns);
    free(body);
    return 0;
}
