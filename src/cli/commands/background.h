/* What a recorded program leaves running in the background: daemons, in sessions of their own. When
 * the program has ended and only they are left, `tidemark record` returns as the program did; the
 * collector records them to their ends. */
#ifndef TIDEMARK_COMMANDS_BACKGROUND_H
#define TIDEMARK_COMMANDS_BACKGROUND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct collector;
struct process_image_result;

struct background {
    pid_t session;      /* record's own; what is in it belongs to the foreground */
    uint64_t since_ns;  /* CLOCK_MONOTONIC: from then on nothing else was left; 0: something is */
    bool is_waited_for; /* --wait */
};

/* To be asked often. True: for a third of a second only processes in the background have been left,
 * and every other profile is complete. */
bool background_is_all(struct background *background, const struct collector *collector);
/* Is one of them what `started` has become: of the same name? NULL: no. */
bool background_has(const struct collector *collector, const struct process_image_result *started);
/* Which processes they are, and where their profiles will be. `started`: what started them and is
 * not summed up by itself; NULL: none. To standard error. */
void background_say(const struct collector *collector, const struct process_image_result *started);
/* The standard streams are the caller's, who may wait for their end: they are let go. */
void background_let_go(void);

#endif
