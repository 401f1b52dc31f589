/* Answers which call paths have blocks that are alive at a moment of a trace, of given sizes, ages
 * and a thread: "alive/NS/SIZES/AGES/THREAD". The trace is replayed up to the moment, as `tidemark
 * blocks` does it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "heap_at/heap_at.h"
#include "server/columns_document.h"
#include "server/router.h"
#include "server/web_summary.h"

/* "any/" or "16-4096/". */
static bool trace_blocks_read_range(const char **text, struct match_range *range)
{
    static const char any[] = "any/";
    if (!strncmp(*text, any, strlen(any))) {
        *text += strlen(any);
        return true;
    }
    range->is_said = true;
    return route_number(text, &range->least) && *(*text)++ == '-' &&
           route_number(text, &range->most) && *(*text)++ == '/';
}

/* "any", "4711" or "not-4711". */
static bool trace_blocks_read_thread(const char *text, struct match_conditions *conditions)
{
    static const char except[] = "not-";
    if (!strcmp(text, "any"))
        return true;
    conditions->has_thread = true;
    conditions->is_not_thread = !strncmp(text, except, strlen(except));
    text += conditions->is_not_thread ? strlen(except) : 0;
    return route_number(&text, &conditions->tid) && !*text;
}

static bool trace_blocks_read(const char *name, struct blocks_options *options)
{
    static const char peak[] = "peak";
    if (!strncmp(name, peak, strlen(peak))) {
        options->at.kind = OFFLINE_PEAK;
        name += strlen(peak);
    } else {
        options->at.kind = OFFLINE_TIME;
        if (!route_number(&name, &options->at.value))
            return false;
    }
    return *name++ == '/' && trace_blocks_read_range(&name, &options->conditions.size) &&
           trace_blocks_read_range(&name, &options->conditions.age) &&
           trace_blocks_read_thread(name, &options->conditions);
}

static void trace_blocks_write(struct strbuf *out, const struct block_sums *sums)
{
    struct columns_document document = COLUMNS_DOCUMENT_INIT;
    struct strbuf header = STRBUF_INIT;
    size_t stride = sizeof *sums->list;
    strbuf_addf(&header, "\"time_ns\":%llu,\"missing_blocks\":%llu,",
                (unsigned long long)sums->time_ns, (unsigned long long)sums->missing_blocks);
    columns_add_u32(&document, "node", sums->list, sums->count, stride,
                    offsetof(struct block_sum, node));
    columns_add_u64(&document, "bytes", sums->list, sums->count, stride,
                    offsetof(struct block_sum, bytes));
    columns_add_u64(&document, "count", sums->list, sums->count, stride,
                    offsetof(struct block_sum, count));
    columns_finish(&document, header.data, out);
    strbuf_release(&header);
}

int resources_make_alive(const struct resources *resources, const char *name, struct strbuf *out,
                         struct strbuf *why)
{
    struct blocks_options options = {.of = MEMORY_HEAP};
    struct trace_options recorded;
    struct block_sums sums;
    if (!trace_blocks_read(name, &options))
        return -ENOENT;
    if (!resources->trace) {
        strbuf_add_string(why, "how old blocks are and which thread asked for them only a trace "
                               "knows: serve the .tmt of a recording made with --trace");
        return -ENODATA;
    }
    trace_options(resources->trace, &recorded);
    if (recorded.sample_bytes) {
        strbuf_add_string(why, "of a sampled trace single blocks stand for others of any age");
        return -ENODATA;
    }
    int error = block_list_sums(resources->trace, &options, resources->node_count, &sums);
    if (!error)
        trace_blocks_write(out, &sums);
    free(sums.list);
    return error;
}
