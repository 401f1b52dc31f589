/* Any bytes as what `tidemark ps` wrote: refused with a sentence, or rows whose points rise and lie
 * within the samples. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "system_history/history.h"
#include "fuzz.h"

static void check_row(const struct history *history, const struct history_row *row)
{
    must(row->key != NULL && (row->name != NULL || !row->count));
    for (size_t i = 0; i < row->count; i++) {
        must(row->points[i].sample < history->sample_count);
        must(!i || row->points[i - 1].sample < row->points[i].sample);
        const struct history_point *at = history_at(row, row->points[i].sample);
        must(row->points[i].gone ? !at : at == &row->points[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct history history;
    struct strbuf why = STRBUF_INIT;
    char *bytes = malloc(size ? size : 1); /* its own block, so that sanitizers see its ends */
    if (size)
        memcpy(bytes, data, size);
    FILE *file = size ? fmemopen(bytes, size, "r") : tmpfile();
    int error = file ? history_read(&history, file, "fuzz", &why) : -1;
    if (file)
        fclose(file);
    must(!file || !error || why.length > 0);
    for (size_t i = 0; file && !error && i < history.row_count; i++)
        check_row(&history, &history.rows[i]);
    if (file)
        history_release(&history);
    strbuf_release(&why);
    free(bytes);
    return 0;
}
