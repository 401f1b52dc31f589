/* Builds a line of text in a fixed buffer, and writes it with one call (line.h). Runs inside other
 * programs: no malloc, no stdio. */
#include "counters/line.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "unwind/own_write.h"

void line_add(struct line *line, const char *text)
{
    for (; *text && line->length < sizeof line->text - 1; text++)
        line->text[line->length++] = *text;
    line->text[line->length] = '\0';
}

static void line_add_digits(struct line *line, int64_t number, unsigned group)
{
    char digits[32];
    unsigned at = sizeof digits, count = 0;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    digits[--at] = '\0';
    do {
        if (count && group && count % group == 0)
            digits[--at] = ',';
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
        count++;
    } while (rest);
    line_add(line, number < 0 ? "-" : "");
    line_add(line, digits + at);
}

void line_add_number(struct line *line, int64_t number)
{
    line_add_digits(line, number, 0);
}

void line_add_grouped(struct line *line, int64_t number)
{
    line_add_digits(line, number, 3);
}

void line_write(struct line *line, int descriptor)
{
    int saved_errno = errno;
    own_write_all(descriptor, line->text, line->length);
    line->length = 0;
    errno = saved_errno;
}

void line_add_totals(struct line *line, const struct count_figures *figures, const char *what)
{
    line_add(line, what);
    line_add(line, ", total: ");
    line_add_grouped(line, (int64_t)figures->requested_bytes);
    line_add(line, figures->peak_error_bytes ? ", peak: ~" : ", peak: ");
    line_add_grouped(line, figures->peak_bytes);
    line_add(line, ", current: ");
    line_add_grouped(line, figures->current_bytes);
}

static void line_add_calls(struct line *line, const struct count_figures *figures)
{
    static const char *const names[COUNT_KINDS] = {
        ", malloc: ", ", calloc: ", ", realloc: ", ", aligned: ", ", free: ", ", failed: "};
    for (unsigned kind = 0; kind < COUNT_KINDS; kind++) {
        if (figures->calls[kind] == 0 && kind != COUNT_MALLOC && kind != COUNT_FREE)
            continue;
        line_add(line, names[kind]);
        line_add_grouped(line, (int64_t)figures->calls[kind]);
    }
    line_add(line, ", threads: ");
    line_add_grouped(line, (int64_t)figures->threads);
    if (figures->lost) {
        line_add(line, ", not counted: ");
        line_add_grouped(line, (int64_t)figures->lost);
    }
}

/* The name comes from the program, so characters that could control a terminal become '?'. */
static void line_add_name(struct line *line, const char name[COUNT_NAME_BYTES])
{
    for (unsigned i = 0; i < COUNT_NAME_BYTES && name[i]; i++)
        line_add(line, (char[]){name[i] >= ' ' && name[i] <= '~' ? name[i] : '?', '\0'});
}

void line_add_in_front(struct line *line, const struct count_state *state)
{
    line_add(line, ", not counted: another malloc is in front, that of ");
    line_add_name(line, state->in_front);
}

void line_add_process(struct line *line, const struct count_state *state,
                      const struct count_figures *figures, const char *what)
{
    line_add(line, "tidemark count ### ");
    line_add_name(line, state->program);
    line_add(line, "[");
    line_add_number(line, state->pid);
    line_add(line, "] ");
    if (count_nothing_came(state)) {
        line_add(line, what);
        line_add_in_front(line, state);
        return;
    }
    line_add_totals(line, figures, what);
    line_add_calls(line, figures);
}
