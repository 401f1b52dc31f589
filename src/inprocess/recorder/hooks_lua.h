/* Hooks the functions of Lua's interpreter at which a state (a coroutine) begins to run, so that
 * each thread knows its states (runtimes/lua.h). */
#ifndef TIDEMARK_RECORDER_HOOKS_LUA_H
#define TIDEMARK_RECORDER_HOOKS_LUA_H

#include <link.h>
#include <stdbool.h>

/* To be called when an interpreter was found (script_paths.h), before its first call. False: its
 * functions cannot be hooked, as in a program that is running already. */
bool hooks_lua_begin(const struct dl_phdr_info *info);

#endif
