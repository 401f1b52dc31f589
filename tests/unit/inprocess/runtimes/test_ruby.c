/* Frames of Ruby read out of memory that was laid out as 2.7 to 3.4 lay it out; and out of the same
 * memory with any damage: no read where there is no memory, no endless loop. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __thread uintptr_t own[3]; /* as the interpreter's words of each thread */
#define ALSO_READABLE(address) ((address) - (uintptr_t)own < sizeof own)

#include "interpreter_memory.h"
#include "interpose/real.h"
#include "runtimes/ruby.h"
#include "runtimes/script_memory.h"

enum {
    /* Where things lie in the memory. */
    CONTEXT = 0x100,
    THREAD = 0x200,
    MACHINE = 0x300,
    HEAP = 0x380,
    VERSION = 0x800,
    GLOBAL = 0x880, /* the context of the thread that runs */
    STACK = 0x1000,
    STACK_BYTES = 0x1000,
    CODES = 0x2000,   /* of 64 */
    BODIES = 0x2400,  /* of 256 */
    METHODS = 0x2c00, /* of 128: itself, its definition */
    VARIABLES = 0x2f00,
    STRINGS = 0x3000, /* of 128 */
    FILES = 0x3a00,   /* an array of two names */
    LINES = 0x3b00,
    INDEX = 0x3c00, /* of positions, the same for all */
    INSTRUCTIONS = 0x4000,
    POSITIONS = 1200,
    BYTES = 0x7000,
    FRAMES = 64,
    FRAME_COUNT = 7,
    FINISH = 0x20,
    NATIVE = 0x55550001,
    METHOD = 0x11110001,
};

static struct {
    char version[8];
    size_t frame_bytes, thread, owner, machine, sets, lines, line_bytes, heap;
    bool is_old_text;
} layout;
static struct code_span code = {0x1000, 0x1010};
static size_t collections;
static bool collects, unlocked, has_functions = true;
static const unsigned begins[] = {0, 5, 53, 54, 60, 117, 566, 1100};

static size_t collections_of(void)
{
    return collections;
}

static int is_collecting(void)
{
    return collects;
}

static int has_lock(void)
{
    return !unlocked;
}

static uintptr_t name_of(uintptr_t number)
{
    return number == 4711 ? place(STRINGS) : 0;
}

static bool is_version(const char *first, const char *last)
{
    return strncmp(layout.version, first, 3) >= 0 && strncmp(layout.version, last, 3) <= 0;
}

/* The exports of a module. */
const ElfW(Sym) *real_symbol(const struct dl_phdr_info *module, const char *name)
{
    static ElfW(Sym) symbol;
    uintptr_t at = !strcmp(name, "ruby_version")                   ? place(VERSION)
                   : !strcmp(name, "ruby_init")                    ? place(VERSION)
                   : !strcmp(name, "rb_gc_count") && has_functions ? (uintptr_t)collections_of
                   : !strcmp(name, "rb_during_gc")                 ? (uintptr_t)is_collecting
                   : !strcmp(name, "ruby_thread_has_gvl_p")        ? (uintptr_t)has_lock
                   : !strcmp(name, "rb_id2str")                    ? (uintptr_t)name_of
                   : !strcmp(name, "rb_vm_exec") && is_version("2.7", "3.2")      ? code.lo
                   : !strcmp(name, "ruby_current_ec") && is_version("3.0", "3.2") ? 8
                   : !strcmp(name, "ruby_current_execution_context_ptr") && is_version("2.7", "2.7")
                       ? place(GLOBAL)
                       : 0;
    (void)module;
    symbol.st_value = at;
    symbol.st_size = code.hi - code.lo;
    return at ? &symbol : NULL;
}

static uintptr_t string(unsigned number, const char *text)
{
    size_t at = STRINGS + 128 * number, length = strlen(text);
    bool is_long = length > 22;

    memset(memory + at, 0, 128);
    put(at, 5u | (is_long ? 1u << 13 : layout.is_old_text ? (uint32_t)length << 14 : 0));
    if (layout.is_old_text && !is_long) {
        strcpy(memory + at + 16, text);
        return place(at);
    }
    put(at + 16, length);
    if (is_long)
        put(at + 24, place(at + 40));
    strcpy(memory + at + (is_long ? 40 : 24), text);
    return place(at);
}

