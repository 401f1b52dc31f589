/* Nodes are numbered parents first, so one pass over them tells of each how its path begins. Sites
 * are then added up by reason and module. */
#include "aggregate/unwalked.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/human.h"
#include "base/memory.h"
#include "base/text.h"
#include "format/names.h"
#include "model/figure_human.h"

enum { MAX_DEPTH = 2, PARTS_TOLD = 3, FEW_CALLS = 100 /* below, a share says too much */ };

/* ---- Adding up ----------------------------------------------------------------------------- */

/* How a path begins. */
struct unwalked_origin {
    int mark;      /* 0: at a thread's beginning */
    uint32_t code; /* of the frame next to the mark; 0: it is the mark's own node */
};

static struct unwalked_origin unwalked_origin_of(const struct profile *profile,
                                                 const struct unwalked_origin *origins,
                                                 uint32_t node)
{
    const struct profile_node *of = &profile->nodes[node];
    struct unwalked_origin origin = {profile->codes[of->location].mark, 0};
    if (!of->parent)
        return origin;
    origin = origins[of->parent];
    if (origin.mark && !origin.code)
        origin.code = of->location;
    return origin;
}

static struct unwalked_origin *unwalked_origins(const struct profile *profile)
{
    struct unwalked_origin *origins = memory_zeroed(profile->node_count, sizeof *origins);
    for (uint32_t i = 1; i < profile->node_count; i++)
        origins[i] = unwalked_origin_of(profile, origins, i);
    return origins;
}

static struct unwalked_part *unwalked_part_of(struct unwalked *unwalked,
                                              enum unwalked_reason reason, uint32_t module)
{
    for (size_t i = 0; i < unwalked->count; i++)
        if (unwalked->parts[i].reason == reason && unwalked->parts[i].module == module)
            return &unwalked->parts[i];
    array_need_room(&unwalked->parts, &unwalked->room, unwalked->count, sizeof *unwalked->parts);
    unwalked->parts[unwalked->count] = (struct unwalked_part){.reason = reason, .module = module};
    return &unwalked->parts[unwalked->count++];
}

static void unwalked_add(struct unwalked_part *part, const struct call_metrics *metrics)
{
    part->paths++;
    part->alloc_count = figure_add(part->alloc_count, metrics->alloc_count);
    part->alloc_bytes = figure_add(part->alloc_bytes, metrics->alloc_bytes);
}

static int unwalked_compare(const void *left, const void *right)
{
    const struct unwalked_part *a = left, *b = right;
    int order = figure_compare(b->alloc_count, a->alloc_count);
    if (!order)
        order = a->paths > b->paths ? -1 : a->paths < b->paths;
    if (!order)
        order = (int)a->reason - (int)b->reason;
    return order ? order : a->module < b->module ? -1 : a->module > b->module;
}

/* Go's run-time ends its own walks there, too (TOPFRAME): behind it is what started the thread. */
static bool unwalked_is_beginning(const struct profile *profile, uint32_t code)
{
    static const char *const names[] = {"runtime.rt0_go", "runtime.mstart"};
    const struct profile_code *of = &profile->codes[code];
    if (!code || of->mark || !of->line_count)
        return false;
    const struct profile_line *line = &profile->lines[of->first_line + of->line_count - 1];
    const char *function = profile->functions[line->function].name;
    for (size_t i = 0; function && i < sizeof names / sizeof *names; i++)
        if (strcmp(function, names[i]) == 0)
            return true;
    return false;
}

/* Is there a mark at all that a path could begin with? There are far fewer locations than nodes. */
static bool unwalked_is_possible(const struct profile *profile)
{
    for (size_t i = 0; i < profile->code_count; i++)
        if (profile->codes[i].mark && profile->codes[i].mark != MAX_DEPTH)
            return true;
    return false;
}

void unwalked_find(struct unwalked *unwalked, const struct profile *profile)
{
    *unwalked = (struct unwalked){0};
    if (!unwalked_is_possible(profile))
        return;
    struct unwalked_origin *origins = unwalked_origins(profile);
    for (size_t i = 0; i < profile->site_count; i++) {
        struct unwalked_origin origin = origins[profile_site_path(profile, i)];
        if (!origin.mark || origin.mark == MAX_DEPTH)
            continue;
        if (unwalked_is_beginning(profile, origin.code)) {
            unwalked->beginnings++;
            continue;
        }
        enum unwalked_reason reason =
            origin.mark < UNWALKED_REASONS ? (enum unwalked_reason)origin.mark : UNWALKED_UNKNOWN;
        uint32_t module = origin.code ? profile->codes[origin.code].module : UINT32_MAX;
        struct profile_site room;
        const struct call_metrics *metrics = &profile_site_at(profile, i, &room)->metrics;
        unwalked_add(&unwalked->all, metrics);
        unwalked_add(unwalked_part_of(unwalked, reason, module), metrics);
    }
    free(origins);
    if (unwalked->count)
        qsort(unwalked->parts, unwalked->count, sizeof *unwalked->parts, unwalked_compare);
}

void unwalked_release(struct unwalked *unwalked)
{
    free(unwalked->parts);
    *unwalked = (struct unwalked){0};
}

const char *unwalked_reason_name(enum unwalked_reason reason)
{
    static const char *const names[UNWALKED_REASONS] = {
        [UNWALKED_UNKNOWN] = "unknown",         [UNWALKED_NO_TABLE] = "no table",
        [UNWALKED_OFF_STACK] = "off stack",     [UNWALKED_NOT_CODE] = "not code",
        [UNWALKED_STRANGE_ROW] = "strange row", [UNWALKED_SIGNAL] = "signal",
    };
    return reason < UNWALKED_REASONS && names[reason] ? names[reason] : names[UNWALKED_UNKNOWN];
}

