/* What the terminal can do, and the pager (term.h). The width comes from TIOCGWINSZ or COLUMNS, the
 * encoding from the locale's variables. The pager is a shell command that reads from a pipe. */
#include "base/term.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/strbuf.h"
#include "base/term_guard.h"
#include "base/text.h"
#include "base/whole.h"

/* fileno() fails for guarded streams (term_guard.h), which have no descriptor. */
static int term_descriptor(FILE *out)
{
    return out == stdout ? STDOUT_FILENO : out == stderr ? STDERR_FILENO : fileno(out);
}

static bool term_is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

static bool term_has_colour(FILE *out)
{
    const char *terminal = getenv("TERM");
    return !term_is_set("NO_COLOR") && terminal && strcmp(terminal, "dumb") &&
           isatty(term_descriptor(out));
}

bool term_wants_colour(enum term_colour policy, FILE *out)
{
    bool wants = policy == TERM_COLOUR_AUTO ? term_has_colour(out) : policy == TERM_COLOUR_ALWAYS;
    if (wants)
        term_guard_allow_colour();
    return wants;
}

static size_t term_at_least_40(size_t columns)
{
    return columns < 40 ? 40 : columns;
}

size_t term_columns(FILE *out)
{
    struct winsize size;
    int fd = term_descriptor(out);
    if (fd >= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
        return term_at_least_40(size.ws_col);
    const char *columns = getenv("COLUMNS");
    long count = columns ? strtol(columns, NULL, 10) : 0;
    return count > 0 && count < 10000 ? term_at_least_40((size_t)count) : 80;
}

bool term_is_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        if (!term_is_set(variables[i]))
            continue;
        const char *value = getenv(variables[i]);
        if (!strcmp(value, "C") || !strcmp(value, "POSIX"))
            return false;
        return strcasestr(value, "utf-8") || strcasestr(value, "utf8") || !strchr(value, '.');
    }
    return true;
}

/* ---- Progress ------------------------------------------------------------------------------ */

static bool term_progress_shown;

/* Not through the guarded stream, which would escape the carriage return. */
static void term_progress_write(const char *text, size_t count)
{
    if (whole_write(STDERR_FILENO, text, count))
        return; /* nobody reads it */
}

void term_progress(const char *format, ...)
{
    struct strbuf said = STRBUF_INIT, line = STRBUF_INIT;
    va_list arguments;
    va_start(arguments, format);
    strbuf_addv(&said, format, arguments);
    va_end(arguments);
    strbuf_add_string(&line, "\r\033[K");
    text_add_safe_string(&line, said.data);
    term_progress_write(line.data, line.length);
    term_progress_shown = true;
    strbuf_release(&said);
    strbuf_release(&line);
}

void term_progress_end(void)
{
    if (term_progress_shown)
        term_progress_write("\r\033[K", 4);
    term_progress_shown = false;
}

/* ---- The pager ----------------------------------------------------------------------------- */

static const char *term_pager_command(void)
{
    if (getenv("TIDEMARK_PAGER"))
        return getenv("TIDEMARK_PAGER");
    if (getenv("PAGER"))
        return getenv("PAGER");
    return "less";
}

struct term_pager term_pager_open(bool wanted)
{
    struct term_pager pager = {.out = stdout};
    const char *command = term_pager_command();
    if (!wanted || !isatty(STDOUT_FILENO) || !*command || !strcmp(command, "cat"))
        return pager;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return pager;
    setenv("LESS", "FRX", 0);
    setenv("LESSCHARSET", "utf-8", 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    char *const argv[] = {"sh", "-c", (char *)command, NULL};
    int error = posix_spawn(&pager.pid, "/bin/sh", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    FILE *out = error ? NULL : term_guard_open(ends[1]);
    if (!out) {
        close(ends[1]);
        pager.pid = 0;
        return pager;
    }
    signal(SIGPIPE, SIG_IGN); /* the pager may end before it has read all */
    pager.out = out;
    return pager;
}

int term_pager_close(struct term_pager *pager)
{
    errno = 0;
    bool failed = fflush(pager->out) || ferror(pager->out);
    int error = failed ? (errno ? -errno : -EIO) : 0;
    if (pager->pid) {
        fclose(pager->out);
        while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        error = 0; /* text that the pager did not read is no error */
    }
    return error == -EPIPE ? 0 : error;
}
