/* Insights for people:
 *
 *   warning  solver::log allocates 49.9 k blocks of 48 B on average that are freed at once
 *            short-lived-blocks: alloc count 50,000 · mean size 48 B · …          the evidence
 *              50.0 k  solver::log                                      src/log.cpp:9
 *                      ↑ solver::step                                  src/main.cpp:27
 *            → Allocate once before the loop …                                    the advice */
#include "insights/insight.h"

#include <errno.h>
#include <string.h>
#include "base/human.h"
#include "base/text.h"
#include "aggregate/facts.h"

/* The first path of a finding is shown as far as it is kept, the others up to OTHER_FRAMES. */
enum { SEVERITY_COLUMNS = 9, PLACE_COLUMNS = 26, VALUE_COLUMNS = 10, OTHER_FRAMES = 4 };

static enum tone insight_text_tone_of(enum insight_severity severity)
{
    return severity >= INSIGHT_WARNING  ? TONE_WARNING
           : severity == INSIGHT_NOTICE ? TONE_FIGURE
                                        : TONE_DIM;
}

/* "12.3 %", and from 200 % on "2.7 times": what blocks cost beside the peak may be more than it. */
static void insight_text_add_share(struct strbuf *out, double share)
{
    if (share >= 1.995)
        strbuf_addf(out, "%.*f times", share < 9.95 ? 1 : 0, share);
    else
        strbuf_add_string(out, human_percent(share, 1).text);
}

static void insight_text_add_value(struct strbuf *out, enum insight_unit unit, uint64_t number,
                                   double real, const char *string)
{
    switch (unit) {
    case INSIGHT_BYTES:
        strbuf_add_string(out, human_bytes(number).text);
        break;
    case INSIGHT_COUNT:
        strbuf_add_string(out, human_count(number).text);
        break;
    case INSIGHT_NS:
        strbuf_add_string(out, human_duration(number).text);
        break;
    case INSIGHT_SHARE:
        insight_text_add_share(out, real);
        break;
    case INSIGHT_RATIO:
        strbuf_addf(out, "%.3g", real);
        break;
    case INSIGHT_TEXT:
        text_add_safe_string(out, string);
        break;
    }
}

/* "live_bytes" reads "live bytes". */
static void insight_text_add_metric(struct strbuf *out, const char *metric)
{
    for (; *metric; metric++)
        strbuf_add_char(out, *metric == '_' ? ' ' : *metric);
}

/* "alloc count 20.0 k", and what divides it from the next. */
static void insight_text_add_fact(struct strbuf *out, const struct style *style,
                                  const struct insight *insight, size_t i)
{
    const struct insight_fact *fact = &insight->facts[i];
    insight_text_add_metric(out, fact->metric);
    strbuf_add_char(out, ' ');
    insight_text_add_value(out, fact->unit, fact->number, fact->real, fact->text);
    if (i + 1 < insight->fact_count)
        strbuf_add_string(out, style_sign(style, " ·", ";"));
}

/* Lines break between facts, and inside of one only if it is longer than a line. */
static void insight_text_add_facts(struct strbuf *out, const struct style *style,
                                   const struct insight *insight)
{
    struct strbuf fact = STRBUF_INIT;
    strbuf_add_repeated(out, " ", SEVERITY_COLUMNS);
    strbuf_addf(out, "%s:", insight->id);
    size_t column = SEVERITY_COLUMNS + strlen(insight->id) + 1;
    for (size_t i = 0; i < insight->fact_count; i++) {
        strbuf_reset(&fact);
        insight_text_add_fact(&fact, style, insight, i);
        size_t width = text_width(fact.data);
        bool fits = column + 1 + width <= style->columns;
        strbuf_add_repeated(out, fits ? " " : "\n", 1);
        strbuf_add_repeated(out, " ", fits ? 0 : SEVERITY_COLUMNS);
        column = fits ? column + 1 + width : SEVERITY_COLUMNS + width;
        text_add_wrapped(out, fact.data, SEVERITY_COLUMNS, fits ? column : style->columns);
    }
    strbuf_add_char(out, '\n');
    strbuf_release(&fact);
}

