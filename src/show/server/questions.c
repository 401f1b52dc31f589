/* One thread answers questions (questions.h). Questions are a linked list under a mutex, the oldest
 * first. The one that is being answered belongs to the thread until it is done, even if its request
 * has ended. */
#include "server/questions.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/now.h"
#include "profile/profile.h"
#include "query/query.h"

enum {
    LOOK_MS = 100, /* between two looks at who still waits */
    END_S = 2, /* how long the end waits: SQLite checks for interruption only between its steps */
};

enum questions_stage { STAGE_ASKED, STAGE_WORKED_ON, STAGE_ANSWERED };

struct question {
    struct question *next;
    char *path, *sql;
    struct waiter *waiter; /* NULL: no connection sleeps for it */
    enum questions_stage stage;
    bool is_removed; /* while it was worked on */
    int error;
    struct strbuf answer; /* or the sentence */
};

struct questions {
    pthread_mutex_t lock; /* all but `asked` and what follows it, which are the thread's */
    pthread_cond_t woken;
    struct question *first;
    size_t count;
    bool closing, has_asker, is_left; /* a step of SQLite's did not end */
    pthread_t asker;
    struct query *asked;
    char *asked_path;
    uint64_t asked_signature, looked_ms;
};

static void questions_free_one(struct question *question)
{
    free(question->path);
    free(question->sql);
    strbuf_release(&question->answer);
    free(question);
}

struct question *questions_add(struct questions *questions, const char *path, const char *sql)
{
    struct question *question = calloc(1, sizeof *question), **link = &questions->first;
    if (!question)
        return NULL;
    *question = (struct question){.path = strdup(path), .sql = strdup(sql), .answer = STRBUF_INIT};
    pthread_mutex_lock(&questions->lock);
    bool fits = question->path && question->sql && questions->count < QUESTIONS_MOST;
    if (fits) {
        while (*link)
            link = &(*link)->next;
        *link = question;
        questions->count++;
    }
    pthread_mutex_unlock(&questions->lock);
    if (fits)
        return question;
    questions_free_one(question);
    return NULL;
}

void questions_remove(struct questions *questions, struct question *question)
{
    if (!question)
        return;
    pthread_mutex_lock(&questions->lock);
    struct question **link = &questions->first;
    while (*link && *link != question)
        link = &(*link)->next;
    if (*link) {
        *link = question->next;
        questions->count--;
    }
    question->waiter = NULL;
    question->is_removed = true;
    bool is_ours = question->stage != STAGE_WORKED_ON;
    pthread_mutex_unlock(&questions->lock);
    if (is_ours)
        questions_free_one(question);
}

enum part_state questions_await(struct questions *questions, struct question *question,
                                struct waiter *waiter, struct strbuf *answer, struct strbuf *why)
{
    enum part_state state = PART_AWAITED;
    pthread_mutex_lock(&questions->lock);
    bool is_ended = questions->closing && question->error == -ECANCELED;
    if (question->stage == STAGE_ANSWERED && !is_ended) {
        state = question->error ? PART_FAILED : PART_READY;
        strbuf_add(question->error ? why : answer, question->answer.data, question->answer.length);
    } else if (questions->closing) {
        state = PART_CLOSED;
    } else {
        question->waiter = waiter;
        MHD_suspend_connection(waiter->connection);
        pthread_cond_signal(&questions->woken);
    }
    pthread_mutex_unlock(&questions->lock);
    return state;
}

/* Under the lock. */
static void questions_wake(struct question *question)
{
    struct waiter *waiter = question->waiter;
    question->waiter = NULL;
    if (waiter)
        MHD_resume_connection(waiter->connection);
}

/* Under the lock. */
static bool questions_is_wanted_now(const struct questions *questions, struct question *question)
{
    if (question->waiter && waiter_has_gone(question->waiter)) {
        question->waiter->is_gone = true;
        questions_wake(question);
    }
    return question->waiter && !questions->closing;
}

/* ---- Answering ----------------------------------------------------------------------------- */

struct answering {
    struct questions *questions;
    struct question *question;
};

static bool questions_is_wanted(void *context)
{
    const struct answering *answering = context;
    struct questions *questions = answering->questions;
    uint64_t now = now_monotonic_ns() / 1000000;
    if (now - questions->looked_ms < LOOK_MS)
        return true;
    questions->looked_ms = now;
    pthread_mutex_lock(&questions->lock);
    bool wanted = questions_is_wanted_now(questions, answering->question);
    pthread_mutex_unlock(&questions->lock);
    return wanted;
}

