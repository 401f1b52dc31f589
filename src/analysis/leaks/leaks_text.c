/* Leaks for people: a sentence that says how much is lost, a table of the groups with their
 * callers, and a line for what is not lost.
 *
 *        lost   hangs below   islands
 *       48 B      432 B in 9         1  lose_list                                        lk.c:5
 *                                       ↑ main                                           lk.c:8
 */
#include "leaks/leaks.h"

#include <errno.h>
#include "aggregate/facts.h"
#include "aggregate/runtime_pools.h"
#include "base/human.h"
#include "base/text.h"
#include "base/text_table.h"
#include "model/figure_human.h"

enum { CALLERS = 4, NAME_AT = 46 };

static const struct text_column columns[] = {
    {"lost", 12, TEXT_RIGHT, 0},
    {"hangs below", 20, TEXT_RIGHT, 2},
    {"islands", 10, TEXT_RIGHT, 0},
    {"", 0, TEXT_LEFT, 2},
};

/* "12 blocks, 576 B, are lost: nothing points to them any more". */
static void leaks_text_add_verdict(struct strbuf *out, const struct leaks *leaks,
                                   const struct style *style)
{
    uint64_t count = leaks->lost.count + leaks->indirect.count;
    uint64_t bytes = leaks->lost.bytes + leaks->indirect.bytes;
    struct strbuf line = STRBUF_INIT;
    if (!count)
        strbuf_addf(&line, "nothing %sis lost", leaks->filter ? "that passes the filter " : "");
    else
        strbuf_addf(&line, "%s in %s %s: no pointer leads to %s any more", human_bytes(bytes).text,
                    human_exact(count).text, count == 1 ? "block is lost" : "blocks are lost",
                    count == 1 ? "it" : "them");
    if (count && leaks->filter)
        strbuf_add_string(&line, " (what passes the filter)");
    style_add(out, style, count ? TONE_WARNING : TONE_TITLE, line.data);
    strbuf_add_char(out, '\n');
    strbuf_release(&line);
}

static void leaks_text_add_when(struct strbuf *out, const struct leaks *leaks)
{
    const struct profile_sample *sample = leaks->sample;
    strbuf_add_string(out, profile_sample_when(sample));
    bool is_one = figure_equal(sample->live_count, figure_of(1));
    strbuf_addf(out, " (%s after the start), when %s block%s alive\n",
                human_duration(sample->time_ns).text, figure_human_exact(sample->live_count).text,
                is_one ? " was" : "s were");
}

static void leaks_text_add_callers(struct strbuf *out, const struct leaks *leaks,
                                   const struct leaks_group *group, const struct style *style)
{
    struct frame_walk walk;
    frame_walk_begin(&walk, leaks->profile, leaks->hidden, group->node);
    frame_add_callers(out, style, &walk, CALLERS, NAME_AT);
}

/* "for 98.0 ms to 1.20 s": how long ago the heads were allocated. */
static void leaks_text_add_age(struct strbuf *out, const struct leaks *leaks,
                               const struct leaks_group *group, const struct style *style)
{
    uint64_t oldest, newest, now = leaks->sample->time_ns;
    struct strbuf line = STRBUF_INIT;
    if (!figure_get(group->oldest_ns, &oldest) || !figure_get(group->newest_ns, &newest))
        return;
    strbuf_addf(&line, "allocated %s", human_duration(now > oldest ? now - oldest : 0).text);
    if (newest != oldest)
        strbuf_addf(&line, " to %s", human_duration(now > newest ? now - newest : 0).text);
    strbuf_add_string(&line, " before");
    strbuf_add_repeated(out, " ", NAME_AT);
    style_add(out, style, TONE_DIM, line.data);
    strbuf_add_char(out, '\n');
    strbuf_release(&line);
}

