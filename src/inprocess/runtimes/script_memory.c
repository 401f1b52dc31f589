/* What readers of interpreters share: which pages may be read, copies of texts that lie in them,
 * and where a module has what it exports (script_memory.h). */
#include "runtimes/script_memory.h"

#include <string.h>
#include "interpose/real.h"
#include "unwind/stack_bounds.h"

struct script_memory script_memory = {.epoch = 1ull << SCRIPT_EPOCH_SHIFT};

void script_memory_forget(void)
{
    uintptr_t epoch = atomic_fetch_add_explicit(&script_memory.epoch, 1ull << SCRIPT_EPOCH_SHIFT,
                                                memory_order_relaxed);

    if (unlikely(epoch >> SCRIPT_EPOCH_SHIFT == UINTPTR_MAX >> SCRIPT_EPOCH_SHIFT))
        for (size_t i = 0; i < SCRIPT_PAGES; i++) /* what was seen in this epoch the last time */
            atomic_store_explicit(&script_memory.pages[i], 0, memory_order_relaxed);
}

bool script_memory_see(uintptr_t address)
{
    uintptr_t page = address >> SCRIPT_PAGE_BITS;
    uintptr_t epoch = atomic_load_explicit(&script_memory.epoch, memory_order_relaxed);

    if (!stack_word_readable(address & ~(uintptr_t)7))
        return false;
    atomic_store_explicit(&script_memory.pages[page % SCRIPT_PAGES], page ^ epoch,
                          memory_order_relaxed);
    return true;
}

/* How many bytes of a text that was cut are whole characters. */
static size_t script_whole_characters(const char *text, size_t length)
{
    size_t start = length - (length != 0);

    while (start && ((unsigned char)text[start] & 0xc0) == 0x80)
        start--;
    unsigned char first = length ? (unsigned char)text[start] : 0;
    size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
    return start + bytes > length ? start : length;
}

size_t script_text(uintptr_t from, size_t most, char *to, size_t room)
{
    size_t length = 0;

    for (; length < most && length + 1 < room && script_is_there(from + length); length++) {
        char character = *(const char *)(from + length);
        if (!character)
            break;
        to[length] = (unsigned char)character < 0x20 || character == 0x7f ? '?' : character;
    }
    if (length < most && length + 1 == room)
        length = script_whole_characters(to, length);
    to[length] = '\0';
    return length;
}

size_t script_copy(const char *text, char *to, size_t room)
{
    size_t length = strlen(text);

    length = length < room ? length : 0;
    memcpy(to, text, length);
    to[length] = '\0';
    return length;
}

uintptr_t script_symbol(const struct dl_phdr_info *info, const char *name)
{
    const ElfW(Sym) *symbol = real_symbol(info, name);

    return symbol ? info->dlpi_addr + symbol->st_value : 0;
}

struct code_span script_function(const struct dl_phdr_info *info, const char *name)
{
    const ElfW(Sym) *symbol = real_symbol(info, name);
    uintptr_t lo = symbol ? info->dlpi_addr + symbol->st_value : 0;

    return (struct code_span){lo, symbol ? lo + symbol->st_size : 0};
}

struct code_span script_segments(const struct dl_phdr_info *info)
{
    struct code_span span = {UINTPTR_MAX, 0};

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t lo = info->dlpi_addr + segment->p_vaddr, hi = lo + segment->p_memsz;
        if (segment->p_type != PT_LOAD)
            continue;
        span.lo = lo < span.lo ? lo : span.lo;
        span.hi = hi > span.hi ? hi : span.hi;
    }
    return span;
}
