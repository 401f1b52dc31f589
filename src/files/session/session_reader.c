/* Reads a session file (session_file.h) into memory and lists its rows. A record that makes no
 * sense is skipped: the next one is looked for byte by byte, by its kind and its hash. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include "base/alive.h"
#include "base/array.h"
#include "base/error.h"
#include "base/regular.h"
#include "base/whole.h"
#include "session/session_file.h"
#include "session/session_format.h"
#include "session/session_reading.h"

/* What is hashed in vain while the next record is looked for, in lengths of the file: more is
 * wanted only by a file that was made for it. */
enum { VAIN_LENGTHS = 4 };

bool session_is_head(const void *head, size_t bytes)
{
    /* Any version: the last character is checked on reading. */
    return bytes >= sizeof(struct session_header) &&
           !memcmp(head, OWN_FILE_SESSION_MAGIC, strlen(OWN_FILE_SESSION_MAGIC) - 1);
}

bool session_is_file(const char *path)
{
    char head[sizeof(struct session_header)];
    struct stat status;
    int fd = regular_file_open(path, &status);
    ssize_t got = fd < 0 ? -1 : pread(fd, head, sizeof head, 0);
    if (fd >= 0)
        close(fd);
    return got > 0 && session_is_head(head, (size_t)got);
}

uint64_t session_layout_name(const void *layout, size_t bytes)
{
    return XXH64(layout, bytes, 0);
}

/* ---- Rows ---------------------------------------------------------------------------------- */

/* A string of the reader's; NULL: no memory. */
static const char *session_reader_text(struct session_private *own, const unsigned char *at,
                                       size_t bytes)
{
    if (!array_make_room(&own->texts, &own->text_room, own->text_count, sizeof *own->texts))
        return NULL;
    char *text = strndup((const char *)at, bytes);
    if (text)
        own->texts[own->text_count++] = text;
    return text;
}

static struct session_row session_reader_row_of(const struct session_row_head *head)
{
    uint32_t end = le32toh(head->end);
    return (struct session_row){
        .pid = (pid_t)le32toh(head->pid),
        .parent = (pid_t)le32toh(head->parent),
        .start_unix_ns = le64toh(head->start_unix_ns),
        .duration_ns = {le64toh(head->duration_ns)},
        .peak_bytes = {le64toh(head->peak_bytes)},
        .resident_bytes = {le64toh(head->resident_bytes)},
        .alloc_count = {le64toh(head->alloc_count)},
        .alloc_bytes = {le64toh(head->alloc_bytes)},
        .end = end < SESSION_ENDS ? (int)end : SESSION_END_UNKNOWN,
        .end_status = (int)le32toh(head->end_status),
        .lossy = le32toh(head->flags) & SESSION_ROW_LOSSY,
    };
}

size_t session_whole_beginning(const unsigned char *content, size_t bytes, size_t all)
{
    struct session_whole_head head;
    if (bytes < sizeof head)
        return 0;
    memcpy(&head, content, sizeof head);
    uint64_t own = le32toh(head.row.head_bytes);
    uint64_t beginning = own + le32toh(head.row.program_bytes) + le32toh(head.row.command_bytes) +
                         le32toh(head.entry_bytes);
    bool is_one = own >= sizeof head && beginning <= SESSION_WHOLE_BEGINNING_MAX &&
                  beginning + le32toh(head.profile_bytes) == all;
    return is_one ? (size_t)beginning : 0;
}

/* The entry of a job, between the command and the profile. */
static bool session_reader_take_said(struct session *session, struct session_entry *entry,
                                     const unsigned char *at, size_t said, const unsigned char *end)
{
    entry->is_whole = true;
    entry->said = session_reader_text(session->own, at, said);
    entry->said_bytes = entry->said ? strlen(entry->said) : 0;
    if (entry->body)
        entry->body = at + said < end ? at + said : end;
    entry->body_at += said;
    entry->bytes -= said;
    return entry->said;
}

