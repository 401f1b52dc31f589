/* Finds the interpreter by its exports, and reads frames, code objects and texts by a layout: one
 * row of offsets for each version (python.h). */
#include "runtimes/python.h"

#include <string.h>
#include "base/hash.h"
#include "runtimes/script_memory.h"

/* Offsets in bytes. Sources: cpython/Include of each version. */
struct python_layout {
    uint32_t version;       /* 0x030b: 3.11 */
    uint16_t thread_frames; /* in the thread's state: what leads to the innermost frame … */
    bool thread_has_cframe; /* … by one more step … */
    uint16_t cframe_frame;  /* … at this offset */
    uint16_t frame_code, frame_previous, frame_instruction, frame_owner;
    uint16_t frame_is_entry; /* 0: a frame of owner FRAME_OF_NATIVE stands behind the entry */
    uint16_t code_file, code_name, code_first_line, code_instructions;
    uint16_t text_length, text_state, text_ascii, text_wide; /* where characters begin */
    uint16_t object_type;
};

/* Bits of a frame's reference to its code, from 3.14 on. */
#define REFERENCE_TAG ((uintptr_t)3)
enum { FRAME_OF_NATIVE = 3 }; /* and above */

static const struct python_layout layouts[] = {
    {0x030b, 56, true, 8, 32, 48, 56, 69, 68, 112, 128, 72, 184, 16, 32, 48, 72, 8},
    {0x030c, 56, true, 0, 0, 8, 56, 70, 0, 112, 128, 68, 192, 16, 32, 40, 56, 8},
    {0x030d, 72, false, 0, 0, 8, 56, 70, 0, 112, 128, 68, 200, 16, 32, 40, 56, 8},
    {0x030e, 72, false, 0, 0, 8, 56, 74, 0, 112, 128, 68, 208, 16, 32, 40, 56, 8},
};

/* PyASCIIObject.state */
enum { TEXT_KIND_SHIFT = 2, TEXT_KIND = 7, TEXT_COMPACT = 0x20, TEXT_ASCII = 0x40 };

/* The beginning of _PyRuntime from 3.13 on, words of 8 bytes (_Py_DebugOffsets): "xdebugpy", the
 * version, whether there is no lock, and at places that each version has of its own: */
static const char cookie[8] = "xdebugpy";
enum { WORD_VERSION = 1, WORD_FREE_THREADED = 2, OFFSET_LIMIT = 1024 };

static const struct python_places {
    uint32_t version;
    uint8_t thread_frame;
    uint8_t frame; /* size, previous, executable, instr_ptr, localsplus, owner */
    uint8_t code; /* size, filename, name, qualname, linetable, firstlineno, …, co_code_adaptive */
    uint8_t object,
        text; /* size, type; size, state, length, size of an ASCII one. 0: a free-threaded
                           * one is not known */
} places[] = {
    {0x030d, 23, 28, 34, 44, 67},
    {0x030e, 26, 31, 39, 0, 0},
};

static struct {
    const struct python_layout *layout; /* NULL: no interpreter was seen */
    struct python_layout own;           /* as the interpreter says itself */
    bool is_free_threaded;
    struct code_span eval, module;
    const void *code_type;
    void *(*own_thread)(void);
    int (*has_lock)(void);
    int (*line_of)(const void *code, int offset);
    void (*get_allocator)(int domain, struct python_allocator *allocator);
    void (*set_allocator)(int domain, struct python_allocator *allocator);
} python;

/* ---- Finding it ---- */

static const struct python_places *python_places_of(uint32_t version)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (places[i].version == version)
            return &places[i];
    return NULL;
}

/* Objects of a free-threaded interpreter have a longer head: an owner, a lock, two counts of
 * references. False: it is not as long as it is known to be. */
static bool python_read_heads(const uint64_t *words, const struct python_places *at)
{
    enum {
        FREE_THREADED_TYPE = 24,
        WIDE_BYTES = 16
    }; /* what a wide text has beyond an ASCII one */
    const uint64_t *text = words + at->text;
    struct python_layout *own = &python.own;

    if (!at->object || words[at->object + 1] != FREE_THREADED_TYPE || text[1] > OFFSET_LIMIT ||
        text[2] > OFFSET_LIMIT || text[3] > OFFSET_LIMIT)
        return false;
    own->object_type = FREE_THREADED_TYPE;
    own->text_state = (uint16_t)text[1];
    own->text_length = (uint16_t)text[2];
    own->text_ascii = (uint16_t)text[3];
    own->text_wide = (uint16_t)(text[3] + WIDE_BYTES);
    return true;
}

