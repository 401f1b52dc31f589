// truth: sick
// what: neighbour lists leak at each rebuild, asked for through a class's smalloc (as LAMMPS has it)
// expect: leak-lost leak-growth
// wrapper: Memory::smalloc, Memory::create, smalloc, create
#include "truth.h"

class Memory
{
  public:
    NOINLINE void *smalloc(size_t bytes, const char *name)
    {
        void *block = malloc(bytes);
        if (!block) {
            fprintf(stderr, "no memory for %s\n", name);
            exit(1);
        }
        return block;
    }
    template <typename T> NOINLINE T *create(int n, const char *name)
    {
        return static_cast<T *>(smalloc(sizeof(T) * n, name));
    }
    NOINLINE void destroy(void *block)
    {
        free(block);
    }
};

static Memory memory;

NOINLINE static void force_compute(int step)
{
    double *f = memory.create<double>(300, "force");
    f[step % 300] = step;
    use(f);
    memory.destroy(f);
}

NOINLINE static void neighbour_build(int step)
{
    int *list = memory.create<int>(500, "list"); // guilty: neighbour_build
    list[step % 500] = step;
    use(list);
}

int main()
{
    for (int step = 0; step < 8000; step++) {
        force_compute(step);
        if (step % 2 == 0)
            neighbour_build(step);
        pace(step, 20);
    }
}
