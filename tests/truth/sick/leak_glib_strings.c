/* truth: sick
 * what: g_strdup_printf without g_free at each key press
 * expect: leak-lost leak-growth
 * link: glib-2.0 */
#include "truth.h"
#include <glib.h>

NOINLINE static guint label_update(int i)
{
    gchar *text = g_strdup_printf("<b>Entry number %d</b>", i); /* guilty: label_update */
    return g_str_hash(text);
}

int main(void)
{
    guint sum = 0;
    GHashTable *table = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    for (int i = 0; i < 20000; i++) {
        sum += label_update(i);
        g_hash_table_replace(table, GINT_TO_POINTER(i % 500),
                             g_strdup("a value that is freed with its entry"));
        pace(i, 50);
    }
    g_hash_table_destroy(table);
    return sum == 42;
}
