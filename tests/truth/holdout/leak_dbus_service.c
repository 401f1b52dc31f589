/* truth: sick
 * what: variants of GLib are made for each signal of a service and never given up
 * expect: leak-lost leak-growth
 * link: glib-2.0
 * run: service idle 0.5; ask 3500; idle 0.8; ask 2000; idle 0.5 */
#include "truth.h"
#include <glib.h>

NOINLINE static gsize signal_emit(const char *line)
{
    GVariant *value = g_variant_new_string(line); /* guilty: signal_emit */
    return g_variant_get_size(value);
}

NOINLINE static guint line_read(const char *line)
{
    gchar *copy = g_strstrip(g_strdup(line));
    guint hash = g_str_hash(copy);
    g_free(copy);
    return hash;
}

int main(void)
{
    char line[200];
    gsize sum = 0;
    while (fgets(line, sizeof line, stdin))
        sum += signal_emit(line) + line_read(line) % 2;
    return sum == 42;
}
