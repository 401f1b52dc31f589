/* Writes the comparison of allocators as JSON (doc/WHATIF-JSON.md): the trace's stream of events
 * first, then a row for each allocator. A figure that is unknown is null. */
#include "base/json.h"
#include "model/figure_json.h"
#include "whatif/whatif.h"

static const char *const call_names[WHATIF_CALLS] = {"malloc", "calloc", "aligned", "realloc",
                                                     "free"};

static void whatif_json_put_figure(struct json *json, const char *key,
                                   const struct whatif_figure *figure)
{
    if (!figure_known(figure->median)) {
        json_null(json, key);
        return;
    }
    json_object(json, key);
    json_figure(json, "median", figure->median);
    json_figure(json, "min", figure->least);
    json_figure(json, "max", figure->most);
    json_end(json);
}

static void whatif_json_put_calls(struct json *json, const struct whatif_row *row)
{
    json_object(json, "call_ns");
    for (unsigned i = 0; i < WHATIF_CALLS; i++) {
        json_object(json, call_names[i]);
        json_figure(json, "median", row->calls[i].median_ns);
        json_figure(json, "p99", row->calls[i].p99_ns);
        json_end(json);
    }
    json_end(json);
}

static void whatif_json_put_memory(struct json *json, const struct whatif *whatif,
                                   const struct whatif_row *row)
{
    int64_t waste;

    whatif_json_put_figure(json, "peak_resident_bytes", &row->peak_bytes);
    if (whatif_waste(whatif, row, &waste))
        json_signed(json, "waste_bytes", waste);
    else
        json_null(json, "waste_bytes");
    whatif_json_put_figure(json, "resident_at_requested_peak_bytes", &row->at_peak_bytes);
    whatif_json_put_figure(json, "resident_at_end_bytes", &row->end_bytes);
    json_array(json, "resident_bytes");
    for (unsigned i = 0; i < WHATIF_READINGS; i++)
        json_figure(json, NULL, row->readings[i]);
    json_end(json);
}

static void whatif_json_put_row(struct json *json, const char *key, const struct whatif *whatif,
                                const struct whatif_row *row)
{
    json_object(json, key);
    if (row->candidate) {
        json_string(json, "allocator", row->candidate->name);
        json_string(json, "library", *row->candidate->library ? row->candidate->library : NULL);
        json_string(json, "malloc_in", row->allocator);
        json_string(json, "failure", row->failure);
        if (row->failure)
            json_double(json, "reached", row->reached);
        whatif_json_put_memory(json, whatif, row);
    }
    json_unsigned(json, "rounds", row->rounds);
    whatif_json_put_figure(json, "cpu_ns", &row->cpu_ns);
    whatif_json_put_figure(json, "wall_ns", &row->wall_ns);
    whatif_json_put_figure(json, "system_ns", &row->system_ns);
    if (row->candidate)
        json_figure(json, "calls_ns", row->calls_ns);
    whatif_json_put_figure(json, "page_faults", &row->faults);
    if (row->candidate) {
        whatif_json_put_figure(json, "failed_calls", &row->failed_calls);
        whatif_json_put_calls(json, row);
    }
    json_end(json);
}

static void whatif_json_put_stream(struct json *json, const struct whatif *whatif)
{
    json_object(json, "stream");
    json_unsigned(json, "calls", whatif->call_count);
    json_object(json, "calls_of");
    for (unsigned i = 0; i < WHATIF_CALLS; i++)
        json_unsigned(json, call_names[i], whatif->call_counts[i]);
    json_end(json);
    json_unsigned(json, "threads", whatif->threads);
    json_unsigned(json, "requested_peak_bytes", whatif->peak_bytes);
    json_unsigned(json, "requested_peak_blocks", whatif->peak_blocks);
    json_unsigned(json, "requested_at_end_bytes", whatif->end_bytes);
    json_unsigned(json, "blocks_freed_by_another_thread", whatif->crossing_count);
    json_object(json, "left_out");
    json_unsigned(json, "frees_of_unknown_blocks", whatif->unknown_frees);
    json_unsigned(json, "reallocs_of_unknown_blocks", whatif->unknown_reallocs);
    json_unsigned(json, "failed_calls", whatif->failed_calls);
    json_unsigned(json, "stale_frees", whatif->stale_frees);
    json_unsigned(json, "added_frees", whatif->implied_frees);
    json_unsigned(json, "mappings", whatif->mappings);
    json_unsigned(json, "lost_events", whatif->lost_events);
    json_unsigned(json, "nonsense", whatif->nonsense);
    json_unsigned(json, "damaged_blocks", whatif->damaged_blocks);
    json_end(json);
    json_end(json);
}

int whatif_json(FILE *out, const struct whatif *whatif, const char *trace_name)
{
    static const char *const orders[] = {"near", "free", "strict"};
    static const char *const touches[] = {"all", "first", "none"};
    struct json json = json_begin(out, true);

    json_object(&json, NULL);
    json_string(&json, "format", "tidemark-whatif");
    json_unsigned(&json, "version", 1);
    json_string(&json, "trace", trace_name);
    json_string(&json, "order", orders[whatif->options.order]);
    json_string(&json, "touch", touches[whatif->options.touch]);
    json_unsigned(&json, "rounds", whatif->options.rounds);
    whatif_json_put_stream(&json, whatif);
    whatif_json_put_row(&json, "driver", whatif, &whatif->driver);
    json_array(&json, "allocators");
    for (size_t i = 0; i < whatif->row_count; i++)
        whatif_json_put_row(&json, NULL, whatif, &whatif->rows[i]);
    json_end(&json);
    json_end(&json);
    return json_finish(&json);
}
