/* Snapshots of Python's tracemalloc (Snapshot.dump()): who holds how much at one moment, and no
 * more. A frame is a file and a line; which function it was in is not in a snapshot, and is not
 * known here. When the snapshot was taken, and what was allocated, freed or alive at other moments,
 * it does not say.
 *
 *   Snapshot: traces ─▶ _Traces: _traces ─▶ [ trace … ]      traceback_limit
 *   trace:     (domain, size, traceback, frames in all)      since 3.9; before without the last,
 *                                                            before 3.6 without the first too
 *   traceback: ((file, line), …), the latest call first
 *
 * Traces share tracebacks, and tracebacks frames. Each is read once: made_of has what was made of
 * the tuple that begins at an item. So the work is in proportion to the file, however often a
 * tuple is used. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/human.h"
#include "base/memory.h"
#include "import/importers.h"
#include "import/pickle.h"

enum {
    CLASS_SNAPSHOT,
    CLASS_TRACES,
    DOMAINS_MAX = 8,
    HEAD = 128, /* the class stands in the first bytes */
};
static const char *const import_tracemalloc_classes[] = {"tracemalloc.Snapshot",
                                                         "tracemalloc._Traces", NULL};

struct import_tracemalloc {
    struct gather *gather;
    struct strbuf *why;
    struct pickle pickle;
    /* By the place of a tuple's first item: number of its path << 1, or of its location << 1 | 1;
     * 0: it was not read. */
    uint64_t *made_of;
    uint64_t limit, blocks, cut_blocks; /* frames of a call path; those of paths that have more */
    bool says_cut;                      /* since 3.9 */
    struct import_tracemalloc_domain {
        int64_t number; /* 0 is Python's own, and is not here */
        uint64_t bytes, blocks;
    } domains[DOMAINS_MAX];
    size_t domain_count;
    uint64_t other_blocks; /* of more domains than there is room for */
};

static int import_tracemalloc_fail(struct import_tracemalloc *import, const char *what)
{
    strbuf_reset(import->why);
    strbuf_addf(import->why, "the snapshot of tracemalloc %s", what);
    return -EBADMSG;
}

/* ---- Tracebacks ---------------------------------------------------------------------------- */

static int import_tracemalloc_make_location(struct import_tracemalloc *import,
                                            const struct pickle_value *frame, uint32_t *location)
{
    const struct pickle_value *parts = import->pickle.items + frame->first;
    if (frame->length != 2 || parts[0].kind != PICKLE_TEXT || parts[1].kind != PICKLE_NUMBER ||
        parts[1].number < 0 || parts[1].number > INT32_MAX)
        return import_tracemalloc_fail(import, "has a frame that is no file and line");
    struct gather_named named = {
        .file = parts[0].text, .file_length = parts[0].length, .line = (uint32_t)parts[1].number};
    int64_t module =
        gather_module(import->gather, named.file, strnlen(named.file, named.file_length), 0, 0, 0);
    *location = gather_location(import->gather, module, named.line, &named, 1);
    return 0;
}

static int import_tracemalloc_location(struct import_tracemalloc *import,
                                       const struct pickle_value *frame, uint32_t *location)
{
    if (frame->kind != PICKLE_TUPLE || !frame->length)
        return import_tracemalloc_fail(import, "has a frame that is no file and line");
    uint64_t *made = &import->made_of[frame->first];
    *location = (uint32_t)(*made >> 1);
    if (*made & 1)
        return 0;
    int error = import_tracemalloc_make_location(import, frame, location);
    if (!error)
        *made = (uint64_t)*location << 1 | 1;
    return error;
}

/* tracemalloc writes "<unknown>" and line 0 where no Python ran. */
static bool import_tracemalloc_is_nowhere(const struct pickle *pickle,
                                          const struct pickle_value *traceback)
{
    const struct pickle_value *frame = &pickle->items[traceback->first];
    if (traceback->length != 1 || frame->kind != PICKLE_TUPLE || frame->length != 2)
        return false;
    const struct pickle_value *parts = &pickle->items[frame->first];
    return pickle_is_text(&parts[0], "<unknown>") && parts[1].kind == PICKLE_NUMBER &&
           !parts[1].number;
}

