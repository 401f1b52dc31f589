/* Writes and parses the entry of one process (entry.h). An entry is text, one field a line, and a
 * table maps fields to the struct. Each state is written under a draft's name and renamed over the
 * one before. */
#include "jobdir/entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/alive.h"
#include "base/new_file.h"
#include "base/regular.h"
#include "base/memory.h"
#include "base/whole.h"

#define FIRST_LINE "tidemark entry "
enum { FORMAT_VERSION = 1 };

/* The last line. An entry without it was cut off. */
#define LAST_LINE "."

enum entry_kind { TEXT, FILE_NAME, NUMBER };

struct entry_field {
    const char *name;
    size_t length; /* of the name: an entry is compared with all of them, line by line */
    enum entry_kind kind;
    size_t offset;
};

#define FIELD(name, kind)                                                                          \
    {                                                                                              \
#name, sizeof #name - 1, kind, offsetof(struct entry, name)                                \
    }
/* clang-format off */
static const struct entry_field fields[] = {
    FIELD(job, FILE_NAME),     FIELD(session, TEXT),       FIELD(launcher, TEXT),
    FIELD(rank, NUMBER),       FIELD(ranks, NUMBER),       FIELD(local_rank, NUMBER),
    FIELD(node, NUMBER),       FIELD(is_launcher, NUMBER), FIELD(host, TEXT),
    FIELD(boot, TEXT),         FIELD(pid, NUMBER),         FIELD(parent_pid, NUMBER),
    FIELD(program, TEXT),      FIELD(profile, FILE_NAME),  FIELD(trace, FILE_NAME),
    FIELD(start_unix_ns, NUMBER), FIELD(uses_mpi, NUMBER), FIELD(locked, NUMBER),
    FIELD(end, TEXT),          FIELD(end_status, NUMBER),  FIELD(duration_ns, NUMBER),
    FIELD(peak_bytes, NUMBER), FIELD(alloc_count, NUMBER), FIELD(error, TEXT),
    FIELD(recorded_ranks, TEXT), FIELD(pid_namespace, NUMBER),
};
/* clang-format on */
enum { FIELDS = sizeof fields / sizeof *fields };

static char **entry_text_at(const struct entry *entry, const struct entry_field *field)
{
    return (char **)((char *)entry + field->offset);
}

static int64_t *entry_number_at(const struct entry *entry, const struct entry_field *field)
{
    return (int64_t *)((char *)entry + field->offset);
}

void entry_init(struct entry *entry)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].kind == NUMBER)
            *entry_number_at(entry, &fields[i]) = -1;
        else
            *entry_text_at(entry, &fields[i]) = NULL;
}

void entry_release(struct entry *entry)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].kind != NUMBER)
            free(*entry_text_at(entry, &fields[i]));
    entry_init(entry);
}

/* ---- As text ---- */

/* On one line: a backslash and a newline are escaped, all else stands as it is. */
static void entry_add_text(struct strbuf *out, const char *text)
{
    for (; *text; text++)
        if (*text == '\\' || *text == '\n')
            strbuf_add_string(out, *text == '\n' ? "\\n" : "\\\\");
        else
            strbuf_add_char(out, *text);
}

void entry_format(const struct entry *entry, struct strbuf *out)
{
    strbuf_addf(out, FIRST_LINE "%d\n", FORMAT_VERSION);
    for (size_t i = 0; i < FIELDS; i++) {
        const struct entry_field *field = &fields[i];
        if (field->kind == NUMBER && *entry_number_at(entry, field) >= 0)
            strbuf_addf(out, "%s %lld\n", field->name, (long long)*entry_number_at(entry, field));
        if (field->kind == NUMBER || !*entry_text_at(entry, field))
            continue;
        strbuf_addf(out, "%s ", field->name);
        entry_add_text(out, *entry_text_at(entry, field));
        strbuf_add_char(out, '\n');
    }
    strbuf_add_string(out, LAST_LINE "\n");
}

/* ---- From text ---- */

/* Decimal digits alone, at most INT64_MAX. */
static int entry_parse_number(const char *bytes, size_t count, int64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] < '0' || bytes[i] > '9' || __builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, bytes[i] - '0', value))
            return -EBADMSG;
    }
    return count ? 0 : -EBADMSG;
}

