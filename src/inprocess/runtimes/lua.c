/* Finds Lua's interpreter by its exports and its version by its own text, and reads states, calls,
 * functions and instructions by a layout: one row for some versions (lua.h). */
#include "runtimes/lua.h"

#include <string.h>
#include "base/hash.h"
#include "runtimes/script_memory.h"
#include "unwind/unwind_modules.h"

/* Operations that a name is read from, by their numbers; and those that set the register A. */
struct operations {
    uint8_t upvalue, global, table, field, self, nothing, call, tail_call, iterate, jump;
    uint64_t sets[2];
};

/* Offsets in bytes. Sources: lstate.h, lobject.h, lopcodes.h of each version. */
struct lua_layout {
    uint8_t version, first, last; /* 54: 5.4; releases of it */
    uint8_t call_bytes, state_call, call_function, call_previous, call_flags, call_instruction;
    uint16_t is_fresh, is_again, is_tail, is_end; /* flags: begins a luaV_execute; does not; was
                                                   * called as the last thing; runs a finaliser */
    uint8_t closure_code, code_tag;
    uint8_t constants, instructions, upvalues, lines, locals, source; /* of code */
    uint8_t count, lines_count, locals_count, first_line;
    uint8_t line_bytes;         /* a line, or 1: what it is more than the one before … */
    uint8_t bases, bases_count; /* … but for some lines */
    struct operations operations;
};

static const struct lua_layout layouts[] = {
    {.version = 51,
     .call_bytes = 40,
     .first = 0,
     .last = 5,
     .state_call = 40,
     .call_function = 8,
     .call_instruction = 24,
     .closure_code = 32,
     .code_tag = 9,
     .constants = 16,
     .instructions = 24,
     .upvalues = 56,
     .lines = 40,
     .locals = 48,
     .source = 64,
     .count = 80,
     .lines_count = 84,
     .locals_count = 92,
     .first_line = 96,
     .line_bytes = 4,
     .operations = {4, 5, 6, 255, 11, 3, 28, 29, 33, 22, {0x31bc3ffc7f, 0}}},
    {.version = 52,
     .call_bytes = 80,
     .first = 1,
     .last = 4,
     .state_call = 32,
     .call_previous = 16,
     .call_flags = 34,
     .call_instruction = 56,
     .is_again = 1 << 2,
     .is_tail = 1 << 6,
     .closure_code = 24,
     .code_tag = 9,
     .constants = 16,
     .instructions = 24,
     .upvalues = 56,
     .lines = 40,
     .locals = 48,
     .source = 72,
     .count = 88,
     .lines_count = 92,
     .locals_count = 100,
     .first_line = 104,
     .line_bytes = 4,
     .operations = {5, 6, 7, 255, 12, 4, 29, 30, 34, 23, {0x6b707ff8ff, 0}}},
    {.version = 53,
     .call_bytes = 72,
     .first = 2,
     .last = 6,
     .state_call = 32,
     .call_previous = 16,
     .call_flags = 66,
     .call_instruction = 40,
     .is_fresh = 1 << 3,
     .is_tail = 1 << 5,
     .closure_code = 24,
     .code_tag = 9,
     .constants = 48,
     .instructions = 56,
     .upvalues = 88,
     .lines = 72,
     .locals = 80,
     .source = 104,
     .count = 24,
     .lines_count = 28,
     .locals_count = 36,
     .first_line = 40,
     .line_bytes = 4,
     .operations = {5, 6, 7, 255, 12, 4, 36, 37, 41, 30, {0x35b83ffff8ff, 0}}},
    {.version = 54,
     .call_bytes = 64,
     .first = 3,
     .last = 8,
     .state_call = 32,
     .call_previous = 16,
     .call_flags = 62,
     .call_instruction = 32,
     .is_fresh = 1 << 2,
     .is_tail = 1 << 5,
     .is_end = 1 << 7,
     .closure_code = 24,
     .code_tag = 10,
     .constants = 56,
     .instructions = 64,
     .upvalues = 80,
     .lines = 88,
     .locals = 104,
     .source = 112,
     .count = 24,
     .lines_count = 28,
     .locals_count = 36,
     .first_line = 44,
     .line_bytes = 1,
     .bases = 96,
     .bases_count = 40,
     .operations = {9, 11, 12, 14, 20, 8, 68, 69, 76, 56, {0x3e3ffffff87bff, 0x3a638}}},
};