int session_reader_add_row(struct session *session, bool is_whole, const unsigned char *at,
                           size_t bytes, size_t all, uint64_t file_at)
{
    struct session_private *own = session->own;
    struct session_whole_head head = {.entry_bytes = 0};
    if (bytes < (is_whole ? sizeof head : sizeof head.row))
        return -EBADMSG;
    memcpy(&head, at, is_whole ? sizeof head : sizeof head.row);
    uint64_t texts_at = le32toh(head.row.head_bytes), program = le32toh(head.row.program_bytes),
             command = le32toh(head.row.command_bytes), said = le32toh(head.entry_bytes);
    if (texts_at < (is_whole ? sizeof head : sizeof head.row) ||
        texts_at + program + command + said > bytes)
        return -EBADMSG;
    if (!array_make_room(&session->entries, &own->room, session->count, sizeof *session->entries))
        return -ENOMEM;
    size_t body_at = (size_t)(texts_at + program + command);
    struct session_whole_model model = {0};
    if (is_whole && texts_at >= sizeof head + sizeof model)
        memcpy(&model, at + sizeof head, sizeof model);
    struct session_entry *entry = &session->entries[session->count];
    *entry = (struct session_entry){.row = session_reader_row_of(&head.row),
                                    .layout = le64toh(head.row.layout),
                                    .body = bytes == all ? at + body_at : NULL,
                                    .bytes = all - body_at,
                                    .body_at = file_at + body_at,
                                    .model_at = le64toh(model.at)};
    entry->row.program = session_reader_text(own, at + texts_at, program);
    entry->row.command = session_reader_text(own, at + texts_at + program, command);
    bool is_there = entry->row.program && entry->row.command;
    if (is_whole && is_there)
        is_there = session_reader_take_said(session, entry, at + body_at, said, at + bytes);
    session->count += is_there;
    return is_there ? 0 : -ENOMEM;
}

static int session_reader_add_layout(struct session_private *own, const unsigned char *at,
                                     size_t bytes)
{
    if (!array_make_room(&own->layouts, &own->layout_room, own->layout_count, sizeof *own->layouts))
        return -ENOMEM;
    own->layouts[own->layout_count++] =
        (struct session_layout_entry){session_layout_name(at, bytes), at, bytes};
    return 0;
}

/* ---- Records ------------------------------------------------------------------------------- */

enum session_found { FOUND_RECORD, FOUND_NONE, FOUND_CUT };

/* A whole profile, of which the file may end within: the profile has checksums of its own. */
static enum session_found session_reader_look_whole(struct session_private *own, size_t at,
                                                    uint64_t hash, size_t *bytes)
{
    size_t left = own->bytes - at;
    if (*bytes > SESSION_RECORD_BYTES_MAX)
        return FOUND_NONE;
    size_t there = *bytes < left ? *bytes : left;
    size_t beginning = session_whole_beginning(own->image + at, there, *bytes);
    if (!beginning)
        return FOUND_NONE;
    if (beginning > left)
        return FOUND_CUT;
    if (XXH64(own->image + at, beginning, 0) == hash) {
        *bytes = there;
        return FOUND_RECORD;
    }
    own->vain_bytes += beginning;
    return FOUND_NONE;
}

/* What stands at `at`: a record whose content is *bytes long, one that the file ends within, or
 * neither. */
static enum session_found session_reader_look(struct session_private *own, size_t at,
                                              uint32_t *kind, size_t *bytes)
{
    struct session_record record;
    size_t left = own->bytes - at;
    if (left < sizeof record)
        return FOUND_CUT;
    memcpy(&record, own->image + at, sizeof record);
    *kind = le32toh(record.kind);
    *bytes = le32toh(record.bytes);
    if (*kind == SESSION_RECORD_WHOLE)
        return session_reader_look_whole(own, at + sizeof record, le64toh(record.hash), bytes);
    if ((*kind != SESSION_RECORD_ROW && *kind != SESSION_RECORD_LAYOUT) ||
        *bytes > SESSION_RECORD_BYTES_MAX)
        return FOUND_NONE;
    if (*bytes > left - sizeof record)
        return FOUND_CUT;
    if (XXH64(own->image + at + sizeof record, *bytes, 0) == le64toh(record.hash))
        return FOUND_RECORD;
    own->vain_bytes += *bytes;
    return FOUND_NONE;
}

static int session_reader_add(struct session *session, uint32_t kind, size_t at, size_t bytes)
{
    const unsigned char *content = session->own->image + at;
    int error = kind == SESSION_RECORD_LAYOUT
                    ? session_reader_add_layout(session->own, content, bytes)
                    : session_reader_add_row(session, kind == SESSION_RECORD_WHOLE, content, bytes,
                                             bytes, at);
    if (error == -EBADMSG)
        session->lost_bytes += sizeof(struct session_record) + bytes;
    return error == -ENOMEM ? error : 0;
}

/* Where the next record is, or the file's end. */
static size_t session_reader_find_next(struct session_private *own, size_t at)
{
    uint32_t kind;
    size_t bytes;
    while (++at < own->bytes && own->vain_bytes / VAIN_LENGTHS <= own->bytes)
        if (session_reader_look(own, at, &kind, &bytes) == FOUND_RECORD)
            return at;
    return own->bytes;
}

bool session_reader_is_before_profile(uint64_t zeros, const unsigned char *at, size_t bytes)
{
    enum { BEGINNING = sizeof(struct session_record) + sizeof(struct session_whole_head) };
    const size_t magic_at = 8, magic_bytes = strlen(OWN_FILE_PACK_MAGIC);
    return zeros >= BEGINNING && bytes >= magic_at + magic_bytes &&
           !memcmp(at + magic_at, OWN_FILE_PACK_MAGIC, magic_bytes);
}

