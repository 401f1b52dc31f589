/* Writes the resources of a job's profile: the ranks as JSON, and the timeline of one rank as
 * columns. Both follow the descriptors of the detail tables. */
#include "report/detail_json.h"
#include "server/columns_document.h"
#include "server/web_summary.h"

static void ranks_write(struct json *json, enum detail table, const void *row)
{
    json_object(json, NULL);
    detail_json_columns(json, table, NULL, NULL, row);
    json_end(json);
}

int web_summary_write_ranks(struct json *json, const struct resources *resources, const char *name)
{
    const struct profile *profile = resources->profile;
    (void)name;
    json_array(json, "ranks");
    for (size_t i = 0; i < profile->rank_count; i++)
        ranks_write(json, DETAIL_RANKS, &profile->ranks[i]);
    json_end(json);
    json_array(json, "nodes");
    for (size_t i = 0; i < profile->node_peak_count; i++)
        ranks_write(json, DETAIL_NODE_PEAKS, &profile->node_peaks[i]);
    json_end(json);
    return 0;
}

int resources_add_rank_timeline(struct columns_document *document, const struct profile *profile)
{
    columns_add_table(document, &detail_tables[DETAIL_RANK_STEPS], NULL, profile->rank_steps,
                      profile->rank_step_count);
    return 0;
}