/* The same in all of them, or of 5.1 alone. */
enum {
    STATE_STATUS_53 = 12,
    STATE_STATUS = 10,
    STATE_INSTRUCTION = 48, /* 5.1: of the innermost call */
    STATE_FIRST_CALL = 80,
    STATE_BYTES = 88,
    CALL_TAILS = 36,
    VALUE_TYPE = 8,
    VALUE_BYTES = 16,
    OBJECT_TYPE = 8,
    CLOSURE_IS_NATIVE = 10,
    CODE_BYTES = 120,
    STRING_HASH = 12,
    STRING_LENGTH = 16, /* of a long one */
    STRING_TEXT = 24,
    STRING_LONG_MOST = 40, /* shorter ones have a hash of their own */
    LOCAL_FIRST = 8,
    LOCAL_LAST = 12,
    LOCAL_BYTES = 16,
    LINE_LAST = 4, /* behind the first one */
    BASE_LINE = 4,
    BASE_BYTES = 8,
};

enum {
    TYPE_STRING = 4,
    TYPE_FUNCTION = 6,
    TYPE_STATE = 8,
    TYPE_MASK = 0xf,
    VARIANT_MASK = 0x3f,
    VARIANT_NATIVE = 0x16, /* without values of its own */
    VARIANT_CLOSURE = 0x26,
    IS_SUSPENDED = 1,
    KIND_NATIVE = 1,
    KIND_TAIL = 2,
    MOVE = 0,
    STEPS_MOST = 1 << 16,
    FRAMES_MOST = 1 << 10,
    INSTRUCTIONS_MOST = 1 << 16, /* that are looked through for one name */
    LOCALS_MOST = 1 << 12,
    STEPS_OF_LINES = 256,        /* from a line as it is to the next one: 128 */
    FUNCTION_BYTES_LEAST = 3000, /* of luaV_execute */
    GAP_MOST = 1 << 16,          /* without a function: the module has no tables */
    TEXT_BYTES = 512,
    STACK_MOST = 1 << 20, /* of a stack of the program's: so far from what runs entries count */
};

static struct {
    const struct lua_layout *layout; /* NULL: no interpreter was seen */
    struct code_span module, run;
} lua;

__thread struct lua_calls *lua_calls_own;
uint32_t lua_modules;

/* ---- Finding it ---- */

/* "$LuaVersion: Lua 5.4.4 …"; in 5.1 "$Lua: Lua 5.1.5 …". */
static const struct lua_layout *lua_layout_of(const struct dl_phdr_info *info)
{
    const char *text = (const char *)script_symbol(info, "lua_ident");
    const char *version = text ? strstr(text, ": Lua 5.") : NULL;

    if (!version || version[9] != '.')
        return version && version[8] == '1' ? &layouts[0] : NULL;
    int number = 50 + version[8] - '0', release = version[10] - '0';
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].version == number && release >= layouts[i].first &&
            release <= layouts[i].last)
            return &layouts[i];
    return NULL;
}

/* luaV_execute is by far the largest function of the interpreter; what is exported lies before and
 * behind it. {0, 0}: it was not found. */
static struct code_span lua_find_run(const struct dl_phdr_info *info)
{
    uintptr_t ends[] = {script_symbol(info, "lua_gettop"), script_symbol(info, "luaL_newstate")};
    struct code_span run = {0, 0};
    uintptr_t at = ends[0] < ends[1] ? ends[0] : ends[1];
    uintptr_t behind = ends[0] < ends[1] ? ends[1] : ends[0], seen = at;

    while (at && at < behind) {
        struct code_span found;
        if (module_find_function(at, &found.lo, &found.hi) != 0 || found.hi <= at) {
            if (at - seen > GAP_MOST)
                return (struct code_span){0, 0};
            at += 16;
            continue;
        }
        if (found.hi - found.lo > run.hi - run.lo)
            run = found;
        at = seen = (found.hi + 15) & -(uintptr_t)16;
    }
    return run.hi - run.lo >= FUNCTION_BYTES_LEAST ? run : (struct code_span){0, 0};
}

