/* Numbers as the originals print them: "%'lld" under the user's LC_NUMERIC, so that scripts for the
 * originals read these. The originals set the program's own locale for that. Here the program's
 * locale stays as it is. */
#include "compat/interface.h"
#include "counters/counters.h"

#include <locale.h>
#include <stdio.h>

static locale_t users; /* 0: what the program has */

/* Whoever begins first: what a locale takes is none of the program's memory. */
__attribute__((constructor)) static void by_locale_begin(void)
{
    count_hide(true);
    users = newlocale(LC_NUMERIC_MASK, "", (locale_t)0);
    count_hide(false);
}

void line_add_by_locale(struct line *line, int64_t number)
{
    char text[64];
    locale_t before = users ? uselocale(users) : (locale_t)0;
    snprintf(text, sizeof text, "%'lld", (long long)number);
    if (users)
        uselocale(before);
    line_add(line, text);
}

void line_add_totals_by_locale(struct line *line, const struct count_figures *figures)
{
    if (count_nothing_came(&count_state)) {
        line_add(line, "exiting");
        line_add_in_front(line, &count_state);
        return;
    }
    line_add(line, "exiting, total: ");
    line_add_by_locale(line, (int64_t)figures->requested_bytes);
    line_add(line, ", peak: ");
    line_add_by_locale(line, figures->peak_bytes);
    line_add(line, ", current: ");
    line_add_by_locale(line, figures->current_bytes);
}
