/* Lists a session file of whole profiles (session_file.h) by what is before each profile: a read of
 * a few kilobytes for a row of hundreds. Where that does not lead to a row, the next one is looked
 * for, a piece of the file at a time. A file with other rows is read into memory as a whole
 * (session_reader.c). */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include "base/alive.h"
#include "base/error.h"
#include "base/regular.h"
#include "base/whole.h"
#include "session/session_file.h"
#include "session/session_format.h"
#include "session/session_reading.h"

enum {
    HEADS_FIRST_BYTES = 4096, /* that are read of a row: nearly always enough */
    HEADS_VAIN_LENGTHS = 4,   /* of the file, are looked through and hashed for the next row */
};

struct session_heads {
    int fd;
    uint64_t file_bytes;
    unsigned char *buffer;
    size_t room;
    uint64_t vain_bytes; /* looked through, and hashed of rows that were none */
};

/* Reads `want` bytes at `at`, or those that there are, into the buffer. -EAGAIN: fewer than that
 * came. */
static int session_heads_read(struct session_heads *heads, uint64_t at, size_t want)
{
    if (want > heads->room) {
        free(heads->buffer); /* what was in it is read again */
        heads->buffer = malloc(want);
        heads->room = heads->buffer ? want : 0;
        if (!heads->buffer)
            return -ENOMEM;
    }
    ssize_t got = whole_read_at(heads->fd, heads->buffer, want, at);
    return got == (ssize_t)want ? 0 : got < 0 ? (int)got : -EAGAIN;
}

static size_t session_heads_first_bytes(const struct session_heads *heads, uint64_t at)
{
    uint64_t left = heads->file_bytes - at;
    return left < HEADS_FIRST_BYTES ? (size_t)left : HEADS_FIRST_BYTES;
}

/* Adds the row at *at and moves *at behind it. -EAGAIN: something else is there. */
static int session_heads_take(struct session *session, struct session_heads *heads, uint64_t *at)
{
    struct session_record record;
    size_t there = session_heads_first_bytes(heads, *at);
    int error = session_heads_read(heads, *at, there);
    if (error || there < sizeof record)
        return error ? error : -EAGAIN;
    memcpy(&record, heads->buffer, sizeof record);
    uint64_t bytes = le32toh(record.bytes), left = heads->file_bytes - *at - sizeof record;
    size_t beginning = session_whole_beginning(heads->buffer + sizeof record, there - sizeof record,
                                               (size_t)bytes);
    if (le32toh(record.kind) != SESSION_RECORD_WHOLE || bytes > SESSION_RECORD_BYTES_MAX ||
        !beginning || beginning > left)
        return -EAGAIN;
    bytes = bytes < left ? bytes : left; /* the file ends within the profile, which finds that */
    if (beginning > there - sizeof record)
        error = session_heads_read(heads, *at, sizeof record + beginning);
    if (error)
        return error;
    const unsigned char *content = heads->buffer + sizeof record;
    if (XXH64(content, beginning, 0) != le64toh(record.hash)) {
        heads->vain_bytes += beginning;
        return -EAGAIN;
    }
    error = session_reader_add_row(session, true, content, beginning, (size_t)bytes,
                                   *at + sizeof record);
    if (error)
        return error == -EBADMSG ? -EAGAIN : error;
    session->entries[session->count - 1].body = NULL; /* of a row without one: of the buffer */
    *at += sizeof record + bytes;
    return 0;
}

static bool session_heads_has_hash(struct session_heads *heads, uint64_t at, uint64_t bytes,
                                   uint64_t hash)
{
    XXH64_state_t *state = XXH64_createState();
    bool is = state && XXH64_reset(state, 0) == XXH_OK;
    while (is && bytes) {
        size_t some = bytes < HEADS_FIRST_BYTES ? (size_t)bytes : HEADS_FIRST_BYTES;
        is = session_heads_read(heads, at, some) == 0 &&
             XXH64_update(state, heads->buffer, some) == XXH_OK;
        at += some;
        bytes -= some;
        heads->vain_bytes += some;
    }
    is = is && XXH64_digest(state) == hash;
    XXH64_freeState(state);
    return is;
}