bool lua_see_module(const struct dl_phdr_info *info)
{
    const struct lua_layout *layout = lua.layout ? NULL : lua_layout_of(info);

    if (!layout || sizeof(void *) != 8)
        return false;
    lua.module = script_segments(info);
    lua.run = lua_find_run(info);
    if (lua.run.lo) {
        lua.layout = layout;
        lua_modules++;
    }
    return lua.layout != NULL;
}

bool lua_is_unread(const struct dl_phdr_info *info)
{
    return !lua.layout && script_symbol(info, "lua_newstate") && script_symbol(info, "lua_resume");
}

static struct code_span lua_module(void)
{
    return lua.layout ? lua.module : (struct code_span){0, 0};
}

static void lua_forget(void)
{
    lua.layout = NULL;
}

static bool lua_is_call(uintptr_t return_address)
{
    return code_span_has(&lua.run, return_address);
}

/* ---- States ---- */

struct lua_stack_walk {
    const struct lua_calls *calls;
    uint32_t left;        /* of its entries, which are further out */
    bool is_own_stack;    /* the thread's own one runs now */
    uintptr_t state;      /* the one that is walked; 0: none yet */
    uintptr_t call, last; /* the next one outwards, the one behind the outermost (5.1) */
    uintptr_t innermost;  /* the state's instruction is that of this call (5.1) */
    uint32_t steps;
};

static inline bool lua_is_old(void)
{
    return !lua.layout->call_previous;
}

/* On a stack of the program's (a coroutine of C's) an entry counts if memory reaches up to it
 * without a hole. What is on yet another stack does not call what runs here, and may have gone. */
static __attribute__((noinline)) bool lua_is_on_this_stack(uintptr_t place, uintptr_t here)
{
    uintptr_t hole;

    return place - here < STACK_MOST &&
           stack_pages_readable(here, place + sizeof(uintptr_t), &hole);
}

static inline bool lua_entry_is_alive(const struct lua_stack_walk *walk,
                                      const struct lua_entry *entry, uintptr_t here)
{
    uintptr_t place = (uintptr_t)entry->place;

    return place > here &&
           (walk->is_own_stack ? place < walk->calls->stack.hi
                               : lua_is_on_this_stack(place, here)) &&
           *entry->place == entry->returns;
}

/* One that waits to be resumed runs nothing. */
static inline bool lua_is_running(uintptr_t state)
{
    if (state % sizeof(uintptr_t) || !script_are_there(state, STATE_BYTES))
        return false;
    unsigned status =
        *(const uint8_t *)(state + (lua.layout->version == 53 ? STATE_STATUS_53 : STATE_STATUS));
    return (*(const uint8_t *)(state + OBJECT_TYPE) & TYPE_MASK) == TYPE_STATE &&
           status != IS_SUSPENDED;
}

static inline void lua_walk_begin(struct lua_stack_walk *walk)
{
    struct lua_calls *calls = lua_calls_own;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    *walk = (struct lua_stack_walk){.calls = calls};
    if (unlikely(!calls) || calls->module != lua_modules)
        return;
    walk->left = calls->count;
    walk->is_own_stack = stack_covers(&calls->stack, here) || stack_prove(&calls->stack, here);
}

/* The next state outwards. Entries one behind the other may be of one state. */
static inline bool lua_walk_state(struct lua_stack_walk *walk)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    while (walk->left) {
        const struct lua_entry *entry = &walk->calls->entries[--walk->left];
        if (entry->state == walk->state || !lua_entry_is_alive(walk, entry, here) ||
            !lua_is_running(entry->state))
            continue;
        walk->state = entry->state;
        walk->call = walk->innermost = *(const uintptr_t *)(entry->state + lua.layout->state_call);
        walk->last = lua_is_old() ? *(const uintptr_t *)(entry->state + STATE_FIRST_CALL) : 0;
        return true;
    }
    return false;
}

/* ---- Calls ---- */

/* 0: the call is the state's own, which is none. */
static inline uintptr_t lua_previous(uintptr_t call, uintptr_t last)
{
    if (lua_is_old())
        return call > last ? call - lua.layout->call_bytes : 0;
    return *(const uintptr_t *)(call + lua.layout->call_previous);
}

/* Written out where they are used: a call of Lua's is read by all of them at each event. */
#define LUA_STEP static inline __attribute__((always_inline))

