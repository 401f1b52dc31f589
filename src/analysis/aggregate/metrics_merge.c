/* Adds up call paths: the first path is copied, each further one goes through call_metrics_merge(),
 * and a sum of no paths is all 0. */
#include "aggregate/metrics_merge.h"

void merged_add(struct merged_metrics *into, const struct merged_metrics *from)
{
    if (!from->paths)
        return;
    if (!into->paths) {
        *into = *from;
        return;
    }
    call_metrics_merge(&into->metrics, &from->metrics);
    into->path_peak = figure_max(into->path_peak, from->path_peak);
    into->paths += from->paths;
}

void merged_add_path(struct merged_metrics *into, const struct call_metrics *path)
{
    if (!into->paths) {
        *into = (struct merged_metrics){1, *path, path->peak_bytes};
        return;
    }
    call_metrics_merge(&into->metrics, path);
    into->path_peak = figure_max(into->path_peak, path->peak_bytes);
    into->paths++;
}

void merged_settle(struct merged_metrics *merged, const struct call_metrics *like)
{
    if (merged->paths)
        return;
    call_metrics_clear(&merged->metrics, like);
    /* The high-water mark of nothing is 0. Of the largest of no block the documents say 0 too. */
    merged->metrics.peak_bytes = merged->metrics.peak_ticks = figure_of(0);
    merged->path_peak = figure_of(0);
    merged->metrics.size_max = merged->metrics.lifetime_max = figure_of(0);
}
