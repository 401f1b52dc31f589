/* Prints numbers as the originals do: by "%'lld" with the user's LC_NUMERIC, so that scripts for
 * the originals can read them. The originals change the program's locale for that; here it stays as
 * it is. */
#include "compat/interface.h"
#include "counters/counters.h"

#include <locale.h>
#include <stdio.h>

static locale_t by_locale_users; /* 0: the program's locale is used */

/* A locale's memory does not count as the program's. */
__attribute__((constructor)) static void by_locale_begin(void)
{
    count_hide(true);
    by_locale_users = newlocale(LC_NUMERIC_MASK, "", (locale_t)0);
    count_hide(false);
}

void line_add_by_locale(struct line *line, int64_t number)
{
    char text[64];
    locale_t before = by_locale_users ? uselocale(by_locale_users) : (locale_t)0;
    snprintf(text, sizeof text, "%'lld", (long long)number);
    if (by_locale_users)
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
