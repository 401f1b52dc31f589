/* Writes broken limits as SARIF 2.1.0 (OASIS), which GitHub code scanning, VS Code and others read.
 * A broken limit is a result, its call paths are the result's stacks. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "budget/source_place.h"

/* A reference by RFC 3986: relative, or file:///… */
static void budget_sarif_add_uri(struct strbuf *out, const char *file)
{
    if (*file == '/')
        strbuf_add_string(out, "file://");
    else if (memchr(file, ':', strcspn(file, "/"))) /* else "a:b.c" would have a scheme */
        strbuf_add_string(out, "./");
    for (; *file; file++)
        if (isalnum((unsigned char)*file) || strchr("-._~/:@!$&'()*+,;=", *file))
            strbuf_add_char(out, *file);
        else
            strbuf_addf(out, "%%%02X", (unsigned char)*file);
}

static void budget_sarif_write_place(struct json *json, const char *file, uint32_t line)
{
    struct strbuf uri = STRBUF_INIT;
    budget_sarif_add_uri(&uri, file);
    json_object(json, "physicalLocation");
    json_object(json, "artifactLocation");
    json_string(json, "uri", uri.data);
    json_end(json);
    json_object(json, "region");
    json_unsigned(json, "startLine", line);
    json_end(json);
    json_end(json);
    strbuf_release(&uri);
}

static void budget_sarif_write_message(struct json *json, const char *text)
{
    json_object(json, "message");
    json_string(json, "text", text);
    json_end(json);
}

static void budget_sarif_write_frame(struct json *json, const struct budget_frame *frame)
{
    json_object(json, NULL);
    json_object(json, "location");
    if (frame->file && frame->line) {
        char *file = budget_relative(frame->file);
        budget_sarif_write_place(json, file ? file : frame->file, frame->line);
        free(file);
    }
    json_array(json, "logicalLocations");
    json_object(json, NULL);
    json_string(json, "fullyQualifiedName", frame->function);
    json_string(json, "kind", "function");
    json_end(json);
    json_end(json);
    budget_sarif_write_message(json, frame->function);
    json_end(json);
    json_end(json);
}

static void budget_sarif_write_stack(struct json *json, const struct budget_verdict *verdict,
                                     const struct budget_offender *offender)
{
    struct strbuf message = STRBUF_INIT;
    enum budget_unit unit = budget_metric_unit(verdict->limit->metric);
    budget_add_amount(&message, unit == BUDGET_UNIT_RATE ? BUDGET_UNIT_COUNT : unit,
                      offender->value);
    json_object(json, NULL);
    budget_sarif_write_message(json, message.data);
    json_array(json, "frames");
    for (size_t i = 0; i < offender->frame_count; i++)
        budget_sarif_write_frame(json, &offender->frames[i]);
    json_end(json);
    json_end(json);
    strbuf_release(&message);
}

static const char *budget_sarif_rule_of(const struct budget_verdict *verdict)
{
    return verdict->limit ? budget_metric_name(verdict->limit->metric) : "recording";
}

static void budget_sarif_write_result(struct json *json, const struct budget_check *check,
                                      const struct budget_verdict *verdict)
{
    struct strbuf sentence = STRBUF_INIT;
    struct budget_place place = budget_place_of(check, verdict);
    budget_add_verdict(&sentence, verdict, true);
    json_object(json, NULL);
    json_string(json, "ruleId", budget_sarif_rule_of(verdict));
    json_string(json, "level", "error");
    budget_sarif_write_message(json, sentence.data);
    json_array(json, "locations");
    if (place.file) {
        json_object(json, NULL);
        budget_sarif_write_place(json, place.file, place.line);
        json_end(json);
    }
    json_end(json);
    if (verdict->offender_count) {
        json_array(json, "stacks");
        for (size_t i = 0; i < verdict->offender_count; i++)
            budget_sarif_write_stack(json, verdict, &verdict->offenders[i]);
        json_end(json);
    }
    json_end(json);
    free(place.file);
    strbuf_release(&sentence);
}

static void budget_sarif_write_rule(struct json *json, const char *id, const char *what)
{
    json_object(json, NULL);
    json_string(json, "id", id);
    json_object(json, "shortDescription");
    json_string(json, "text", what);
    json_end(json);
    json_end(json);
}

static void budget_sarif_write_rules(struct json *json)
{
    struct strbuf what = STRBUF_INIT;
    json_array(json, "rules");
    budget_sarif_write_rule(json, "recording",
                            "The recording must be whole for a limit to be checked");
    for (int i = 0; i < BUDGET_METRICS; i++) {
        const char *name = budget_metric_name((enum budget_metric)i);
        strbuf_reset(&what);
        strbuf_addf(&what, "The memory budget limits %s", name);
        budget_sarif_write_rule(json, name, what.data);
    }
    json_end(json);
    strbuf_release(&what);
}

int budget_sarif(FILE *out, const struct budget_check *check)
{
    struct json json = json_begin(out, true);
    json_object(&json, NULL);
    json_string(
        &json, "$schema",
        "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json");
    json_string(&json, "version", "2.1.0");
    json_array(&json, "runs");
    json_object(&json, NULL);
    json_object(&json, "tool");
    json_object(&json, "driver");
    json_string(&json, "name", "tidemark");
    json_string(&json, "version", TIDEMARK_VERSION);
    budget_sarif_write_rules(&json);
    json_end(&json);
    json_end(&json);
    json_array(&json, "results");
    for (size_t i = 0; i < check->count; i++)
        if (check->verdicts[i].state != BUDGET_KEPT)
            budget_sarif_write_result(&json, check, &check->verdicts[i]);
    json_end(&json);
    json_end(&json);
    json_end(&json);
    json_end(&json);
    return json_finish(&json);
}