/* False: it is no function. */
LUA_STEP bool lua_read_function(uintptr_t place, struct script_frame *frame)
{
    if (place % sizeof(uintptr_t) || !script_are_there(place, VALUE_BYTES))
        return false;
    uintptr_t value = *(const uintptr_t *)place;
    unsigned variant = *(const uint8_t *)(place + VALUE_TYPE) & VARIANT_MASK;
    *frame = (struct script_frame){.code = value, .kind = KIND_NATIVE};
    if (variant == VARIANT_NATIVE)
        return true;
    if ((variant != TYPE_FUNCTION && variant != VARIANT_CLOSURE) || value % sizeof value ||
        !script_are_there(value, lua.layout->closure_code + sizeof value))
        return false;
    frame->code = *(const uintptr_t *)(value + lua.layout->closure_code);
    if (variant == VARIANT_CLOSURE ||
        (lua_is_old() && *(const uint8_t *)(value + CLOSURE_IS_NATIVE)))
        return true;
    frame->kind = 0;
    return frame->code % sizeof value == 0 && script_are_there(frame->code, CODE_BYTES) &&
           *(const uint8_t *)(frame->code + OBJECT_TYPE) == lua.layout->code_tag;
}

LUA_STEP bool lua_read_call(uintptr_t call, uintptr_t instruction, struct script_frame *frame)
{
    if (!lua_read_function(*(const uintptr_t *)(call + lua.layout->call_function), frame))
        return false;
    if (!frame->kind)
        frame->instruction =
            instruction ? instruction : *(const uintptr_t *)(call + lua.layout->call_instruction);
    return true;
}

static inline bool lua_call_is_there(uintptr_t call)
{
    return call && call % sizeof(uintptr_t) == 0 && script_are_there(call, lua.layout->call_bytes);
}

/* The next frame outwards, and the call that it is of. False: there is none, or what was read is
 * none. */
LUA_STEP bool lua_walk_next(struct lua_stack_walk *walk, struct script_frame *frame,
                            uintptr_t *call)
{
    while (walk->steps++ < STEPS_MOST) {
        uintptr_t at = walk->call, instruction = 0;
        if (!at) {
            if (!lua_walk_state(walk))
                return false;
            continue;
        }
        if (!lua_call_is_there(at))
            return false;
        walk->call = lua_previous(at, walk->last);
        if (!walk->call)
            continue;
        if (lua_is_old() && at == walk->innermost)
            instruction = *(const uintptr_t *)(walk->state + STATE_INSTRUCTION);
        *call = at;
        return lua_read_call(at, instruction, frame);
    }
    return false;
}

/* ---- Strings ---- */

/* What tells a file's name from another that has its address later. */
static inline uint64_t lua_string_key(uintptr_t string)
{
    if (!string || string % sizeof(uintptr_t) || !script_are_there(string, STRING_TEXT + 8))
        return 0;
    uint64_t hash = *(const uint32_t *)(string + STRING_HASH);
    uint64_t text = *(const uint64_t *)(string + STRING_TEXT);
    uintptr_t length = *(const uintptr_t *)(string + STRING_LENGTH);
    bool is_long = *(const uint8_t *)(string + OBJECT_TYPE) != TYPE_STRING || lua_is_old();
    if (is_long && length > STRING_LONG_MOST && length < TEXT_BYTES &&
        script_is_there(string + STRING_TEXT + length - 1)) {
        uint64_t end;
        memcpy(&end, (const char *)string + STRING_TEXT + length - sizeof end, sizeof end);
        text ^= end * 3 + length;
    }
    return hash << 32 ^ text;
}

static size_t lua_string(uintptr_t string, char *to, size_t room)
{
    *to = '\0';
    return string ? script_text(string + STRING_TEXT, TEXT_BYTES, to, room) : 0;
}

/* ---- Lines ---- */

/* Of the instruction that runs, which is the one before the next, or the first one; -1: it is
 * none. */
static inline int32_t lua_position(const struct script_frame *frame)
{
    uintptr_t first = script_word(frame->code + lua.layout->instructions);
    size_t position = (frame->instruction - first) / sizeof(uint32_t);

    position -= position != 0;
    return position < script_number(frame->code + lua.layout->count) ? (int32_t)position : -1;
}

static uint32_t lua_first_line(const struct script_frame *frame)
{
    uint32_t line =
        frame->kind & KIND_NATIVE ? 0 : script_number(frame->code + lua.layout->first_line);

    return line <= INT32_MAX ? line : 0;
}

