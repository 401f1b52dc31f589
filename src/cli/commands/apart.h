/* The collector of `tidemark record` as a process of its own. record stays the program's parent and
 * has little memory: when the collector is killed, the program's output and exit status are its own
 * all the same, and record finishes the files that were begun. When record is killed, the collector
 * goes on to the program's end. They talk over a pair of sockets, whose end tells each that the
 * other is gone. */
#ifndef TIDEMARK_COMMANDS_APART_H
#define TIDEMARK_COMMANDS_APART_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/strbuf.h"
#include "collector/unsaved.h"

/* What record tells the collector. */
enum apart_news {
    APART_STARTED,  /* the program: its pid */
    APART_ENDED,    /* its wait status */
    APART_SNAPSHOT, /* take one: the signal that asked */
    APART_LEAVE,    /* complete what there is: the user waits */
};

struct apart_message {
    int news, value;
};

struct apart {
    int socket;              /* -1: none */
    pid_t pid;               /* record's: the collector */
    bool goes_on;            /* the collector goes on alone, with what runs in the background */
    bool silent;             /* its socket is closed: its end will be seen by SIGCHLD */
    bool ended;              /* the collector has, with */
    int wait_status;         /* this */
    struct strbuf begun;     /* record's: COLLECTOR_FILE_…, a 0 after each */
    struct unsaved *unsaved; /* of both: processes that have no file or row yet; NULL: not kept */
    struct strbuf lost;      /* record's, when it died: what they were, as people read it */
};

/* Starts the collector, a session of its own. 0 in the collector; its pid; or -errno. */
pid_t apart_fork(struct apart *apart);
void apart_release(struct apart *apart);

/* ---- In record ---- */

/* Until it can collect. False: it cannot, and has said why. */
bool apart_wait_until_ready(struct apart *apart);
void apart_tell(const struct apart *apart, enum apart_news news, int value);
/* Takes what the collector says. Never waits. */
void apart_hear_begun(struct apart *apart);
/* Has it ended? With `wait` it has. */
bool apart_see_end(struct apart *apart, bool wait);
bool apart_died(const struct apart *apart);
/* What follows the death of the collector: no file needs a log any more, and each says why its
 * recording was cut short. */
void apart_finish_files(struct apart *apart);
/* One sentence. `had_ended`: the program, before the collector. `next`: where processes are
 * recorded that have begun since; NULL: nowhere. */
void apart_say_death(const struct apart *apart, bool had_ended, const char *next);

/* ---- In the collector ---- */

void apart_say_ready(const struct apart *apart);
/* What still runs is recorded without record, which need not wait. */
void apart_go_on_alone(struct apart *apart);
/* 1: there is one; 0: not now; -1: record is gone. */
int apart_hear(const struct apart *apart, struct apart_message *message);

#endif
