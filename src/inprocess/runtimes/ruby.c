/* Finds Ruby's interpreter by its exports, and reads control frames, code and methods by a layout:
 * one row of offsets for some versions (ruby.h). */
#include "runtimes/ruby.h"

#include <pthread.h>
#include <string.h>
#include "base/hash.h"
#include "interpose/real.h"
#include "runtimes/script_memory.h"

/* Offsets in bytes. Sources: vm_core.h, iseq.h, method.h, rstring.h of each version. */
struct ruby_layout {
    uint8_t first, last;                  /* 31: 3.1 */
    uint8_t frame_bytes;                  /* of a control frame */
    uint8_t context_thread, thread_owner; /* 2.7 has one context, of the thread that runs … */
    uint8_t thread_machine, machine_sets; /* … later ones count sets of threads (ractors) */
    uint8_t code_lines, line_bytes;
    uint16_t machine_heap;                  /* 0: not known */
    bool is_line_tagged, has_short_strings; /* before 3.2 */
};

static const struct ruby_layout layouts[] = {
    {27, 27, 56, 56, 72, 24, 0, 120, 8, 1152, true, true},
    {30, 30, 56, 56, 0, 32, 24, 120, 8, 1088, true, true},
    {31, 31, 64, 48, 0, 32, 24, 120, 12, 1104, true, true},
    {32, 32, 64, 48, 0, 32, 24, 112, 12, 1128, false, false},
    {33, 33, 56, 48, 0, 32, 24, 112, 12, 1304, false, false},
    {34, 34, 56, 48, 0, 32, 24, 112, 12, 0, false, false},
};

/* The same in all of them. */
enum {
    CONTEXT_STACK = 0,
    CONTEXT_WORDS = 8,
    CONTEXT_FRAME = 16,
    CONTEXT_BYTES = 64,
    FRAME_INSTRUCTION = 0,
    FRAME_CODE = 16,
    FRAME_PLACE = 32,
    PLACE_METHOD = -16,
    PLACE_FLAGS = 0,
    CODE_BODY = 16,
    BODY_COUNT = 4,
    BODY_INSTRUCTIONS = 8,
    BODY_FILE = 64,
    BODY_NAME = 80,
    BODY_FIRST_LINE = 88,
    LINES_COUNT = 16, /* behind code_lines */
    LINES_INDEX = 24,
    METHOD_DEFINITION = 16,
    DEFINITION_NAME = 32,
    VARIABLES_METHOD = 8,
    STRING_LENGTH = 16,
    STRING_TEXT = 24,
    STRING_SHORT_TEXT = 16,
    ARRAY_SHORT = 16,
    ARRAY_LONG = 32,
    HEAP_PHASE = 16,
    THREAD_CONTEXTS = 3, /* words that may be thread-local */
};

enum {
    KIND_MASK = 0x7fff0001,
    KIND_NATIVE = 0x55550001,
    PLACE_FINISH = 0x20,
    VALUE_KIND = 0x1f,
    VALUE_IS_STRING = 5,
    VALUE_IS_ARRAY = 7,
    VALUE_IS_INNER = 0x1a,
    INNER_SHIFT = 12,
    INNER_VARIABLES = 2,
    INNER_METHOD = 6,
    INNER_CODE = 7,
    VALUE_IS_LONG = 1 << 13, /* of a string; of an array: it is short */
    SHORT_SHIFT = 14,
    SHORT_MOST = 0x1f,
    PHASE_MASK = 3,
    PHASE_MARKS = 1,
    INDEX_FIRST = 54, /* positions with a rank each, nine to a word; behind, blocks of 512 */
    INDEX_WORDS = 6,
    BLOCK_POSITIONS = 512,
    BLOCK_WORDS = 10, /* rank, ranks of 64 each, bits */
    FRAMES_MOST = 1 << 10,
    STEPS_MOST = 1 << 16,
    TEXT_MOST = 1 << 12,
};

static struct {
    const struct ruby_layout *layout; /* NULL: no interpreter was seen */
    struct code_span module, run;
    uintptr_t thread_offset;  /* of the context, from the thread's pointer; 0: not known */
    uintptr_t thread_words;   /* where it is one of three words; 0: it is known, or global */
    const uintptr_t *context; /* of the thread that runs, in 2.7 */
    size_t (*collections)(void);
    int (*is_collecting)(void);
    int (*has_lock)(void);
    uintptr_t (*name_of)(uintptr_t id);
} ruby;

/* ---- Finding it ---- */

