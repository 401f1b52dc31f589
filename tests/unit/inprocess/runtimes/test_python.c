/* Frames of Python read out of memory that was laid out as 3.11 to 3.14 lay it out, with what
 * 3.13.0, 3.13.18, a free-threaded 3.13.5 and 3.14.10 said of themselves (_Py_DebugOffsets). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "interpreter_memory.h"
#include "interpose/real.h"
#include "runtimes/python.h"

enum {
    THREAD = 0,
    FRAME_CHAIN = 0x100, /* 3.11, 3.12: what leads from the thread to its frame */
    FRAMES_AT = 0x200,   /* of 128 bytes */
    CODES = 0x800,       /* of 256 */
    TEXTS = 0x1000,      /* of 128 */
    FRAMES = 16,
    OWNER_THREAD = 0,
    OWNER_NATIVE = 3,
    CALLS = 3, /* of functions that the test has */
    BYTES = 2 * PAGE,
};

/* What an interpreter says of itself, up to the code's offsets. */
static const uint64_t said_3_13[] = {0x7970677562656478,
                                     0x30d12f0,
                                     0,
                                     283408,
                                     608,
                                     632,
                                     194984,
                                     7272,
                                     7264,
                                     7344,
                                     7400,
                                     7656,
                                     7640,
                                     7648,
                                     16,
                                     7752,
                                     0,
                                     7768,
                                     7760,
                                     312,
                                     0,
                                     8,
                                     16,
                                     72,
                                     152,
                                     160,
                                     232,
                                     32,
                                     80,
                                     8,
                                     0,
                                     56,
                                     72,
                                     70,
                                     208,
                                     112,
                                     120,
                                     128,
                                     136,
                                     68,
                                     52,
                                     96,
                                     104,
                                     200};
static const uint64_t said_3_13t[] = {0x7970677562656478,
                                      0x30d05f0,
                                      1,
                                      328320,
                                      608,
                                      632,
                                      215616,
                                      7272,
                                      7264,
                                      7344,
                                      7400,
                                      7664,
                                      7648,
                                      7656,
                                      16,
                                      7760,
                                      0,
                                      7784,
                                      7776,
                                      304,
                                      0,
                                      8,
                                      16,
                                      72,
                                      152,
                                      160,
                                      232,
                                      32,
                                      80,
                                      8,
                                      0,
                                      56,
                                      72,
                                      70,
                                      224,
                                      128,
                                      136,
                                      144,
                                      152,
                                      84,
                                      68,
                                      112,
                                      120,
                                      216,
                                      32,
                                      24,
                                      432,
                                      40,
                                      104,
                                      184,
                                      48,
                                      40,
                                      32,
                                      56,
                                      40,
                                      32,
                                      64,
                                      48,
                                      56,
                                      40,
                                      32,
                                      48,
                                      32,
                                      40,
                                      56,
                                      32,
                                      48,
                                      80,
                                      48,
                                      32,
                                      56};
static const uint64_t said_3_14[] = {0x7970677562656478,
                                     0x30e0af0,
                                     0,
                                     316616,
                                     784,
                                     808,
                                     225864,
                                     7280,
                                     7272,
                                     7344,
                                     7360,
                                     7408,
                                     7688,
                                     7672,
                                     7680,
                                     16,
                                     7784,
                                     0,
                                     7800,
                                     7792,
                                     7992,
                                     0,
                                     832,
                                     0,
                                     8,
                                     16,
                                     72,
                                     152,
                                     160,
                                     232,
                                     32,
                                     88,
                                     8,
                                     0,
                                     56,
                                     80,
                                     74,
                                     64,
                                     0,
                                     216,
                                     112,
                                     120,
                                     128,
                                     136,
                                     68,
                                     52,
                                     96,
                                     104,
                                     208,
                                     0};

/* Where things lie, as each version's headers have it. */
static struct fields {
    unsigned long version;
    const uint64_t *said;
    unsigned thread_frame, chain, code, previous, instruction, owner, is_entry;
    unsigned file, name, first_line, instructions, ascii, wide;
    bool tags;
    unsigned more; /* bytes of an object's head than with a lock */
} fields;
static uint64_t said[72];
static struct code_span eval = {0x1000, 0x1010};
static uintptr_t thread;

static void *own_thread(void)
{
    return (void *)thread;
}

/* Its instructions are of the lines first + 1 … */
static int line_of(const void *code, int offset)
{
    return *(const int *)((const char *)code + fields.first_line) + 1 + offset / 2;
}

static int has_lock(void)
{
    return 1;
}

static void allocator(int domain, struct python_allocator *to)
{
    (void)domain, (void)to;
}

