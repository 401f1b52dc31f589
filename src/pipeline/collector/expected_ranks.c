/* A list of pidfds (expected_ranks.h), each of them a kept descriptor of the quota. They are polled
 * whenever the collector wakes up. */
#include "collector/expected_ranks.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/array.h"
#include "collector/job_place.h"
#include "collector/quota.h"
#include "procfs/process.h"

void expected_ranks_add(struct expected_ranks *ranks, pid_t pid)
{
    array_need_bare_room(&ranks->list, &ranks->room, ranks->count, sizeof *ranks->list);
    bool keeps = quota_keep(1);
    int pidfd = keeps ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (keeps && pidfd < 0)
        quota_release(1);
    struct expected_rank *rank = &ranks->list[ranks->count++];
    *rank = (struct expected_rank){.pid = pid, .pidfd = pidfd};
    job_place_identify(&rank->launcher, pid, NULL);
}

static const struct launcher *expected_ranks_find(const struct expected_ranks *ranks, pid_t pid)
{
    for (size_t i = 0; i < ranks->count; i++)
        if (ranks->list[i].pid == pid)
            return &ranks->list[i].launcher;
    return NULL;
}

const struct launcher *expected_ranks_of(const struct expected_ranks *ranks, pid_t pid)
{
    enum { MOST_ANCESTORS = 64 };
    const struct launcher *found = NULL;
    for (int i = 0; i < MOST_ANCESTORS && pid > 1 && !found; i++) {
        found = expected_ranks_find(ranks, pid);
        if (!found && process_parent(pid, &pid) < 0)
            break;
    }
    return found;
}

static bool expected_ranks_lives(const struct expected_rank *rank)
{
    struct pollfd ends = {.fd = rank->pidfd, .events = POLLIN};
    if (rank->pidfd >= 0)
        return poll(&ends, 1, 0) <= 0;
    return kill(rank->pid, 0) == 0 || errno != ESRCH;
}

static void expected_ranks_forget(struct expected_ranks *ranks, size_t index)
{
    if (ranks->list[index].pidfd >= 0) {
        close(ranks->list[index].pidfd);
        quota_release(1);
    }
    ranks->list[index] = ranks->list[--ranks->count];
}

size_t expected_ranks_reap(struct expected_ranks *ranks)
{
    for (size_t i = 0; i < ranks->count;)
        if (expected_ranks_lives(&ranks->list[i]))
            i++;
        else
            expected_ranks_forget(ranks, i);
    return ranks->count;
}

void expected_ranks_release(struct expected_ranks *ranks)
{
    while (ranks->count)
        expected_ranks_forget(ranks, ranks->count - 1);
    free(ranks->list);
    *ranks = (struct expected_ranks){0};
}
