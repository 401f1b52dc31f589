/* What several hold together (held_by.h): who they are, what they have in common, and what each of
 * them reaches.
 *
 *     3.86 MiB   41.7 %       12,000  State, Body and 28 more
 *                                       variables of module states; each reaches all of it
 */
#include "held_by/held_by_gather.h"

#include <string.h>
#include "base/human.h"
#include "base/search.h"
#include "base/text.h"
#include "format/names.h"
#include "model/figure_human.h"

enum { NAMED = 2, LEAST_COLUMNS = 12 };

struct held_by_together held_by_together_of(const struct profile *profile,
                                            const struct profile_holder *of)
{
    const struct profile_sharer *all = profile->sharers;
    struct held_by_together together = {.more = figure_of(0)};
    size_t first = 0, end = profile->sharer_count;
    SEARCH_FIRST(first, end, at,
                 all[at].sample != of->sample ? all[at].sample < of->sample
                                              : all[at].holder < of->id);
    for (; first < end && all[first].sample == of->sample && all[first].holder == of->id; first++) {
        if (all[first].kind == PROFILE_HOLDER_REST) {
            together.more = all[first].merged;
            break;
        }
        together.list = together.count++ ? together.list : &all[first];
    }
    return together;
}

/* ---- Who they are ---------------------------------------------------------------------------- */

/* Variables without a name are all of their library together: its name says as much. */
static void held_by_add_sharer(struct strbuf *out, const struct held_by_side *side,
                               const struct profile_sharer *sharer, size_t columns)
{
    const struct profile_holder as = {.kind = sharer->kind,
                                      .name = sharer->name,
                                      .module = sharer->module,
                                      .thread = sharer->thread};
    struct strbuf name = STRBUF_INIT;
    struct frame_walk walk;
    if (sharer->kind == PROFILE_HOLDER_MAPPING && sharer->path) {
        strbuf_add_string(out, "mapping of ");
        frame_add_name(&name, side->profile,
                       frame_walk_begin(&walk, side->profile, side->hidden, sharer->path));
    } else {
        held_by_add_name(&name, &as);
    }
    bool is_unnamed = sharer->module && name.data && *name.data == '(';
    name_add_short(out, is_unnamed ? held_by_library(&as) : name.data, columns);
    strbuf_release(&name);
}

static void held_by_add_others(struct strbuf *out, const struct held_by_together *together,
                               size_t named)
{
    uint64_t more;
    if (!figure_get(together->more, &more))
        strbuf_add_string(out, " and others");
    else if (more + together->count > named)
        strbuf_addf(out, " and %s more", human_exact(more + together->count - named).text);
}

/* As many as are named; three where there are no others. */
static size_t held_by_named(const struct held_by_together *together)
{
    bool is_all = figure_zero(together->more);
    if (is_all && together->count <= NAMED + 1)
        return together->count;
    return together->count < NAMED ? together->count : NAMED;
}

void held_by_add_together(struct strbuf *out, const struct held_by_side *side,
                          const struct held_by_together *together, size_t columns)
{
    enum { REST = 16 }; /* " and 12,345 more" */
    size_t named = held_by_named(together);
    size_t each = columns > REST ? (columns - REST) / named : 0;
    for (size_t i = 0; i < named; i++) {
        strbuf_add_string(out, i ? ", " : "");
        held_by_add_sharer(out, side, &together->list[i],
                           each < LEAST_COLUMNS ? LEAST_COLUMNS : each);
    }
    held_by_add_others(out, together, named);
}

/* ---- What they have in common ---------------------------------------------------------------- */

static bool held_by_is_common(const struct profile_sharer *a, const struct profile_sharer *b)
{
    const char *of_a = a->module ? a->module : "", *of_b = b->module ? b->module : "";
    return a->kind == b->kind && !strcmp(of_a, of_b);
}

/* The module that all of them are of; NULL: of several, or it is not known of all. */
static const struct profile_sharer *held_by_common(const struct held_by_together *together)
{
    if (!together->count || !figure_zero(together->more))
        return NULL;
    for (size_t i = 1; i < together->count; i++)
        if (!held_by_is_common(&together->list[0], &together->list[i]))
            return NULL;
    return together->list;
}

