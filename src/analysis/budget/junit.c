/* Writes verdicts as JUnit's XML, which Jenkins, GitLab and others read. Each limit is a test case,
 * and a broken one has a failure with its call paths. */
#include <errno.h>
#include <string.h>
#include "base/text.h"
#include "budget/source_place.h"
#include "aggregate/facts.h"

/* As the text of an element or attribute. XML 1.0 has no way to write most control characters. */
static void budget_junit_add_escaped(struct strbuf *out, const char *text)
{
    for (size_t left = strlen(text); left;) {
        uint32_t code;
        size_t length = text_decode(text, left, &code);
        bool allowed = length && (code >= ' ' || code == '\n' || code == '\t') && code != 0xfffe &&
                       code != 0xffff && code != 0x7f;
        if (!allowed)
            strbuf_add_string(out, "\xef\xbf\xbd");
        else if (code == '<')
            strbuf_add_string(out, "&lt;");
        else if (code == '>')
            strbuf_add_string(out, "&gt;");
        else if (code == '&')
            strbuf_add_string(out, "&amp;");
        else if (code == '"')
            strbuf_add_string(out, "&quot;");
        else if (code == '\n' || code == '\t')
            strbuf_addf(out, "&#%u;", code);
        else
            strbuf_add(out, text, length);
        length = length ? length : 1;
        text += length;
        left -= length;
    }
}

static void budget_junit_add_attribute(struct strbuf *out, const char *name, const char *value)
{
    strbuf_addf(out, " %s=\"", name);
    budget_junit_add_escaped(out, value);
    strbuf_add_char(out, '"');
}

static void budget_junit_add_case(struct strbuf *out, const struct budget_verdict *verdict,
                                  const char *suite)
{
    static const char *const elements[] = {NULL, "failure", "error"};
    struct strbuf name = STRBUF_INIT, sentence = STRBUF_INIT, message = STRBUF_INIT;
    if (verdict->limit)
        budget_add_limit(&name, verdict->limit, true);
    else
        strbuf_add_string(&name, "the recording is whole");
    strbuf_add_string(out, "    <testcase");
    budget_junit_add_attribute(out, "classname", suite);
    budget_junit_add_attribute(out, "name", name.data);
    budget_junit_add_attribute(out, "time", "0");
    if (verdict->state == BUDGET_KEPT) {
        strbuf_add_string(out, "/>\n");
    } else {
        const char *element = elements[verdict->state];
        budget_add_verdict(&sentence, verdict, true);
        budget_add_message(&message, verdict);
        strbuf_addf(out, ">\n      <%s", element);
        budget_junit_add_attribute(
            out, "type", verdict->limit ? budget_metric_name(verdict->limit->metric) : "recording");
        budget_junit_add_attribute(out, "message", sentence.data);
        strbuf_add_char(out, '>');
        budget_junit_add_escaped(out, message.data);
        strbuf_addf(out, "</%s>\n    </testcase>\n", element);
    }
    strbuf_release(&name);
    strbuf_release(&sentence);
    strbuf_release(&message);
}

int budget_junit(FILE *out, const struct budget_check *check)
{
    struct strbuf text = STRBUF_INIT, suite = STRBUF_INIT;
    const char *program = profile_get(check->profile, PROFILE_META_PROGRAM);
    strbuf_addf(&suite, "tidemark.%s", program ? program : "?");
    strbuf_addf(&text,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                "<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n  <testsuite",
                check->count, check->exceeded, check->unknown);
    budget_junit_add_attribute(&text, "name", suite.data);
    strbuf_addf(&text,
                " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\" time=\"%.3f\">\n",
                check->count, check->exceeded, check->unknown,
                (double)facts_number(check->profile, PROFILE_META_DURATION) / 1e9);
    for (size_t i = 0; i < check->count; i++)
        budget_junit_add_case(&text, &check->verdicts[i], suite.data);
    strbuf_add_string(&text, "  </testsuite>\n</testsuites>\n");
    int error = fwrite(text.data, 1, text.length, out) == text.length && !fflush(out) ? 0 : -errno;
    strbuf_release(&text);
    strbuf_release(&suite);
    return error;
}