/* 5.4: lines are differences, with a line as it is now and then. */
static uint32_t lua_line_by_steps(uintptr_t code, int32_t position)
{
    uintptr_t lines = script_word(code + lua.layout->lines);
    uintptr_t bases = script_word(code + lua.layout->bases);
    uint32_t count = script_number(code + lua.layout->bases_count), lo = 0;
    int32_t at = -1, line = (int32_t)script_number(code + lua.layout->first_line);

    while (lo < count) { /* the last one that is not behind */
        uint32_t middle = lo + (count - lo) / 2;
        if ((int32_t)script_number(bases + (uintptr_t)middle * BASE_BYTES) > position) {
            count = middle;
            continue;
        }
        at = (int32_t)script_number(bases + (uintptr_t)middle * BASE_BYTES);
        line = (int32_t)script_number(bases + (uintptr_t)middle * BASE_BYTES + BASE_LINE);
        lo = middle + 1;
    }
    if (position - at > STEPS_OF_LINES)
        return 0;
    for (at++; at <= position; at++)
        line += script_is_there(lines + (uint32_t)at) ? *(const int8_t *)(lines + (uint32_t)at) : 0;
    return line > 0 ? (uint32_t)line : 0;
}

static uint32_t lua_line(const struct script_frame *frame)
{
    int32_t position = frame->kind & KIND_NATIVE ? -1 : lua_position(frame);
    uintptr_t lines = position >= 0 ? script_word(frame->code + lua.layout->lines) : 0;

    if (!lines || position >= (int32_t)script_number(frame->code + lua.layout->lines_count))
        return 0;
    if (lua.layout->line_bytes == 1)
        return lua_line_by_steps(frame->code, position);
    uint32_t line = script_number(lines + (uintptr_t)position * sizeof line);
    return line <= INT32_MAX ? line : 0;
}

/* ---- What a runtime answers: frames ---- */

/* The steps of lines up to a position, 32 at most. */
static inline uint64_t lua_steps(uintptr_t lines, uintptr_t position)
{
    enum { STEPS = sizeof(uint64_t), MOST = 4 * STEPS };
    uintptr_t count = position < MOST ? position + 1 : MOST, end = lines + position + 1;
    uint64_t steps, key = 0;

    if (!script_are_there(end - count, count + STEPS))
        return 0;
    for (; count >= STEPS; count -= STEPS, end -= STEPS) {
        memcpy(&steps, (const void *)(end - STEPS), sizeof steps);
        key = key * 0x9E3779B97F4A7C15ull + steps;
    }
    if (!count)
        return key;
    memcpy(&steps, (const void *)(end - count), sizeof steps);
    return key * 0x9E3779B97F4A7C15ull + (steps << 8 * (STEPS - count));
}

/* What is said of a function's line where it is. The line itself, or of 5.4 what takes one look:
 * some steps to the line, where the function ends, and how many instructions it has. */
static inline uint64_t lua_line_key(const struct script_frame *frame)
{
    uintptr_t first = *(const uintptr_t *)(frame->code + lua.layout->instructions);
    uintptr_t lines = *(const uintptr_t *)(frame->code + lua.layout->lines);
    uintptr_t position = (frame->instruction - first) / sizeof(uint32_t) - 1;
    uint64_t count = *(const uint32_t *)(frame->code + lua.layout->count);
    uintptr_t at = lines + position * lua.layout->line_bytes;

    if (!lines || position >= count)
        return 0;
    if (lua.layout->line_bytes == 1) {
        uint64_t last = *(const uint32_t *)(frame->code + lua.layout->first_line + LINE_LAST);
        return hash_u64(lua_steps(lines, position) + hash_u64(last << 32 | count));
    }
    return at % lua.layout->line_bytes || !script_is_there(at) ? 0 : *(const uint32_t *)at;
}

/* Of a frame that was just read. Code is freed and made anew, so what it says counts, too.
 * Addresses differ in the bits that lines have, so each word has all bits of the key. */