static int entry_parse_text(const char *bytes, size_t count, char **value)
{
    char *to = *value = malloc(count + 1);
    if (!to)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        bool escaped = bytes[i] == '\\';
        if (!bytes[i] || (escaped && ++i == count))
            return -EBADMSG;
        if (escaped && bytes[i] != 'n' && bytes[i] != '\\')
            return -EBADMSG;
        *to++ = escaped && bytes[i] == 'n' ? '\n' : bytes[i];
    }
    *to = '\0';
    return 0;
}

/* A name with a directory in it is refused, since it could lie outside the job. */
static bool entry_is_file_name(const char *name)
{
    return *name && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}

static int entry_parse_value(struct entry *entry, const struct entry_field *field,
                             const char *bytes, size_t count)
{
    if (field->kind == NUMBER) {
        if (*entry_number_at(entry, field) >= 0)
            return -EBADMSG; /* said twice */
        return entry_parse_number(bytes, count, entry_number_at(entry, field));
    }
    char **text = entry_text_at(entry, field);
    if (*text)
        return -EBADMSG;
    int error = entry_parse_text(bytes, count, text);
    if (error) {
        free(*text);
        *text = NULL;
        return error;
    }
    return field->kind == FILE_NAME && !entry_is_file_name(*text) ? -EBADMSG : 0;
}

static int entry_parse_line(struct entry *entry, const char *line, size_t count)
{
    const char *blank = memchr(line, ' ', count);
    if (!blank)
        return -EBADMSG;
    size_t name = (size_t)(blank - line);
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].length == name && !memcmp(fields[i].name, line, name))
            return entry_parse_value(entry, &fields[i], blank + 1, count - name - 1);
    return 0; /* of a later release */
}

static int entry_check_first(const char *line, size_t count)
{
    int64_t version;
    size_t fixed = strlen(FIRST_LINE);
    if (count < fixed || memcmp(line, FIRST_LINE, fixed) ||
        entry_parse_number(line + fixed, count - fixed, &version) || version < 1)
        return -EBADMSG;
    return version > FORMAT_VERSION ? -EPROTONOSUPPORT : 0;
}

static bool entry_is_last(const char *line, size_t count)
{
    return count == strlen(LAST_LINE) && !memcmp(line, LAST_LINE, count);
}

static int entry_parse_lines(struct entry *entry, const char *at, const char *end)
{
    for (bool first = true;; first = false) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            return -EBADMSG;
        size_t count = (size_t)(newline - at);
        if (!first && entry_is_last(at, count))
            return newline + 1 == end ? 0 : -EBADMSG;
        int error = first ? entry_check_first(at, count) : entry_parse_line(entry, at, count);
        if (error)
            return error;
        at = newline + 1;
    }
}

/* False for what no process can be: a rank outside its job, an entry without the job or the
 * process. */
static bool entry_makes_sense(const struct entry *entry)
{
    return entry->job && entry->pid > 0 && entry->profile && entry->pid <= INT32_MAX &&
           entry->rank <= INT32_MAX && entry->ranks <= INT32_MAX && entry->ranks != 0 &&
           (entry->ranks < 0 || entry->rank < entry->ranks);
}

int entry_parse(struct entry *entry, const char *bytes, size_t count)
{
    entry_init(entry);
    int error = count ? entry_parse_lines(entry, bytes, bytes + count) : -EBADMSG;
    if (!error && !entry_makes_sense(entry))
        error = -EBADMSG;
    if (error)
        entry_release(entry);
    return error;
}

int entry_read(struct entry *entry, const char *path)
{
    struct regular_file file;
    entry_init(entry);
    int error = regular_file_read(&file, path, ENTRY_MOST_BYTES);
    if (error)
        return error_set(error, "cannot read the entry %s: %s", path,
                         error == -EINVAL  ? "it is no regular file"
                         : error == -EFBIG ? "it is too long for an entry"
                                           : strerror(-error));
    error = entry_parse(entry, file.bytes, file.count);
    free(file.bytes);
    if (error == -EPROTONOSUPPORT)
        return error_set(error, "the entry %s was written by a newer tidemark", path);
    if (error)
        return error_set(error, "the entry %s is damaged: what it says of its process is lost",
                         path);
    return 0;
}

