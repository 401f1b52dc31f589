/* Finds PHP's interpreter by its exports and its version by a module of its own, and reads frames,
 * functions and instructions by a layout: one row of offsets for a version (php.h). */
#include "runtimes/php.h"

#include <string.h>
#include "base/hash.h"
#include "runtimes/script_memory.h"

/* Offsets in bytes. Sources: zend_globals.h, zend_compile.h, zend_modules.h of each version. */
struct php_layout {
    uint32_t api;                 /* ZEND_MODULE_API_NO */
    uint16_t before_thrown;       /* in executor_globals: where something was thrown */
    uint16_t count, instructions; /* of a function: how many there are, where */
    uint16_t file;                /* and its first line, behind */
};

static const struct php_layout layouts[] = {
    {20210902, 880, 68, 72, 144},  /* 8.1 */
    {20220829, 880, 80, 88, 152},  /* 8.2 */
    {20230831, 880, 76, 80, 144},  /* 8.3 */
    {20240924, 952, 96, 104, 168}, /* 8.4 */
};

/* The same in all of them. */
enum {
    GLOBALS_FRAME = 488,
    FRAME_INSTRUCTION = 0,
    FRAME_FUNCTION = 24,
    FRAME_THIS = 32,
    FRAME_INFO = 40,
    FRAME_PREVIOUS = 48,
    FRAME_BYTES = 56,
    FUNCTION_TYPE = 0,
    FUNCTION_NAME = 8,
    FUNCTION_CLASS = 16,
    FUNCTION_BYTES = 24, /* that all of them have */
    INSTRUCTION_LINE = 24,
    INSTRUCTION_BYTES = 32,
    CLASS_NAME = 8,
    STRING_HASH = 8,
    STRING_LENGTH = 16,
    STRING_TEXT = 24,
    GENERATOR_FRAME = 56,
    GENERATOR_PARENT = 152, /* that it waits for */
    TABLE_ENTRIES = 16,
    TABLE_USED = 24,
    MODULE_API = 4,
    MODULE_DEBUG = 8,
    MODULE_THREADS = 9,
};

enum {
    TYPE_INTERNAL = 1,
    TYPE_USER = 2,
    TYPE_EVAL = 4,
    TYPE_MASK = 0xff,
    KIND_OUTERMOST = 0x100,
    INFO_OBJECT = 8, /* the type of what a frame is of */
    INFO_TYPE = 0xf,
    INFO_CODE = 1 << 16, /* of a file or a string */
    INFO_TOP = 1 << 17,  /* called by native code */
    STEPS_MOST = 1 << 16,
    FRAMES_MOST = 1 << 10, /* that make the hash: as many as a path may have */
    WAITING_MOST = 64,     /* generators of one delegation */
    STRING_MOST = 1 << 16,
    TEXT_BYTES = 512,
};

static struct {
    bool is_seen, is_unknown;
    const struct php_layout *layout; /* NULL: it has not begun */
    struct code_span module, run, globals;
    uintptr_t registry; /* of its modules */
} php;

/* ---- Finding it ---- */

bool php_see_module(const struct dl_phdr_info *info)
{
    if (php.is_seen || sizeof(void *) != 8)
        return false;
    php.run = script_function(info, "execute_ex");
    if (!php.run.lo)
        return false;
    php.globals = script_function(info, "executor_globals");
    php.registry = script_symbol(info, "module_registry");
    php.module = script_segments(info);
    php.layout = NULL;
    php.is_unknown = false;
    php.is_seen = php.globals.lo && php.registry;
    return php.is_seen;
}

bool php_is_unread(const struct dl_phdr_info *info)
{
    return !php.is_seen && script_symbol(info, "execute_ex") &&
           script_symbol(info, "zend_execute_ex");
}

bool php_is_unknown(void)
{
    return php.is_unknown;
}

static struct code_span php_module(void)
{
    return php.is_seen ? php.module : (struct code_span){0, 0};
}

static void php_forget(void)
{
    php.is_seen = false;
    php.layout = NULL;
}

static bool php_is_call(uintptr_t return_address)
{
    return code_span_has(&php.run, return_address);
}

/* Its first module, which is in it, says for which version it was made. */
static __attribute__((noinline)) bool php_begin(void)
{
    uintptr_t entries = script_word(php.registry + TABLE_ENTRIES);
    uintptr_t module = script_number(php.registry + TABLE_USED) ? script_word(entries) : 0;
    uint32_t api = script_number(module + MODULE_API);

    if (php.is_unknown || !module || !script_is_there(module + MODULE_THREADS))
        return false;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].api == api && !*(const char *)(module + MODULE_DEBUG) &&
            !*(const char *)(module + MODULE_THREADS))
            php.layout = &layouts[i];
    php.is_unknown = !php.layout;
    return php.layout != NULL;
}

/* ---- Frames ---- */

struct php_stack_walk {
    uintptr_t frame;        /* the next one outwards */
    uintptr_t waiting;      /* the outermost generator of those that wait for one; */
    uint32_t waiting_count; /* so many are to come, the innermost first */
    uint32_t count, steps;
};

