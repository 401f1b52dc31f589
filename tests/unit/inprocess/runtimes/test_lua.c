/* Frames of Lua read out of memory that was laid out as 5.1 to 5.4 lay it out; and out of the same
 * memory with any damage: no read where there is no memory, no endless loop. */
#include <stdio.h>
#include <stdlib.h>
#include "interpreter_memory.h"
#include "interpose/real.h"
#include "runtimes/lua.h"
#include "unwind/unwind_modules.h"

enum {
    /* Where things lie in the memory. */
    STATES = 0,            /* of 256 */
    CALLS = 0x400,         /* of 512 for each state */
    VALUES = 0xc00,        /* of 128 for each state */
    CLOSURES = 0xe00,      /* of 64 */
    CODES = 0x1000,        /* of 256 */
    INSTRUCTIONS = 0x1400, /* of 64 */
    LINES = 0x1500,        /* of 64 */
    BASES = 0x1600,
    CONSTANTS = 0x1700,
    LOCALS = 0x1800,
    STRINGS = 0x1a00, /* of 128 */
    VERSION = 0x1f00,
    BYTES = 0x2000,
    FRAMES = 64,
    CODE_LO = 0x1000, /* of the interpreter's functions, which are nowhere */
    RUN_LO = 0x1100,
    RUN_HI = 0x2100,
    CODE_HI = 0x2300,
    TYPE_FUNCTION = 6,
    TYPE_NATIVE = 0x16,
    TYPE_STRING = 4,
    TYPE_STATE = 8,
    FIRST_LINE = 10,
};

static struct {
    unsigned version;
    const char *text;
    size_t status, call, call_bytes, function, previous, flags, instruction;
    uint16_t fresh, again;
    size_t closure_code, tag, constants, instructions, lines, locals, source, count, lines_count,
        locals_count, first_line;
    unsigned op_call, op_self;
} layout;
static struct lua_calls calls;
static const char *version_text;

/* The exports of a module. */
const ElfW(Sym) *real_symbol(const struct dl_phdr_info *module, const char *name)
{
    static ElfW(Sym) symbol;
    uintptr_t at = !strcmp(name, "lua_ident") && version_text ? (uintptr_t)version_text
                   : !strcmp(name, "lua_gettop")              ? CODE_LO
                   : !strcmp(name, "luaL_newstate")           ? CODE_HI
                   : !strcmp(name, "lua_newstate")            ? CODE_LO
                   : !strcmp(name, "lua_resume")              ? CODE_LO
                                                              : 0;
    (void)module;
    symbol.st_value = at;
    return at ? &symbol : NULL;
}

/* Its functions: the largest one is luaV_execute. */
int module_find_function(uintptr_t pc, uintptr_t *lo, uintptr_t *hi)
{
    *lo = pc < RUN_LO ? CODE_LO : pc < RUN_HI ? RUN_LO : RUN_HI;
    *hi = pc < RUN_LO ? RUN_LO : pc < RUN_HI ? RUN_HI : CODE_HI;
    return 0;
}

static uint32_t instruction(unsigned operation, unsigned first, unsigned second, unsigned third)
{
    return layout.version == 54 ? operation | first << 7 | 1u << 15 | second << 16 | third << 24
                                : operation | first << 6 | (256u | third) << 14 | second << 23;
}

static uintptr_t string(unsigned number, const char *text)
{
    size_t at = STRINGS + 128 * number;

    memory[at + 8] = TYPE_STRING;
    put_number(at + 12, 4711 + number); /* its hash */
    put(at + 16, strlen(text));
    strcpy(memory + at + 24, text);
    return place(at);
}

/* It calls what is in its register 0, a local variable; then a method of it. */
static uintptr_t code(unsigned number, uintptr_t source, uint32_t first_line)
{
    size_t at = CODES + 256 * number, lines = LINES + 64 * number;

    memory[at + 8] = (char)layout.tag;
    put(at + layout.constants, place(CONSTANTS));
    put(at + layout.instructions, place(INSTRUCTIONS + 64 * number));
    put(at + layout.lines, place(lines));
    put(at + layout.locals, place(LOCALS));
    put(at + layout.source, source);
    put_number(at + layout.count, 4);
    put_number(at + layout.lines_count, 4);
    put_number(at + layout.locals_count, 1);
    put_number(at + layout.first_line, first_line);
    put_number(INSTRUCTIONS + 64 * number + 4, instruction(layout.op_call, 0, 1, 1));
    put_number(INSTRUCTIONS + 64 * number + 8, instruction(layout.op_self, 1, 0, 0));
    put_number(INSTRUCTIONS + 64 * number + 12, instruction(layout.op_call, 1, 1, 1));
    for (unsigned i = 0; i < 4; i++) { /* each a line further on */
        if (layout.version == 54)
            memory[lines + i] = i == 2 ? -128 : 1;
        else
            put_number(lines + 4 * i, first_line + i + 1);
    }
    if (layout.version == 54) {
        put(at + 96, place(BASES + 32 * number));
        put_number(at + 40, 1);
        put_number(BASES + 32 * number, 2);
        put_number(BASES + 32 * number + 4, first_line + 3);
    }
    return place(at);
}