static const struct ruby_layout *ruby_layout_of(const struct dl_phdr_info *info)
{
    const char *version = (const char *)script_symbol(info, "ruby_version");

    if (!version || version[1] != '.' || version[3] != '.')
        return NULL;
    int number = (version[0] - '0') * 10 + version[2] - '0';
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (number >= layouts[i].first && number <= layouts[i].last)
            return &layouts[i];
    return NULL;
}

/* Threads have a module's words at one distance from their pointers if it was there when the
 * program began. */
static bool ruby_has_words(const struct dl_phdr_info *info)
{
    enum { STATIC_BYTES = 1 << 16 };
    uintptr_t own = (uintptr_t)info->dlpi_tls_data;

    return own && arch_thread_pointer() - own < STATIC_BYTES;
}

/* Where each thread has its context. 3.3 does not export it; which word it is shows when scripts
 * run. */
static void ruby_find_context(const struct dl_phdr_info *info)
{
    uintptr_t own = (uintptr_t)info->dlpi_tls_data, thread = arch_thread_pointer();

    ruby.thread_offset = ruby.thread_words = 0;
    ruby.context = (const void *)script_symbol(info, "ruby_current_execution_context_ptr");
    if (ruby.context || !ruby_has_words(info))
        return;
    const ElfW(Sym) *symbol = real_symbol(info, "ruby_current_ec");
    if (symbol)
        ruby.thread_offset = own + symbol->st_value - thread;
    else
        ruby.thread_words = own - thread;
}

bool ruby_see_module(const struct dl_phdr_info *info)
{
    const struct ruby_layout *layout = ruby.layout ? NULL : ruby_layout_of(info);

    if (!layout || sizeof(void *) != 8)
        return false;
    ruby.module = script_segments(info);
    ruby.run = script_function(info, "rb_vm_exec"); /* not exported from 3.3 on */
    ruby.collections = (__typeof__(ruby.collections))script_symbol(info, "rb_gc_count");
    ruby.is_collecting = (__typeof__(ruby.is_collecting))script_symbol(info, "rb_during_gc");
    ruby.has_lock = (__typeof__(ruby.has_lock))script_symbol(info, "ruby_thread_has_gvl_p");
    ruby.name_of = (__typeof__(ruby.name_of))script_symbol(info, "rb_id2str");
    ruby_find_context(info);
    if (ruby.collections && ruby.is_collecting && ruby.has_lock && ruby.name_of &&
        (ruby.thread_offset || ruby.thread_words || (ruby.context && layout->thread_owner)))
        ruby.layout = layout;
    return ruby.layout != NULL;
}

bool ruby_is_unread(const struct dl_phdr_info *info)
{
    return !ruby.layout && script_symbol(info, "ruby_version") &&
           script_symbol(info, "ruby_init") && (ruby_has_words(info) || !ruby_layout_of(info));
}

static struct code_span ruby_module(void)
{
    return ruby.layout ? ruby.module : (struct code_span){0, 0};
}

static void ruby_forget(void)
{
    ruby.layout = NULL;
}

static bool ruby_is_call(uintptr_t return_address)
{
    return code_span_has(ruby.run.lo ? &ruby.run : &ruby.module, return_address);
}

/* ---- Frames ---- */

struct ruby_stack_walk {
    uintptr_t frame, end; /* the next one outwards, behind the outermost */
    uintptr_t there;      /* up to here they were seen to be there */
};

/* False: it is no context, or has no frames. */
static inline bool ruby_walk_begin(struct ruby_stack_walk *walk, uintptr_t context)
{
    uintptr_t bytes, stack;

    if (!context || context % sizeof(uintptr_t) || !script_are_there(context, CONTEXT_BYTES))
        return false;
    stack = *(const uintptr_t *)(context + CONTEXT_STACK);
    bytes = *(const uintptr_t *)(context + CONTEXT_WORDS) * sizeof(uintptr_t);
    walk->frame = walk->there = *(const uintptr_t *)(context + CONTEXT_FRAME);
    walk->end = stack + bytes - ruby.layout->frame_bytes; /* the outermost one runs nothing */
    return stack && bytes >= ruby.layout->frame_bytes &&
           bytes <= (uintptr_t)STEPS_MOST * ruby.layout->frame_bytes &&
           walk->frame - stack <= bytes && walk->frame % sizeof(uintptr_t) == 0;
}

