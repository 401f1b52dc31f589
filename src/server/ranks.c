/* A job's processes and nodes, and their memory over time. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "server/columns_document.h"
#include "server/summary.h"

/* UINT64_MAX: not known. */
static void write_number(struct json *json, const char *name, uint64_t number)
{
    if (number == UINT64_MAX)
        json_null(json, name);
    else
        json_unsigned(json, name, number);
}

struct figure {
    const char *name;
    size_t offset;
};

static void write_figures(struct json *json, const void *row, const struct figure *figures,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t number;
        memcpy(&number, (const char *)row + figures[i].offset, sizeof number);
        write_number(json, figures[i].name, number);
    }
}

/* ---- Ranks --------------------------------------------------------------------------------- */

static void write_rank(struct json *json, const struct profile_rank *rank)
{
#define FIGURE(field) {#field, offsetof(struct profile_rank, field)}
    static const struct figure figures[] = {
        FIGURE(start_unix_ns), FIGURE(duration_ns),    FIGURE(peak_bytes),
        FIGURE(peak_ns),       FIGURE(live_bytes),     FIGURE(live_count),
        FIGURE(alloc_bytes),   FIGURE(alloc_count),    FIGURE(lost_events),
        FIGURE(mpi_peak_bytes), FIGURE(resident_peak_bytes),
    };
#undef FIGURE
    json_object(json, NULL);
    json_unsigned(json, "id", rank->id);
    json_unsigned(json, "rank", rank->rank);
    json_bool(json, "beside", rank->beside);
    json_string(json, "state", rank->state);
    json_string(json, "file", rank->file);
    json_string(json, "note", rank->note);
    json_unsigned(json, "node", rank->node);
    json_unsigned(json, "pid", rank->pid);
    json_unsigned(json, "signal", rank->signal);
    json_unsigned(json, "status", rank->status);
    write_figures(json, rank, figures, sizeof figures / sizeof *figures);
    json_end(json);
}

static void write_node(struct json *json, const struct profile_node_peak *node)
{
#define FIGURE(field) {#field, offsetof(struct profile_node_peak, field)}
    static const struct figure figures[] = {
        FIGURE(ranks),         FIGURE(beside),      FIGURE(not_read),
        FIGURE(lower_bytes),   FIGURE(upper_bytes), FIGURE(at_unix_ns),
        FIGURE(step_ns),       FIGURE(peak_sum),    FIGURE(resident_bytes),
        FIGURE(machine_bytes), FIGURE(limit_bytes), FIGURE(cgroup_peak_bytes),
    };
#undef FIGURE
    json_object(json, NULL);
    json_unsigned(json, "id", node->id);
    json_string(json, "name", node->name);
    write_figures(json, node, figures, sizeof figures / sizeof *figures);
    json_end(json);
}

int summary_write_ranks(struct json *json, const struct resources *resources, const char *name)
{
    const struct profile *profile = resources->profile;
    (void)name;
    json_array(json, "ranks");
    for (size_t i = 0; i < profile->rank_count; i++)
        write_rank(json, &profile->ranks[i]);
    json_end(json);
    json_array(json, "nodes");
    for (size_t i = 0; i < profile->node_peak_count; i++)
        write_node(json, &profile->node_peaks[i]);
    json_end(json);
    return 0;
}

/* ---- Over time ----------------------------------------------------------------------------- */

int resources_add_rank_timeline(struct columns_document *document, const struct profile *profile)
{
#define STEP(name, as)                                                                             \
    columns_add_##as(document, #name, profile->rank_steps, profile->rank_step_count,               \
                     sizeof *profile->rank_steps, offsetof(struct profile_rank_step, name))
    STEP(rank, u32);
    STEP(step, u32);
    STEP(requested_max, u64);
    STEP(requested_min, u64);
    STEP(resident_max, u64);
#undef STEP
    return 0;
}