/* Outside of a function's own: what runs when something was thrown is the interpreter's. */
static inline uintptr_t php_instruction(uintptr_t instruction)
{
    if (unlikely(instruction - php.globals.lo < php.globals.hi - php.globals.lo))
        return script_word(php.globals.lo + php.layout->before_thrown);
    return instruction;
}

/* Code of a file or a string is freed while it is the innermost frame still: what was seen before
 * may have gone. */
static __attribute__((noinline)) bool php_is_alive(const struct script_frame *frame)
{
    return script_memory_see(frame->code) && script_memory_see(frame->code + php.layout->file) &&
           (!frame->instruction || script_memory_see(frame->instruction + INSTRUCTION_LINE));
}

/* False: what is there is none. */
static inline bool php_read_frame(const struct php_stack_walk *walk, uintptr_t at,
                                  struct script_frame *frame)
{
    uintptr_t function = *(const uintptr_t *)(at + FRAME_FUNCTION);
    uint32_t info = *(const uint32_t *)(at + FRAME_INFO);

    if (function % sizeof(uintptr_t) || !script_are_there(function, FUNCTION_BYTES))
        return false;
    uint8_t type = *(const uint8_t *)(function + FUNCTION_TYPE);
    *frame =
        (struct script_frame){.code = function, .kind = walk->frame ? type : type | KIND_OUTERMOST};
    if (type == TYPE_INTERNAL)
        return true;
    if (type != TYPE_USER && type != TYPE_EVAL)
        return false;
    frame->ends = info & INFO_TOP;
    frame->instruction = php_instruction(*(const uintptr_t *)(at + FRAME_INSTRUCTION));
    if (unlikely(walk->count == 0 && (info & (INFO_CODE | INFO_TOP)) == INFO_CODE) &&
        !php_is_alive(frame))
        return false;
    return frame->instruction % sizeof(uintptr_t) == 0 &&
           script_are_there(function + php.layout->file, 2 * sizeof(uintptr_t)) &&
           (!frame->instruction || script_is_there(frame->instruction + INSTRUCTION_LINE));
}

/* A placeholder's generator, and all that it waits for, wait for the frame before. */
static __attribute__((noinline)) void php_walk_waiting(struct php_stack_walk *walk, uintptr_t at)
{
    uintptr_t generator = *(const uintptr_t *)(at + FRAME_THIS);

    if ((*(const uint32_t *)(at + FRAME_INFO) & INFO_TYPE) != INFO_OBJECT)
        return;
    walk->waiting = generator;
    while (walk->waiting_count < WAITING_MOST &&
           (generator = script_word(generator + GENERATOR_PARENT)) != 0)
        walk->waiting_count++;
}

static __attribute__((noinline)) bool php_walk_waiting_next(struct php_stack_walk *walk,
                                                            struct script_frame *frame)
{
    uintptr_t generator = walk->waiting, at;

    for (uint32_t i = --walk->waiting_count; i; i--)
        generator = script_word(generator + GENERATOR_PARENT);
    at = script_word(generator + GENERATOR_FRAME);
    if (!at || !script_are_there(at, FRAME_BYTES) || !php_read_frame(walk, at, frame))
        return false;
    frame->ends = false;
    return true;
}

static inline void php_walk_begin(struct php_stack_walk *walk)
{
    *walk = (struct php_stack_walk){.frame = *(const uintptr_t *)(php.globals.lo + GLOBALS_FRAME)};
}

/* What a fiber begins in: a function of the interpreter's that it does not show either. */
static inline bool php_is_shown(const struct script_frame *frame)
{
    return (frame->kind & TYPE_MASK) != TYPE_INTERNAL ||
           *(const uintptr_t *)(frame->code + FUNCTION_NAME);
}

/* The next frame outwards. False: there is none, or what was read is none. */
static inline bool php_walk_next(struct php_stack_walk *walk, struct script_frame *frame)
{
    while (walk->steps++ < STEPS_MOST) {
        uintptr_t at = walk->frame;
        if (unlikely(walk->waiting_count))
            return php_walk_waiting_next(walk, frame);
        if (!at || at % sizeof(uintptr_t) || !script_are_there(at, FRAME_BYTES))
            return false;
        walk->frame = *(const uintptr_t *)(at + FRAME_PREVIOUS);
        if (unlikely(!*(const uintptr_t *)(at + FRAME_FUNCTION))) {
            php_walk_waiting(walk, at);
            continue;
        }
        if (!php_read_frame(walk, at, frame))
            return false;
        walk->count++;
        if (likely(php_is_shown(frame)))
            return true;
    }
    return false;
}

/* ---- Strings ---- */

/* Names have their hash in them, as a rule. */
static inline uint64_t php_string_key(uintptr_t string)
{
    char text[TEXT_BYTES];

    if (!string || string % sizeof(uintptr_t) || !script_are_there(string, STRING_TEXT))
        return 0;
    uint64_t hash = *(const uint64_t *)(string + STRING_HASH);
    if (likely(hash))
        return hash;
    return hash_bytes(text, script_text(string + STRING_TEXT, TEXT_BYTES, text, sizeof text));
}

