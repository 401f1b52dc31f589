/* Replaces the beginnings of lua_resume, lua_pcall and the like by jumps to code that notes the
 * state, and goes on in the function (hooks_lua.h): no frame of ours is on the stack afterwards,
 * and all registers are as they were, because lua_pcallk has six arguments. A return is not hooked:
 * an entry ends where its return address is left. Runs inside the profiled program: no malloc, no
 * stdio. */
#include "recorder/hooks_lua.h"

#include "entry/entry_jump.h"
#include "interpose/real.h"
#include "recorder/shared.h"
#include "runtimes/lua.h"
#include "unwind/arch.h"
#include "unwind/permitted_calls.h"

#if defined(__x86_64__)

enum { FUNCTIONS_MOST = 6 };

static const char *const functions[FUNCTIONS_MOST] = {
    "lua_resume", "lua_pcall", "lua_pcallk", "lua_call", "lua_callk", "lua_cpcall",
};

/* Where each goes on; the code below reads it. */
__attribute__((used, visibility("hidden"))) void *hooks_lua_originals[FUNCTIONS_MOST];

/* Of all threads; one whose thread has ended is that of the next thread with its pointer. */
static struct lua_calls *hooks_lua_all;

static struct lua_calls *hooks_lua_find(uintptr_t thread)
{
    struct lua_calls *calls = __atomic_load_n(&hooks_lua_all, __ATOMIC_ACQUIRE);

    while (calls && calls->thread != thread)
        calls = calls->next;
    return calls;
}

/* A fork copies it: the child goes on in the states of its parent. */
static __attribute__((noinline)) struct lua_calls *hooks_lua_calls_new(void)
{
    uintptr_t thread = arch_thread_pointer();
    struct lua_calls *calls = hooks_lua_find(thread);

    if (calls) {
        calls->count = 0;
    } else if ((calls = private_map_kept(sizeof *calls)) != NULL) {
        calls->thread = thread;
        calls->next = __atomic_load_n(&hooks_lua_all, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&hooks_lua_all, &calls->next, calls, true,
                                            __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        }
    }
    if (calls)
        stack_begin(&calls->stack);
    return lua_calls_own = calls;
}

void hooks_lua_enter(uintptr_t state, const uintptr_t *place);

__attribute__((used, visibility("hidden"))) void hooks_lua_enter(uintptr_t state,
                                                                 const uintptr_t *place)
{
    struct lua_calls *calls = lua_calls_own;

    if (unlikely(!calls) && !(calls = hooks_lua_calls_new()))
        return;
    lua_enter(calls, state, place);
}

/* clang-format off */
#define PUSH(name) "push %" #name "\n.cfi_adjust_cfa_offset 8\n"
#define POP(name)  "pop %" #name "\n.cfi_adjust_cfa_offset -8\n"

/* The state is the first argument; the return address lies behind the nine registers. */
#define ENTRY(name, number)                                                                        \
    void name(void);                                                                               \
    __asm__(".text\n.balign 16\n.hidden " #name "\n.globl " #name "\n"                           \
            ".type " #name ", @function\n"                                                        \
            #name ":\n.cfi_startproc\n"                                                            \
            PUSH(rax) PUSH(rcx) PUSH(rdx) PUSH(rsi) PUSH(rdi) PUSH(r8) PUSH(r9) PUSH(r10)          \
            PUSH(r11) "lea 72(%rsp), %rsi\ncall hooks_lua_enter\n"                                 \
            POP(r11) POP(r10) POP(r9) POP(r8) POP(rdi) POP(rsi) POP(rdx) POP(rcx) POP(rax)         \
            "jmp *hooks_lua_originals+8*" #number "(%rip)\n.cfi_endproc\n"                         \
            ".size " #name ", .-" #name "\n")
/* clang-format on */

ENTRY(hooks_lua_entry_0, 0);
ENTRY(hooks_lua_entry_1, 1);
ENTRY(hooks_lua_entry_2, 2);
ENTRY(hooks_lua_entry_3, 3);
ENTRY(hooks_lua_entry_4, 4);
ENTRY(hooks_lua_entry_5, 5);

static void (*const entries[FUNCTIONS_MOST])(void) = {
    hooks_lua_entry_0, hooks_lua_entry_1, hooks_lua_entry_2,
    hooks_lua_entry_3, hooks_lua_entry_4, hooks_lua_entry_5,
};

/* The functions that the module has; each version has others. */
static unsigned hooks_lua_points(const struct dl_phdr_info *info, struct entry_point *points,
                                 unsigned *numbers)
{
    unsigned count = 0;

    for (unsigned i = 0; i < FUNCTIONS_MOST; i++) {
        const ElfW(Sym) *symbol = real_symbol(info, functions[i]);
        if (!symbol)
            continue;
        points[count] =
            (struct entry_point){.function = (void *)(info->dlpi_addr + symbol->st_value),
                                 .bytes = symbol->st_size,
                                 .hook = (const void *)entries[i]};
        numbers[count++] = i;
    }
    return count;
}

bool hooks_lua_begin(const struct dl_phdr_info *info)
{
    static void *memory; /* of an interpreter that was unloaded; used again */
    static size_t bytes;
    struct entry_point points[FUNCTIONS_MOST];
    unsigned numbers[FUNCTIONS_MOST], count = hooks_lua_points(info, points, numbers);
    bool had_memory = memory != NULL;

    if (real_is_late() || permitted_calls_is_forbidden(CALL_CODE) || !count ||
        entry_prepare(points, count, &memory, &bytes) != ENTRY_OK)
        return false;
    for (unsigned i = 0; i < count; i++)
        hooks_lua_originals[numbers[i]] = points[i].original;
    if (entry_set(points, count) == ENTRY_OK)
        return true;
    if (!had_memory) {
        entry_discard(memory, bytes);
        memory = NULL;
    }
    return false;
}

#else

bool hooks_lua_begin(const struct dl_phdr_info *info)
{
    (void)info;
    return false;
}

#endif
