/* Gives all commands the same width of output and the same form of complaints on standard error
 * (output.h). A complaint's text is made safe for terminals first. */
#include "commands/output.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "aggregate/wrappers.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { LEAST_COLUMNS = 72, MOST_COLUMNS = 1000 };

int output_complain_as(const char *program, const char *sentence)
{
    struct strbuf safe = STRBUF_INIT;

    text_add_safe_string(&safe, sentence);
    fprintf(stderr, "%s: %s\n", program, safe.data);
    strbuf_release(&safe);
    return OPTIONS_EXIT_FAILURE;
}

int output_complain(const char *command, const char *sentence)
{
    return output_complainf(command, "%s", sentence);
}

int output_complainf(const char *command, const char *format, ...)
{
    struct strbuf program = STRBUF_INIT, sentence = STRBUF_INIT;
    va_list arguments;

    strbuf_addf(&program, "tidemark %s", command);
    va_start(arguments, format);
    strbuf_addv(&sentence, format, arguments);
    va_end(arguments);
    int status = output_complain_as(program.data, sentence.data);
    strbuf_release(&program);
    strbuf_release(&sentence);
    return status;
}

bool output_reader_is_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && out.revents & POLLERR;
}

int output_close(const char *command, struct term_pager *pager, int error)
{
    int close_error = term_pager_close(pager);
    error = error ? error : close_error;
    if (!error || error == -EPIPE || output_reader_is_gone())
        return 0;
    return output_complainf(command, "cannot write: %s", strerror(-error));
}

size_t output_columns(uint64_t width, size_t usual_most)
{
    size_t columns = term_columns(stdout);

    columns = width ? width : columns > usual_most ? usual_most : columns;
    return columns < LEAST_COLUMNS  ? LEAST_COLUMNS
           : columns > MOST_COLUMNS ? MOST_COLUMNS
                                    : columns;
}

static int output_add_pattern(const char *option, const char *pattern, bool is_wrapper)
{
    char why[128] = "";
    int error = wrappers_add(pattern, is_wrapper, why, sizeof why);
    if (error == -EINVAL)
        fprintf(stderr, "tidemark: --%s: no regular expression: %s\n", option, why);
    else if (error)
        fprintf(stderr, "tidemark: --%s: %s\n", option, strerror(-error));
    return error;
}

int output_add_wrappers(void *unused, const char *pattern)
{
    (void)unused;
    return output_add_pattern("through", pattern, true);
}

int output_add_no_wrappers(void *unused, const char *pattern)
{
    (void)unused;
    return output_add_pattern("not-through", pattern, false);
}
