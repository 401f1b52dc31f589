/* Each thread has a static buffer for its last sentence. So setting a sentence allocates nothing,
 * and threads do not share sentences. A sentence that is longer than the buffer is cut. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 4096 };

static _Thread_local char error_sentence[MOST_BYTES];

int error_set(int error, const char *format, ...)
{
    char sentence[MOST_BYTES]; /* the last sentence may be an argument */
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    size_t bytes = length < 0 ? 0 : length < MOST_BYTES ? (size_t)length : MOST_BYTES - 1;
    memcpy(error_sentence, sentence, bytes);
    error_sentence[bytes] = '\0';
    return error;
}

const char *error_text(void)
{
    return error_sentence;
}
