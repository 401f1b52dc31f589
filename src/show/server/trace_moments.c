/* Answers who held memory at a given time of a trace. The state is computed anew for each request:
 * it costs one block and some sums, however long the trace is (trace_state.c). Blocks that began in
 * a window were added up when the window was replayed. */
#include <errno.h>
#include <string.h>
#include "accounting/weight.h"
#include "offline/offline.h"
#include "server/columns_document.h"
#include "server/router.h"
#include "server/web_summary.h"

struct moment {
    const struct trace_state *state;
    size_t node_count;
    bool sampled;
};

/* Paths that are missing in a damaged trace are shown as no path. */
static struct figure trace_moments_node_at(const void *rows, size_t row)
{
    const struct moment *moment = rows;
    uint32_t node = moment->state->paths[row].node;
    return figure_of(node < moment->node_count ? node : 0);
}

static struct figure trace_moments_bytes_at(const void *rows, size_t row)
{
    return figure_of(((const struct moment *)rows)->state->paths[row].bytes);
}

static uint64_t trace_moments_whole(const struct moment *moment, uint64_t count)
{
    return moment->sampled ? weight_whole(count) : count;
}

static struct figure trace_moments_count_at(const void *rows, size_t row)
{
    const struct moment *moment = rows;
    return figure_of(trace_moments_whole(moment, moment->state->paths[row].count));
}

static void trace_moments_add_header(struct strbuf *out, const struct moment *moment,
                                     uint64_t time_ns)
{
    const struct trace_state *state = moment->state;
    strbuf_addf(out,
                "\"time_ns\":%llu,\"events\":%llu,\"live_bytes\":%llu,\"live_count\":%llu,"
                "\"missing_blocks\":%llu,\"rough\":%s,\"threads\":",
                (unsigned long long)time_ns, (unsigned long long)state->event,
                (unsigned long long)state->live_bytes,
                (unsigned long long)trace_moments_whole(moment, state->live_count),
                (unsigned long long)state->missing_blocks, state->is_rough ? "true" : "false");
    if (state->threads == UINT32_MAX)
        strbuf_add_string(out, "null,");
    else
        strbuf_addf(out, "%u,", state->threads);
}

static uint64_t trace_moments_time_of(const struct trace *trace,
                                      const struct offline_moment *wanted,
                                      const struct trace_state *state)
{
    struct offline_clock clock;
    offline_clock(trace, &clock);
    if (wanted->kind == OFFLINE_TIME)
        return wanted->value;
    uint64_t ticks = state->ticks > clock.start_ticks ? state->ticks - clock.start_ticks : 0;
    return (uint64_t)((double)ticks * clock.tick_ns + 0.5);
}

static int trace_moments_state_of(const struct trace *trace, const struct offline_moment *wanted,
                                  struct trace_state *state)
{
    if (wanted->kind == OFFLINE_PEAK)
        return trace_state_at(trace, TRACE_AT_PEAK, 0, state);
    return trace_state_at(trace, TRACE_AT_TICKS, offline_moment_ticks(trace, wanted), state);
}

int resources_make_at(const struct resources *resources, const char *name, struct strbuf *out,
                      struct strbuf *why)
{
    struct offline_moment wanted = {.kind = OFFLINE_PEAK};
    struct trace_options options;
    struct trace_state state;
    if (strcmp(name, "peak")) {
        wanted.kind = OFFLINE_TIME;
        if (!route_number(&name, &wanted.value) || *name)
            return -ENOENT;
    }
    if (!resources->trace) {
        strbuf_add_string(why, "who held memory at a moment only a trace knows: serve the .tmt of "
                               "a recording made with --trace");
        return -ENODATA;
    }
    int error = trace_moments_state_of(resources->trace, &wanted, &state);
    if (error)
        return error;
    trace_options(resources->trace, &options);
    struct moment moment = {&state, resources->node_count, options.sample_bytes};
    struct columns_document document = COLUMNS_DOCUMENT_INIT;
    struct strbuf header = STRBUF_INIT;
    columns_add(&document, "node", &moment, state.path_count, trace_moments_node_at);
    columns_add(&document, "bytes", &moment, state.path_count, trace_moments_bytes_at);
    columns_add(&document, "count", &moment, state.path_count, trace_moments_count_at);
    trace_moments_add_header(&header, &moment,
                             trace_moments_time_of(resources->trace, &wanted, &state));
    columns_finish(&document, header.data, out);
    strbuf_release(&header);
    trace_state_release(&state);
    return 0;
}

int resources_make_born(const struct resources *resources, struct strbuf *out, struct strbuf *why)
{
    const struct offline_born *born = resources->born;
    size_t count = resources->born_count, stride = sizeof *born;
    struct columns_document document = COLUMNS_DOCUMENT_INIT;
    if (!born) {
        strbuf_add_string(why, "what was born in a range only the whole program's heap tells, in a "
                               "trace of all allocations");
        return -ENODATA;
    }
    columns_add_u32(&document, "node", born, count, stride, offsetof(struct offline_born, node));
    columns_add_u64(&document, "bytes", born, count, stride, offsetof(struct offline_born, bytes));
    columns_add_u64(&document, "count", born, count, stride, offsetof(struct offline_born, count));
    columns_finish(&document, "", out);
    return 0;
}
