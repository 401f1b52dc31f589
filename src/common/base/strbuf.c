/* Strings that grow (strbuf.h). The capacity doubles, so that adding n bytes one by one costs O(n).
 * A lack of memory ends the tool, so callers have no error to handle. */
#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"

char strbuf_empty[1] = "";

static void strbuf_make_room(struct strbuf *buf, size_t more)
{
    size_t needed = buf->length + more + 1;
    if (needed <= buf->capacity)
        return;
    size_t capacity = buf->capacity ? buf->capacity * 2 : 64;
    if (capacity < needed)
        capacity = needed;
    char *data = needed > more ? realloc(buf->capacity ? buf->data : NULL, capacity) : NULL;
    if (!data)
        memory_exhausted();
    buf->data = data;
    buf->capacity = capacity;
}

void strbuf_release(struct strbuf *buf)
{
    if (buf->capacity)
        free(buf->data);
    *buf = STRBUF_INIT;
}

void strbuf_reset(struct strbuf *buf)
{
    strbuf_truncate(buf, 0);
}

void strbuf_truncate(struct strbuf *buf, size_t length)
{
    if (length >= buf->length)
        return;
    buf->length = length;
    buf->data[length] = 0;
}

char *strbuf_detach(struct strbuf *buf)
{
    strbuf_make_room(buf, 0);
    buf->data[buf->length] = 0;
    char *data = buf->data;
    *buf = STRBUF_INIT;
    return data;
}

char *strbuf_extend(struct strbuf *buf, size_t count)
{
    strbuf_make_room(buf, count);
    char *room = buf->data + buf->length;
    buf->length += count;
    buf->data[buf->length] = 0;
    return room;
}

void strbuf_add(struct strbuf *buf, const void *bytes, size_t count)
{
    if (!count)
        return;
    strbuf_make_room(buf, count);
    memcpy(buf->data + buf->length, bytes, count);
    buf->length += count;
    buf->data[buf->length] = 0;
}

void strbuf_add_string(struct strbuf *buf, const char *string)
{
    strbuf_add(buf, string, strlen(string));
}

void strbuf_add_char(struct strbuf *buf, char c)
{
    strbuf_add(buf, &c, 1);
}

void strbuf_add_repeated(struct strbuf *buf, const char *string, size_t times)
{
    while (times--)
        strbuf_add_string(buf, string);
}

void strbuf_addv(struct strbuf *buf, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length <= 0)
        return;
    strbuf_make_room(buf, (size_t)length);
    vsnprintf(buf->data + buf->length, (size_t)length + 1, format, arguments);
    buf->length += (size_t)length;
}

void strbuf_addf(struct strbuf *buf, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    strbuf_addv(buf, format, arguments);
    va_end(arguments);
}
