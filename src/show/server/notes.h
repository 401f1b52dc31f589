/* Notes and saved views of who looks at a profile, in a file beside it: PROFILE.notes, its owner's
 * alone. What they say is the page's (doc/API.md, "Notes"); here it is a text that begins as notes
 * do. Thread-safe. Inside the room. */
#ifndef TIDEMARK_SERVER_NOTES_H
#define TIDEMARK_SERVER_NOTES_H

#include <pthread.h>
#include "base/strbuf.h"
#include "server/served_list.h"

enum {
    NOTES_MOST = 1 << 20, /* bytes */
    NOTES_TAG = 20,       /* "0123456789abcdef", with its quotes */
};

/* Held while a file is looked at and replaced. */
struct notes_lock {
    pthread_mutex_t lock;
};

/* What is there, and its tag; where nothing is, notes without any. 0; -EEXIST: it is no file of
 * notes; else -errno; with a sentence in error_text(). */
int notes_read(const struct served_source *shown, struct strbuf *out, char tag[NOTES_TAG]);
/* `known`: the tag of what it takes the place of; NULL: none is known. 0; -ESTALE: something else
 * is there meanwhile; -EINVAL: these are no notes; -EEXIST: what is there is none; else -errno;
 * likewise. */
int notes_write(struct notes_lock *lock, const struct served_source *shown,
                const struct strbuf *text, const char *known);

#endif