/* ---- The sentence -------------------------------------------------------------------------- */

/* What is true of the code where the walks ended; %s is where that is. */
static const char *unwalked_why(const struct unwalked_part *part)
{
    bool made = part->module == UINT32_MAX;
    switch (part->reason) {
    case UNWALKED_NO_TABLE:
        return made ? "in code made as the program ran, which keeps no frame pointer"
                    : "in %s, which has neither an unwind table nor a frame pointer there";
    case UNWALKED_OFF_STACK:
        return made ? "at a frame that ends on no stack"
                    : "in %s, whose unwind table leads to where no stack is";
    case UNWALKED_NOT_CODE:
        return "at a return address that is none";
    case UNWALKED_STRANGE_ROW:
        return "in %s, whose unwind table says what cannot be followed";
    case UNWALKED_SIGNAL:
        return "at a signal's frame that is not as the kernel made it";
    default:
        return made ? "for a reason that was not recorded"
                    : "in %s, for a reason that was not recorded";
    }
}

static void unwalked_add_why(struct strbuf *out, const struct profile *profile,
                             const struct unwalked_part *part)
{
    const char *why = unwalked_why(part), *hole = strstr(why, "%s");
    if (!hole) {
        strbuf_add_string(out, why);
        return;
    }
    strbuf_add(out, why, (size_t)(hole - why));
    if (part->module == UINT32_MAX)
        strbuf_add_string(out, "code in no module");
    else
        text_add_safe_string(out, name_base(profile->modules[part->module].path));
    strbuf_add_string(out, hole + 2);
}

/* Runtimes that can be told to keep frame pointers; measured with the Mono of Debian 12: of 52 % of
 * the allocations 1 % are left. */
static const char *unwalked_remedy(const struct profile *profile)
{
    static const struct {
        const char *module, *remedy;
    } known[] = {{"mono", "MONO_DEBUG=disable_omit_fp"},
                 {"libmono", "MONO_DEBUG=disable_omit_fp"},
                 {"libjvm.so", "java -XX:+PreserveFramePointer"}};
    for (size_t i = 0; i < profile->module_count; i++)
        for (size_t j = 0; j < sizeof known / sizeof *known; j++)
            if (!strncmp(name_base(profile->modules[i].path), known[j].module,
                         strlen(known[j].module)))
                return known[j].remedy;
    return NULL;
}

static void unwalked_add_share(struct strbuf *out, const struct profile *profile,
                               const struct unwalked_part *part)
{
    const struct call_metrics *total = &profile->program.total;
    double count = figure_double(part->alloc_count), bytes = figure_double(part->alloc_bytes);
    if (!profile->has_program || !(figure_double(total->alloc_count) > 0) || !(count > 0))
        return;
    if (figure_double(total->alloc_count) < FEW_CALLS)
        strbuf_addf(out, ", %s of %s allocations", human_exact((uint64_t)count).text,
                    figure_human_exact(total->alloc_count).text);
    else
        strbuf_addf(out, ", %s of the allocations",
                    human_percent(count, figure_double(total->alloc_count)).text);
    if (figure_double(total->alloc_bytes) > 0 && bytes >= 0)
        strbuf_addf(out, " (%s of the bytes)",
                    human_percent(bytes, figure_double(total->alloc_bytes)).text);
}

/* Where there is but one reason its share is that of all. */
static void unwalked_add_parts(struct strbuf *out, const struct profile *profile,
                               const struct unwalked *unwalked)
{
    bool needs_remedy = false;
    for (size_t i = 0; i < unwalked->count && i < PARTS_TOLD; i++) {
        const struct unwalked_part *part = &unwalked->parts[i];
        strbuf_add_string(out, i ? "; " : ": ");
        if (unwalked->count > 1 && figure_positive(unwalked->all.alloc_count) &&
            figure_known(part->alloc_count))
            strbuf_addf(out, "%s ",
                        human_percent(figure_double(part->alloc_count),
                                      figure_double(unwalked->all.alloc_count))
                            .text);
        unwalked_add_why(out, profile, part);
        needs_remedy |= part->reason == UNWALKED_NO_TABLE;
    }
    if (unwalked->count > PARTS_TOLD)
        strbuf_addf(out, "; and %zu more reason%s", unwalked->count - PARTS_TOLD,
                    unwalked->count - PARTS_TOLD == 1 ? "" : "s");
    if (needs_remedy && unwalked_remedy(profile))
        strbuf_addf(out, " (%s keeps it)", unwalked_remedy(profile));
}

void unwalked_add_sentence(struct strbuf *out, const struct profile *profile)
{
    struct unwalked unwalked;
    unwalked_find(&unwalked, profile);
    /* A part of a profile has the fact of the whole, and maybe none of its paths. */
    uint64_t paths = unwalked.all.paths;
    if (paths) {
        strbuf_addf(out, "%s call path%s could not be walked to %s", human_exact(paths).text,
                    paths == 1 ? "" : "s", paths == 1 ? "its end" : "their ends");
        unwalked_add_share(out, profile, &unwalked.all);
        unwalked_add_parts(out, profile, &unwalked);
        strbuf_add_char(out, '\n');
    }
    unwalked_release(&unwalked);
}
