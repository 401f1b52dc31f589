/* truth: sick
 * what: a vector of three numbers is asked for by vec_new in each step of a loop
 * expect: short-lived-blocks
 * wrapper: vec_new my_malloc */
#include "truth.h"

NOINLINE static void *my_malloc(size_t size)
{
    void *block = malloc(size);
    if (!block)
        abort();
    return block;
}

NOINLINE static double *vec_new(double x, double y, double z)
{
    double *v = my_malloc(3 * sizeof *v);
    v[0] = x;
    v[1] = y;
    v[2] = z;
    return v;
}

NOINLINE static double *mesh_node(int i)
{
    return vec_new(i, i + 1, i + 2);
}

NOINLINE static double force_on(const double *node)
{
    double *d = vec_new(node[0] - 1, node[1] - 2, node[2] - 3); /* guilty: force_on */
    use(d);
    double f = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    free(d);
    return f;
}

int main(void)
{
    static double *nodes[1000];
    double sum = 0;
    for (int i = 0; i < 1000; i++) {
        nodes[i] = mesh_node(i);
        use(nodes[i]);
    }
    for (int i = 0; i < 400000; i++)
        sum += force_on(nodes[i % 1000]);
    for (int i = 0; i < 1000; i++)
        free(nodes[i]);
    printf("%g\n", sum);
    return 0;
}