static void leaks_text_add_group(struct strbuf *out, const struct leaks *leaks,
                                 const struct leaks_group *group, const struct style *style)
{
    struct text_row row = text_row_begin(out, columns);
    struct strbuf below = STRBUF_INIT;
    if (group->below.count)
        strbuf_addf(&below, "%s in %s", human_bytes(group->below.bytes).text,
                    human_exact(group->below.count).text);
    text_row_add(&row, human_bytes(group->heads.bytes).text);
    text_row_add(&row, below.length ? below.data : "");
    text_row_add(&row, human_exact(group->heads.count).text);
    text_row_add(&row, "");
    frame_add_line(out, style, leaks->profile, group->frame, NAME_AT, true);
    leaks_text_add_callers(out, leaks, group, style);
    leaks_text_add_age(out, leaks, group, style);
    strbuf_release(&below);
}

static void leaks_text_add_groups(struct strbuf *out, const struct leaks *leaks,
                                  const struct leaks_options *options)
{
    size_t shown = leaks->group_count < options->top ? leaks->group_count : options->top;
    if (!leaks->group_count)
        return;
    strbuf_add_char(out, '\n');
    text_row_add_headings(out, columns, sizeof columns / sizeof *columns - 1);
    strbuf_add_char(out, '\n');
    for (size_t i = 0; i < shown; i++)
        leaks_text_add_group(out, leaks, &leaks->groups[i], &options->style);
    if (shown < leaks->group_count)
        strbuf_addf(out, "  %zu more places: --top %zu shows them\n", leaks->group_count - shown,
                    leaks->group_count);
}

static void leaks_text_add_class(struct strbuf *out, struct figure bytes, struct figure count,
                                 const char *what)
{
    if (figure_zero(count))
        return;
    strbuf_addf(out, "  %s in %s block%s %s\n", figure_human_bytes(bytes).text,
                figure_human_exact(count).text, human_plural(figure_or(count, 0)), what);
}

static void leaks_text_add_pools(struct strbuf *out, const struct profile *profile)
{
    struct runtime_pools left = runtime_pools_left(profile);
    leaks_text_add_class(out, left.bytes, left.count,
                         "of all that is alive are pools of the C and C++ run-times, which nobody "
                         "frees");
}

static void leaks_text_add_rest(struct strbuf *out, const struct leaks *leaks)
{
    const struct profile_sample *sample = leaks->sample;
    strbuf_add_char(out, '\n');
    if (leaks->elsewhere.count)
        strbuf_addf(
            out, "  %s in %s block%s lost elsewhere, on call paths that do not pass the filter\n",
            human_bytes(leaks->elsewhere.bytes).text, human_exact(leaks->elsewhere.count).text,
            human_plural(leaks->elsewhere.count));
    if (leaks->suppressed.count)
        strbuf_addf(out, "  %s in %s block%s lost as well, and suppressed\n",
                    human_bytes(leaks->suppressed.bytes).text,
                    human_exact(leaks->suppressed.count).text,
                    human_plural(leaks->suppressed.count));
    leaks_text_add_class(out, sample->possible_bytes, sample->possible_count,
                         "possibly lost: all pointers that lead there go into the middle of a "
                         "block");
    leaks_text_add_class(out, sample->reachable_bytes, sample->reachable_count,
                         "reachable: the program still had pointers to them");
    leaks_text_add_pools(out, leaks->profile);
    if (profile_get(leaks->profile, PROFILE_META_ATTACHED))
        strbuf_add_string(out, "  attached: what blocks from before the recording point to is not "
                               "called lost\n");
}

int leaks_text(FILE *out, const struct leaks *leaks, const struct leaks_options *options)
{
    struct strbuf text = STRBUF_INIT;
    leaks_text_add_verdict(&text, leaks, &options->style);
    leaks_text_add_when(&text, leaks);
    leaks_text_add_groups(&text, leaks, options);
    leaks_text_add_rest(&text, leaks);
    int error = fwrite(text.data, 1, text.length, out) == text.length && !fflush(out) ? 0 : -errno;
    strbuf_release(&text);
    return error;
}