static inline uint64_t lua_frame_key(const struct script_frame *frame)
{
    uint64_t key = frame->code * 0x9E3779B97F4A7C15ull ^ frame->instruction;

    if (frame->kind & KIND_NATIVE)
        return key;
    uint64_t line = *(const uint32_t *)(frame->code + lua.layout->first_line);
    key ^= lua_string_key(*(const uintptr_t *)(frame->code + lua.layout->source)) * 5;
    return key + line * 0xC2B2AE3D27D4EB4Full + lua_line_key(frame) * 0xD6E8FEB86659FD93ull;
}

uint64_t lua_stack_key(void)
{
    struct lua_stack_walk walk;
    struct script_frame frame;
    uintptr_t call;
    uint64_t key = 0;

    lua_walk_begin(&walk);
    for (uint32_t i = 0; i < FRAMES_MOST && lua_walk_next(&walk, &frame, &call); i++)
        key = (key ^ lua_frame_key(&frame)) * 0x9E3779B97F4A7C15ull + 1;
    return key;
}

/* The operation of an instruction; the registers and numbers in it. */
static unsigned lua_operation(uint32_t instruction)
{
    return instruction & (lua.layout->version == 54 ? 0x7f : 0x3f);
}

static unsigned lua_register(uint32_t instruction)
{
    return instruction >> (lua.layout->version == 54 ? 7 : 6) & 0xff;
}

static unsigned lua_second(uint32_t instruction)
{
    return lua.layout->version == 54 ? instruction >> 16 & 0xff : instruction >> 23;
}

static unsigned lua_third(uint32_t instruction)
{
    return lua.layout->version == 54 ? instruction >> 24 : instruction >> 14 & 0x1ff;
}

static int32_t lua_distance(uint32_t instruction)
{
    return lua.layout->version == 54 ? (int32_t)(instruction >> 7) - 0xffffff
                                     : (int32_t)(instruction >> 14) - 0x1ffff;
}

static uint32_t lua_instruction(uintptr_t code, int32_t position)
{
    return script_number(script_word(code + lua.layout->instructions) +
                         (uintptr_t)position * sizeof(uint32_t));
}

static bool lua_is_call_operation(unsigned operation)
{
    return operation == lua.layout->operations.call ||
           operation == lua.layout->operations.tail_call;
}

/* 5.1 has no flag: a function that another one called by an operation for that runs in the same
 * luaV_execute. */
static bool lua_begins_run(uintptr_t call, uintptr_t last)
{
    uint16_t flags = *(const uint16_t *)(call + lua.layout->call_flags);
    struct script_frame caller;
    int32_t position;

    if (lua.layout->is_fresh)
        return flags & lua.layout->is_fresh;
    if (lua.layout->is_again)
        return !(flags & lua.layout->is_again);
    uintptr_t previous = lua_previous(call, last);
    if (!lua_previous(previous, last) || !lua_call_is_there(previous) ||
        !lua_read_call(previous, 0, &caller) || caller.kind)
        return true;
    position = lua_position(&caller);
    return position < 0 ||
           !lua_is_call_operation(lua_operation(lua_instruction(caller.code, position)));
}

/* 5.1 leaves the count as it was where a native function is called. */
static bool lua_is_tail(uintptr_t call, bool is_native)
{
    if (lua_is_old())
        return !is_native && *(const int32_t *)(call + CALL_TAILS) > 0;
    return *(const uint16_t *)(call + lua.layout->call_flags) & lua.layout->is_tail;
}

/* The native function that a program begins with is not shown. */
static bool lua_is_shown(const struct script_frame *frame)
{
    return !(frame->kind & KIND_NATIVE) || frame->caller;
}

static uint32_t lua_stack(struct script_frame *frames, uint32_t max)
{
    struct lua_stack_walk walk;
    uint32_t count = 0;
    uintptr_t call;

    script_memory_forget();
    lua_walk_begin(&walk);
    while (count < max && lua_walk_next(&walk, &frames[count], &call)) {
        struct script_frame *frame = &frames[count];
        frame->ends = !frame->kind && lua_begins_run(call, walk.last);
        frame->kind |= lua_is_tail(call, frame->kind & KIND_NATIVE) ? KIND_TAIL : 0;
        frame->caller =
            lua_call_is_there(walk.call) && lua_previous(walk.call, walk.last) ? walk.call : 0;
        count += lua_is_shown(frame);
    }
    return count;
}

/* ---- Names ---- */

/* A register as it is at an instruction of some code. */
struct lua_place {
    uintptr_t code;
    int32_t position;
    unsigned number;
};

