/* Keeps the doctor's findings, and shows them (doctor.h). Findings are an array in the order in
 * which they were made. The text is wrapped at the terminal's width; JSON has all of them. */
#include "doctor/doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/text.h"
#include "base/memory.h"

enum { STATE_COLUMNS = 10, AREA_COLUMNS = 16 };

static const char *const states[] = {"ok", "note", "problem"};

void doctor_add(struct doctor *doctor, const char *area, enum doctor_state state,
                const char *advice, const char *format, ...)
{
    struct strbuf what = STRBUF_INIT, do_this = STRBUF_INIT;
    va_list arguments;
    va_start(arguments, format);
    strbuf_addv(&what, format, arguments);
    va_end(arguments);
    strbuf_add_string(&do_this, advice ? advice : "");
    struct doctor_finding *findings =
        memory_resize(doctor->findings, doctor->count + 1, sizeof *findings);
    doctor->findings = findings;
    findings[doctor->count++] = (struct doctor_finding){area, state, strbuf_detach(&what),
                                                        advice ? strbuf_detach(&do_this) : NULL};
}

void doctor_release(struct doctor *doctor)
{
    for (size_t i = 0; i < doctor->count; i++) {
        free(doctor->findings[i].what);
        free(doctor->findings[i].advice);
    }
    free(doctor->findings);
    *doctor = (struct doctor){0};
}

size_t doctor_problems(const struct doctor *doctor)
{
    size_t problems = 0;
    for (size_t i = 0; i < doctor->count; i++)
        problems += doctor->findings[i].state == DOCTOR_PROBLEM;
    return problems;
}

/* ---- For people ---------------------------------------------------------------------------- */

static void doctor_add_wrapped(struct strbuf *out, const char *text, size_t columns)
{
    struct strbuf safe = STRBUF_INIT;
    text_add_safe_string(&safe, text);
    text_add_wrapped(out, safe.data, 2 + STATE_COLUMNS + AREA_COLUMNS, columns);
    strbuf_add_char(out, '\n');
    strbuf_release(&safe);
}

static void doctor_add_finding(struct strbuf *out, const struct doctor_finding *finding,
                               bool colour, size_t columns)
{
    static const char *const colours[] = {"\033[32m", "\033[33m", "\033[1;31m"};
    strbuf_addf(out, "  %s%-*s%s%-*s", colour ? colours[finding->state] : "", STATE_COLUMNS,
                states[finding->state], colour ? "\033[0m" : "", AREA_COLUMNS, finding->area);
    doctor_add_wrapped(out, finding->what, columns);
    if (!finding->advice)
        return;
    strbuf_add_repeated(out, " ", STATE_COLUMNS + AREA_COLUMNS);
    strbuf_add_string(out, "> ");
    doctor_add_wrapped(out, finding->advice, columns);
}

int doctor_text(FILE *out, const struct doctor *doctor, bool colour, size_t columns)
{
    struct strbuf text = STRBUF_INIT;
    size_t problems = doctor_problems(doctor);
    for (size_t i = 0; i < doctor->count; i++)
        doctor_add_finding(&text, &doctor->findings[i], colour, columns);
    if (problems)
        strbuf_addf(&text, "\n%zu problem%s\n", problems, problems == 1 ? "" : "s");
    else
        strbuf_add_string(&text, "\nTidemark works here.\n");
    int error = fwrite(text.data, 1, text.length, out) == text.length && !fflush(out) ? 0 : -errno;
    strbuf_release(&text);
    return error;
}

/* ---- For programs -------------------------------------------------------------------------- */

int doctor_json(FILE *out, const struct doctor *doctor)
{
    struct json json = json_begin(out, true);
    json_object(&json, NULL);
    json_string(&json, "format", "tidemark-doctor");
    json_unsigned(&json, "version", 1);
    json_string(&json, "tool", "tidemark " TIDEMARK_VERSION);
    json_unsigned(&json, "problems", doctor_problems(doctor));
    json_array(&json, "findings");
    for (size_t i = 0; i < doctor->count; i++) {
        const struct doctor_finding *finding = &doctor->findings[i];
        json_object(&json, NULL);
        json_string(&json, "area", finding->area);
        json_string(&json, "state", states[finding->state]);
        json_string(&json, "what", finding->what);
        json_string(&json, "advice", finding->advice);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    return json_finish(&json);
}
