/* truth: healthy
 * what: GLib's strings, hash table and slices, each freed
 * link: glib-2.0 */
#include "truth.h"
#include <glib.h>

int main(void)
{
    GHashTable *table = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (int i = 0; i < 20000; i++) {
        g_hash_table_replace(table, g_strdup_printf("key %d", i % 700), g_strdup("a value"));
        GString *text = g_string_new("some text");
        for (int k = 0; k < 20; k++)
            g_string_append(text, " and more of it");
        g_string_free(text, TRUE);
        pace(i, 50);
    }
    g_hash_table_destroy(table);
    return 0;
}
