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
    bool silent;             /* the collector has closed its socket: SIGCHLD tells of its end */
    bool ended;              /* the collector has ended */
    int wait_status;         /* of the collector, when `ended` */
    struct strbuf begun;     /* record's: COLLECTOR_FILE_…, a 0 after each */
    struct unsaved *unsaved; /* shared: processes that have no file or row yet; NULL: not kept */
    struct strbuf
        lost; /* record's, after the collector's death: those processes, as text for people */
};

/* Starts the collector in a session of its own. Returns 0 in the collector, its pid in record, or
 * -errno. */
pid_t apart_fork(struct apart *apart);
void apart_release(struct apart *apart);

/* ---- In record ---- */

/* Waits until the collector can collect. False: it cannot, and has said why. */
bool apart_wait_until_ready(struct apart *apart);
void apart_tell(const struct apart *apart, enum apart_news news, int value);
/* Reads the messages that have come. Never waits. */
void apart_hear_begun(struct apart *apart);
/* Has the collector ended? With `wait` this waits until it has. */
bool apart_see_end(struct apart *apart, bool wait);
bool apart_died(const struct apart *apart);
/* After the collector's death: completes the files that it began, so that none needs a log any
 * more, and writes into each why the recording was cut short. */
void apart_finish_files(struct apart *apart);
/* Prints one sentence. `had_ended`: the program ended before the collector did. `next`: where the
 * processes that begin from now on are recorded; NULL: nowhere. */
void apart_say_death(const struct apart *apart, bool had_ended, const char *next);

/* ---- In the collector ---- */

void apart_say_ready(const struct apart *apart);
/* Tells record not to wait: the collector alone records the processes that still run. */
void apart_go_on_alone(struct apart *apart);
/* Reads a message. 1: there is one; 0: not now; -1: record is gone. */
int apart_hear(const struct apart *apart, struct apart_message *message);

#endif
