/* The collector's own control group, where that is the program's.
 *
 * A program that fits into its limit of memory or processes must fit with us beside it. So the
 * collector leaves a limited group that it shares with the program for one around it, where it may.
 * It makes no group. Where it may not leave, its memory is bounded (memory_bound.h), and the
 * recording ends before the kernel would kill. */
#ifndef TIDEMARK_COLLECTOR_OWN_GROUP_H
#define TIDEMARK_COLLECTOR_OWN_GROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The first program has come: leaves what limits both. */
void own_group_leave(pid_t program);

/* Whether we share the program's memory limit, little is left of it, and we have much of it.
 * `bounded`: our memory will not grow. Any thread; reads files at most every few milliseconds. */
bool own_group_is_short(uint64_t now_ns, bool bounded);

/* The limit of the group that contains the program and us and cannot be left; 0: there is none. */
uint64_t own_group_limit_bytes(void);

/* Before own_group_leave(): another process that it moves together with this one. */
void own_group_take_along(pid_t companion);

/* Whether twice so many bytes are left. True where no limit is shared with the program. */
bool own_group_has_room(uint64_t bytes);

#endif