/* Ranks as a rule says them: how many lines begin up to a position. */
static void lay_out_index(void)
{
    memset(memory + INDEX, 0, 0x200);
    for (unsigned position = 0; position < POSITIONS; position++) {
        uint64_t rank = 0, before = 0, word;
        bool is_one = false;
        for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
            unsigned behind = position < 54 ? 0 : (position - 54) % 512;
            rank += begins[i] <= position;
            before += position >= 54 && begins[i] < position - behind;
            is_one |= begins[i] == position;
        }
        if (position < 54) {
            memcpy(&word, memory + INDEX + position / 9 * 8, 8);
            put(INDEX + position / 9 * 8, word | rank << position % 9 * 7);
            continue;
        }
        size_t behind = (position - 54) % 512, block = INDEX + 48 + (position - 54) / 512 * 80;
        put_number(block, (uint32_t)before);
        memcpy(&word, memory + block + 8, 8);
        if (behind % 64 == 0 && behind)
            put(block + 8, word | (rank - is_one - before) << (behind / 64 - 1) * 9);
        memcpy(&word, memory + block + 16 + behind / 64 * 8, 8);
        put(block + 16 + behind / 64 * 8, word | (uint64_t)is_one << behind % 64);
    }
}

static uintptr_t code_of(unsigned number, uintptr_t name, uintptr_t file, unsigned first_line)
{
    size_t at = CODES + 64 * number, body = BODIES + 256 * number;

    put(at, 0x1a | 7 << 12);
    put(at + 16, place(body));
    put_number(body + 4, POSITIONS);
    put(body + 8, place(INSTRUCTIONS));
    put(body + 64, file);
    put(body + 80, name);
    put(body + 88, layout.is_old_text ? first_line * 2 + 1 : first_line);
    put(body + layout.lines, place(LINES));
    put_number(body + layout.lines + 16, sizeof begins / sizeof *begins);
    put(body + layout.lines + 24, place(INDEX));
    return place(at);
}

static void frame(unsigned number, uintptr_t of, unsigned position, uintptr_t method,
                  uint32_t flags)
{
    size_t at = STACK + STACK_BYTES - layout.frame_bytes * (FRAME_COUNT - number);
    size_t environment = STACK + 64 * number + 32;

    put(at, of ? place(INSTRUCTIONS + 8 * (position + 1)) : 0);
    put(at + 16, of);
    put(at + 32, place(environment));
    put(environment - 16, method);
    put(environment, flags);
}

static uintptr_t method(unsigned number)
{
    size_t at = METHODS + 128 * number;

    put(at, 0x1a | 6 << 12);
    put(at + 16, place(at + 64));
    put(at + 64 + 32, 4711);
    return place(at);
}

/* <main> calls größe, which calls map, which calls a block, which calls something native again, of
 * which a string is evaluated. */
static void lay_out(void)
{
    uintptr_t file = string(1, "/x/a.rb"), other = string(2, "(eval at /x/a.rb:3)");
    uintptr_t found = string(3, "/somewhere/where/it/was/found/b.rb");

    string(0, "map");
    put(FILES, 7 | 1 << 13);
    put(FILES + 16, file);
    put(FILES + 24, found);
    for (unsigned i = 0; i < sizeof begins / sizeof *begins; i++)
        put_number(LINES + layout.line_bytes * i, 10 + i);
    put(VARIABLES, 0x1a | 2 << 12);
    put(VARIABLES + 8, method(1));
    put(CONTEXT, place(STACK));
    put(CONTEXT + 8, STACK_BYTES / 8);
    put(CONTEXT + 16, place(STACK + STACK_BYTES) - layout.frame_bytes * FRAME_COUNT);
    put(CONTEXT + layout.thread, place(THREAD));
    put(THREAD + 48, place(CONTEXT));
    put(THREAD + layout.owner, (uintptr_t)pthread_self());
    put(THREAD + layout.machine, place(MACHINE));
    put_number(MACHINE + layout.sets, 1);
    if (layout.heap)
        put(MACHINE + layout.heap, place(HEAP));
    put(HEAP + 16, 0);
    put(GLOBAL, place(CONTEXT));
    own[0] = place(THREAD), own[1] = place(CONTEXT), own[2] = 0;
    strcpy(memory + VERSION, layout.version);
    frame(0, code_of(0, string(4, "<main>"), other, 1), 0, 0, METHOD | FINISH);
    frame(1, 0, 0, place(VARIABLES), NATIVE);
    frame(2,
          code_of(1,
                  string(5, "block in gr\xc3\xb6\xc3\x9f"
                            "e, which is long"),
                  place(FILES), 2),
          566, 0, METHOD | FINISH);
    frame(3, 0, 0, method(0), NATIVE);
    frame(4,
          code_of(2,
                  string(6, "gr\xc3\xb6\xc3\x9f"
                            "e"),
                  file, 3),
          59, 0, METHOD);
    frame(5, code_of(3, string(7, "<main>"), file, 1), 4, 0, METHOD | FINISH);
    frame(6, code_of(4, string(8, "<dummy>"), file, 1), 0, 0, METHOD | FINISH);
}