const ElfW(Sym) *real_symbol(const struct dl_phdr_info *module, const char *name)
{
    static ElfW(Sym) symbol;
    const struct {
        const char *name;
        uintptr_t at;
    } exports[] = {{"Py_Version", (uintptr_t)&fields.version},
                   {"_PyEval_EvalFrameDefault", eval.lo},
                   {"PyCode_Type", place(BYTES - 8)},
                   {"PyGILState_GetThisThreadState", (uintptr_t)own_thread},
                   {"PyGILState_Check", (uintptr_t)has_lock},
                   {"PyCode_Addr2Line", (uintptr_t)line_of},
                   {"PyMem_GetAllocator", (uintptr_t)allocator},
                   {"PyMem_SetAllocator", (uintptr_t)allocator},
                   {"Py_Initialize", eval.lo},
                   {"_PyRuntime", fields.said ? (uintptr_t)said : 0}};
    (void)module;
    for (size_t i = 0; i < sizeof exports / sizeof *exports; i++) {
        if (strcmp(exports[i].name, name) != 0 || !exports[i].at)
            continue;
        symbol.st_value = exports[i].at;
        symbol.st_size = eval.hi - eval.lo;
        return &symbol;
    }
    return NULL;
}

/* `bytes`: of a character; 0: ASCII. */
static uintptr_t string(unsigned number, unsigned bytes, const void *characters, size_t count)
{
    enum { LENGTH = 16, STATE = 32, COMPACT = 0x20, ASCII = 0x40 };
    size_t at = TEXTS + 128 * number;

    put(at + fields.more + LENGTH, count);
    put_number(at + fields.more + STATE, COMPACT | (bytes ? bytes << 2 : 1 << 2 | ASCII));
    memcpy(memory + at + (bytes ? fields.wide : fields.ascii), characters,
           count * (bytes ? bytes : 1));
    return place(at);
}

static uintptr_t code(unsigned number, uintptr_t name, uintptr_t file)
{
    enum { OBJECT_TYPE = 8 };
    size_t at = CODES + 256 * number;

    put(at + fields.more + OBJECT_TYPE, place(BYTES - 8));
    put(at + fields.name, name);
    put(at + fields.file, file);
    put_number(at + fields.first_line, 10 * number);
    return place(at);
}

/* At its third instruction. */
static uintptr_t frame(unsigned number, uintptr_t of, unsigned owner, bool is_entry,
                       uintptr_t previous)
{
    size_t at = FRAMES_AT + 128 * number;

    put(at + fields.code, of | (fields.tags ? 1 : 0));
    put(at + fields.previous, previous);
    put(at + fields.instruction, of ? of + fields.instructions + 4 : 0x4711);
    memory[at + fields.owner] = (char)owner;
    if (fields.is_entry)
        memory[at + fields.is_entry] = is_entry;
    return place(at);
}

/* In front of an entry there is a frame of the interpreter's own, from 3.12 on. */
static uintptr_t entered(unsigned number, uintptr_t previous)
{
    return fields.is_entry ? previous : frame(number, 0, OWNER_NATIVE, false, previous);
}

/* <module> calls größe, which calls native code, which calls 木𝄞. */
static void lay_out(void)
{
    static const uint8_t latin[] = {'g', 'r', 0xf6, 0xdf, 'e'};
    static const uint32_t wide[] = {0x6728, 0x1d11e};
    uintptr_t file;

    memset(memory, 0, BYTES);
    file = string(0, 0, "/x/a.py", 7);
    uintptr_t module =
        frame(1, code(0, string(1, 0, "<module>", 8), file), OWNER_THREAD, true, entered(0, 0));
    uintptr_t caller = frame(2, code(1, string(2, 1, latin, 5), file), OWNER_THREAD, false, module);
    uintptr_t innermost =
        frame(4, code(2, string(3, 4, wide, 2), file), OWNER_THREAD, true, entered(3, caller));
    thread = place(THREAD);
    put(THREAD + fields.thread_frame, fields.said ? innermost : place(FRAME_CHAIN));
    if (!fields.said)
        put(FRAME_CHAIN + fields.chain, innermost);
}

static void the_frames_are_what_runs(void **state)
{
    static const char *const want[] = {"木𝄞 /x/a.py:23 ends", "größe /x/a.py:13",
                                       "<module> /x/a.py:3 ends"};
    struct script_frame frames[FRAMES];
    char name[64], file[64], text[160];
    (void)state;

    lay_out();
    assert_int_equal(python_runtime.stack(frames, FRAMES), CALLS);
    for (size_t i = 0; i < CALLS; i++) {
        python_runtime.function_name(&frames[i], name, sizeof name);
        python_runtime.file_name(&frames[i], file, sizeof file);
        snprintf(text, sizeof text, "%s %s:%u%s", name, file, python_runtime.line(&frames[i]),
                 frames[i].ends ? " ends" : "");
        assert_string_equal(text, want[i]);
    }
    assert_int_equal(python_runtime.first_line(&frames[0]), 20);
    assert_int_equal(python_runtime.identity(&frames[0]), place(CODES + 512));
    assert_int_equal(python_runtime.stack(frames, 2), 2);
    assert_true(python_runtime.is_call(eval.lo + 1));
    assert_false(python_runtime.is_call(eval.lo));
}

