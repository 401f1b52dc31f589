/* Notes and saved views of the people who look at a profile, in a file beside it, PROFILE.notes,
 * for its owner alone. The page decides about the contents (doc/API.md, "Notes"); here they are a
 * text that begins as notes do. Thread-safe. Inside the room. */
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

/* Reads the notes and their tag; empty notes where there is no file. 0; -EEXIST: it is no file of
 * notes; else -errno; with a sentence in error_text(). */
int notes_read(const struct served_source *shown, struct strbuf *out, char tag[NOTES_TAG]);
/* `known`: the tag of the notes that are replaced; NULL: not known. 0; -ESTALE: other notes have
 * been written meanwhile; -EINVAL: the text is no notes; -EEXIST: the file is no notes; else
 * -errno; with a sentence in error_text(). */
int notes_write(struct notes_lock *lock, const struct served_source *shown,
                const struct strbuf *text, const char *known);

#endif