static void describe(const struct script_frame *frame_at, char *to, size_t room)
{
    char name[64], file[512];

    ruby_runtime.function_name(frame_at, name, sizeof name);
    ruby_runtime.file_name(frame_at, file, sizeof file);
    snprintf(to, room, "%s %s:%u%s", name, file, ruby_runtime.line(frame_at),
             frame_at->ends ? " ends" : "");
}

static void the_frames_are_what_runs(void **state)
{
    static const char *const want[] = {
        "<main> (eval):10 ends",
        "map [C function]:0",
        "block in größe, which is long /somewhere/where/it/was/found/b.rb:16 ends",
        "map [C function]:0",
        "größe /x/a.rb:13",
        "<main> /x/a.rb:10 ends"};
    struct script_frame frames[FRAMES];
    char text[600];
    (void)state;

    lay_out();
    assert_int_equal(ruby_runtime.stack(frames, FRAMES), 6);
    for (size_t i = 0; i < 6; i++) {
        describe(&frames[i], text, sizeof text);
        assert_string_equal(text, want[i]);
    }
    assert_int_equal(ruby_runtime.first_line(&frames[2]), 2);
    assert_int_equal(ruby_runtime.first_line(&frames[1]), 0);
    assert_int_equal(ruby_runtime.identity(&frames[1]), ruby_runtime.identity(&frames[3]));
    assert_int_not_equal(ruby_runtime.identity(&frames[0]), ruby_runtime.identity(&frames[5]));
    assert_int_equal(ruby_runtime.stack(frames, 2), 2);
}

/* An instruction that has begun is the one before. */
static void each_position_has_the_line_that_began_last(void **state)
{
    struct script_frame frames[FRAMES];
    (void)state;

    lay_out();
    assert_int_equal(ruby_runtime.stack(frames, FRAMES), 6);
    for (unsigned position = 0; position < POSITIONS; position++) {
        unsigned line = 9;
        for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
            line += begins[i] <= position;
        frames[4].instruction = place(INSTRUCTIONS + 8 * (position + 1));
        assert_int_equal(ruby_runtime.line(&frames[4]), line);
    }
    frames[4].instruction = place(INSTRUCTIONS); /* it has not begun */
    assert_int_equal(ruby_runtime.line(&frames[4]), 10);
    frames[4].instruction = place(INSTRUCTIONS + 8 * (POSITIONS + 1)); /* another's */
    assert_int_equal(ruby_runtime.line(&frames[4]), 3);
    put_number(BODIES + 512 + layout.lines + 16, 1); /* it has one line, and no index */
    put(BODIES + 512 + layout.lines + 24, 0);
    frames[4].instruction = place(INSTRUCTIONS + 8 * 600);
    assert_int_equal(ruby_runtime.line(&frames[4]), 10);
}

/* Native methods' names are asked of the interpreter, which must not move them meanwhile. */
static void names_are_asked_where_nothing_changes_them(void **state)
{
    struct script_frame frames[FRAMES];
    (void)state;

    lay_out();
    assert_true(ruby_runtime.reads_all());
    collects = true;
    assert_int_equal(ruby_runtime.stack(frames, FRAMES), 4);
    assert_false(ruby_runtime.reads_all());
    collects = false;
    unlocked = true;
    assert_int_equal(ruby_runtime.stack(frames, FRAMES), 4);
    assert_false(ruby_runtime.reads_all());
    unlocked = false;
    put_number(MACHINE + layout.sets, 2);
    assert_int_equal(ruby_runtime.stack(frames, FRAMES), layout.sets ? 4 : 6);
    assert_int_equal(ruby_runtime.reads_all(), !layout.sets);
    lay_out();
    put(CODES + 64, 0x1e); /* is being moved */
    assert_int_equal(ruby_runtime.stack(frames, FRAMES), 5);
}

static void another_threads_frames_are_not_read(void **state)
{
    struct script_frame frames[FRAMES];
    (void)state;

    lay_out();
    own[1] = 0;
    put(THREAD + layout.owner, layout.owner ? 1 : 0);
    assert_int_equal(ruby_stack_key(), 0);
    assert_int_equal(ruby_runtime.stack(frames, FRAMES), 0);
}

