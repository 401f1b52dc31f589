/* Tells whether a file is one of ours (own_file.h). The first hundred bytes are compared with
 * the beginnings of our formats. A database is ours if its header has our number, or if its log
 * is still beside it. */
#include "base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "base/old_file.h"
#include "base/regular.h"
#include "base/strbuf.h"

enum {
    HEAD_BYTES = 100, /* SQLite's header is as long */
    APPLICATION_ID_AT = 68,
    PACK_MAGIC_AT = 8,
};

/* Returns how many bytes could be read, or -errno. `head` is filled up with zeros. */
static ssize_t own_file_head(const char *path, unsigned char head[HEAD_BYTES])
{
    memset(head, 0, HEAD_BYTES);
    struct stat status;
    int fd = regular_file_open(path, &status);
    if (fd < 0)
        return fd;
    ssize_t got = pread(fd, head, HEAD_BYTES, 0);
    if (got < 0)
        got = -errno;
    close(fd);
    return got;
}

/* While a recording runs, or after its collector was killed, the id may still stand in the log
 * alone. */
static bool own_file_has_log(const char *path)
{
    struct strbuf log = STRBUF_INIT;
    strbuf_addf(&log, "%s-wal", path);
    bool has = access(log.data, F_OK) == 0;
    strbuf_release(&log);
    return has;
}

static bool own_file_is_database(const char *path, const unsigned char head[HEAD_BYTES])
{
    const unsigned char *at = head + APPLICATION_ID_AT;
    unsigned id = (unsigned)at[0] << 24 | (unsigned)at[1] << 16 | (unsigned)at[2] << 8 | at[3];
    if (memcmp(head, "SQLite format 3", 16) != 0)
        return false;
    return id == OWN_FILE_APPLICATION_ID || (id == 0 && own_file_has_log(path));
}

static bool own_file_is_head(const char *path, const unsigned char head[HEAD_BYTES])
{
    /* the last byte of the magic of a packing and of a session is a version, which may differ */
    return !memcmp(head + PACK_MAGIC_AT, OWN_FILE_PACK_MAGIC, strlen(OWN_FILE_PACK_MAGIC) - 1) ||
           !memcmp(head, OWN_FILE_TRACE_MAGIC, strlen(OWN_FILE_TRACE_MAGIC)) ||
           !memcmp(head, OWN_FILE_SESSION_MAGIC, strlen(OWN_FILE_SESSION_MAGIC) - 1) ||
           own_file_is_database(path, head);
}

bool own_file_is(const char *path)
{
    unsigned char head[HEAD_BYTES];
    return own_file_head(path, head) > 0 && own_file_is_head(path, head);
}

/* Reads the head of a file that is to be replaced. Its length, 0 where nothing would be lost, or
 * -errno. A link whose target does not exist is free to take. A file that we may not read counts as
 * somebody else's. */
static ssize_t own_file_old_head(const char *path, unsigned char head[HEAD_BYTES])
{
    int error = old_file_check(path);
    if (error)
        return error;
    ssize_t got = own_file_head(path, head);
    if (got == -ENOENT)
        return 0;
    if (got == -EMFILE || got == -ENFILE || got == -ENOMEM)
        return got; /* says nothing about the file */
    return got < 0 ? -EEXIST : got;
}

int own_file_check(const char *path)
{
    unsigned char head[HEAD_BYTES];
    ssize_t got = own_file_old_head(path, head);
    if (got <= 0)
        return (int)got;
    return own_file_is_head(path, head) ? 0 : -EEXIST;
}

int own_file_check_text(const char *path, const char *beginning)
{
    unsigned char head[HEAD_BYTES];
    size_t length = strnlen(beginning, HEAD_BYTES);
    ssize_t got = own_file_old_head(path, head);
    if (got <= 0)
        return (int)got;
    return got >= (ssize_t)length && !memcmp(head, beginning, length) ? 0 : -EEXIST;
}
