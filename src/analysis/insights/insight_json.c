/* Writes insights as JSON (doc/REPORT-JSON.md). Each has its id, its severity, its sentences, its
 * facts by name and its call paths. Only those of at least the severity that is asked for are
 * written. */
#include "insights/insight.h"

#include "aggregate/facts.h"

static const char *const units[] = {"bytes", "count", "ns", "share", "ratio", "text"};

static void insight_json_write_fact(struct json *json, const struct insight_fact *fact)
{
    json_object(json, NULL);
    json_string(json, "metric", fact->metric);
    if (fact->unit == INSIGHT_TEXT)
        json_string(json, "value", fact->text);
    else if (fact->unit == INSIGHT_SHARE || fact->unit == INSIGHT_RATIO)
        json_double(json, "value", fact->real);
    else
        json_unsigned(json, "value", fact->number);
    json_string(json, "unit", units[fact->unit]);
    json_end(json);
}

static void insight_json_write_path(struct json *json, const struct profile *profile,
                                    const struct insight_path *path)
{
    json_object(json, NULL);
    json_unsigned(json, "value", path->value);
    json_string(json, "unit", units[path->unit]);
    json_array(json, "frames");
    for (size_t i = 0; i < path->frame_count; i++) {
        json_object(json, NULL);
        frame_write(json, profile, path->frames[i]);
        json_end(json);
    }
    json_end(json);
    json_bool(json, "more", path->more);
    json_end(json);
}

static void insight_json_write_insight(struct json *json, const struct profile *profile,
                                       const struct insight *insight)
{
    json_object(json, NULL);
    json_string(json, "id", insight->id);
    json_string(json, "severity", insight_severity_name(insight->severity));
    json_double(json, "cost", insight->cost);
    json_string(json, "title", insight->title);
    json_string(json, "advice", insight->advice);
    json_array(json, "evidence");
    for (size_t i = 0; i < insight->fact_count; i++)
        insight_json_write_fact(json, &insight->facts[i]);
    json_end(json);
    json_array(json, "paths");
    for (size_t i = 0; i < insight->path_count; i++)
        insight_json_write_path(json, profile, &insight->paths[i]);
    json_end(json);
    json_end(json);
}

void insights_write(struct json *json, const struct insights *insights, enum insight_severity least)
{
    json_array(json, "insights");
    for (size_t i = 0; i < insights->count; i++)
        if (insights->items[i].severity >= least)
            insight_json_write_insight(json, insights->profile, &insights->items[i]);
    json_end(json);
    json_array(json, "not_asked");
    for (size_t i = 0; i < insights->silence_count; i++) {
        json_object(json, NULL);
        json_string(json, "id", insights->silences[i].id);
        json_string(json, "why", insights->silences[i].why);
        json_end(json);
    }
    json_end(json);
}

int insights_json(FILE *out, const struct insights *insights,
                  const struct insights_options *options)
{
    struct json json = json_begin(out, true);
    struct strbuf end = STRBUF_INIT;
    facts_add_end(&end, insights->profile);
    json_object(&json, NULL);
    json_string(&json, "format", "tidemark-insight");
    json_unsigned(&json, "version", 1);
    json_string(&json, "program", profile_get(insights->profile, PROFILE_META_PROGRAM));
    json_bool(&json, "complete", insights->profile->complete);
    json_string(&json, "end", end.data);
    json_string(&json, "filter", insights->filter);
    if (insights->filter)
        json_unsigned(&json, "elsewhere", insights->elsewhere);
    insights_write(&json, insights, (enum insight_severity)options->least);
    json_end(&json);
    strbuf_release(&end);
    return json_finish(&json);
}