static int import_tracemalloc_make_path(struct import_tracemalloc *import,
                                        const struct pickle_value *traceback, uint32_t *path)
{
    int error = 0;
    *path = 0;
    if (import_tracemalloc_is_nowhere(&import->pickle, traceback))
        return 0;
    for (size_t i = traceback->length; i-- > 0 && !error;) {
        uint32_t location = 0;
        error = import_tracemalloc_location(import, &import->pickle.items[traceback->first + i],
                                            &location);
        if (!error)
            *path = gather_path(import->gather, *path, location);
    }
    return error;
}

static int import_tracemalloc_path(struct import_tracemalloc *import,
                                   const struct pickle_value *traceback, uint32_t *path)
{
    *path = 0;
    if (!traceback->length)
        return 0;
    uint64_t *made = &import->made_of[traceback->first];
    if (*made && !(*made & 1)) {
        *path = (uint32_t)(*made >> 1);
        return 0;
    }
    int error = import_tracemalloc_make_path(import, traceback, path);
    if (!error)
        *made = (uint64_t)*path << 1;
    return error;
}

/* ---- Traces -------------------------------------------------------------------------------- */

static void import_tracemalloc_count_domain(struct import_tracemalloc *import, int64_t number,
                                            uint64_t bytes)
{
    struct import_tracemalloc_domain *domain = import->domains;
    const struct import_tracemalloc_domain *end = domain + import->domain_count;
    while (domain < end && domain->number != number)
        domain++;
    if (!number || (domain == end && import->domain_count == DOMAINS_MAX)) {
        import->other_blocks += number != 0;
        return;
    }
    if (domain == end)
        import->domains[import->domain_count++].number = number;
    domain->blocks++;
    domain->bytes = gather_sum(domain->bytes, bytes);
}

/* Of a trace of any version: domain 0 and as many frames as there are where it does not say. */
struct import_tracemalloc_trace {
    int64_t domain, bytes, frames;
    bool says_frames;
    const struct pickle_value *traceback;
};

/* (size, traceback), (domain, size, traceback) or (domain, size, traceback, frames in all) */
static bool import_tracemalloc_split_trace(const struct pickle *pickle,
                                           const struct pickle_value *value,
                                           struct import_tracemalloc_trace *trace)
{
    if (value->kind != PICKLE_TUPLE || value->length < 2 || value->length > 4)
        return false;
    const struct pickle_value *parts = pickle->items + value->first;
    size_t size = value->length > 2;
    for (size_t i = 0; i < value->length; i++)
        if (parts[i].kind != (i == size + 1 ? PICKLE_TUPLE : PICKLE_NUMBER))
            return false;
    *trace = (struct import_tracemalloc_trace){.domain = size ? parts[0].number : 0,
                                               .bytes = parts[size].number,
                                               .says_frames = value->length == 4,
                                               .traceback = &parts[size + 1]};
    trace->frames = trace->says_frames ? parts[3].number : trace->traceback->length;
    return true;
}

static int import_tracemalloc_take_trace(struct import_tracemalloc *import,
                                         const struct pickle_value *value)
{
    struct import_tracemalloc_trace trace;
    uint32_t path;
    if (!import_tracemalloc_split_trace(&import->pickle, value, &trace))
        return import_tracemalloc_fail(import, "has a trace that is no size and traceback");
    if (trace.bytes < 0 || (uint64_t)trace.bytes > GATHER_MOST)
        return import_tracemalloc_fail(import, "has a block of an absurd size");
    int error = import_tracemalloc_path(import, trace.traceback, &path);
    if (error)
        return error;
    struct call_metrics *metrics = &gather_site(import->gather, path)->metrics;
    gather_add(&metrics->live_count, 1);
    gather_add(&metrics->live_bytes, (uint64_t)trace.bytes);
    import->blocks++;
    import->says_cut |= trace.says_frames;
    import->cut_blocks += trace.says_frames ? trace.frames > trace.traceback->length
                                            : trace.traceback->length >= import->limit;
    import_tracemalloc_count_domain(import, trace.domain, (uint64_t)trace.bytes);
    return 0;
}

