/* Memory that goes in destructors: delete of an object whose members free theirs, each a frame of
 * its own on the path. */
#include "victim.h"
#include <new>

struct victim_leaf {
    int *numbers;
    VICTIM victim_leaf() : numbers(new int[25])
    {
    }
    VICTIM ~victim_leaf()
    {
        delete[] numbers;
        barrier();
    }
};

struct victim_branch {
    victim_leaf *leaf;
    char *text;
    VICTIM victim_branch() : leaf(new victim_leaf), text(static_cast<char *>(malloc(40)))
    {
    }
    VICTIM ~victim_branch()
    {
        free(text);
        delete leaf;
        barrier();
    }
};

struct alignas(64) victim_wide {
    char bytes[128];
};

VICTIM_C void victim_fells(victim_branch *branch)
{
    delete branch;
    barrier();
}

VICTIM_C void victim_fells_wide(victim_wide *wide)
{
    delete wide; /* sized and aligned */
    barrier();
}

/* One thread makes, the next one destroys. */
static victim_branch *handed[64];
static int thread_count;

static void *body(void *argument)
{
    int me = static_cast<int>(reinterpret_cast<intptr_t>(argument));
    for (int i = 0; i < 20; i++) {
        victim_fells(new victim_branch);
        victim_fells_wide(new victim_wide);
        handed[me] = new victim_branch;
        victim_meet();
        victim_fells(handed[(me + 1) % thread_count]);
        victim_meet();
    }
    return nullptr;
}

int main(int argc, char **argv)
{
    thread_count = victim_thread_count(argc, argv);
    victim_in_threads(thread_count, body);
    puts("destructors: done");
    return 0;
}
