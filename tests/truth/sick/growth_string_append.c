/* truth: sick
 * what: each line is appended to a page by a realloc to the exact length
 * expect: realloc-constant-growth */
#include "truth.h"

static char *page;
static size_t length;

NOINLINE static void page_append(const char *line)
{
    size_t more = strlen(line);
    page = realloc(page, length + more + 1); /* guilty: page_append */
    memcpy(page + length, line, more + 1);
    length += more;
}

int main(void)
{
    for (int i = 0; i < 40000; i++)
        page_append("<tr><td>one</td><td>two</td></tr>\n");
    printf("%zu\n", length);
    free(page);
    return 0;
}