/* ---- Writing ---- */

struct entry_writer {
    char *path, *draft;
    int held; /* the descriptor whose lock says that we live; -1: none */
};

/* ".NAME.new" beside it: a dot, so that readers do not take it for an entry. */
static char *entry_draft_name(const char *path)
{
    struct strbuf name = STRBUF_INIT;
    const char *slash = strrchr(path, '/');
    size_t directory = slash ? (size_t)(slash - path) + 1 : 0;
    strbuf_add(&name, path, directory);
    strbuf_addf(&name, ".%s.new", path + directory);
    return strbuf_detach(&name);
}

static int entry_write_draft(int fd, const struct entry *entry)
{
    struct strbuf text = STRBUF_INIT;
    entry_format(entry, &text);
    int error = whole_write(fd, text.data, text.length);
    strbuf_release(&text);
    return error;
}

/* The draft takes the entry's place, and its descriptor is the caller's. What has the draft's name
 * is a dead writer's of our entry, or was put there. */
static int entry_draft_replace(const struct entry_writer *writer, struct new_file *draft)
{
    unlink(writer->draft);
    int error = new_file_place(draft, writer->draft);
    if (!error && rename(writer->draft, writer->path) < 0) {
        error = -errno;
        unlink(writer->draft);
    }
    return error;
}

/* Are locks of this file system seen through another descriptor of the file? */
static bool entry_lock_is_seen(int fd)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int other = open(path, O_RDONLY | O_CLOEXEC);
    bool is = other >= 0 && alive_is_locked(other);
    if (other >= 0)
        close(other);
    return is;
}

/* Only the file of the first state is locked. The last state replaces it, and says itself how the
 * process ended. */
static int entry_publish_first(struct entry_writer *writer, struct entry *entry)
{
    struct new_file draft;
    int error = new_file_open(&draft, writer->draft);
    if (error)
        return error;
    int fd = draft.fd;
    unlink(writer->draft); /* a dead writer's */
    alive_lock(fd);
    alive_lock_subject(fd);
    entry->locked = entry_lock_is_seen(fd);
    error = entry_write_draft(fd, entry);
    if (!error)
        error = new_file_place(&draft, writer->path); /* which one process alone can */
    writer->held = draft.fd < 0 ? fd : -1;
    new_file_release(&draft);
    return error;
}

static int entry_fail_writing(const char *path, int error)
{
    return error_set(error, "cannot write %s: %s", path, strerror(-error));
}

int entry_writer_open(struct entry_writer **out, const char *path, struct entry *entry)
{
    struct entry_writer *writer = memory_need(calloc(1, sizeof *writer));
    *writer = (struct entry_writer){strdup(path), entry_draft_name(path), -1};
    int error = entry_publish_first(writer, entry);
    if (error) {
        entry_writer_close(writer);
        return entry_fail_writing(path, error);
    }
    *out = writer;
    return 0;
}

int entry_writer_update(struct entry_writer *writer, const struct entry *entry)
{
    struct new_file draft;
    int error = new_file_open(&draft, writer->draft);
    int fd = draft.fd;
    if (!error)
        error = entry_write_draft(fd, entry);
    if (!error)
        error = entry_draft_replace(writer, &draft);
    if (fd >= 0 && draft.fd < 0 && close(fd) < 0 && !error)
        error = -errno; /* NFS says here that there is no room */
    new_file_release(&draft);
    return error ? entry_fail_writing(writer->path, error) : 0;
}

void entry_writer_close(struct entry_writer *writer)
{
    if (!writer)
        return;
    if (writer->held >= 0)
        close(writer->held);
    free(writer->draft);
    free(writer->path);
    free(writer);
}

void entry_writer_discard(struct entry_writer *writer)
{
    if (writer)
        unlink(writer->path);
    entry_writer_close(writer);
}

void entry_writer_process_ended(struct entry_writer *writer)
{
    if (writer->held >= 0)
        alive_unlock_subject(writer->held);
}

bool entry_is_held(const char *path)
{
    return alive_is_written(path);
}

bool entry_process_is_held(const char *path)
{
    return alive_subject_is_locked(path);
}