/* Room that was kept for a row and never written, or only as far as the profile, which comes before
 * the row's beginning: its process has a file of its own. */
static bool session_reader_is_hole(const struct session_private *own, size_t at, size_t end)
{
    size_t from = at;
    while (at < end && !own->image[at])
        at++;
    return at == end || session_reader_is_before_profile(at - from, own->image + at, end - at);
}

static int session_reader_read_records(struct session *session)
{
    struct session_private *own = session->own;
    size_t at = sizeof(struct session_header);
    int error = 0;
    while (at < own->bytes && !error) {
        uint32_t kind;
        size_t bytes;
        enum session_found found = session_reader_look(own, at, &kind, &bytes);
        if (found == FOUND_RECORD) {
            at += sizeof(struct session_record);
            error = session_reader_add(session, kind, at, bytes);
            at += bytes;
            continue;
        }
        size_t next = session_reader_find_next(own, at);
        session->cut = found == FOUND_CUT && next == own->bytes;
        session->lost_bytes += session_reader_is_hole(own, at, next) ? 0 : next - at;
        at = next;
    }
    return error;
}

/* ---- The file ------------------------------------------------------------------------------ */

static int session_reader_fill(struct session_private *own, int fd)
{
    struct stat stat;
    if (fstat(fd, &stat))
        return -errno;
    if (!S_ISREG(stat.st_mode))
        return -EINVAL;
    own->image = malloc(stat.st_size ? (size_t)stat.st_size : 1);
    if (!own->image)
        return -ENOMEM;
    ssize_t got = whole_read_at(fd, own->image, (size_t)stat.st_size, 0);
    if (got < 0)
        return (int)got;
    own->bytes = (size_t)got;
    return 0;
}

int session_reader_check_header(const void *head, size_t bytes, const char *path)
{
    struct session_header header;
    if (!session_is_head(head, bytes))
        return error_set(-EBADMSG, "%s is no session file", path);
    memcpy(&header, head, sizeof header);
    if (memcmp(header.magic, OWN_FILE_SESSION_MAGIC, sizeof header.magic) || header.flags)
        return error_set(-EPROTONOSUPPORT,
                         "%s was written by a newer version of tidemark: update to read it", path);
    return 0;
}

/* Before all of it is read. */
static int session_reader_check_first(int fd, const char *path)
{
    struct session_header header;
    ssize_t got = whole_read_at(fd, &header, sizeof header, 0);
    if (got < 0)
        return error_set((int)got, "cannot read %s: %s", path, strerror((int)-got));
    return session_reader_check_header(&header, (size_t)got, path);
}

static int session_reader_read(struct session *session, const char *path)
{
    struct stat status;
    int fd = regular_file_open(path, &status);
    if (fd < 0)
        return error_set(fd, "cannot open %s: %s", path,
                         fd == -EINVAL ? "it is no regular file" : strerror(-fd));
    session->being_written =
        alive_is_locked(fd); /* before it is read: then a cut row is no damage */
    int error = session_reader_check_first(fd, path);
    if (!error) {
        error = session_reader_fill(session->own, fd);
        if (error)
            error_set(error, "cannot read %s: %s", path, strerror(-error));
    }
    close(fd);
    if (error)
        return error;
    error = session_reader_read_records(session);
    if (!error)
        error = session_twins_put_behind(session);
    return error ? error_set(error, "out of memory while reading %s", path) : 0;
}

int session_read(struct session **out, const char *path)
{
    struct session *session = calloc(1, sizeof *session);
    *out = NULL;
    if (!session || !(session->own = calloc(1, sizeof *session->own))) {
        free(session);
        return error_set(-ENOMEM, "out of memory while reading %s", path);
    }
    int error = session_reader_read(session, path);
    if (error)
        session_free(session);
    else
        *out = session;
    return error;
}

bool session_find_body(const struct session *session, uint64_t at, size_t *number)
{
    for (size_t i = 0; i < session->own->all_count; i++)
        if (session->entries[i].is_whole && session->entries[i].body_at == at) {
            *number = i;
            return true;
        }
    return false;
}

void session_free(struct session *session)
{
    if (!session)
        return;
    for (size_t i = 0; i < session->own->text_count; i++)
        free(session->own->texts[i]);
    free(session->own->texts);
    free(session->own->layouts);
    free(session->own->image);
    free(session->own->path);
    free(session->own->loaded);
    free(session->own);
    free(session->entries);
    free(session);
}

const void *session_layout(const struct session *session, uint64_t name, size_t *bytes)
{
    for (size_t i = 0; i < session->own->layout_count; i++) {
        const struct session_layout_entry *layout = &session->own->layouts[i];
        if (layout->name == name) {
            *bytes = layout->count;
            return layout->bytes;
        }
    }
    return NULL;
}
