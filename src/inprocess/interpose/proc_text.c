/* Reads through a buffer of 1 KiB, character by character (proc_text.h). Runs inside the profiled
 * program: system calls only, no malloc, no stdio. */
#include "interpose/proc_text.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool proc_text_open(struct proc_text *text, const char *path)
{
    text->at = text->bytes = 0;
    text->fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    return text->fd >= 0;
}

bool proc_text_open_of(struct proc_text *text, long pid, const char *name)
{
    enum { DIGITS = 20, NAME_BYTES = 16 };
    char path[sizeof "/proc//" + DIGITS + NAME_BYTES], digits[DIGITS];
    size_t count = 0;
    for (long rest = pid; rest > 0 && count < DIGITS; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    if (!count || strlen(name) > NAME_BYTES)
        return false;
    char *to = stpcpy(path, "/proc/");
    while (count)
        *to++ = digits[--count];
    *to++ = '/';
    strcpy(to, name);
    return proc_text_open(text, path);
}

void proc_text_close(struct proc_text *text)
{
    syscall(SYS_close, text->fd);
}

int proc_text_next(struct proc_text *text)
{
    if (text->at == text->bytes) {
        long got = syscall(SYS_read, text->fd, text->buffer, sizeof text->buffer);
        if (got <= 0)
            return -1;
        text->at = 0;
        text->bytes = (size_t)got;
    }
    return (unsigned char)text->buffer[text->at++];
}

static unsigned proc_text_digit(int character)
{
    int letter = character | 0x20;
    return character >= '0' && character <= '9' ? (unsigned)(character - '0')
           : letter >= 'a' && letter <= 'f'     ? (unsigned)(letter - 'a' + 10)
                                                : ~0u;
}

uint64_t proc_text_number(struct proc_text *text, unsigned base, int *behind)
{
    uint64_t number = 0;
    unsigned digit;
    while ((digit = proc_text_digit(*behind = proc_text_next(text))) < base)
        number = number * base + digit;
    return number;
}

bool proc_text_skip(struct proc_text *text, int last, int end)
{
    while (last != end && last != -1)
        last = proc_text_next(text);
    return last != -1;
}

bool proc_text_is_next(struct proc_text *text, const char *word, int *last)
{
    for (*last = -2; *word; word++)
        if ((*last = proc_text_next(text)) != (unsigned char)*word)
            return false;
    return true;
}