/* Opens the profile's database, again if the file has changed. */
static int questions_open(struct questions *questions, const char *path)
{
    uint64_t signature = profile_signature(path);
    if (questions->asked && !strcmp(questions->asked_path, path) &&
        questions->asked_signature == signature)
        return 0;
    query_close(questions->asked);
    free(questions->asked_path);
    questions->asked = NULL;
    questions->asked_signature = signature;
    questions->asked_path = strdup(path);
    if (!questions->asked_path)
        return error_set(-ENOMEM, "out of memory");
    return query_open(&questions->asked, path);
}

/* Nobody else uses the question meanwhile. */
static int questions_answer(struct questions *questions, struct question *question,
                            struct strbuf *answer)
{
    enum { COLUMNS = 100 };
    struct answering answering = {questions, question};
    struct query_bounds bounds = query_page_bounds;
    char *written = NULL;
    size_t length = 0;
    bounds.is_wanted = questions_is_wanted;
    bounds.context = &answering;
    int error = questions_open(questions, question->path);
    FILE *stream = error ? NULL : open_memstream(&written, &length);
    if (!error && !stream)
        error = error_set(-ENOMEM, "out of memory");
    if (!error)
        error = *question->sql ? query_sheet(questions->asked, question->sql, &bounds, stream)
                               : query_list(questions->asked, stream, COLUMNS);
    if (stream)
        fclose(stream);
    if (error)
        strbuf_add_string(answer, error_text());
    else
        strbuf_add(answer, written, length);
    free(written);
    return error;
}

static void questions_answer_one(struct questions *questions, struct question *question)
{
    struct strbuf answer = STRBUF_INIT;
    question->stage = STAGE_WORKED_ON;
    pthread_mutex_unlock(&questions->lock);
    int error = questions_answer(questions, question, &answer);
    pthread_mutex_lock(&questions->lock);
    question->error = error;
    question->answer = answer;
    question->stage = STAGE_ANSWERED;
    questions_wake(question);
    if (question->is_removed)
        questions_free_one(question);
}

/* The oldest question that a connection waits for. Under the lock. */
static struct question *questions_next(const struct questions *questions)
{
    struct question *at = questions->first;
    while (at && (at->stage != STAGE_ASKED || !questions_is_wanted_now(questions, at)))
        at = at->next;
    return at;
}

static void *questions_ask(void *context)
{
    struct questions *questions = context;
    pthread_mutex_lock(&questions->lock);
    while (!questions->closing) {
        struct question *question = questions_next(questions);
        if (question)
            questions_answer_one(questions, question);
        else
            pthread_cond_wait(&questions->woken, &questions->lock);
    }
    pthread_mutex_unlock(&questions->lock);
    return NULL;
}

/* ---- All of it ----------------------------------------------------------------------------- */

int questions_begin(struct questions **out)
{
    struct questions *questions = calloc(1, sizeof *questions);
    if (!questions)
        return -ENOMEM;
    pthread_mutex_init(&questions->lock, NULL);
    pthread_cond_init(&questions->woken, NULL);
    questions->has_asker = !pthread_create(&questions->asker, NULL, questions_ask, questions);
    if (!questions->has_asker) {
        questions_free(questions);
        return -EAGAIN;
    }
    *out = questions;
    return 0;
}

/* A thread that does not end is left running until the process ends, with all data that it may use.
 */
static void questions_end_asker(struct questions *questions)
{
    struct timespec until = now_later(CLOCK_REALTIME, END_S * 1000000000ull);
    questions->is_left = pthread_timedjoin_np(questions->asker, NULL, &until) != 0;
    if (questions->is_left)
        pthread_detach(questions->asker);
}

void questions_close(struct questions *questions)
{
    pthread_mutex_lock(&questions->lock);
    questions->closing = true;
    pthread_cond_signal(&questions->woken);
    pthread_mutex_unlock(&questions->lock);
    if (questions->has_asker)
        questions_end_asker(questions);
    questions->has_asker = false;
    pthread_mutex_lock(&questions->lock);
    for (struct question *at = questions->first; at; at = at->next)
        questions_wake(at);
    pthread_mutex_unlock(&questions->lock);
}

void questions_free(struct questions *questions)
{
    if (!questions || questions->is_left)
        return;
    query_close(questions->asked);
    free(questions->asked_path);
    pthread_cond_destroy(&questions->woken);
    pthread_mutex_destroy(&questions->lock);
    free(questions);
}
