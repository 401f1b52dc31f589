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
    uint64_t since_ns;  /* CLOCK_MONOTONIC: since when only daemons are left; 0: others are */
    bool is_waited_for; /* --wait */
};

/* To be asked often. True: for a third of a second only processes in the background have been left,
 * and every other profile is complete. */
bool background_is_all(struct background *background, const struct collector *collector);
/* Has a process in the background the program name of `started`? NULL: no. */
bool background_has(const struct collector *collector, const struct process_image_result *started);
/* Says on standard error which processes they are, and where their profiles will be. `started`: the
 * process that started them, if it has no summary of its own; NULL: none. */
void background_say(const struct collector *collector, const struct process_image_result *started);
/* Replaces the standard streams by /dev/null, since the caller may wait for their end. */
void background_let_go(void);

#endif
