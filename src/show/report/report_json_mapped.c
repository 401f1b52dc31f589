/* Writes the JSON report's part about the program's own mappings: sums, the joint peak with the
 * heap, and call sites. Those with most at the peak of the mappings come first. */
#include <errno.h>
#include <stdlib.h>
#include "report/report_writer.h"

enum { BY_PEAK = 0 }; /* in METRIC_CHOICE */

static void report_json_mapped_write_site(struct report_writer *writer,
                                          const struct site_group *group)
{
    json_object(&writer->json, NULL);
    frame_write(&writer->json, writer->profile, group->frame);
    for (size_t i = 0; i < METRICS; i++) {
        char name[64];
        if (metric_rows[i].unit == METRIC_VARIANCE)
            continue;
        snprintf(name, sizeof name, "mapped_%s", metric_rows[i].column);
        json_figure(&writer->json, name, metric_value(&metric_rows[i], &group->merged.metrics));
    }
    json_end(&writer->json);
}

static int report_json_mapped_write_sites(struct report_writer *writer,
                                          const struct call_sites *sites)
{
    size_t max = sites->group_count;
    const struct site_group **top = calloc(max + 1, sizeof(const struct site_group *));
    size_t count = top ? call_sites_top(sites, BY_PEAK, top, max) : 0;
    json_unsigned(&writer->json, "site_count", count);
    json_array(&writer->json, "sites");
    for (size_t i = 0; i < count && i < writer->options->top; i++)
        report_json_mapped_write_site(writer, top[i]);
    json_end(&writer->json);
    free(top);
    return top ? 0 : -ENOMEM;
}

int report_json_mapped(struct report_writer *writer)
{
    const struct report_options *options = writer->options;
    const struct program_metrics *program = &writer->profile->program;
    if (!writer->profile->has_program || !figure_known(program->mapped.live_bytes)) {
        json_null(&writer->json, "mapped");
        return 0;
    }
    struct profile view = *writer->profile;
    struct call_sites sites;
    view.sites = view.mapped_sites;
    view.site_columns = NULL;
    view.site_count = view.mapped_site_count;
    view.program.total = program->mapped;
    int error = call_sites_init(&sites, &view, options->filter, options->hide_std);
    if (error)
        return error;
    json_object(&writer->json, "mapped");
    report_json_metrics(writer, "metrics", &program->mapped);
    json_figure(&writer->json, "all_peak_bytes", program->all_peak_bytes);
    json_figure(&writer->json, "all_peak_ns", program->all_peak_ticks);
    json_figure(&writer->json, "discard_count", program->discard_count);
    json_figure(&writer->json, "discard_bytes", program->discard_bytes);
    error = report_json_mapped_write_sites(writer, &sites);
    json_end(&writer->json);
    call_sites_release(&sites);
    return error;
}
