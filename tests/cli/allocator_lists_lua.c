/* A thousand objects of 1000 bytes, a thousand of 500, and none of them left: 32 bytes more each. */
#include <lauxlib.h>
#include <lua.h>

int main(void)
{
    lua_State *state = luaL_newstate();

    lua_newtable(state);
    for (int i = 1; i <= 2000; i++) {
        lua_newuserdatauv(state, i <= 1000 ? 1000 : 500, 0);
        lua_rawseti(state, -2, i);
    }
    lua_close(state);
    return 0;
}
