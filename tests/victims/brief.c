/* Children that are gone as soon as they are there: 100 forks, one allocation each. Each has a
 * profile, and none keeps the recording from ending. */
#include "victim.h"
#include <sys/wait.h>

VICTIM void victim_brief_child(void)
{
    keep(malloc(15));
    barrier();
}

VICTIM void victim_parent(void)
{
    for (int i = 0; i < 10; i++)
        keep(malloc(100));
    barrier();
}

int main(void)
{
    for (int i = 0; i < 100; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (!pid) {
            victim_brief_child();
            _exit(0);
        }
        CHECK(waitpid(pid, NULL, 0) == pid);
    }
    victim_parent();
    return 0;
}
