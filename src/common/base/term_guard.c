/* Guarded streams (term_guard.h). A guarded stream is a fopencookie() stream over a descriptor.
 * Each write is read character by character. Characters that may pass are copied, others are
 * written as an escape. If a write ends within a character, the bytes of that character are held
 * for the next write. */
#include "base/term_guard.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/whole.h"

/* TERM_GUARD_HELD: the longest sequence is a colour such as ESC [ 1 ; 38 ; 5 ; 208 m. */
enum { TERM_GUARD_HELD = 24, TERM_GUARD_PART = 16 << 10 };

struct term_guard {
    int fd;
    size_t held;
    char hold[TERM_GUARD_HELD];
};

/* Of stdout and stderr. */
static struct term_guard term_guard_standard[2];
static FILE *term_guard_stdout;
static bool term_guard_colour;

/* ---- What one character may do ------------------------------------------------------------- */

/* The length of a colour at `bytes`; 0: it is none; -1: it may become one. */
static int term_guard_colour_length(const char *bytes, size_t count)
{
    size_t i = 1;
    if (!term_guard_colour || (count > 1 && bytes[1] != '['))
        return 0;
    for (i = 2; i < count && i < TERM_GUARD_HELD; i++) {
        if (bytes[i] == 'm')
            return (int)i + 1;
        if ((bytes[i] < '0' || bytes[i] > '9') && bytes[i] != ';')
            return 0;
    }
    return i < TERM_GUARD_HELD ? -1 : 0;
}

/* Are these bytes the beginning of a UTF-8 character that `count` bytes do not complete? */
static bool term_guard_is_cut(const char *bytes, size_t count)
{
    unsigned char first = (unsigned char)*bytes;
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || count >= length)
        return false;
    for (size_t i = 1; i < count; i++)
        if ((bytes[i] & 0xc0) != 0x80)
            return false;
    return true;
}

/* The length of a line end of CSV or of a colour at `bytes`. 0: neither, so the character is made
 * safe. -1: the next bytes decide. */
static int term_guard_passes(const char *bytes, size_t count)
{
    if (*bytes == '\r')
        return count == 1 ? -1 : bytes[1] == '\n' ? 2 : 0;
    if (*bytes == '\033')
        return term_guard_colour_length(bytes, count);
    return term_guard_is_cut(bytes, count) ? -1 : 0;
}

static size_t term_guard_plain_run(const char *bytes, size_t count)
{
    size_t length = 0;
    while (length < count && ((bytes[length] >= ' ' && bytes[length] < 0x7f) ||
                              bytes[length] == '\n' || bytes[length] == '\t'))
        length++;
    return length;
}

static void term_guard_add_safe(struct strbuf *out, const char *bytes, size_t count, size_t *length)
{
    uint32_t code_point;
    *length = text_decode(bytes, count, &code_point);
    *length += !*length;
    text_add_safe(out, bytes, *length);
}

/* Adds `bytes`, made safe, and returns how many were read. The rest is the beginning of a character
 * or a sequence that is not complete. */
static size_t term_guard_add(struct strbuf *out, const char *bytes, size_t count)
{
    size_t at = 0, length;
    while (at < count) {
        length = term_guard_plain_run(bytes + at, count - at);
        strbuf_add(out, bytes + at, length);
        at += length;
        if (at == count)
            break;
        int passes = term_guard_passes(bytes + at, count - at);
        if (passes < 0)
            break;
        if (passes > 0)
            strbuf_add(out, bytes + at, length = (size_t)passes);
        else
            term_guard_add_safe(out, bytes + at, count - at, &length);
        at += length;
    }
    return at;
}

/* ---- The stream ---------------------------------------------------------------------------- */

/* `count`: at most TERM_GUARD_PART. */
static int term_guard_write_part(struct term_guard *guard, const char *bytes, size_t count)
{
    struct strbuf in = STRBUF_INIT, out = STRBUF_INIT;
    strbuf_add(&in, guard->hold, guard->held);
    strbuf_add(&in, bytes, count);
    size_t done = term_guard_add(&out, in.data, in.length);
    guard->held = in.length - done;
    memcpy(guard->hold, in.data + done, guard->held);
    int error = out.length ? whole_write(guard->fd, out.data, out.length) : 0;
    strbuf_release(&in);
    strbuf_release(&out);
    return error;
}

static ssize_t term_guard_write(void *context, const char *bytes, size_t count)
{
    int error = 0;
    for (size_t at = 0; at < count && !error; at += TERM_GUARD_PART)
        error = term_guard_write_part(context, bytes + at,
                                      count - at < TERM_GUARD_PART ? count - at : TERM_GUARD_PART);
    if (error) {
        errno = -error;
        return 0; /* an error, to fopencookie() */
    }
    return (ssize_t)count;
}

/* Writes the bytes that are held for a character that was never completed, as \xNN. */
static void term_guard_let_go(struct term_guard *guard)
{
    struct strbuf out = STRBUF_INIT;
    text_add_safe(&out, guard->hold, guard->held);
    if (guard->held && whole_write(guard->fd, out.data, out.length))
        errno = 0; /* nobody reads it */
    guard->held = 0;
    strbuf_release(&out);
}

static int term_guard_close(void *context)
{
    struct term_guard *guard = context;
    term_guard_let_go(guard);
    int status = guard->fd > STDERR_FILENO ? close(guard->fd) : 0;
    if (guard != &term_guard_standard[0] && guard != &term_guard_standard[1])
        free(guard);
    return status;
}

static FILE *term_guard_stream(struct term_guard *guard)
{
    return fopencookie(
        guard, "w", (cookie_io_functions_t){.write = term_guard_write, .close = term_guard_close});
}

FILE *term_guard_open(int fd)
{
    struct term_guard *guard = calloc(1, sizeof *guard);
    if (!guard)
        return NULL;
    guard->fd = fd;
    FILE *stream = term_guard_stream(guard);
    if (!stream)
        free(guard);
    return stream;
}

void term_guard_begin(void)
{
    term_guard_stdout = stdout;
    term_guard_standard[0].fd = STDOUT_FILENO;
    term_guard_standard[1].fd = STDERR_FILENO;
    FILE *out = memory_need(term_guard_stream(&term_guard_standard[0]));
    FILE *error = memory_need(term_guard_stream(&term_guard_standard[1]));
    setvbuf(out, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
    setvbuf(error, NULL, _IONBF, 0);
    stdout = out;
    stderr = error;
}

FILE *term_guard_raw(void)
{
    fflush(stdout);
    return term_guard_stdout ? term_guard_stdout : stdout;
}

void term_guard_allow_colour(void)
{
    term_guard_colour = true;
}

void term_guard_end(void)
{
    term_guard_let_go(&term_guard_standard[0]);
    term_guard_let_go(&term_guard_standard[1]);
}
