/* Writes broken limits as workflow commands of GitHub Actions, which shows them at the lines of a
 * change. Newlines and commas are escaped as those commands want it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "budget/source_place.h"

/* What would end the command, or a property of it, is escaped as actions/toolkit does. Names are
 * made safe for the log first, so that none begins a command of its own. */
static void budget_github_add_escaped(struct strbuf *out, const char *text, bool property)
{
    for (; *text; text++)
        if (*text == '%' || *text == '\r' || *text == '\n' ||
            (property && (*text == ':' || *text == ',')))
            strbuf_addf(out, "%%%02X", (unsigned char)*text);
        else
            strbuf_add_char(out, *text);
}

static void budget_github_add_safe_lines(struct strbuf *out, const char *text)
{
    for (;;) {
        size_t length = strcspn(text, "\n");
        text_add_safe(out, text, length);
        if (!text[length])
            return;
        strbuf_add_char(out, '\n');
        text += length + 1;
    }
}

static void budget_github_add_command(struct strbuf *out, const struct budget_check *check,
                                      const struct budget_verdict *verdict)
{
    struct budget_place place = budget_place_of(check, verdict);
    struct strbuf message = STRBUF_INIT, safe = STRBUF_INIT;
    strbuf_add_string(out, "::error ");
    if (place.file) {
        text_add_safe_string(&safe, place.file);
        strbuf_add_string(out, "file=");
        budget_github_add_escaped(out, safe.data, true);
        strbuf_addf(out, ",line=%u,", place.line);
    }
    strbuf_add_string(out, "title=Memory budget::");
    budget_add_message(&message, verdict);
    strbuf_reset(&safe);
    budget_github_add_safe_lines(&safe, message.data);
    budget_github_add_escaped(out, safe.data, false);
    strbuf_add_char(out, '\n');
    free(place.file);
    strbuf_release(&message);
    strbuf_release(&safe);
}

int budget_github(FILE *out, const struct budget_check *check)
{
    struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < check->count; i++)
        if (check->verdicts[i].state != BUDGET_KEPT)
            budget_github_add_command(&text, check, &check->verdicts[i]);
    int error = fwrite(text.data, 1, text.length, out) == text.length && !fflush(out) ? 0 : -errno;
    strbuf_release(&text);
    return error;
}