/* A call of a function's code, or of a native function, behind `number` others; at instruction
 * `at`. */
static void call(unsigned state, unsigned number, uintptr_t of, bool is_native, uint32_t at)
{
    size_t call_at = CALLS + 512 * state + layout.call_bytes * number;
    size_t value = VALUES + 128 * state + 16 * number;
    size_t closure = CLOSURES + 64 * (4 * state + number);
    size_t code_number = is_native || !of ? 0 : (of - place(CODES)) / 256;
    uintptr_t next = place(INSTRUCTIONS + 64 * code_number) + 4 * (at + 1);

    put(call_at + layout.function, place(value));
    put(value, is_native && layout.version > 51 ? of : place(closure));
    put_number(value + 8, is_native && layout.version > 51 ? TYPE_NATIVE : TYPE_FUNCTION);
    put(closure + layout.closure_code, of);
    memory[closure + 10] = (char)is_native;
    put(STATES + 256 * state + layout.call, place(call_at));
    if (layout.version == 51)
        put(STATES + 256 * state + 48, next);
    else if (number)
        put(call_at + layout.previous, place(call_at - layout.call_bytes));
    if (!is_native)
        put(call_at + layout.instruction, next);
    else if (layout.version == 51)
        put_number(call_at + 36, 7); /* tail calls: of a native one it is not set */
}

static void set_flags(unsigned state, unsigned number, uint16_t flags)
{
    if (layout.flags)
        memcpy(memory + CALLS + 512 * state + layout.call_bytes * number + layout.flags, &flags,
               sizeof flags);
}

/* The program's native function calls a file's code, which resumes a coroutine, whose function
 * calls another one, which calls a native one. */
static void lay_out(void)
{
    uintptr_t file, other;

    memset(memory, 0, VERSION);
    file = string(0, "@/x/a.lua");
    other = string(1, "@/x/gr\xc3\xb6\xc3\x9f"
                      "e.lua");
    put(CONSTANTS, string(2, "rep"));
    put_number(CONSTANTS + 8, TYPE_STRING);
    put(LOCALS, string(3, "resume"));
    put_number(LOCALS + 12, 4);
    for (unsigned state = 0; state < 2; state++) {
        memory[STATES + 256 * state + 8] = TYPE_STATE;
        if (layout.version == 51)
            put(STATES + 256 * state + 80, place(CALLS + 512 * state));
        call(state, 0, 0, false, 0);
    }
    call(0, 1, 0x5001, true, 0);
    call(0, 2, code(0, file, 0), false, 1);
    set_flags(0, 2, layout.fresh);
    call(0, 3, 0x5002, true, 0);
    call(1, 1, code(1, other, FIRST_LINE), false, 1);
    set_flags(1, 1, layout.fresh);
    call(1, 2, code(2, file, 2 * FIRST_LINE), false, 3);
    set_flags(1, 2, layout.again);
    call(1, 3, 0x5003, true, 0);
}

static uintptr_t returns[2] = {1, 2};

/* The coroutine began to run within the other state. */
#define ENTER()                                                                                    \
    uintptr_t places[2] = {returns[1], returns[0]};                                                \
    calls.count = 0;                                                                               \
    lua_enter(&calls, place(STATES), &places[1]);                                                  \
    lua_enter(&calls, place(STATES + 256), &places[0])

static void describe(const struct script_frame *frame, char *to, size_t room)
{
    char name[64], file[512];

    lua_runtime.function_name(frame, name, sizeof name);
    lua_runtime.file_name(frame, file, sizeof file);
    snprintf(to, room, "%s %s:%u%s", name, file, lua_runtime.line(frame),
             frame->ends ? " ends" : "");
}

