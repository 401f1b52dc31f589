/* Stand-ins of functions that are hooked where they are imported (imports.h). They are code of this
 * library, so that no memory has to be made executable. An entry is never used for another
 * function, because a thread may stay in its hook for any time. */
#include "recorder/imports.h"

#include <link.h>
#include <string.h>
#include "base/large_static.h"
#include "interpose/real.h"
#include "recorder/hooks.h"
#include "wire/wire.h"

#define IMPORTS  128
#define TEXT_(n) #n
#define TEXT(n)  TEXT_(n)

/* The target of a stand-in, which the code below reads. */
struct import_point {
    const struct family_entry *entry;
    const void *hook;
};
extern struct import_point import_points[IMPORTS];
LARGE_STATIC __attribute__((used, visibility("hidden"))) struct import_point import_points[IMPORTS];

enum { STAND_IN_BYTES = 16 };
extern const char import_stand_ins[];

/* Stand-in n loads n into a register that holds no argument, and jumps to the common part. */
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".hidden import_stand_ins\n"
        ".p2align 4\n"
        ".type import_stand_ins, @function\n"
        "import_stand_ins:\n"
        ".cfi_startproc\n"
        ".set import_number, 0\n"
        ".rept " TEXT(IMPORTS) "\n"
                               ".p2align 4\n"
                               "endbr64\n"
                               "movl $import_number, %r9d\n"
                               "jmp 1f\n"
                               ".set import_number, import_number + 1\n"
                               ".endr\n"
                               ".p2align 4\n"
                               "1: leaq import_points(%rip), %r11\n"
                               "shlq $4, %r9\n"
                               "addq %r11, %r9\n"
                               "movq 8(%r9), %r11\n"
                               "movq (%r9), %r9\n"
                               "jmp *%r11\n"
                               ".cfi_endproc\n"
                               ".size import_stand_ins, . - import_stand_ins\n"
                               ".popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .text\n"
        ".hidden import_stand_ins\n"
        ".p2align 4\n"
        ".type import_stand_ins, %function\n"
        "import_stand_ins:\n"
        ".cfi_startproc\n"
        ".set import_number, 0\n"
        ".rept " TEXT(IMPORTS) "\n"
                               ".p2align 4\n"
                               "hint #34\n" /* bti c */
                               "mov w16, #import_number\n"
                               "b 1f\n"
                               ".set import_number, import_number + 1\n"
                               ".endr\n"
                               ".p2align 4\n"
                               "1: adrp x17, import_points\n"
                               "add x17, x17, :lo12:import_points\n"
                               "add x17, x17, x16, lsl #4\n"
                               "ldp x5, x16, [x17]\n"
                               "br x16\n"
                               ".cfi_endproc\n"
                               ".size import_stand_ins, . - import_stand_ins\n"
                               ".popsection\n");
#endif

/* ---- What is imported ---- */

struct import {
    uintptr_t function;
    bool is_wanted; /* by this session */
    struct family_row row;
    struct family_entry entry;
    char name[WIRE_POOL_NAME_BYTES];
};
LARGE_STATIC static struct import imports[IMPORTS];
static unsigned import_count;

static uintptr_t imports_stand_in(unsigned number)
{
    return (uintptr_t)import_stand_ins + (uintptr_t)number * STAND_IN_BYTES;
}

void imports_begin(void)
{
    for (unsigned i = 0; i < import_count; i++)
        imports[i].is_wanted = false;
}

bool imports_are_there(void)
{
    return import_count > 0;
}

static bool imports_is_same(const struct import *import, const struct family_row *row,
                            uintptr_t function)
{
    const struct family_row *own = &import->row;
    return import->function == function && strcmp(import->name, row->name) == 0 &&
           own->does == row->does && own->block == row->block && own->count == row->count &&
           own->size == row->size && own->pool == row->pool && own->out == row->out;
}

bool imports_add(const struct family_row *row, uintptr_t function)
{
    for (unsigned i = 0; i < import_count; i++)
        if (imports_is_same(&imports[i], row, function))
            return imports[i].is_wanted = true;
    if (import_count == IMPORTS)
        return false;
    struct import *import = &imports[import_count];
    *import = (struct import){.function = function, .is_wanted = true, .row = *row};
    strncpy(import->name, row->name, sizeof import->name - 1);
    import->row.name = import->name;
    import->entry.row = &import->row;
    memcpy(&import->entry.original, &function, sizeof function);
    import_points[import_count++] =
        (struct import_point){&import->entry, family_hook_of(&import->row)};
    return true;
}

void imports_drop(const struct family_row *row, uintptr_t function)
{
    for (unsigned i = 0; i < import_count; i++)
        if (imports_is_same(&imports[i], row, function))
            imports[i].is_wanted = false;
}

/* ---- What stands in words ---- */

struct definers {
    const char *name;
    unsigned count;
};

static int imports_count_definer(struct dl_phdr_info *info, size_t size, void *context)
{
    struct definers *definers = context;
    (void)size;
    definers->count += real_defines(info, definers->name);
    return definers->count > 1;
}

/* Does one module alone define this name? Then a word that is not bound yet will be bound to that
 * function. */
static bool imports_is_only(const char *name)
{
    struct definers definers = {.name = name};
    dl_iterate_phdr(imports_count_definer, &definers);
    return definers.count == 1;
}

static uintptr_t imports_hooked(const char *name, uintptr_t value, bool is_unbound)
{
    for (unsigned i = 0; i < import_count; i++)
        if (imports[i].is_wanted && strcmp(imports[i].name, name) == 0 &&
            (imports[i].function == value || (is_unbound && imports_is_only(name))))
            return imports_stand_in(i);
    return value;
}

uintptr_t imports_wanted(const char *name, uintptr_t value, bool is_unbound, bool to_hooks)
{
    uintptr_t number = (value - (uintptr_t)import_stand_ins) / STAND_IN_BYTES;
    if (to_hooks)
        return import_count ? imports_hooked(name, value, is_unbound) : value;
    return number < import_count && value == imports_stand_in((unsigned)number)
               ? imports[number].function
               : value;
}
