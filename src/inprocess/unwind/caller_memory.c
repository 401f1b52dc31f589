/* Tests each page by one system call (stack_bounds.h), and remembers the last few pages: the texts
 * of an environment lie close together, so most of them cost nothing (caller_memory.h). */
#include "unwind/caller_memory.h"

#include <string.h>
#include "unwind/permitted_calls.h"
#include "unwind/stack_bounds.h"

struct caller_memory {
    uintptr_t pages[8]; /* the page p, readable, at index p / PAGE_BYTES % 8; 0: none yet */
};

static bool caller_memory_has_page(struct caller_memory *memory, uintptr_t address)
{
    enum { SLOTS = sizeof memory->pages / sizeof *memory->pages };
    uintptr_t page = address & -(uintptr_t)PAGE_BYTES;
    uintptr_t *slot = &memory->pages[page / PAGE_BYTES % SLOTS];
    if (page && *slot == page)
        return true;
    if (!stack_word_readable(page))
        return false;
    *slot = page;
    return true;
}

static bool caller_memory_sees_text(struct caller_memory *memory, const char *text)
{
    for (;;) {
        size_t bytes = PAGE_BYTES - (uintptr_t)text % PAGE_BYTES;
        if (!caller_memory_has_page(memory, (uintptr_t)text))
            return false;
        if (memchr(text, '\0', bytes))
            return true;
        text += bytes;
    }
}

bool caller_memory_has_text(const char *text)
{
    struct caller_memory memory = {{0}};
    return permitted_calls_is_forbidden(CALL_PROBE) || caller_memory_sees_text(&memory, text);
}

/* An entry of the array may be on two pages, because the kernel permits any address. */
static bool caller_memory_sees_entry(struct caller_memory *memory, char *const *entry)
{
    return caller_memory_has_page(memory, (uintptr_t)entry) &&
           caller_memory_has_page(memory, (uintptr_t)entry + sizeof *entry - 1);
}

bool caller_memory_has_texts(char *const *texts)
{
    struct caller_memory memory = {{0}};
    if (!texts || permitted_calls_is_forbidden(CALL_PROBE))
        return true;
    for (; caller_memory_sees_entry(&memory, texts); texts++) {
        if (!*texts)
            return true;
        if (!caller_memory_sees_text(&memory, *texts))
            return false;
    }
    return false;
}