/* The name of a local variable; 0: it is none. */
static uintptr_t lua_local(const struct lua_place *place)
{
    uintptr_t locals = script_word(place->code + lua.layout->locals);
    uint32_t count = script_number(place->code + lua.layout->locals_count);
    unsigned left = place->number + 1;

    for (uint32_t i = 0; i < count && i < LOCALS_MOST; i++, locals += LOCAL_BYTES) {
        if ((int32_t)script_number(locals + LOCAL_FIRST) > place->position)
            break;
        if (place->position < (int32_t)script_number(locals + LOCAL_LAST) && --left == 0)
            return script_word(locals);
    }
    return 0;
}

/* Does the instruction set the register? */
static bool lua_sets(uint32_t instruction, unsigned number)
{
    const struct operations *operations = &lua.layout->operations;
    unsigned operation = lua_operation(instruction), first = lua_register(instruction);

    if (operation == operations->nothing)
        return number >= first && number <= lua_second(instruction) + (lua_is_old() ? 0 : first);
    if (operation == operations->iterate)
        return number >= first + 2;
    if (lua_is_call_operation(operation))
        return number >= first;
    return operations->sets[operation / 64 % 2] >> operation % 64 & 1 && number == first;
}

/* The instruction that set the register, if it is one for certain; -1: it is not. Where jumps lead
 * over it is not certain, as in Lua's own search; 5.1 follows them. */
static int32_t lua_find_setter(const struct lua_place *place, uint32_t *looks)
{
    int32_t found = -1, target = 0;

    for (int32_t at = 0; at < place->position; at++) {
        if ((*looks)-- == 0)
            return -1;
        uint32_t instruction = lua_instruction(place->code, at);
        if (lua_operation(instruction) == lua.layout->operations.jump) {
            int32_t to = at + 1 + lua_distance(instruction);
            bool is_ahead = to > at && to <= place->position;
            if (is_ahead && lua_is_old())
                at = to - 1;
            target = is_ahead && !lua_is_old() && to > target ? to : target;
        } else if (lua_sets(instruction, place->number)) {
            found = at < target ? -1 : at;
        }
    }
    return found;
}

/* A constant's text; 0: it is none. */
static uintptr_t lua_constant(uintptr_t code, unsigned number)
{
    uintptr_t value = script_word(code + lua.layout->constants) + (uintptr_t)number * VALUE_BYTES;

    return (script_number(value + VALUE_TYPE) & TYPE_MASK) == TYPE_STRING ? script_word(value) : 0;
}

static uintptr_t lua_upvalue(uintptr_t code, unsigned number)
{
    uintptr_t bytes = lua_is_old() ? sizeof(uintptr_t) : VALUE_BYTES;

    return script_word(script_word(code + lua.layout->upvalues) + number * bytes);
}

/* The third operand as a key; 0: it is no constant. */
static uintptr_t lua_key(uintptr_t code, uint32_t instruction)
{
    enum { IS_CONSTANT = 1 << 8, IS_CONSTANT_54 = 1 << 15 };
    unsigned third = lua_third(instruction), operation = lua_operation(instruction);

    if (lua.layout->version == 54)
        return operation != lua.layout->operations.self || instruction & IS_CONSTANT_54
                   ? lua_constant(code, third)
                   : 0;
    return third & IS_CONSTANT ? lua_constant(code, third & (IS_CONSTANT - 1)) : 0;
}

/* The name of what is in a register: of a variable or a field; 0: it has none. */
static uintptr_t lua_name_of(struct lua_place place)
{
    const struct operations *operations = &lua.layout->operations;
    uint32_t looks = INSTRUCTIONS_MOST;

    for (;;) {
        uintptr_t local = lua_local(&place);
        int32_t setter = local ? -1 : lua_find_setter(&place, &looks);
        uint32_t instruction = setter >= 0 ? lua_instruction(place.code, setter) : 0;
        unsigned operation = lua_operation(instruction), from = lua_second(instruction);
        if (local || setter < 0)
            return local;
        if (operation == MOVE && from < place.number)
            place = (struct lua_place){place.code, setter, from};
        else if (operation == operations->upvalue)
            return lua_upvalue(place.code, from);
        else if (operation == operations->global && lua_is_old())
            return lua_constant(place.code, instruction >> 14);
        else if (operation == operations->global || operation == operations->self ||
                 operation == operations->field ||
                 (operation == operations->table && lua.layout->version != 54))
            return lua_key(place.code, instruction);
        else
            return 0;
    }
}

