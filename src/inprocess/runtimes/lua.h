/* Reads the frames of a Lua interpreter in this process, 5.1 to 5.4: which function runs, at which
 * instruction. Where fields lie is said by a table, a row for some versions.
 *
 *   thread's entries ─▶ the states (coroutines) that run, the innermost last
 *                         │ calls, the innermost first: function, instruction
 *                         ╰─▶ function's code: file, first line, lines, names of locals
 *
 * A state does not say that it runs, nor which one resumed it. So the recorder tells of each call
 * of the functions at which a state begins to run (lua_enter()). One native call of luaV_execute
 * runs many functions, up to one that `ends`; that function is not exported and is found by its
 * size. Functions have no names: a name is that of the expression that was called, as in Lua's own
 * tracebacks.
 *
 * No address is read whose page was not seen to be there (script_memory.h). */
#ifndef TIDEMARK_RUNTIMES_LUA_H
#define TIDEMARK_RUNTIMES_LUA_H

#include <link.h>
#include "runtimes/runtime.h"
#include "unwind/stack_bounds.h"

enum { LUA_ENTRIES_MOST = 250 }; /* Lua itself allows 200 of them in each other */

/* A state that began to run, and where its caller's return address lies: the entry is over when
 * that is above the stack pointer no more, or another one. */
struct lua_entry {
    uintptr_t state;
    const uintptr_t *place;
    uintptr_t returns;
};

/* Of a thread. Invariant: an entry's place is below that of the entry before it. It may be on a
 * stack that has gone: a program may run Lua on stacks of its own. */
struct lua_calls {
    struct lua_calls *next;
    uintptr_t thread; /* its pointer */
    uint32_t module;  /* the count of interpreters at that time: states of another one have gone */
    uint32_t count;
    struct stack stack; /* the thread's own */
    struct lua_entry entries[LUA_ENTRIES_MOST];
};

extern __thread struct lua_calls *lua_calls_own; /* NULL: nothing has run in this thread */
extern uint32_t lua_modules;                     /* interpreters that were seen */

/* To be called where a state begins to run, before it does. */
static inline void lua_enter(struct lua_calls *calls, uintptr_t state, const uintptr_t *place)
{
    if (calls->module != lua_modules) {
        calls->module = lua_modules;
        calls->count = 0;
    }
    while (calls->count && calls->entries[calls->count - 1].place <= place)
        calls->count--;
    calls->count -= calls->count == LUA_ENTRIES_MOST;
    calls->entries[calls->count++] = (struct lua_entry){state, place, *place};
}

/* Is this module an interpreter that can be read? The first one counts; true: it is that, and
 * new. */
bool lua_see_module(const struct dl_phdr_info *info);
/* Is it a Lua all the same, of a version that is not known, or LuaJIT? */
bool lua_is_unread(const struct dl_phdr_info *info);

/* A hash of the calling thread's frames; 0: it has none. To be asked only where a native frame is
 * lua_runtime.is_call(): the interpreter is alive then. */
uint64_t lua_stack_key(void);

extern const struct runtime lua_runtime;

#endif
