/* SQL that pages ask about profiles (query.h): one statement at a time, on a thread of its own,
 * while its connection sleeps. A question whose page has gone is ended.
 *
 *   request ─ questions_add ─▶ question ─ questions_await ─▶ answered, or not yet: the connection is
 *                                                            suspended until it is
 *
 * The database of the profile that was asked last stays open. Thread-safe. Inside the room. */
#ifndef TIDEMARK_SERVER_QUESTIONS_H
#define TIDEMARK_SERVER_QUESTIONS_H

#include "base/strbuf.h"
#include "server/parts.h"

struct questions;
struct question;

enum { QUESTIONS_MOST = 32 }; /* with more, pages are told to try again */

/* 0 or -errno. */
int questions_begin(struct questions **out);
/* Ends what is under way and wakes everyone: they are told PART_CLOSED. What does not end in 2 s
 * runs until the process ends. */
void questions_close(struct questions *questions);
/* When no request is under way any more. NULL is allowed. */
void questions_free(struct questions *questions);

/* A question about the profile at `path`; `sql` "": lists what can be asked. NULL: out of memory,
 * or there are too many. */
struct question *questions_add(struct questions *questions, const char *path, const char *sql);
/* For the handler of a connection's request: PART_READY with a copy of the answer, PART_FAILED with
 * the sentence in `why`, PART_AWAITED or PART_CLOSED. */
enum part_state questions_await(struct questions *questions, struct question *question,
                                struct waiter *waiter, struct strbuf *answer, struct strbuf *why);
/* The request has ended. NULL is allowed. */
void questions_remove(struct questions *questions, struct question *question);

#endif