static void the_hash_changes_with_where_it_is(void **state)
{
    struct python_keys *keys = calloc(1, sizeof *keys);
    (void)state;

    lay_out();
    uint64_t before = python_stack_key(keys);
    assert_int_not_equal(before, 0);
    assert_int_equal(before, python_stack_key(keys));
    put(FRAMES_AT + 128 * 2 + fields.instruction, place(CODES + 256 + fields.instructions + 6));
    assert_int_not_equal(before, python_stack_key(keys));
    lay_out();
    assert_int_equal(before, python_stack_key(keys));
    thread = 0;
    assert_false(python_has_frames());
    assert_int_equal(python_stack_key(keys), 0);
    free(keys);
}

/* What it says must be of its version, and near enough. */
static void what_it_says_is_looked_at(void **state)
{
    static const struct dl_phdr_info none;
    (void)state;

    if (!fields.said)
        return;
    for (size_t i = 0; i < 3; i++) { /* the cookie, the version, whether it is free-threaded */
        said[i] ^= 1 << 16;
        python_runtime.forget();
        assert_false(python_see_module(&none));
        assert_true(python_is_unread(&none));
        said[i] ^= 1 << 16;
    }
    for (size_t i = 0; i < 3; i++) {
        const size_t at[] = {fields.version >> 16 == 0x30d ? 28 : 31,
                             fields.version >> 16 == 0x30d ? 34 : 39,
                             fields.version >> 16 == 0x30d ? 43 : 48};
        uint64_t before = said[at[i]];
        python_runtime.forget();
        said[at[i]] = 1 << 20;
        assert_false(python_see_module(&none));
        said[at[i]] = before;
    }
    assert_true(python_see_module(&none));
    assert_int_equal(python_is_free_threaded(&none), fields.more != 0);
}

/* Heads of objects are as they are known to be, and 3.14's are not known. */
static void the_heads_of_free_threaded_objects_are_known(void **state)
{
    static const struct dl_phdr_info none;
    (void)state;

    if (!fields.said)
        return;
    for (size_t i = 0; i < 4 && fields.version >> 16 == 0x30d; i++) {
        const size_t at[] = {45, 68, 69, 70}; /* the type, a text's state, length, characters */
        uint64_t before = said[at[i]];
        python_runtime.forget();
        said[at[i]] = 1 << 20;
        assert_int_equal(python_see_module(&none), !fields.more);
        said[at[i]] = before;
    }
    python_runtime.forget();
    said[2] ^= 1;
    assert_int_equal(python_see_module(&none), fields.more != 0);
    said[2] ^= 1;
    python_runtime.forget();
    assert_true(python_see_module(&none));
}

/* 3130: free-threaded */
static bool fields_of(int version)
{
    static const struct fields all[] = {
        {0x030b02f0, NULL, 56, 8, 32, 48, 56, 69, 68, 112, 128, 72, 184, 48, 72, false, 0},
        {0x030c01f0, NULL, 56, 0, 0, 8, 56, 70, 0, 112, 128, 68, 192, 40, 56, false, 0},
        {0x030d12f0, said_3_13, 72, 0, 0, 8, 56, 70, 0, 112, 128, 68, 200, 40, 56, false, 0},
        {0x030e0af0, said_3_14, 72, 0, 0, 8, 56, 74, 0, 112, 128, 68, 208, 40, 56, true, 0},
        {0x030d05f0, said_3_13t, 72, 0, 0, 8, 56, 70, 0, 128, 144, 84, 216, 56, 72, false, 16}};
    static const size_t bytes[] = {0, 0, sizeof said_3_13, sizeof said_3_14, sizeof said_3_13t};
    size_t which = version == 3130 ? 4 : (size_t)version - 311;

    if (which >= sizeof all / sizeof *all)
        return false;
    fields = all[which];
    if (fields.said)
        memcpy(said, fields.said, bytes[which]);
    return true;
}

int main(int argc, char **argv)
{
    static const struct dl_phdr_info none;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_frames_are_what_runs),
        cmocka_unit_test(the_hash_changes_with_where_it_is),
        cmocka_unit_test(what_it_says_is_looked_at),
        cmocka_unit_test(the_heads_of_free_threaded_objects_are_known),
    };

    if (argc < 2 || !memory_make(BYTES) || !fields_of(atoi(argv[1])) || !python_see_module(&none))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