/* False: what the interpreter says of itself is not as its version says it. */
static bool python_read_offsets(const uint64_t *words)
{
    struct python_layout *own = &python.own;
    const struct python_places *at = python_places_of(python.layout->version);

    if (!words || !at || memcmp(words, cookie, sizeof cookie) != 0 ||
        words[WORD_VERSION] >> 16 != at->version || words[WORD_FREE_THREADED] > 1)
        return false;
    const uint64_t *frame = words + at->frame, *code = words + at->code;
    for (unsigned i = 0; i <= 9; i++)
        if (code[i] > OFFSET_LIMIT || (i <= 5 && frame[i] > OFFSET_LIMIT))
            return false;
    *own = *python.layout;
    python.is_free_threaded = words[WORD_FREE_THREADED];
    if (python.is_free_threaded && !python_read_heads(words, at))
        return false;
    own->thread_frames = (uint16_t)words[at->thread_frame];
    own->frame_previous = (uint16_t)frame[1];
    own->frame_code = (uint16_t)frame[2];
    own->frame_instruction = (uint16_t)frame[3];
    own->frame_owner = (uint16_t)frame[5];
    own->code_file = (uint16_t)code[1];
    own->code_name = (uint16_t)code[3];
    own->code_first_line = (uint16_t)code[5];
    own->code_instructions = (uint16_t)code[9];
    python.layout = own;
    return true;
}

static const struct python_layout *python_layout_of(const struct dl_phdr_info *info)
{
    const unsigned long *version = (const void *)script_symbol(info, "Py_Version");

    for (size_t i = 0; version && i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].version == *version >> 16)
            return &layouts[i];
    return NULL;
}

bool python_see_module(const struct dl_phdr_info *info)
{
    const struct python_layout *layout = python.layout ? NULL : python_layout_of(info);

    if (!layout || sizeof(void *) != 8)
        return false;
    python.layout = layout;
    python.is_free_threaded = false;
    python.eval = script_function(info, "_PyEval_EvalFrameDefault");
    python.module = script_segments(info);
    python.code_type = (const void *)script_symbol(info, "PyCode_Type");
    python.own_thread =
        (__typeof__(python.own_thread))script_symbol(info, "PyGILState_GetThisThreadState");
    python.has_lock = (__typeof__(python.has_lock))script_symbol(info, "PyGILState_Check");
    python.line_of = (__typeof__(python.line_of))script_symbol(info, "PyCode_Addr2Line");
    python.get_allocator =
        (__typeof__(python.get_allocator))script_symbol(info, "PyMem_GetAllocator");
    python.set_allocator =
        (__typeof__(python.set_allocator))script_symbol(info, "PyMem_SetAllocator");
    if (!python.eval.lo || !python.code_type || !python.own_thread || !python.line_of ||
        !python.has_lock || !python.get_allocator || !python.set_allocator ||
        (layout->version >= 0x030d &&
         !python_read_offsets((const void *)script_symbol(info, "_PyRuntime"))))
        python.layout = NULL;
    return python.layout != NULL;
}

bool python_is_unread(const struct dl_phdr_info *info)
{
    return !python.layout && script_symbol(info, "Py_Initialize") &&
           script_symbol(info, "PyCode_Addr2Line");
}

bool python_has_mimalloc_inside(const struct dl_phdr_info *info)
{
    return script_symbol(info, "PyMem_SetAllocator") && script_symbol(info, "PyCode_Addr2Line");
}

bool python_is_free_threaded(const struct dl_phdr_info *info)
{
    const uint64_t *words = (const void *)script_symbol(info, "_PyRuntime");

    return python_has_mimalloc_inside(info) && words && memcmp(words, cookie, sizeof cookie) == 0 &&
           words[WORD_FREE_THREADED];
}

struct code_span python_eval(void)
{
    return python.layout ? python.eval : (struct code_span){0, 0};
}

struct code_span python_module(void)
{
    return python.layout ? python.module : (struct code_span){0, 0};
}

static void python_forget(void)
{
    python.layout = NULL;
}

/* ---- Frames ---- */

static inline uintptr_t python_word(uintptr_t object, unsigned offset)
{
    return *(const uintptr_t *)(object + offset);
}

/* 0: this thread is none of Python's, or runs nothing of it. */
static inline uintptr_t python_innermost(const struct python_layout *layout)
{
    uintptr_t at = (uintptr_t)python.own_thread();

    if (!at)
        return 0;
    at = python_word(at, layout->thread_frames);
    return at && layout->thread_has_cframe ? python_word(at, layout->cframe_frame) : at;
}

static inline bool python_is_native(const struct python_layout *layout, uintptr_t frame)
{
    return !layout->frame_is_entry &&
           *(const char *)(frame + layout->frame_owner) >= FRAME_OF_NATIVE;
}

bool python_has_frames(void)
{
    return python_innermost(python.layout) != 0;
}

uint64_t python_stack_key(struct python_keys *keys)
{
    const struct python_layout *layout = python.layout;

    return python_keys_of(
        keys, python_innermost(layout),
        (struct python_frame_words){layout->frame_previous, layout->frame_instruction});
}

