/* Rows of a session file that stand twice, as in a copy that was appended to its original: each is
 * listed once, where it stands first. The others are kept behind those that are listed, because a
 * profile may be packed against one of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "session/session_file.h"
#include "session/session_format.h"
#include "session/session_reading.h"

struct session_twin {
    uint64_t hash; /* of all that makes a row that row */
    size_t number;
};

static int session_twins_compare(const void *one, const void *two)
{
    const struct session_twin *a = one, *b = two;
    int order = (a->hash > b->hash) - (a->hash < b->hash);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

/* A whole profile can be packed in two ways, and is then of other bytes. */
static uint64_t session_twins_hash(const struct session_entry *entry)
{
    struct session_row_head head = session_format_head(&entry->row, 0, entry->layout);
    uint64_t hash = XXH64(&head, sizeof head, 0);
    hash = XXH64(entry->row.program, strlen(entry->row.program), hash);
    hash = XXH64(entry->row.command, strlen(entry->row.command), hash);
    return entry->is_whole ? XXH64(entry->said, entry->said_bytes, hash)
                           : XXH64(entry->body, entry->bytes, hash);
}

static bool session_twins_are(const struct session_entry *one, const struct session_entry *two)
{
    struct session_row_head a = session_format_head(&one->row, 0, one->layout);
    struct session_row_head b = session_format_head(&two->row, 0, two->layout);
    if (one->is_whole != two->is_whole || memcmp(&a, &b, sizeof a) ||
        strcmp(one->row.program, two->row.program) || strcmp(one->row.command, two->row.command))
        return false;
    if (one->is_whole)
        return !strcmp(one->said, two->said);
    return one->bytes == two->bytes && !memcmp(one->body, two->body, one->bytes);
}

/* Moves the entries that are marked behind all others, and keeps the order of both. */
static void session_twins_part(struct session *session, const bool *is_twin,
                               struct session_entry *twins)
{
    size_t kept = 0, moved = 0;
    for (size_t i = 0; i < session->count; i++)
        if (is_twin[i])
            twins[moved++] = session->entries[i];
        else
            session->entries[kept++] = session->entries[i];
    for (size_t i = 0; i < moved; i++)
        session->entries[kept + i] = twins[i];
    session->count = kept;
}

static size_t session_twins_mark(const struct session *session, struct session_twin *rows,
                                 bool *is_twin)
{
    size_t found = 0;
    for (size_t i = 0; i < session->count; i++)
        rows[i] = (struct session_twin){session_twins_hash(&session->entries[i]), i};
    qsort(rows, session->count, sizeof *rows, session_twins_compare);
    for (size_t i = 1, first = 0; i < session->count; i++) {
        if (rows[i].hash == rows[first].hash &&
            session_twins_are(&session->entries[rows[first].number],
                              &session->entries[rows[i].number]))
            found += is_twin[rows[i].number] = true;
        else
            first = i;
    }
    return found;
}

int session_twins_put_behind(struct session *session)
{
    session->own->all_count = session->count;
    if (session->count < 2)
        return 0;
    struct session_twin *rows = malloc(session->count * sizeof *rows);
    bool *is_twin = calloc(session->count, sizeof *is_twin);
    struct session_entry *twins = NULL;
    size_t found = rows && is_twin ? session_twins_mark(session, rows, is_twin) : 0;
    if (found)
        twins = malloc(found * sizeof *twins);
    if (twins)
        session_twins_part(session, is_twin, twins);
    int error = rows && is_twin && (!found || twins) ? 0 : -ENOMEM;
    free(twins);
    free(is_twin);
    free(rows);
    return error;
}
