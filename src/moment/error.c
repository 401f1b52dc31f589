/* See error.h. */
#include "moment/error.h"

#include <stdarg.h>
#include <stdio.h>
#include "moment/moment.h"

static _Thread_local char sentence[1024];

int moment_fail(int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return error;
}

const char *moment_error(void)
{
    return sentence;
}