static size_t php_string(uintptr_t string, char *to, size_t room)
{
    uintptr_t length = string ? script_word(string + STRING_LENGTH) : 0;

    *to = '\0';
    return length < STRING_MOST ? script_text(string + STRING_TEXT, length, to, room) : 0;
}

/* Has the function a file? It says of itself that it is one: its text ends where it says. */
static bool php_is_function(const struct script_frame *frame)
{
    if ((frame->kind & TYPE_MASK) == TYPE_INTERNAL)
        return true;
    uintptr_t file = script_word(frame->code + php.layout->file);
    uintptr_t length = file ? script_word(file + STRING_LENGTH) : 0;
    uintptr_t end = file + STRING_TEXT + length;
    return length && length < STRING_MOST && script_is_there(end) && !*(const char *)end;
}

/* ---- What a runtime answers ---- */

/* Of a frame that was just read. */
static inline uint64_t php_function_key(const struct script_frame *frame)
{
    const uintptr_t *function = (const uintptr_t *)frame->code;
    uint64_t key = frame->code + frame->kind;

    if ((frame->kind & TYPE_MASK) == TYPE_INTERNAL)
        return hash_u64(key);
    const uintptr_t *file = (const uintptr_t *)(frame->code + php.layout->file);
    key ^= php_string_key(function[FUNCTION_NAME / sizeof *function]) * 0x9E3779B97F4A7C15ull;
    key ^= php_string_key(file[0]) ^ (uint64_t)(uint32_t)file[1] << 32;
    return hash_u64(key);
}

uint64_t php_stack_key(void)
{
    struct php_stack_walk walk;
    struct script_frame frame;
    uint64_t key = 0;

    if (unlikely(!php.layout) && !php_begin())
        return 0;
    php_walk_begin(&walk);
    for (uint32_t i = 0; i < FRAMES_MOST && php_walk_next(&walk, &frame); i++) {
        uint64_t line =
            frame.instruction ? *(const uint32_t *)(frame.instruction + INSTRUCTION_LINE) : 0;
        key = (key ^ php_function_key(&frame) ^ frame.instruction ^ line << 48) *
                  0x9E3779B97F4A7C15ull +
              1;
    }
    return key;
}

static uint32_t php_stack(struct script_frame *frames, uint32_t max)
{
    struct php_stack_walk walk;
    uint32_t count = 0;

    script_memory_forget();
    if (!php.layout)
        return 0;
    php_walk_begin(&walk);
    while (count < max && php_walk_next(&walk, &frames[count]) && php_is_function(&frames[count])) {
        struct script_frame *frame = &frames[count++];
        uintptr_t first =
            frame->instruction ? script_word(frame->code + php.layout->instructions) : 0;
        uint64_t many = script_number(frame->code + php.layout->count);
        if (frame->instruction - first >= many * INSTRUCTION_BYTES)
            frame->instruction = 0; /* not its own: a trampoline */
    }
    return count;
}

static uint64_t php_identity(const struct script_frame *frame)
{
    return php_function_key(frame) | 2;
}

static uint32_t php_line(const struct script_frame *frame)
{
    return frame->instruction ? script_number(frame->instruction + INSTRUCTION_LINE) : 0;
}

static uint64_t php_frame_key(const struct script_frame *frame)
{
    return hash_u64(hash_u64(php_function_key(frame) + frame->instruction) + php_line(frame));
}

static uint32_t php_first_line(const struct script_frame *frame)
{
    return (frame->kind & TYPE_MASK) == TYPE_INTERNAL
               ? 0
               : script_number(frame->code + php.layout->file + sizeof(uintptr_t));
}

/* "Class::method"; a file's or a string's code has no name. */
static size_t php_function_name(const struct script_frame *frame, char *to, size_t room)
{
    uintptr_t name = script_word(frame->code + FUNCTION_NAME);
    uintptr_t class = name ? script_word(frame->code + FUNCTION_CLASS) : 0;
    size_t length;

    if (!name)
        return script_copy(frame->kind & KIND_OUTERMOST             ? "<main>"
                           : (frame->kind & TYPE_MASK) == TYPE_EVAL ? "<eval>"
                                                                    : "<include>",
                           to, room);
    length = class ? php_string(script_word(class + CLASS_NAME), to, room) : 0;
    if (length && length + 3 < room)
        length += script_copy("::", to + length, room - length);
    else
        length = 0;
    size_t own = php_string(name, to + length, room - length);
    if (strncmp(to + length, "{closure:", 9) == 0) /* 8.4: with its file and line */
        own = script_copy("{closure}", to + length, room - length);
    return own ? length + own : 0;
}

static size_t php_file_name(const struct script_frame *frame, char *to, size_t room)
{
    if ((frame->kind & TYPE_MASK) == TYPE_INTERNAL)
        return script_copy("[internal function]", to, room);
    return php_string(script_word(frame->code + php.layout->file), to, room);
}

const struct runtime php_runtime = {
    "/php",
    php_module,
    php_forget,
    php_is_call,
    true,
    false,
    php_stack,
    NULL,
    php_identity,
    php_frame_key,
    php_line,
    php_first_line,
    php_function_name,
    php_file_name,
};
