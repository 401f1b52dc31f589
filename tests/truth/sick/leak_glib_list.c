/* truth: sick
 * what: the cells of a GList of results are dropped at each query; only what they point to is freed
 * expect: leak-lost leak-growth
 * link: glib-2.0 */
#include "truth.h"
#include <glib.h>

struct result {
    int row;
    char text[40];
};

NOINLINE static void query_run(int query)
{
    GList *results = NULL;
    for (int row = 0; row < 20; row++) {
        struct result *result = g_malloc0(sizeof *result);
        result->row = query + row;
        results = g_list_prepend(results, result); /* guilty: query_run */
    }
    for (GList *each = results; each; each = each->next)
        g_free(each->data);
}

int main(void)
{
    for (int i = 0; i < 2500; i++) {
        query_run(i);
        pace(i, 5);
    }
    return 0;
}
