/* What the two readers of a session file share: session_reader.c has all of the file in memory,
 * session_heads.c only what is before whole profiles. Inside the room. */
#ifndef TIDEMARK_SESSION_SESSION_READING_H
#define TIDEMARK_SESSION_SESSION_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "session/session_file.h"
#include "session/session_format.h"

struct session_layout_entry {
    uint64_t name;
    const void *bytes;
    size_t count;
};

struct session_private {
    unsigned char *image;
    size_t bytes;
    uint64_t vain_bytes; /* hashed, of records that were none */
    size_t room;
    char **texts; /* of the rows, as strings */
    size_t text_count, text_room;
    struct session_layout_entry *layouts;
    size_t layout_count, layout_room;
    size_t all_count; /* of entries, with those behind `count` (session_twins_put_behind()) */
    char *path;       /* of a file that was only listed; else NULL */
    void *loaded;     /* the body that was asked for last */
};

/* Adds the row whose content begins at `at`: `bytes` of it are there, and `all` are in the file,
 * from `file_at` on. 0, -EBADMSG or -ENOMEM. */
int session_reader_add_row(struct session *session, bool is_whole, const unsigned char *at,
                           size_t bytes, size_t all, uint64_t file_at);

/* How many bytes of a whole profile's record of `all` bytes are before the profile; 0: it is none.
 * `bytes` of it are there. */
size_t session_whole_beginning(const unsigned char *content, size_t bytes, size_t all);

/* Is room that has so many zeros, and behind them these bytes, that of a row whose profile was
 * written and whose beginning was not? */
bool session_reader_is_before_profile(uint64_t zeros, const unsigned char *at, size_t bytes);

/* Rows that stand twice are listed once: the others come behind the first `count`, where only the
 * reader sees them. 0 or -ENOMEM. */
int session_twins_put_behind(struct session *session);

/* 0 or -errno with a sentence. */
int session_reader_check_header(const void *head, size_t bytes, const char *path);

#endif