static void the_frames_are_what_runs(void **state)
{
    static const char *const want[] = {"rep [C]:0", "resume /x/a.lua:24",
                                       "<größe.lua:10> /x/größe.lua:12 ends", "resume [C]:0",
                                       "<main> /x/a.lua:2 ends"};
    struct script_frame frames[FRAMES];
    char text[600];
    (void)state;

    lay_out();
    ENTER();
    assert_int_equal(lua_runtime.stack(frames, FRAMES), 5);
    for (size_t i = 0; i < 5; i++) {
        describe(&frames[i], text, sizeof text);
        assert_string_equal(text, want[i]);
    }
    assert_int_equal(lua_runtime.first_line(&frames[1]), 2 * FIRST_LINE);
    assert_int_equal(lua_runtime.first_line(&frames[0]), 0);
    assert_int_equal(lua_runtime.stack(frames, 2), 2);
    assert_true(lua_runtime.is_call(RUN_LO + 1));
    assert_false(lua_runtime.is_call(RUN_LO));
    assert_false(lua_runtime.is_call(CODE_HI));
}

static void a_state_that_runs_no_more_has_no_frames(void **state)
{
    struct script_frame frames[FRAMES];
    (void)state;

    lay_out();
    ENTER();
    memory[STATES + 256 + layout.status] = 1; /* it waits to be resumed */
    assert_int_equal(lua_runtime.stack(frames, FRAMES), 2);
    lay_out();
    places[0] = 4711; /* its caller has gone on */
    assert_int_equal(lua_runtime.stack(frames, FRAMES), 2);
    places[0] = returns[1];
    assert_int_equal(lua_runtime.stack(frames, FRAMES), 5);
    lua_enter(&calls, place(STATES), &places[1]); /* the program's, again */
    assert_int_equal(calls.count, 1);
    memory[STATES + 8] = TYPE_STRING; /* it was freed */
    assert_int_equal(lua_runtime.stack(frames, FRAMES), 0);
    lua_calls_own = NULL;
    assert_int_equal(lua_stack_key(), 0);
    lua_calls_own = &calls;
}

/* Calls of one state in each other have its frames once. */
static void a_state_is_walked_once(void **state)
{
    uintptr_t again[2 * LUA_ENTRIES_MOST + 2] = {0}; /* more than there is room for */
    const uintptr_t *outermost = &again[2 * LUA_ENTRIES_MOST + 1];
    struct script_frame frames[FRAMES];
    (void)state;

    lay_out();
    calls.count = 0;
    lua_enter(&calls, place(STATES), outermost);
    lua_enter(&calls, place(STATES), outermost - 1);
    assert_int_equal(lua_runtime.stack(frames, FRAMES), 2);
    for (unsigned i = 2; i < 2 * LUA_ENTRIES_MOST + 2; i++)
        lua_enter(&calls, place(STATES), outermost - i);
    assert_int_equal(calls.count, LUA_ENTRIES_MOST);
}

static void the_hash_changes_with_what_makes_the_path(void **state)
{
    uint64_t before, none = 0;
    (void)state;

    lay_out();
    ENTER();
    before = lua_stack_key();
    assert_int_not_equal(before, none);
    assert_int_equal(before, lua_stack_key());
    memory[LINES + 64 + (layout.version == 54 ? 1 : 4)]++; /* another line */
    assert_int_not_equal(before, lua_stack_key());
    lay_out();
    if (layout.version == 54) {
        memory[LINES + 64]++; /* as many lines further on */
        assert_int_not_equal(before, lua_stack_key());
        lay_out();
        memory[LINES + 64 + 2]++; /* of what is behind */
        assert_int_equal(before, lua_stack_key());
        put_number(CODES + 256 + layout.first_line + 4, 99); /* it ends elsewhere */
        assert_int_not_equal(before, lua_stack_key());
        lay_out();
        put_number(CODES + 256 + layout.count, 5); /* it is longer */
        assert_int_not_equal(before, lua_stack_key());
        lay_out();
    }
    put_number(STRINGS + 12, 1); /* another file at the same address */
    assert_int_not_equal(before, lua_stack_key());
    lay_out();
    put_number(CODES + 256 + layout.first_line, 11); /* it begins elsewhere */
    assert_int_not_equal(before, lua_stack_key());
    lay_out();
    memory[STRINGS + 24 + 4] = 'b'; /* a name that is long has no hash */
    assert_int_not_equal(before, lua_stack_key());
    lay_out();
    memory[STRINGS + 9] ^= 3; /* what the collector marks is of no matter */
    assert_int_equal(before, lua_stack_key());
}

