/* malloc_count's log of large operations (log_operations), which is switched on by an environment
 * variable and not when compiling; and its check of blocks: a line is written for the free of a
 * block that no malloc has returned, as by the original if it finds no sentinel. Called inside the
 * program's malloc: no malloc, no stdio but snprintf. */
#include "compat/interface.h"
#include "counters/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOG_VARIABLE "TIDEMARK_MALLOC_COUNT_LOG" /* the least size that is logged: 1000, 64K, 1M */

enum { LOG_FROM = 1 << 20 }; /* bytes, as in the original */

static size_t operations_least;

static void operations_add_address(struct line *line, const void *block)
{
    char text[32];
    snprintf(text, sizeof text, "%p", block);
    line_add(line, text);
}

static void operations_begin_line(struct line *line, const char *what)
{
    line_add(line, "malloc_count ### ");
    line_add(line, what);
}

static void operations_end_line(struct line *line)
{
    line_add(line, "   (current ");
    line_add_by_locale(line, (int64_t)count_current());
    line_add(line, ")\n");
    line_write(line, STDERR_FILENO);
}

static void operations_log_realloc(const void *old, size_t old_size, const void *block, size_t size)
{
    struct line line = {0};
    operations_begin_line(&line, "realloc(");
    line_add_by_locale(&line, (int64_t)old_size);
    line_add(&line, " -> ");
    line_add_by_locale(&line, (int64_t)size);
    line_add(&line, ") = ");
    operations_add_address(&line, old);
    if (old != block) {
        line_add(&line, " -> ");
        operations_add_address(&line, block);
    }
    operations_end_line(&line);
}

static void operations_log_malloc(const void *block, size_t size)
{
    struct line line = {0};
    operations_begin_line(&line, "malloc(");
    line_add_by_locale(&line, (int64_t)size);
    line_add(&line, ") = ");
    operations_add_address(&line, block);
    operations_end_line(&line);
}

static void operations_log_free(const void *block, size_t size)
{
    struct line line = {0};
    operations_begin_line(&line, "free(");
    operations_add_address(&line, block);
    line_add(&line, ") -> ");
    line_add_by_locale(&line, (int64_t)size);
    operations_end_line(&line);
}

static void operations_log(const void *old, size_t old_size, const void *block, size_t size)
{
    if ((block ? size : old_size) < operations_least)
        return;
    if (!block)
        operations_log_free(old, old_size);
    else if (old)
        operations_log_realloc(old, old_size, block, size);
    else
        operations_log_malloc(block, size);
}

static void operations_unknown(const void *block)
{
    struct line line = {0};
    operations_begin_line(&line, "free(");
    operations_add_address(&line, block);
    line_add(&line, ") has no sentinel !!! memory corruption?\n");
    line_write(&line, STDERR_FILENO);
}

/* ---- Beginning ---- */

static size_t operations_read_size(const char *text)
{
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    static const char units[] = "KMG";
    for (unsigned i = 0; end != text && i < 3; i++)
        if ((*end & ~0x20) == units[i])
            number <<= 10 * (i + 1);
    return end == text ? LOG_FROM : (size_t)number;
}

static void operations_observe(bool allocated, size_t size, size_t current)
{
    (void)allocated, (void)size, (void)current; /* operations_log() writes the log */
}

__attribute__((constructor)) static void operations_begin(void)
{
    const char *value = secure_getenv(LOG_VARIABLE);
    count_unknown_freed = operations_unknown;
    if (!value)
        return;
    operations_least = operations_read_size(value);
    count_log = operations_log;
    observers_set_all(operations_observe);
}