static void insight_text_add_path(struct strbuf *out, const struct style *style,
                                  const struct profile *profile, const struct insight_path *path,
                                  size_t most)
{
    struct strbuf value = STRBUF_INIT;
    insight_text_add_value(&value, path->unit, path->value, 0, NULL);
    strbuf_add_repeated(out, " ", SEVERITY_COLUMNS);
    if (text_width(value.data) < VALUE_COLUMNS)
        strbuf_add_repeated(out, " ", VALUE_COLUMNS - text_width(value.data));
    style_add(out, style, TONE_FIGURE, value.data);
    strbuf_add_string(out, "  ");
    strbuf_release(&value);
    size_t used = SEVERITY_COLUMNS + VALUE_COLUMNS + 2;
    for (size_t i = 0; i < path->frame_count && i < most; i++) {
        if (i) {
            strbuf_add_repeated(out, " ", used);
            style_add(out, style, TONE_DIM, style_sign(style, "↑ ", "^ "));
        }
        frame_add_line(out, style, profile, path->frames[i], used + (i ? 2 : 0), !i);
    }
    if (path->more || path->frame_count > most) {
        strbuf_add_repeated(out, " ", used);
        style_add(out, style, TONE_DIM, style_sign(style, "↑ …\n", "^ ...\n"));
    }
}

static void insight_text_add_title(struct strbuf *out, const struct style *style,
                                   const struct insight *insight)
{
    struct strbuf title = STRBUF_INIT;
    strbuf_addf(&title, "%-*s", (int)SEVERITY_COLUMNS, insight_severity_name(insight->severity));
    style_add(out, style, insight_text_tone_of(insight->severity), title.data);
    style_add_wrapped(out, style, TONE_TITLE, insight->title, SEVERITY_COLUMNS);
    strbuf_release(&title);
}

static void insight_text_add_insight(struct strbuf *out, const struct style *style,
                                     const struct profile *profile, const struct insight *insight)
{
    strbuf_add_char(out, '\n');
    insight_text_add_title(out, style, insight);
    insight_text_add_facts(out, style, insight);
    for (size_t i = 0; i < insight->path_count; i++)
        insight_text_add_path(out, style, profile, &insight->paths[i],
                              i ? OTHER_FRAMES : INSIGHT_FRAMES);
    strbuf_add_repeated(out, " ", SEVERITY_COLUMNS);
    style_add(out, style, TONE_GOOD, style_sign(style, "→ ", "> "));
    text_add_wrapped(out, insight->advice, SEVERITY_COLUMNS + 2, style->columns);
    strbuf_add_char(out, '\n');
}

static void insight_text_add_head(struct strbuf *out, const struct style *style,
                                  const struct insights *insights)
{
    const struct profile *profile = insights->profile;
    struct strbuf line = STRBUF_INIT;
    facts_add_text(&line, profile, PROFILE_META_PROGRAM);
    style_add(out, style, TONE_TITLE, line.data);
    strbuf_reset(&line);
    strbuf_add_string(&line, "  pid ");
    facts_add_text(&line, profile, PROFILE_META_PID);
    strbuf_add_string(&line, ", ");
    facts_add_end(&line, profile);
    strbuf_addf(&line, ": %zu insight%s\n", insights->count, insights->count == 1 ? "" : "s");
    style_add(out, style, TONE_DIM, line.data);
    strbuf_release(&line);
}

static void insight_text_add_silences(struct strbuf *out, const struct style *style,
                                      const struct insights *insights)
{
    size_t widest = 0;
    for (size_t i = 0; i < insights->silence_count; i++)
        if (strlen(insights->silences[i].id) > widest)
            widest = strlen(insights->silences[i].id);
    if (insights->silence_count)
        style_add(out, style, TONE_TITLE, "\nNot asked\n");
    for (size_t i = 0; i < insights->silence_count; i++) {
        strbuf_addf(out, "  %-*s  ", (int)widest, insights->silences[i].id);
        text_add_wrapped(out, insights->silences[i].why, widest + 4, style->columns);
        strbuf_add_char(out, '\n');
    }
}