/* By what its caller does; 0: it has no name. */
static size_t lua_called_name(const struct script_frame *frame, char *to, size_t room)
{
    struct script_frame caller;

    if (!frame->caller || frame->kind & KIND_TAIL || !lua_call_is_there(frame->caller))
        return 0;
    if (*(const uint16_t *)(frame->caller + lua.layout->call_flags) & lua.layout->is_end)
        return script_copy("__gc", to, room);
    if (!lua_read_call(frame->caller, 0, &caller) || caller.kind)
        return 0;
    int32_t position = lua_position(&caller);
    uint32_t instruction = position >= 0 ? lua_instruction(caller.code, position) : 0;
    unsigned operation = lua_operation(instruction);
    if (position >= 0 && operation == lua.layout->operations.iterate && !lua_is_old())
        return script_copy("<iterator>", to, room);
    if (position < 0 ||
        (!lua_is_call_operation(operation) && operation != lua.layout->operations.iterate))
        return 0;
    return lua_string(
        lua_name_of((struct lua_place){caller.code, position, lua_register(instruction)}), to,
        room);
}

/* A file's name begins with '@', another one with '='; else it is the text itself: such texts are
 * one file. */
static size_t lua_file_name(const struct script_frame *frame, char *to, size_t room)
{
    char mark[2] = "";
    uintptr_t source;

    if (frame->kind & KIND_NATIVE)
        return script_copy("[C]", to, room);
    source = script_word(frame->code + lua.layout->source);
    if (!source || !script_text(source + STRING_TEXT, 1, mark, sizeof mark))
        return script_copy("?", to, room);
    if (*mark != '@' && *mark != '=')
        return script_copy("[string]", to, room);
    return script_text(source + STRING_TEXT + 1, SIZE_MAX, to, room);
}

static size_t lua_put_number(uint32_t number, char *to, size_t room)
{
    char digits[12], *first = digits + sizeof digits - 1;

    for (*first = '\0'; number || !*first; number /= 10)
        *--first = (char)('0' + number % 10);
    return script_copy(first, to, room);
}

/* "<log.lua:12>", as Lua's own tracebacks say. */
static size_t lua_place_name(const struct script_frame *frame, char *to, size_t room)
{
    char file[TEXT_BYTES];
    size_t length = script_copy("<", to, room);

    lua_file_name(frame, file, sizeof file);
    const char *slash = strrchr(file, '/');
    length += script_copy(slash ? slash + 1 : file, to + length, room - length);
    length += script_copy(":", to + length, room - length);
    length += lua_put_number(lua_first_line(frame), to + length, room - length);
    return length + script_copy(">", to + length, room - length);
}

static size_t lua_function_name(const struct script_frame *frame, char *to, size_t room)
{
    bool is_native = frame->kind & KIND_NATIVE;
    size_t length;

    *to = '\0';
    if (!is_native && !lua_first_line(frame))
        return script_copy("<main>", to, room);
    length = lua_called_name(frame, to, room);
    return length || is_native ? length : lua_place_name(frame, to, room);
}

/* By what is said of it: its address may be another one's later. Its name is that of its first
 * call. */
static uint64_t lua_identity(const struct script_frame *frame)
{
    char file[TEXT_BYTES];

    if (frame->kind & KIND_NATIVE)
        return hash_u64(frame->code) | 2;
    uint64_t key = hash_bytes(file, lua_file_name(frame, file, sizeof file));
    uint64_t lines = script_number(frame->code + lua.layout->first_line);
    return hash_u64(key + hash_u64(lines << 32 | script_number(frame->code + lua.layout->count))) |
           2;
}

static uint64_t lua_key_of_frame(const struct script_frame *frame)
{
    return hash_u64(lua_frame_key(frame) + frame->kind);
}

const struct runtime lua_runtime = {
    "/lua",
    lua_module,
    lua_forget,
    lua_is_call,
    false,
    false,
    lua_stack,
    NULL,
    lua_identity,
    lua_key_of_frame,
    lua_line,
    lua_first_line,
    lua_function_name,
    lua_file_name,
};
