/* Writes verdicts of `tidemark check` as JSON (doc/BUDGET.md). Each limit has its verdict with the
 * call paths that offend most. Below stands what suppressions took out. */
#include <math.h>
#include <string.h>
#include "base/json.h"
#include "budget/budget.h"
#include "model/figure_json.h"

static void budget_json_write_offender(struct json *json, const struct budget_offender *offender)
{
    json_object(json, NULL);
    json_double(json, "value", offender->value);
    json_double(json, "before", offender->before);
    json_array(json, "frames");
    for (size_t i = 0; i < offender->frame_count; i++) {
        json_object(json, NULL);
        json_string(json, "function", offender->frames[i].function);
        if (offender->frames[i].through)
            json_string(json, "through", offender->frames[i].through);
        json_string(json, "file", offender->frames[i].file);
        if (offender->frames[i].line)
            json_unsigned(json, "line", offender->frames[i].line);
        else
            json_null(json, "line");
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static void budget_json_write_limit(struct json *json, const struct budget_limit *limit)
{
    static const char *const units[] = {"bytes", "count", "per_second", "share"};
    enum budget_unit unit = limit->is_share && !limit->is_growth
                                ? BUDGET_UNIT_SHARE
                                : budget_metric_unit(limit->metric);
    json_string(json, "metric", budget_metric_name(limit->metric));
    json_string(json, "scope", budget_scope_name(limit->scope));
    json_string(json, "pattern", limit->pattern);
    json_bool(json, "exclusive", limit->exclusive);
    json_string(json, "unit", units[unit]);
    json_double(json, limit->is_growth ? "growth" : "max", limit->most);
    if (limit->is_growth)
        json_bool(json, "growth_is_share", limit->is_share);
    if (limit->line)
        json_unsigned(json, "line", limit->line);
    else
        json_null(json, "line");
}

static void budget_json_write_verdict(struct json *json, const struct budget_verdict *verdict)
{
    static const char *const states[] = {"kept", "exceeded", "unknown"};
    struct strbuf sentence = STRBUF_INIT;
    budget_add_verdict(&sentence, verdict, true);
    json_object(json, NULL);
    json_string(json, "state", states[verdict->state]);
    json_string(json, "sentence", sentence.data);
    if (verdict->limit)
        budget_json_write_limit(json, verdict->limit);
    json_bool(json, "nothing_matches", verdict->nothing_matches);
    json_double(json, "value", verdict->value);
    json_double(json, "baseline", verdict->baseline);
    json_double(json, "most", verdict->most);
    json_array(json, "paths");
    for (size_t i = 0; i < verdict->offender_count; i++)
        budget_json_write_offender(json, &verdict->offenders[i]);
    json_end(json);
    json_end(json);
    strbuf_release(&sentence);
}

static void budget_json_write_suppressions(struct json *json,
                                           const struct suppressions *suppressions)
{
    json_array(json, "suppressed");
    for (size_t i = 0; suppressions && i < suppressions->count; i++) {
        json_object(json, NULL);
        json_string(json, "name", suppressions->list[i].name);
        json_figure(json, "bytes", suppressions->list[i].used_bytes);
        json_figure(json, "blocks", suppressions->list[i].used_blocks);
        json_end(json);
    }
    json_end(json);
}

int budget_json(FILE *out, const struct budget_check *check)
{
    struct json json = json_begin(out, true);
    json_object(&json, NULL);
    json_string(&json, "format", "tidemark-check");
    json_unsigned(&json, "version", 1);
    json_string(&json, "tool", "tidemark " TIDEMARK_VERSION);
    json_string(&json, "file", check->file);
    json_string(&json, "baseline", check->baseline_file);
    json_string(&json, "budget", check->budget->path);
    if (check->budget->filter)
        json_string(&json, "filter", check->budget->filter);
    json_bool(&json, "kept", !check->exceeded && !check->unknown);
    json_unsigned(&json, "exceeded", check->exceeded);
    json_unsigned(&json, "unknown", check->unknown);
    json_array(&json, "verdicts");
    for (size_t i = 0; i < check->count; i++)
        budget_json_write_verdict(&json, &check->verdicts[i]);
    json_end(&json);
    budget_json_write_suppressions(&json, check->suppressions);
    json_end(&json);
    return json_finish(&json);
}