static void a_cut_name_ends_with_a_character(void **state)
{
    struct script_frame frames[FRAMES];
    char name[64];
    (void)state;

    lay_out();
    ENTER();
    lua_runtime.stack(frames, FRAMES);
    for (size_t room = 1; room < 20; room++) {
        size_t length = lua_runtime.file_name(&frames[2], name, room);
        assert_true(length < room && strlen(name) == length);
        assert_true(length == 0 || (name[length - 1] & 0xc0) != 0xc0);
        lua_runtime.function_name(&frames[2], name, room);
        assert_true(strlen(name) < room);
    }
}

static void no_damage_is_followed_out_of_memory(void **state)
{
    enum { ROUNDS = 200000 };
    struct script_frame frames[FRAMES];
    char text[700];
    uint64_t frames_read = 0;
    (void)state;

    lay_out();
    ENTER();
    for (unsigned round = 0; round < ROUNDS; round++) {
        lay_out();
        for (uint64_t changes = 1 + draw() % 4; changes--;)
            put(draw() % (VERSION - 8) & ~7ull, damage());
        put(draw() % 2 ? CALLS + draw() % 0x800 / 8 * 8 : CLOSURES + draw() % 0x700 / 8 * 8,
            damage());
        calls.entries[0].state = draw() % 8 ? place(STATES) : damage();
        lua_stack_key();
        uint32_t count = lua_runtime.stack(frames, FRAMES);
        for (uint32_t i = 0; i < count; i++) {
            describe(&frames[i], text, sizeof text);
            lua_runtime.first_line(&frames[i]);
            lua_runtime.identity(&frames[i]);
            lua_runtime.frame_key(&frames[i]);
        }
        frames_read += count;
    }
    assert_true(frames_read > ROUNDS);
}

static bool layout_of(int version)
{
    static const __typeof__(layout) layouts[] = {
        {51, "$Lua: Lua 5.1.5 Copyright",
         10, 40,
         40, 8,
         0,  0,
         24, 0,
         0,  32,
         9,  16,
         24, 40,
         48, 64,
         80, 84,
         92, 96,
         28, 11},
        {52,     "$LuaVersion: Lua 5.2.4  Copyright",
         10,     32,
         80,     0,
         16,     34,
         56,     0,
         1 << 2, 24,
         9,      16,
         24,     40,
         48,     72,
         88,     92,
         100,    104,
         29,     12},
        {53, "$LuaVersion: Lua 5.3.6  Copyright",
         12, 32,
         72, 0,
         16, 66,
         40, 1 << 3,
         0,  24,
         9,  48,
         56, 72,
         80, 104,
         24, 28,
         36, 40,
         36, 12},
        {54,  "$LuaVersion: Lua 5.4.4  Copyright",
         10,  32,
         64,  0,
         16,  62,
         32,  1 << 2,
         0,   24,
         10,  56,
         64,  88,
         104, 112,
         24,  28,
         36,  44,
         68,  20},
    };

    if (version < 51 || version > 54)
        return false;
    layout = layouts[version - 51];
    return true;
}

/* LuaJIT has no such text; another version, or another release of 5.4, is not read. */
static bool it_begins(void)
{
    static const char *const others[] = {NULL, "$LuaVersion: Lua 5.5.0  Copyright",
                                         "$LuaVersion: Lua 5.4.2  Copyright",
                                         "$LuaVersion: Lua 5.2.0  Copyright", "5"};
    static const struct dl_phdr_info none;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        version_text = others[i];
        if (lua_see_module(&none) || !lua_is_unread(&none))
            return false;
    }
    version_text = layout.text;
    lua_calls_own = &calls;
    return lua_see_module(&none) && !lua_is_unread(&none) && !lua_see_module(&none);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_frames_are_what_runs),
        cmocka_unit_test(a_state_that_runs_no_more_has_no_frames),
        cmocka_unit_test(a_state_is_walked_once),
        cmocka_unit_test(the_hash_changes_with_what_makes_the_path),
        cmocka_unit_test(a_cut_name_ends_with_a_character),
        cmocka_unit_test(no_damage_is_followed_out_of_memory),
    };

    if (!memory_make(BYTES) || !layout_of(argc > 1 ? atoi(argv[1]) : 54))
        return 1;
    return it_begins() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
