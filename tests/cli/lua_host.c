/* Runs a Lua script by a library that it loads: thread (beside threads that run states of their
 * own), child (of a fork that Lua code calls), again (the library was loaded and
 * unloaded before), stacks (on a stack of the program's; another one, on which another state ran,
 * has gone). LIBRARY SCRIPT thread|child|again|stacks. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

typedef struct lua_State lua_State;

static void *library;

static int call(lua_State *state, int arguments, int results)
{
    int (*old)(lua_State *, int, int, int) = dlsym(library, "lua_pcall");
    int (*new)(lua_State *, int, int, int, intptr_t, void *) = dlsym(library, "lua_pcallk");

    return new ? new (state, arguments, results, 0, 0, NULL) : old(state, arguments, results, 0);
}

/* To Lua: is this the child? The parent waits for it, and ends as it did. */
static int become_child(lua_State *state)
{
    void (*push)(lua_State *, int) = dlsym(library, "lua_pushboolean");
    int status = 0;
    pid_t child = fork();

    if (child > 0) {
        waitpid(child, &status, 0);
        exit(WEXITSTATUS(status));
    }
    push(state, child == 0);
    return 1;
}

static void set_global(lua_State *state, const char *name)
{
    enum { GLOBALS_51 = -10002 };
    void (*new)(lua_State *, const char *) = dlsym(library, "lua_setglobal");
    void (*old)(lua_State *, int, const char *) = dlsym(library, "lua_setfield");

    if (new)
        new (state, name);
    else
        old(state, GLOBALS_51, name);
}

static bool stays_open;

static int run(const char *text)
{
    lua_State *(*make)(void) = dlsym(library, "luaL_newstate");
    void (*open)(lua_State *) = dlsym(library, "luaL_openlibs");
    void (*push)(lua_State *, int (*)(lua_State *), int) = dlsym(library, "lua_pushcclosure");
    void (*end)(lua_State *) = dlsym(library, "lua_close");
    int (*load_52)(lua_State *, const char *, size_t, const char *, const char *) =
        dlsym(library, "luaL_loadbufferx");
    int (*load_51)(lua_State *, const char *, size_t, const char *) =
        dlsym(library, "luaL_loadbuffer");
    lua_State *state = make();

    open(state);
    push(state, become_child, 0);
    set_global(state, "become_child");
    int status = load_52 ? load_52(state, text, strlen(text), "=chunk", NULL)
                         : load_51(state, text, strlen(text), "=chunk");
    status = status ? status : call(state, 0, 0);
    if (!stays_open)
        end(state);
    return status;
}

static const char *text_on_stack;
static int status_on_stack;

static void run_here(void)
{
    status_on_stack = run(text_on_stack);
}

static int run_on_stack(const char *text, char *stack, size_t bytes)
{
    ucontext_t back, there;

    text_on_stack = text;
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = bytes;
    there.uc_link = &back;
    makecontext(&there, run_here, 0);
    swapcontext(&back, &there);
    return status_on_stack;
}

static int run_on_stacks(const char *text)
{
    const size_t bytes = (size_t)8 << 20;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS, status;
    char *both = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

    stays_open = true;
    status = run_on_stack("local t = {}", both + bytes, bytes);
    munmap(both + bytes, bytes);
    mmap(both + bytes, bytes, PROT_NONE, flags | MAP_FIXED, -1, 0);
    return status ? status : run_on_stack(text, both, bytes);
}

static atomic_bool is_over;

static void *stir(void *unused)
{
    (void)unused;
    while (!is_over)
        run("local kept = {}\n"
            "for i = 1, 2000 do local made = coroutine.wrap(function() return {i} end) kept[i % "
            "10] = made() end");
    return NULL;
}

static void *run_in_thread(void *text)
{
    return (void *)(intptr_t)run(text);
}

static int run_beside_others(char *text)
{
    pthread_t others[2], own;
    void *status = NULL;

    for (int i = 0; i < 2; i++)
        pthread_create(&others[i], NULL, stir, NULL);
    pthread_create(&own, NULL, run_in_thread, text);
    pthread_join(own, &status);
    is_over = true;
    for (int i = 0; i < 2; i++)
        pthread_join(others[i], NULL);
    return status != NULL;
}

int main(int argc, char **argv)
{
    static const char in_child[] = "pcall(function() if become_child() then ",
                      behind[] = " end end)";
    char text[1024];

    if (argc < 4 || !(library = dlopen(argv[1], RTLD_NOW)))
        return 2;
    if (strcmp(argv[3], "again") == 0) {
        int status = run("local t = {}");
        dlclose(library);
        library = dlopen(argv[1], RTLD_NOW);
        if (status || !library)
            return 3;
    }
    bool is_child = strcmp(argv[3], "child") == 0;
    snprintf(text, sizeof text, "%sdofile('%s')%s", is_child ? in_child : "", argv[2],
             is_child ? behind : "");
    if (strcmp(argv[3], "stacks") == 0)
        return run_on_stacks(text);
    return strcmp(argv[3], "thread") == 0 ? run_beside_others(text) : run(text);
}