static uint32_t python_stack(struct script_frame *frames, uint32_t max)
{
    const struct python_layout *layout = python.layout;
    uint32_t count = 0;

    for (uintptr_t frame = python_innermost(layout); frame && count < max;
         frame = python_word(frame, layout->frame_previous)) {
        if (python_is_native(layout, frame)) {
            if (count)
                frames[count - 1].ends = true;
            continue;
        }
        frames[count++] = (struct script_frame){
            .code = python_word(frame, layout->frame_code) & ~REFERENCE_TAG,
            .instruction = python_word(frame, layout->frame_instruction),
            .ends = layout->frame_is_entry && *(const char *)(frame + layout->frame_is_entry)};
    }
    return count;
}

/* ---- Code objects ---- */

static bool python_is_code(uintptr_t code)
{
    return code && python_word(code, python.layout->object_type) == (uintptr_t)python.code_type;
}

static uint32_t python_first_line(const struct script_frame *frame)
{
    uintptr_t code = frame->code;
    int line = python_is_code(code) ? *(const int *)(code + python.layout->code_first_line) : 0;

    return line > 0 ? (uint32_t)line : 0;
}

static uint32_t python_line(const struct script_frame *frame)
{
    uintptr_t first = frame->code + python.layout->code_instructions;
    int line;

    if (!python_is_code(frame->code))
        return 0;
    if (frame->instruction < first)
        return python_first_line(frame); /* it has not begun */
    line = python.line_of((const void *)frame->code, (int)(frame->instruction - first));
    return line > 0 ? (uint32_t)line : 0;
}

/* One character as UTF-8; returns its bytes. */
static size_t python_encode(uint32_t character, char to[4])
{
    if (character < 0x20 || character == 0x7f)
        character = '?';
    if (character < 0x80) {
        to[0] = (char)character;
        return 1;
    }
    size_t more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    to[0] = (char)(first[more] | character >> 6 * more);
    for (size_t i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (character >> 6 * (more - i) & 0x3f));
    return more + 1;
}

static uint32_t python_character(const void *characters, unsigned kind, size_t at)
{
    return kind == 1   ? ((const uint8_t *)characters)[at]
           : kind == 2 ? ((const uint16_t *)characters)[at]
                       : ((const uint32_t *)characters)[at];
}

/* `text` is a str of the interpreter's. */
static size_t python_text(uintptr_t text, char *to, size_t room)
{
    const struct python_layout *layout = python.layout;
    uint32_t state = text ? *(const uint32_t *)(text + layout->text_state) : 0;
    unsigned kind = state >> TEXT_KIND_SHIFT & TEXT_KIND;
    size_t length = text ? python_word(text, layout->text_length) : 0, bytes = 0;
    const void *characters =
        (const void *)(text + (state & TEXT_ASCII ? layout->text_ascii : layout->text_wide));

    *to = '\0';
    if (!(state & TEXT_COMPACT) || (kind != 1 && kind != 2 && kind != 4))
        return 0;
    for (size_t i = 0; i < length; i++) {
        char encoded[4];
        size_t more = python_encode(python_character(characters, kind, i), encoded);
        if (bytes + more >= room)
            break;
        memcpy(to + bytes, encoded, more);
        bytes += more;
    }
    to[bytes] = '\0';
    return bytes;
}

static size_t python_function_name(const struct script_frame *frame, char *to, size_t room)
{
    uintptr_t code = frame->code;

    *to = '\0';
    return python_is_code(code) ? python_text(python_word(code, python.layout->code_name), to, room)
                                : 0;
}

static size_t python_file_name(const struct script_frame *frame, char *to, size_t room)
{
    uintptr_t code = frame->code;

    *to = '\0';
    return python_is_code(code) ? python_text(python_word(code, python.layout->code_file), to, room)
                                : 0;
}

static bool python_is_call(uintptr_t return_address)
{
    return code_span_has(&python.eval, return_address);
}

/* Functions of one code object; freed ones are told (hooks_python.c). */
static uint64_t python_identity(const struct script_frame *frame)
{
    return frame->code;
}

/* Code that runs has addresses of its own; freed functions are told. */
static uint64_t python_frame_key(const struct script_frame *frame)
{
    return frame->instruction;
}

const struct runtime python_runtime = {
    "/python",
    python_module,
    python_forget,
    python_is_call,
    false,
    true,
    python_stack,
    NULL,
    python_identity,
    python_frame_key,
    python_line,
    python_first_line,
    python_function_name,
    python_file_name,
};

/* ---- Allocators ---- */

bool python_has_lock(void)
{
    return python.has_lock() != 0;
}

void python_get_allocator(enum python_domain domain, struct python_allocator *allocator)
{
    python.get_allocator((int)domain, allocator);
}

void python_set_allocator(enum python_domain domain, struct python_allocator *allocator)
{
    python.set_allocator((int)domain, allocator);
}