/* The word is a context whose thread has that context; a thread is none. */
static __attribute__((noinline)) uintptr_t ruby_find_word(void)
{
    enum { THREAD_CONTEXT = 48 };
    uintptr_t words = arch_thread_pointer() + ruby.thread_words;
    struct ruby_stack_walk walk;

    for (unsigned i = 0; i < THREAD_CONTEXTS; i++) {
        uintptr_t context = script_word(words + i * sizeof(uintptr_t));
        uintptr_t thread = context ? script_word(context + ruby.layout->context_thread) : 0;
        if (thread && script_word(thread + THREAD_CONTEXT) == context &&
            ruby_walk_begin(&walk, context)) {
            ruby.thread_offset = ruby.thread_words + i * sizeof(uintptr_t);
            return context;
        }
    }
    return 0;
}

static __attribute__((noinline)) uintptr_t ruby_own_context(void)
{
    uintptr_t thread = script_word(*ruby.context + ruby.layout->context_thread);
    uintptr_t owner = thread ? script_word(thread + ruby.layout->thread_owner) : 0;

    return owner == (uintptr_t)pthread_self() ? *ruby.context : 0;
}

/* 0: this thread runs nothing of Ruby's. */
static inline uintptr_t ruby_context(void)
{
    if (likely(ruby.thread_offset))
        return *(const uintptr_t *)(arch_thread_pointer() + ruby.thread_offset);
    return ruby.context ? ruby_own_context() : ruby_find_word();
}

static __attribute__((noinline)) bool ruby_walk_see(struct ruby_stack_walk *walk, uintptr_t at)
{
    enum { PAGE = 1 << SCRIPT_PAGE_BITS };

    if (!script_are_there(at, ruby.layout->frame_bytes))
        return false;
    walk->there = (at + ruby.layout->frame_bytes - 1 + PAGE) & -(uintptr_t)PAGE;
    return true;
}

/* The next frame outwards; of some nothing is run, these have no code. False: there is none. */
static inline bool ruby_walk_next(struct ruby_stack_walk *walk, struct script_frame *frame)
{
    uintptr_t at = walk->frame;

    if (walk->end - at < ruby.layout->frame_bytes || at >= walk->end)
        return false;
    walk->frame = at + ruby.layout->frame_bytes;
    if (unlikely(walk->frame > walk->there) && !ruby_walk_see(walk, at))
        return false;
    const uintptr_t *words = (const uintptr_t *)at;
    uintptr_t place = words[FRAME_PLACE / sizeof *words];
    *frame = (struct script_frame){.code = words[FRAME_CODE / sizeof *words],
                                   .instruction = words[FRAME_INSTRUCTION / sizeof *words]};
    if (!frame->code && likely(script_is_there(place + PLACE_METHOD)) &&
        place % sizeof *words == 0) {
        frame->code = *(const uintptr_t *)(place + PLACE_METHOD);
        frame->kind = KIND_NATIVE;
    }
    return true;
}

/* Between two of its values nothing is freed that ran: what runs while a collection marks step by
 * step may be freed by that one, what runs later only by the next. */
static inline uint64_t ruby_time(uintptr_t context)
{
    uintptr_t thread = script_word(context + ruby.layout->context_thread);
    uintptr_t machine = thread ? script_word(thread + ruby.layout->thread_machine) : 0;
    uintptr_t heap =
        machine && ruby.layout->machine_heap ? script_word(machine + ruby.layout->machine_heap) : 0;
    uint32_t phase = heap ? script_number(heap + HEAP_PHASE) & PHASE_MASK : 0;

    return hash_u64(ruby.collections() * 2 + 1 + (phase == PHASE_MARKS));
}

uint64_t ruby_stack_key(void)
{
    uintptr_t context = ruby_context();
    struct ruby_stack_walk walk;
    struct script_frame frame;
    uint64_t key = 0;

    if (!ruby_walk_begin(&walk, context))
        return 0;
    for (uint32_t i = 0; i < FRAMES_MOST && ruby_walk_next(&walk, &frame); i++) {
        uint64_t code = (uint64_t)frame.code << 32 | (uint64_t)frame.code >> 32;
        key = (key ^ frame.instruction ^ code) * 0x9E3779B97F4A7C15ull + 1;
    }
    return key ? key ^ ruby_time(context) : 0;
}

/* ---- Values ---- */

static inline bool ruby_is_inner(uintptr_t value, unsigned inner)
{
    enum { MASK = VALUE_KIND | 0xf << INNER_SHIFT };

    return value && (script_word(value) & MASK) == (VALUE_IS_INNER | inner << INNER_SHIFT);
}

/* Of code; 0: it is none, or is being moved. */
static uintptr_t ruby_body(uintptr_t code)
{
    uintptr_t body = ruby_is_inner(code, INNER_CODE) ? script_word(code + CODE_BODY) : 0;

    return body % sizeof(uintptr_t) ? 0 : body;
}