int insights_text(FILE *out, const struct insights *insights,
                  const struct insights_options *options)
{
    struct strbuf text = STRBUF_INIT;
    size_t shown = 0;
    insight_text_add_head(&text, &options->style, insights);
    for (size_t i = 0; i < insights->count; i++) {
        if ((int)insights->items[i].severity < options->least)
            continue;
        insight_text_add_insight(&text, &options->style, insights->profile, &insights->items[i]);
        shown++;
    }
    if (shown < insights->count)
        strbuf_addf(&text, "\n%zu milder one%s not shown (--least)\n", insights->count - shown,
                    insights->count - shown == 1 ? "" : "s");
    if (insights->filter)
        strbuf_addf(&text, "\n%zu more, none of whose call paths pass the filter\n",
                    insights->elsewhere);
    insight_text_add_silences(&text, &options->style, insights);
    errno = 0;
    bool written = fwrite(text.data, 1, text.length, out) == text.length;
    int error = written ? 0 : errno ? -errno : -EIO;
    strbuf_release(&text);
    return error;
}

/* What stands first in a title tells most: it is cut at its end, between two words. */
static void insight_text_add_cut(struct strbuf *out, const struct style *style, const char *title,
                                 size_t columns)
{
    struct strbuf lines = STRBUF_INIT;
    const char *end = style_sign(style, " …", " ...");
    if (text_width(title) <= columns) {
        strbuf_add_string(out, title);
        return;
    }
    text_add_wrapped(&lines, title, 0, columns - text_width(end));
    strbuf_add(out, lines.data, strcspn(lines.data, "\n"));
    strbuf_add_string(out, end);
    strbuf_release(&lines);
}

/* The place of a finding. A library in place of a file is left out where the title has no room
 * beside it, since it only says where to look for the name. */
static void insight_text_add_place(struct strbuf *out, const struct profile *profile,
                                   const struct insight *insight, size_t room)
{
    uint32_t line = 0;
    if (!insight->path_count)
        return;
    frame_add_place(out, profile, insight->paths[0].frames[0], PLACE_COLUMNS);
    bool fits = text_width(insight->title) + 2 + text_width(out->data) <= room;
    if (!fits && !frame_file(profile, insight->paths[0].frames[0], &line))
        strbuf_reset(out);
}

/* "  severe   TITLE …                    file.c:12" */
static void insight_text_add_line(struct strbuf *out, const struct style *style,
                                  const struct profile *profile, const struct insight *insight)
{
    struct strbuf place = STRBUF_INIT, title = STRBUF_INIT;
    strbuf_addf(&title, "  %-*s", (int)SEVERITY_COLUMNS, insight_severity_name(insight->severity));
    style_add(out, style, insight_text_tone_of(insight->severity), title.data);
    size_t used = text_width(title.data);
    strbuf_reset(&title);
    insight_text_add_place(&place, profile, insight, style->columns - used);
    size_t place_columns = place.length ? text_width(place.data) + 2 : 0;
    size_t room = style->columns - used - place_columns;
    insight_text_add_cut(&title, style, insight->title, room);
    strbuf_add_string(out, title.data);
    if (place.length) {
        strbuf_add_repeated(out, " ", room - text_width(title.data) + 2);
        style_add(out, style, TONE_DIM, place.data);
    }
    strbuf_add_char(out, '\n');
    strbuf_release(&place);
    strbuf_release(&title);
}

/* A milder finding of a rule that has said the same of another site. */
static bool insight_text_repeats(const struct insights *insights, size_t at)
{
    const struct insight *items = insights->items;
    for (size_t i = 0; items[at].severity <= INSIGHT_NOTICE && i < at; i++)
        if (!strcmp(items[i].id, items[at].id))
            return true;
    return false;
}

void insights_add_lines(struct strbuf *out, const struct insights *insights,
                        const struct style *style, size_t most)
{
    size_t firsts = 0, shown = 0;
    for (size_t i = 0; i < insights->count; i++)
        firsts += !insight_text_repeats(insights, i);
    size_t repeats = most > firsts ? most - firsts : 0; /* that have room */
    for (size_t i = 0; i < insights->count && shown < most; i++) {
        bool repeat = insight_text_repeats(insights, i);
        if (repeat && !repeats)
            continue;
        repeats -= repeat;
        insight_text_add_line(out, style, insights->profile, &insights->items[i]);
        shown++;
    }
}
