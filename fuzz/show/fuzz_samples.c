/* Any bytes as a file of times and sizes: refused with a sentence, or samples that every way of
 * drawing can draw. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "plot/plot.h"
#include "fuzz.h"

/* `named`: "nan" stands in the file, and may be a name. */
static void draw(const struct plot_run *run, struct strbuf *why, bool named)
{
    struct chart chart = {0};
    struct strbuf out = STRBUF_INIT;
    struct plot_options options = {.relative = run->sample_count % 2};
    if (!plot_chart(&chart, run, 1, &options, why)) {
        plot_svg(&out, &chart);
        must(strncmp(out.data, "<svg ", 5) == 0 && (named || !strstr(out.data, "nan")));
        plot_gnuplot(&out, &chart);
        plot_terminal(&out, &chart, &(struct style){.utf8 = true, .columns = 60}, 8);
        must(!strchr(out.data, '\033'));
    }
    strbuf_release(&out);
    chart_release(&chart);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plot_run run = {.path = "fuzz"};
    struct strbuf why = STRBUF_INIT;
    char *bytes = malloc(size ? size : 1); /* its own block, so that sanitizers see its ends */
    if (size)
        memcpy(bytes, data, size);
    FILE *file = size ? fmemopen(bytes, size, "r") : tmpfile();
    int error = file ? plot_samples_read(&run, file, "fuzz", &why) : -1;
    if (file)
        fclose(file);
    if (error == 0) {
        must(run.sample_count > 0);
        for (size_t i = 0; i < run.sample_count; i++)
            for (size_t j = 0; j < run.samples[i].count; j++)
                must(isfinite(run.samples[i].points[j].x));
        draw(&run, &why, memmem(data, size, "nan", 3) != NULL);
    } else {
        must(why.length > 0);
    }
    plot_run_close(&run);
    strbuf_release(&why);
    free(bytes);
    return 0;
}