/* What a native method is known by: the number of its name; 0: it is none. */
static uintptr_t ruby_native_name(uintptr_t method)
{
    if (ruby_is_inner(method, INNER_VARIABLES))
        method = script_word(method + VARIABLES_METHOD);
    uintptr_t definition =
        ruby_is_inner(method, INNER_METHOD) ? script_word(method + METHOD_DEFINITION) : 0;
    return definition ? script_word(definition + DEFINITION_NAME) : 0;
}

struct ruby_text {
    uintptr_t at;
    size_t length; /* 0: it is none */
};

static struct ruby_text ruby_text(uintptr_t string)
{
    uintptr_t flags = string ? script_word(string) : 0;
    struct ruby_text text = {string + STRING_TEXT, 0};

    if ((flags & VALUE_KIND) != VALUE_IS_STRING)
        return text;
    if (!(flags & VALUE_IS_LONG) && ruby.layout->has_short_strings) {
        text = (struct ruby_text){string + STRING_SHORT_TEXT, flags >> SHORT_SHIFT & SHORT_MOST};
    } else {
        text.length = script_word(string + STRING_LENGTH);
        text.at = flags & VALUE_IS_LONG ? script_word(string + STRING_TEXT) : text.at;
    }
    if (text.length >= TEXT_MOST || !text.length || !script_are_there(text.at, text.length))
        text.length = 0;
    return text;
}

/* The file as it was named, or as it was found where that is another name. */
static uintptr_t ruby_file(uintptr_t body)
{
    uintptr_t file = script_word(body + BODY_FILE), flags = file ? script_word(file) : 0;

    if ((flags & VALUE_KIND) != VALUE_IS_ARRAY)
        return file;
    uintptr_t names = flags & VALUE_IS_LONG ? file + ARRAY_SHORT : script_word(file + ARRAY_LONG);
    uintptr_t found = names ? script_word(names + sizeof(uintptr_t)) : 0;
    return ruby_text(found).length ? found : names ? script_word(names) : 0;
}

static uint64_t ruby_text_key(uintptr_t string)
{
    struct ruby_text text = ruby_text(string);

    return text.length ? hash_bytes((const void *)text.at, text.length) : 0;
}

/* ---- Lines ---- */

/* There is no compiler's library to count with. */
static unsigned ruby_count(uint64_t bits)
{
    bits -= bits >> 1 & 0x5555555555555555;
    bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return (unsigned)(bits * 0x0101010101010101 >> 56);
}

/* Positions at which a line begins are a bit vector with ranks. The rank of one, from 1 on; 0:
 * there is no such table. */
static size_t ruby_rank(uintptr_t index, size_t position)
{
    size_t behind = position - INDEX_FIRST, word = behind % BLOCK_POSITIONS / 64;
    uintptr_t block = index + (INDEX_WORDS + behind / BLOCK_POSITIONS * BLOCK_WORDS) * 8;

    if (!index)
        return 0;
    if (position < INDEX_FIRST)
        return script_word(index + position / 9 * 8) >> position % 9 * 7 & 0x7f;
    uint64_t bits = script_word(block + (2 + word) * 8) << (63 - behind % 64);
    uint64_t ranks = word ? script_word(block + 8) >> (word - 1) * 9 & 0x1ff : 0;
    return script_number(block) + ranks + ruby_count(bits);
}

static uint32_t ruby_first_line_of(uintptr_t body)
{
    uint32_t line = script_number(body + BODY_FIRST_LINE);

    line = ruby.layout->is_line_tagged ? line >> 1 : line;
    return line <= INT32_MAX ? line : 0;
}

/* An instruction has begun: its address is that of the next one. */
static uint32_t ruby_line(const struct script_frame *frame)
{
    uintptr_t body = frame->kind ? 0 : ruby_body(frame->code), entry;
    uintptr_t lines = body + ruby.layout->code_lines;

    if (!body)
        return 0;
    size_t position = (frame->instruction - script_word(body + BODY_INSTRUCTIONS)) / 8;
    size_t count = script_number(lines + LINES_COUNT), rank = 1;
    position -= position != 0;
    if (position >= script_number(body + BODY_COUNT))
        return ruby_first_line_of(body);
    if (count > 1)
        rank = ruby_rank(script_word(lines + LINES_INDEX), position);
    if (rank - 1 >= count)
        return ruby_first_line_of(body);
    entry = script_word(lines) + (rank - 1) * ruby.layout->line_bytes;
    uint32_t line = script_number(entry);
    return line <= INT32_MAX ? line : 0;
}