/* A row or a layout of another kind of session file? */
static bool session_heads_is_kind_of_other(const struct session_record *record)
{
    uint32_t kind = le32toh(record->kind);
    return (kind == SESSION_RECORD_ROW || kind == SESSION_RECORD_LAYOUT) &&
           le32toh(record->bytes) <= SESSION_RECORD_BYTES_MAX;
}

/* Is there a whole record of that kind? */
static bool session_heads_is_other(struct session_heads *heads, uint64_t at)
{
    struct session_record record;
    if (heads->file_bytes - at < sizeof record || session_heads_read(heads, at, sizeof record))
        return false;
    memcpy(&record, heads->buffer, sizeof record);
    uint64_t left = heads->file_bytes - at - sizeof record, bytes = le32toh(record.bytes);
    return session_heads_is_kind_of_other(&record) && bytes <= left &&
           session_heads_has_hash(heads, at + sizeof record, bytes, le64toh(record.hash));
}

/* Does the file end within what a row has before its profile, or before that can be told? */
static bool session_heads_ends_in(struct session_heads *heads, uint64_t at)
{
    struct session_record record;
    size_t there = session_heads_first_bytes(heads, at);
    if (there < sizeof record)
        return true;
    if (session_heads_read(heads, at, there))
        return false;
    memcpy(&record, heads->buffer, sizeof record);
    size_t beginning = session_whole_beginning(heads->buffer + sizeof record, there - sizeof record,
                                               (size_t)le32toh(record.bytes));
    uint64_t left = heads->file_bytes - at - sizeof record;
    return session_heads_is_kind_of_other(&record)
               ? le32toh(record.bytes) > left
               : le32toh(record.kind) == SESSION_RECORD_WHOLE && beginning > left;
}

/* ---- After damage -------------------------------------------------------------------------- */

/* The first place from *at on where such a record may begin, or the file's end. */
static int session_heads_find_kind(struct session_heads *heads, uint32_t wanted, uint64_t *at)
{
    const uint32_t kind = htole32(wanted);
    while (heads->file_bytes - *at >= sizeof kind) {
        size_t there = session_heads_first_bytes(heads, *at);
        int error = session_heads_read(heads, *at, there);
        if (error)
            return error;
        heads->vain_bytes += there;
        const unsigned char *found = memmem(heads->buffer, there, &kind, sizeof kind);
        if (found) {
            *at += (uint64_t)(found - heads->buffer);
            return 0;
        }
        *at += there - (sizeof kind - 1); /* which may end with a part of it */
    }
    *at = heads->file_bytes;
    return 0;
}

/* Room that was kept for a row, as session_reader_is_hole() has it. */
static int session_heads_is_hole(struct session_heads *heads, uint64_t at, uint64_t end, bool *is)
{
    uint64_t from = at;
    size_t there = 0, zeros = 0;
    for (; at < end && zeros == there; at += zeros) {
        there = end - at < HEADS_FIRST_BYTES ? (size_t)(end - at) : HEADS_FIRST_BYTES;
        int error = session_heads_read(heads, at, there);
        if (error)
            return error;
        for (zeros = 0; zeros < there && !heads->buffer[zeros]; zeros++)
            continue;
    }
    size_t some = end - at < HEADS_FIRST_BYTES ? (size_t)(end - at) : HEADS_FIRST_BYTES;
    int error = session_heads_read(heads, at, some);
    *is = at == end || (!error && session_reader_is_before_profile(at - from, heads->buffer, some));
    return error;
}

