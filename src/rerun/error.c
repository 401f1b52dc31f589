/* See error.h. */
#include "rerun/error.h"

#include <stdarg.h>
#include <stdio.h>
#include "rerun/rerun.h"

static _Thread_local char sentence[1024];

int rerun_fail(int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return error;
}

const char *rerun_error(void)
{
    return sentence;
}