const char *held_by_together_library(const struct held_by_together *together)
{
    const struct profile_sharer *common = held_by_common(together);
    const struct profile_holder as = {.kind = common ? common->kind : PROFILE_HOLDER_SEVERAL,
                                      .module = common ? common->module : NULL};
    return held_by_library(&as);
}

/* "variables of liba.so; ", "variables of module states; ". */
static void held_by_add_common(struct strbuf *out, const struct held_by_together *together)
{
    const struct profile_sharer *common = held_by_common(together);
    bool is_of_module = common && common->kind == PROFILE_HOLDER_MODULE_VARIABLE;
    if (common && common->kind == PROFILE_HOLDER_CLASS)
        strbuf_add_string(out, "classes; ");
    if (!common || !common->module)
        return;
    strbuf_add_string(out, is_of_module ? "variables of module " : "variables of ");
    text_add_safe_string(out, is_of_module ? common->module : held_by_together_library(together));
    strbuf_add_string(out, "; ");
}

/* ---- What each reaches ----------------------------------------------------------------------- */

/* How many of the list reach all of it: the first ones. */
static size_t held_by_all_of_it(const struct held_by_together *together,
                                const struct profile_holder *of)
{
    size_t count = 0;
    while (count < together->count && together->list[count].reached_bytes == of->retained_bytes)
        count++;
    return count;
}

static void held_by_add_percents(struct strbuf *out, const struct held_by_together *together,
                                 const struct profile_holder *of)
{
    size_t named = held_by_named(together);
    for (size_t i = 0; i < named; i++) {
        const char *before = !i ? "reach " : i + 1 == named ? " and " : ", ";
        strbuf_addf(
            out, "%s%s", before,
            human_percent((double)together->list[i].reached_bytes, (double)of->retained_bytes)
                .text);
    }
    strbuf_add_string(out, " of it");
    if (!figure_known(together->more))
        strbuf_add_string(out, " or more; there are too many to find all");
    else if (together->count > named)
        strbuf_addf(
            out, ", the others up to %s",
            human_percent((double)together->list[named].reached_bytes, (double)of->retained_bytes)
                .text);
}

/* "reach 100 % and 50.0 % of it …", or how many reach all of it. */
static void held_by_add_reached(struct strbuf *out, const struct held_by_together *together,
                                const struct profile_holder *of)
{
    size_t all = held_by_all_of_it(together, of);
    if (all == together->count && figure_zero(together->more))
        strbuf_add_string(out, "each reaches all of it");
    else if (all == together->count && all > NAMED)
        strbuf_addf(out, "%zu or more reach all of it", all);
    else if (all > NAMED && figure_known(together->more))
        strbuf_addf(
            out, "%zu reach all of it, the others up to %s", all,
            human_percent((double)together->list[all].reached_bytes, (double)of->retained_bytes)
                .text);
    else
        held_by_add_percents(out, together, of);
}

/* Where the first points to more than half of it itself, and to twice as much as the second. */
static void held_by_add_nearest(struct strbuf *out, const struct held_by_together *together,
                                const struct profile_holder *of)
{
    uint64_t direct = together->list[0].direct_bytes;
    if (together->count > 1 && direct > of->retained_bytes / 2 &&
        direct / 2 > together->list[1].direct_bytes)
        strbuf_addf(out, "; %s is right below the first",
                    direct == of->retained_bytes
                        ? "all"
                        : human_percent((double)direct, (double)of->retained_bytes).text);
}

void held_by_add_reach(struct strbuf *out, const struct style *style,
                       const struct held_by_together *together, const struct profile_holder *of,
                       size_t used)
{
    struct strbuf text = STRBUF_INIT;
    held_by_add_common(&text, together);
    held_by_add_reached(&text, together, of);
    held_by_add_nearest(&text, together, of);
    strbuf_add_repeated(out, " ", used);
    style_add_wrapped(out, style, TONE_DIM, text.data, used);
    strbuf_release(&text);
}