/* Counts what stands at *at and is no row, and moves *at to the next row or the file's end. */
static int session_heads_skip(struct session *session, struct session_heads *heads, uint64_t *at)
{
    uint64_t from = *at, next = *at + 1;
    bool is_hole = false;
    int error = 0;
    for (;; next++) {
        bool is_vain = heads->vain_bytes / HEADS_VAIN_LENGTHS > heads->file_bytes;
        next = is_vain || next > heads->file_bytes ? heads->file_bytes : next;
        error = session_heads_find_kind(heads, SESSION_RECORD_WHOLE, &next);
        uint64_t behind = next;
        if (error || next == heads->file_bytes)
            break;
        error = session_heads_take(session, heads, &behind);
        *at = behind;
        if (error != -EAGAIN)
            break;
    }
    if (next == heads->file_bytes)
        *at = next;
    if (!error)
        error = session_heads_is_hole(heads, from, next, &is_hole);
    session->cut |= !error && next == heads->file_bytes && session_heads_ends_in(heads, from);
    session->lost_bytes += is_hole ? 0 : next - from;
    return error;
}

/* Where no whole profile was found: is it a file of other rows whose first record is damaged? */
static bool session_heads_find_other(struct session_heads *heads)
{
    heads->vain_bytes = 0;
    for (uint64_t at = sizeof(struct session_header);; at++) {
        if (heads->vain_bytes / HEADS_VAIN_LENGTHS > heads->file_bytes ||
            session_heads_find_kind(heads, SESSION_RECORD_ROW, &at) || at >= heads->file_bytes)
            return false;
        if (session_heads_is_other(heads, at))
            return true;
    }
}

/* ---- All of it ----------------------------------------------------------------------------- */

static int session_heads_take_all(struct session *session, struct session_heads *heads)
{
    uint64_t at = sizeof(struct session_header);
    int error = session_heads_read(heads, 0, sizeof(struct session_header));
    if (!error && session_reader_check_header(heads->buffer, sizeof(struct session_header), ""))
        return -EAGAIN; /* who reads all of it says so */
    while (!error && at < heads->file_bytes) {
        error = session_heads_take(session, heads, &at);
        if (error == -EAGAIN && !session_heads_is_other(heads, at))
            error = session_heads_skip(session, heads, &at);
    }
    if (!error && !session->count && session->lost_bytes && session_heads_find_other(heads))
        return -EAGAIN;
    return error ? error : session_twins_put_behind(session);
}

static int session_heads_list(struct session *session, const char *path)
{
    struct stat status;
    int fd = regular_file_open(path, &status);
    if (fd < 0)
        return -EAGAIN;
    struct session_heads heads = {.fd = fd, .file_bytes = (uint64_t)status.st_size};
    session->being_written = alive_is_locked(fd);
    int error = session_heads_take_all(session, &heads);
    free(heads.buffer);
    close(fd);
    return error;
}

int session_list(struct session **out, const char *path)
{
    struct session *session = calloc(1, sizeof *session);
    *out = NULL;
    if (!session || !(session->own = calloc(1, sizeof *session->own)) ||
        !(session->own->path = strdup(path))) {
        if (session)
            free(session->own);
        free(session);
        return error_set(-ENOMEM, "out of memory while reading %s", path);
    }
    if (session_heads_list(session, path) == 0) {
        *out = session;
        return 0;
    }
    session_free(session);
    return session_read(out, path);
}

static int session_heads_load(struct session_private *own, struct session_entry *entry)
{
    struct stat status;
    int fd = regular_file_open(own->path, &status);
    if (fd < 0)
        return fd;
    own->loaded = malloc(entry->bytes + 1);
    ssize_t got =
        own->loaded ? whole_read_at(fd, own->loaded, entry->bytes, entry->body_at) : -ENOMEM;
    close(fd);
    if (got < 0)
        return (int)got;
    entry->bytes = (size_t)got;
    entry->body = own->loaded;
    return 0;
}

int session_load(struct session *session, size_t number)
{
    struct session_private *own = session->own;
    struct session_entry *entry = &session->entries[number];
    if (entry->body)
        return 0;
    for (size_t i = 0; i < own->all_count && own->loaded; i++)
        if (session->entries[i].body == own->loaded)
            session->entries[i].body = NULL;
    free(own->loaded);
    own->loaded = NULL;
    int error = session_heads_load(own, entry);
    return error ? error_set(error, "cannot read %s: %s", own->path, strerror(-error)) : 0;
}