static void the_hash_changes_with_what_makes_the_path(void **state)
{
    uint64_t before;
    (void)state;

    lay_out();
    before = ruby_stack_key();
    assert_int_not_equal(before, 0);
    assert_int_equal(before, ruby_stack_key());
    frame(4, place(CODES + 128), 60, 0, METHOD); /* another instruction */
    assert_int_not_equal(before, ruby_stack_key());
    lay_out();
    frame(3, 0, 0, method(1), NATIVE); /* another method */
    assert_int_not_equal(before, ruby_stack_key());
    lay_out();
    put(HEAP + 16, 1); /* what runs now may be freed by the collection that is at work */
    assert_true((before != ruby_stack_key()) == (layout.heap != 0));
    lay_out();
    collections++; /* what has these addresses may be something else */
    assert_int_not_equal(before, ruby_stack_key());
    put(CONTEXT + 16, place(STACK + STACK_BYTES) - layout.frame_bytes);
    assert_int_equal(ruby_stack_key(), 0);
}

static void a_cut_name_ends_with_a_character(void **state)
{
    struct script_frame frames[FRAMES];
    char name[64];
    (void)state;

    lay_out();
    ruby_runtime.stack(frames, FRAMES);
    for (size_t room = 1; room < 20; room++) {
        size_t length = ruby_runtime.function_name(&frames[4], name, room);
        assert_true(length < room && strlen(name) == length);
        assert_true(length == 0 || (name[length - 1] & 0xc0) != 0xc0);
        assert_true(ruby_runtime.file_name(&frames[3], name, room) < room);
    }
}

static void no_damage_is_followed_out_of_memory(void **state)
{
    enum { ROUNDS = 200000 };
    struct script_frame frames[FRAMES];
    char text[700];
    uint64_t frames_read = 0;
    (void)state;

    for (unsigned round = 0; round < ROUNDS; round++) {
        lay_out();
        for (uint64_t changes = 1 + draw() % 4; changes--;)
            put(draw() % (BYTES - 8) & ~7ull, damage());
        put(STACK + STACK_BYTES - draw() % 0x300 / 8 * 8 - 8, damage());
        put(CODES + draw() % 0x1e00 / 8 * 8, damage());
        if (draw() % 8 == 0)
            put(CONTEXT + draw() % 64 / 8 * 8, damage());
        ruby_stack_key();
        uint32_t count = ruby_runtime.stack(frames, FRAMES);
        for (uint32_t i = 0; i < count; i++) {
            describe(&frames[i], text, sizeof text);
            ruby_runtime.first_line(&frames[i]);
            ruby_runtime.identity(&frames[i]);
            ruby_runtime.frame_key(&frames[i]);
        }
        frames_read += count;
    }
    assert_true(frames_read > ROUNDS);
    lay_out();
    lay_out_index();
}

static bool layout_of(int version)
{
    static const struct {
        int version;
        __typeof__(layout) layout;
    } layouts[] = {{27, {"2.7.8", 56, 56, 72, 24, 0, 120, 8, 1152, true}},
                   {30, {"3.0.6", 56, 56, 0, 32, 24, 120, 8, 1088, true}},
                   {31, {"3.1.2", 64, 48, 0, 32, 24, 120, 12, 1104, true}},
                   {32, {"3.2.3", 64, 48, 0, 32, 24, 112, 12, 1128, false}},
                   {33, {"3.3.8", 56, 48, 0, 32, 24, 112, 12, 1304, false}},
                   {34, {"3.4.1", 56, 48, 0, 32, 24, 112, 12, 0, false}}};

    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].version == version)
            layout = layouts[i].layout;
    return layout.frame_bytes != 0;
}

/* Of another version, or without what is asked of it, it is not read. */
static bool it_begins(void)
{
    struct dl_phdr_info info = {.dlpi_tls_data = own};

    lay_out();
    lay_out_index();
    strcpy(memory + VERSION, "4.2.0");
    if (ruby_see_module(&info) || !ruby_is_unread(&info))
        return false;
    strcpy(memory + VERSION, layout.version);
    has_functions = false;
    if (ruby_see_module(&info) || !ruby_is_unread(&info))
        return false;
    has_functions = true;
    if (!ruby_see_module(&info) || ruby_is_unread(&info) || ruby_see_module(&info))
        return false;
    return ruby_stack_key() != 0 &&
           (!is_version("2.7", "3.2") ||
            (ruby_runtime.is_call(code.lo + 1) && !ruby_runtime.is_call(code.lo)));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_frames_are_what_runs),
        cmocka_unit_test(each_position_has_the_line_that_began_last),
        cmocka_unit_test(names_are_asked_where_nothing_changes_them),
        cmocka_unit_test(another_threads_frames_are_not_read),
        cmocka_unit_test(the_hash_changes_with_what_makes_the_path),
        cmocka_unit_test(a_cut_name_ends_with_a_character),
        cmocka_unit_test(no_damage_is_followed_out_of_memory),
    };
    if (!memory_make(BYTES) || !layout_of(argc > 1 ? atoi(argv[1]) : 31))
        return 1;
    return it_begins() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
