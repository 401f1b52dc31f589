/* truth: sick
 * what: a pattern is compiled for each line behind two wrappers, and no regfree
 * expect: leak-lost leak-growth
 * wrapper: xregcomp pattern_new */
#include "truth.h"
#include <regex.h>

NOINLINE static void xregcomp(regex_t *pattern, const char *text)
{
    if (regcomp(pattern, text, REG_EXTENDED))
        abort();
}

NOINLINE static regex_t *pattern_new(const char *text)
{
    regex_t *pattern = malloc(sizeof *pattern);
    xregcomp(pattern, text);
    return pattern;
}

NOINLINE static int line_matches(const char *line, const char *text)
{
    regex_t *pattern = pattern_new(text); /* guilty: line_matches */
    int found = regexec(pattern, line, 0, NULL, 0) == 0;
    if (found)
        regfree(pattern);
    free(pattern);
    return found;
}

NOINLINE static size_t config_check(void)
{
    regex_t *pattern = pattern_new("^[a-z]+=[0-9]+$");
    size_t found = regexec(pattern, "limit=7", 0, NULL, 0) == 0;
    regfree(pattern);
    free(pattern);
    return found;
}

int main(void)
{
    size_t found = config_check();
    char line[100];
    for (int i = 0; i < 1500; i++) {
        snprintf(line, sizeof line, "item %d of a list", i);
        found += (size_t)line_matches(line, i % 3 ? "^(a|b)+[0-9]*$" : "^item [0-9]+");
        pace(i, 2);
    }
    printf("%zu\n", found);
    return 0;
}