static int import_tracemalloc_take_traces(struct import_tracemalloc *import,
                                          const struct pickle_value *root)
{
    const struct pickle *pickle = &import->pickle;
    const struct pickle_value *traces = pickle_attribute(pickle, root, CLASS_SNAPSHOT, "traces");
    const struct pickle_value *limit =
        pickle_attribute(pickle, root, CLASS_SNAPSHOT, "traceback_limit");
    const struct pickle_value *list =
        traces ? pickle_attribute(pickle, traces, CLASS_TRACES, "_traces") : NULL;
    const struct pickle_value *items;
    size_t count;
    if (!list || !limit || limit->kind != PICKLE_NUMBER || limit->number < 0 ||
        !pickle_items(pickle, list, &items, &count))
        return import_tracemalloc_fail(import, "is not one: what was pickled is something else, or "
                                               "several of them; Snapshot.dump() writes one");
    import->limit = (uint64_t)limit->number;
    import->made_of = memory_zeroed(pickle->item_count, sizeof *import->made_of);
    int error = 0;
    for (size_t i = 0; i < count && !error; i++)
        error = import_tracemalloc_take_trace(import, &items[i]);
    return error;
}

/* ---- What to know about it ----------------------------------------------------------------- */

static void import_tracemalloc_add_limit(struct import_tracemalloc *import, struct strbuf *note)
{
    if (!import->cut_blocks)
        return;
    strbuf_addf(note, "call paths have %llu frame%s at most: those of %s of %s block%s %s more",
                (unsigned long long)import->limit, import->limit == 1 ? "" : "s",
                human_count(import->cut_blocks).text, human_count(import->blocks).text,
                human_plural(import->blocks), import->says_cut ? "had" : "may have had");
}

static void import_tracemalloc_add_domains(struct import_tracemalloc *import, struct strbuf *note)
{
    for (size_t i = 0; i < import->domain_count; i++) {
        const struct import_tracemalloc_domain *domain = &import->domains[i];
        strbuf_addf(note, "%s%s in %s block%s are of domain %lld, which is not Python's own",
                    note->length ? "; " : "", human_bytes(domain->bytes).text,
                    human_count(domain->blocks).text, human_plural(domain->blocks),
                    (long long)domain->number);
    }
    if (import->other_blocks)
        strbuf_addf(note, "; %s block%s of still other domains",
                    human_count(import->other_blocks).text, human_plural(import->other_blocks));
}

/* The program ran: it wrote the snapshot. */
static void import_tracemalloc_add_end(struct import_tracemalloc *import)
{
    static const char end[] = "snapshot", why[] = "taken by tracemalloc";
    gather_fact(import->gather, PROFILE_META_END, end, sizeof end - 1);
    gather_fact(import->gather, PROFILE_META_SNAPSHOT, why, sizeof why - 1);
}

static void import_tracemalloc_add_note(struct import_tracemalloc *import)
{
    struct strbuf note = STRBUF_INIT;
    size_t left = (size_t)(import->pickle.end - import->pickle.at);
    import_tracemalloc_add_limit(import, &note);
    import_tracemalloc_add_domains(import, &note);
    if (left)
        strbuf_addf(&note, "%s%s behind the snapshot were not read", note.length ? "; " : "",
                    human_bytes(left).text);
    if (note.length)
        gather_fact(import->gather, PROFILE_META_IMPORT_NOTE, note.data, note.length);
    strbuf_release(&note);
}

/* ---- All of it ----------------------------------------------------------------------------- */

bool import_is_tracemalloc(const char *bytes, size_t count)
{
    return count > 2 && bytes[0] == '\x80' &&
           memmem(bytes, count < HEAD ? count : HEAD, "tracemalloc", 11);
}

int import_tracemalloc(struct gather *gather, const char *bytes, size_t count, struct strbuf *why)
{
    struct import_tracemalloc import = {.gather = gather, .why = why};
    struct pickle_value root;
    GATHER_KNOWS(gather, live_bytes);
    GATHER_KNOWS(gather, live_count);
    int error = pickle_read(&import.pickle, bytes, count, import_tracemalloc_classes, why, &root);
    if (!error)
        error = import_tracemalloc_take_traces(&import, &root);
    if (!error) {
        import_tracemalloc_add_end(&import);
        import_tracemalloc_add_note(&import);
    }
    free(import.made_of);
    pickle_release(&import.pickle);
    return error;
}
