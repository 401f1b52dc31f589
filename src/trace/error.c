/* See error.h. */
#include "trace/error.h"

#include <stdarg.h>
#include <stdio.h>
#include "trace/trace.h"

static _Thread_local char sentence[1024];

int trace_fail(int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return error;
}

const char *trace_error(void)
{
    return sentence;
}
