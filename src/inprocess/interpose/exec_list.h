/* Makes the array of execv() from the arguments of execl(), execlp() and execle(). The array is on
 * the caller's stack, as in the C library, so that a child of vfork may call it. */
#ifndef TIDEMARK_INTERPOSE_EXEC_LIST_H
#define TIDEMARK_INTERPOSE_EXEC_LIST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* The number of arguments, the first and the NULL included. */
static inline size_t exec_list_count(va_list list)
{
    size_t count = 2;
    while (va_arg(list, char *))
        count++;
    return count;
}

static inline void exec_list_fill(char **arguments, size_t count, const char *first, va_list list)
{
    arguments[0] = (char *)(uintptr_t)first;
    for (size_t i = 1; i < count; i++)
        arguments[i] = va_arg(list, char *);
}

/* Afterwards `list` is behind the NULL. */
#define EXEC_LIST(first, list)                                                                     \
    ({                                                                                             \
        va_list again_;                                                                            \
        va_copy(again_, list);                                                                     \
        size_t count_ = exec_list_count(again_);                                                   \
        va_end(again_);                                                                            \
        char **arguments_ = __builtin_alloca(count_ * sizeof *arguments_);                         \
        exec_list_fill(arguments_, count_, first, list);                                           \
        arguments_;                                                                                \
    })

#endif
