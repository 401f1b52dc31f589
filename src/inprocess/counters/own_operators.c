/* C++'s operators over the real malloc (own_operators.h). Throwing and the new-handler are
 * functions of the program's C++ runtime. They are weak references, because a C program has none;
 * the linker exports both from an executable that contains them. Runs inside other programs: no
 * malloc hooks, no stdio. */
#include "counters/own_operators.h"
#include "interpose/real.h"

#include <stdlib.h>
#include <string.h>
#include "counters/line.h"
#include "unwind/arch.h"

#include <unistd.h>

typedef void new_handler(void);

/* std::get_new_handler(), std::__throw_bad_alloc() */
__attribute__((weak)) new_handler *_ZSt15get_new_handlerv(void);
__attribute__((weak, noreturn)) void _ZSt17__throw_bad_allocv(void);

/* Called by name, so that these are the program's own operators if it has some: an array's operator
 * calls the plain one, as in libstdc++. */
void *_Znwm(size_t size), *_ZnwmSt11align_val_t(size_t size, size_t alignment);
void _ZdlPv(void *block), _ZdlPvSt11align_val_t(void *block, size_t alignment);

static void *own_operators_try(size_t size, size_t alignment)
{
    size = size ? size : 1;
    void *block = NULL;
    if (!alignment)
        return real.malloc(size);
    if (alignment < sizeof(void *))
        alignment = sizeof(void *);
    return real.posix_memalign(&block, alignment, size) == 0 ? block : NULL;
}

static void __attribute__((noreturn)) own_operators_throw(void)
{
    struct line line = {0};
    if (_ZSt17__throw_bad_allocv)
        _ZSt17__throw_bad_allocv();
    line_add(&line, "tidemark: operator new: no memory, and no C++ runtime that could throw\n");
    line_write(&line, STDERR_FILENO);
    abort();
}

static void *own_operators_new(size_t size, size_t alignment)
{
    void *block;
    while (unlikely(!(block = own_operators_try(size, alignment)))) {
        new_handler *handler = _ZSt15get_new_handlerv ? _ZSt15get_new_handlerv() : NULL;
        if (!handler)
            own_operators_throw();
        handler();
    }
    return block;
}

/* ---- By name ---- */

static void *own_operators_plain(size_t size)
{
    return own_operators_new(size, 0);
}

/* Without the new-handler, because an exception that it throws could not be caught here. */
static void *own_operators_nothrow(size_t size, const void *tag)
{
    (void)tag;
    return own_operators_try(size, 0);
}

static void *own_operators_aligned_nothrow(size_t size, size_t alignment, const void *tag)
{
    (void)tag;
    return own_operators_try(size, alignment);
}

static void own_operators_delete(void *block)
{
    real.free(block);
}

static void own_operators_delete_aligned(void *block, size_t alignment)
{
    (void)alignment;
    real.free(block);
}

static void own_operators_delete_array(void *block)
{
    _ZdlPv(block);
}

static void own_operators_delete_sized(void *block, size_t size)
{
    (void)size;
    _ZdlPv(block);
}

static void own_operators_delete_nothrow(void *block, const void *tag)
{
    (void)tag;
    _ZdlPv(block);
}

static void own_operators_delete_aligned_array(void *block, size_t alignment)
{
    _ZdlPvSt11align_val_t(block, alignment);
}

static void own_operators_delete_aligned_sized(void *block, size_t size, size_t alignment)
{
    (void)size;
    _ZdlPvSt11align_val_t(block, alignment);
}

static void own_operators_delete_aligned_nothrow(void *block, size_t alignment, const void *tag)
{
    (void)tag;
    _ZdlPvSt11align_val_t(block, alignment);
}

static void *own_operators_array(size_t size)
{
    return _Znwm(size);
}

static void *own_operators_aligned_array(size_t size, size_t alignment)
{
    return _ZnwmSt11align_val_t(size, alignment);
}

void *own_operator(const char *symbol)
{
    static const struct {
        const char *symbol;
        void *function;
    } all[] = {
        {"_Znwm", own_operators_plain},
        {"_Znam", own_operators_array},
        {"_ZnwmRKSt9nothrow_t", own_operators_nothrow},
        {"_ZnamRKSt9nothrow_t", own_operators_nothrow},
        {"_ZnwmSt11align_val_t", own_operators_new},
        {"_ZnamSt11align_val_t", own_operators_aligned_array},
        {"_ZnwmSt11align_val_tRKSt9nothrow_t", own_operators_aligned_nothrow},
        {"_ZnamSt11align_val_tRKSt9nothrow_t", own_operators_aligned_nothrow},
        {"_ZdlPv", own_operators_delete},
        {"_ZdaPv", own_operators_delete_array},
        {"_ZdlPvm", own_operators_delete_sized},
        {"_ZdaPvm", own_operators_delete_sized},
        {"_ZdlPvRKSt9nothrow_t", own_operators_delete_nothrow},
        {"_ZdaPvRKSt9nothrow_t", own_operators_delete_nothrow},
        {"_ZdlPvSt11align_val_t", own_operators_delete_aligned},
        {"_ZdaPvSt11align_val_t", own_operators_delete_aligned_array},
        {"_ZdlPvmSt11align_val_t", own_operators_delete_aligned_sized},
        {"_ZdaPvmSt11align_val_t", own_operators_delete_aligned_sized},
        {"_ZdlPvSt11align_val_tRKSt9nothrow_t", own_operators_delete_aligned_nothrow},
        {"_ZdaPvSt11align_val_tRKSt9nothrow_t", own_operators_delete_aligned_nothrow},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].symbol, symbol))
            return all[i].function;
    return NULL;
}
