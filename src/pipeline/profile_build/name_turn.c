/* Takes a turn by binding one of a few socket names that the machine has only once (name_turn.h),
 * and asks again after a pause that grows. */
#include "profile_build/name_turn.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "symbols/symbols.h"

enum { MOST_TURNS = 16, FIRST_PAUSE_MS = 5, LAST_PAUSE_MS = 80, PATIENCE_MS = 1500 };

static bool name_turns_taken;
static atomic_bool name_turn_was_in_vain; /* no turn came in time: further calls do not wait */

void name_turns_take(void)
{
    name_turns_taken = true;
}

bool name_turns_are_taken(void)
{
    return name_turns_taken;
}

static int name_turn_try(enum name_turn_kind kind, int number)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int bytes = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "tidemark-names-%u-%d-%d",
                         (unsigned)geteuid(), (int)kind, number);
    int turn = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)bytes);
    if (turn >= 0 && bind(turn, (const struct sockaddr *)&name, length) == 0)
        return turn;
    if (turn >= 0)
        close(turn);
    return -1;
}

/* As many as there are processors. */
static int name_turn_count(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors < 1 ? 1 : processors > MOST_TURNS ? MOST_TURNS : (int)processors;
}

int name_turn_begin(enum name_turn_kind kind)
{
    if (!name_turns_taken)
        return -1; /* counting processors would read a file */
    int count = name_turn_count(), first = (int)getpid() % count, pause_ms = FIRST_PAUSE_MS;
    int patience_ms = atomic_load(&name_turn_was_in_vain) ? 0 : PATIENCE_MS;
    for (int waited = 0; waited <= patience_ms && !symbols_have_given_up(); waited += pause_ms) {
        for (int i = 0; i < count; i++) {
            int turn = name_turn_try(kind, (first + i) % count);
            if (turn >= 0)
                return turn;
        }
        pause_ms = 2 * pause_ms < LAST_PAUSE_MS ? 2 * pause_ms : LAST_PAUSE_MS;
        const struct timespec pause = {0, pause_ms * 1000000l};
        if (patience_ms)
            nanosleep(&pause, NULL);
    }
    atomic_store(&name_turn_was_in_vain, true);
    return -1;
}

void name_turn_end(int turn)
{
    if (turn >= 0)
        close(turn);
}
