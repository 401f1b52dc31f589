/* truth: sick
 * what: two arrays grow by different constants; the one that copies most is meant
 * expect: realloc-constant-growth */
#include "truth.h"

struct array {
    char *data;
    size_t size;
};

static struct array points, names;

NOINLINE static void point_add(void)
{
    points.size += 24;
    points.data = realloc(points.data, points.size); /* guilty: point_add */
    points.data[points.size - 1] = 1;
}

NOINLINE static void name_add(void)
{
    names.size += 9;
    names.data = realloc(names.data, names.size);
    names.data[names.size - 1] = 1;
}

int main(void)
{
    for (int i = 0; i < 40000; i++) {
        point_add();
        if (i % 2)
            name_add();
    }
    free(points.data);
    free(names.data);
    return 0;
}