static uint32_t ruby_first_line(const struct script_frame *frame)
{
    uintptr_t body = frame->kind ? 0 : ruby_body(frame->code);

    return body ? ruby_first_line_of(body) : 0;
}

/* ---- What a runtime answers ---- */

/* Names are asked of the interpreter, which only reads; not while it moves what it reads, without
 * its lock, or where several sets of threads run at once. Native methods are left out then. */
static bool ruby_may_ask(void)
{
    uintptr_t thread = script_word(ruby_context() + ruby.layout->context_thread);
    uintptr_t machine = thread ? script_word(thread + ruby.layout->thread_machine) : 0;

    return machine && ruby.has_lock() && !ruby.is_collecting() &&
           (!ruby.layout->machine_sets || script_number(machine + ruby.layout->machine_sets) == 1);
}

/* Is something run there that has a name? */
static bool ruby_is_shown(struct script_frame *frame, uintptr_t place, bool may_ask)
{
    uintptr_t flags = script_word(place + PLACE_FLAGS);

    frame->ends = false;
    if (frame->kind) {
        frame->instruction = 0;
        return may_ask && (flags & KIND_MASK) == KIND_NATIVE && ruby_native_name(frame->code);
    }
    frame->ends = flags & PLACE_FINISH;
    return frame->instruction && ruby_body(frame->code);
}

static uint32_t ruby_stack(struct script_frame *frames, uint32_t max)
{
    struct ruby_stack_walk walk;
    uint32_t count = 0;

    if (!ruby_walk_begin(&walk, ruby_context()))
        return 0;
    if (ruby.is_collecting() || !ruby.has_lock())
        script_memory_forget(); /* pages may be protected while what is in them moves */
    bool may_ask = ruby_may_ask();
    uint64_t time = ruby_time(ruby_context());
    while (count < max && ruby_walk_next(&walk, &frames[count])) {
        uintptr_t place = script_word(walk.frame - ruby.layout->frame_bytes + FRAME_PLACE);
        frames[count].caller = time;
        count += ruby_is_shown(&frames[count], place, may_ask);
    }
    return count;
}

/* By what is said of it: its address may be another one's later. */
static uint64_t ruby_identity(const struct script_frame *frame)
{
    uintptr_t body = frame->kind ? 0 : ruby_body(frame->code);

    if (frame->kind)
        return hash_u64(ruby_native_name(frame->code) * 2 + 1) | 2;
    return hash_u64(ruby_text_key(script_word(body + BODY_NAME)) +
                    hash_u64(ruby_text_key(ruby_file(body)) + ruby_first_line_of(body))) |
           2;
}

/* With the time in which the frame was read: an address is one code's in it. */
static uint64_t ruby_frame_key(const struct script_frame *frame)
{
    return hash_u64(hash_u64(frame->code + frame->kind) + frame->instruction) ^ frame->caller;
}

static size_t ruby_string(uintptr_t string, char *to, size_t room)
{
    struct ruby_text text = ruby_text(string);

    return script_text(text.at, text.length, to, room);
}

/* As Ruby's own backtraces say: "block in parse", "<top (required)>". */
static size_t ruby_function_name(const struct script_frame *frame, char *to, size_t room)
{
    uintptr_t body = frame->kind ? 0 : ruby_body(frame->code);

    *to = '\0';
    if (frame->kind)
        return ruby_string(ruby.name_of(ruby_native_name(frame->code)), to, room);
    return body ? ruby_string(script_word(body + BODY_NAME), to, room) : 0;
}

/* Strings that are evaluated are one file: from 3.3 on each has its own. */
static size_t ruby_file_name(const struct script_frame *frame, char *to, size_t room)
{
    static const char native[] = "[C function]", evaluated[] = "(eval";
    uintptr_t body = frame->kind ? 0 : ruby_body(frame->code);
    size_t length;

    *to = '\0';
    if (frame->kind && room >= sizeof native) {
        memcpy(to, native, sizeof native);
        return sizeof native - 1;
    }
    length = body ? ruby_string(ruby_file(body), to, room) : 0;
    if (length > sizeof evaluated && strncmp(to, evaluated, sizeof evaluated - 1) == 0) {
        memcpy(to + sizeof evaluated - 1, ")", 2);
        length = sizeof evaluated;
    }
    return length;
}

const struct runtime ruby_runtime = {
    "/ruby",   ruby_module,     ruby_forget,        ruby_is_call,   true,
    false,     ruby_stack,      ruby_may_ask,       ruby_identity,  ruby_frame_key,
    ruby_line, ruby_first_line, ruby_function_name, ruby_file_name,
};
