/* A string that grows. `data` always ends with NUL and is owned by the strbuf. A lack of memory
 * ends the process with a sentence, so code inside the profiled program may not use this. */
#ifndef TIDEMARK_BASE_STRBUF_H
#define TIDEMARK_BASE_STRBUF_H

#include <stdarg.h>
#include <stddef.h>

struct strbuf {
    char *data; /* never NULL: that of an unused strbuf points to "" */
    size_t length, capacity;
};

extern char strbuf_empty[]; /* the "" of unused strbufs; never written */
#define STRBUF_INIT ((struct strbuf){.data = strbuf_empty})

void strbuf_release(struct strbuf *buf); /* may be used again afterwards */
void strbuf_reset(struct strbuf *buf);   /* makes it empty, keeps the memory */
void strbuf_truncate(struct strbuf *buf, size_t length);
char *strbuf_detach(struct strbuf *buf); /* the caller frees it; buf is empty */

void strbuf_add(struct strbuf *buf, const void *bytes, size_t count);
void strbuf_add_string(struct strbuf *buf, const char *string);
void strbuf_add_char(struct strbuf *buf, char c);
void strbuf_add_repeated(struct strbuf *buf, const char *string, size_t times);
/* Makes the string `count` bytes longer and returns where they begin. The caller writes them before
 * the next call with this buf. */
char *strbuf_extend(struct strbuf *buf, size_t count);
void strbuf_addf(struct strbuf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strbuf_addv(struct strbuf *buf, const char *format, va_list arguments);

#endif
