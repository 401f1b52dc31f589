/* Frames of PHP read out of memory that was laid out as 8.1 to 8.4 lay it out; and out of the same
 * memory with any damage: no read where there is no memory, no endless loop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "interpreter_memory.h"
#include "interpose/real.h"
#include "runtimes/php.h"
#include "runtimes/script_memory.h"

enum {
    /* Where things lie in the memory. */
    GLOBALS = 0, /* executor_globals */
    GLOBALS_BYTES = 0x600,
    REGISTRY = 0x700, /* of modules, its table, a module */
    ENTRIES = 0x780,
    MODULE = 0x800,
    FRAMES_AT = 0x1000,    /* of 128 bytes */
    FUNCTIONS = 0x1800,    /* of 256 */
    INSTRUCTIONS = 0x2000, /* of 4 × 32 for each function */
    CLASS = 0x2600,
    GENERATORS = 0x2800, /* of 256 */
    STRINGS = 0x3000,    /* of 64 */
    BYTES = 0x4000,
    FRAMES = 64,
    TOP = 1 << 17,
    CODE = 1 << 16,
    OBJECT = 8,
    INTERNAL = 1,
    USER = 2,
    EVAL = 4,
};

static struct {
    uint32_t api;
    size_t before_thrown, count, instructions, file;
} layout;
static bool has_globals = true;
static struct code_span code = {0x1000, 0x1010};

/* The exports of a module. */
const ElfW(Sym) *real_symbol(const struct dl_phdr_info *module, const char *name)
{
    static ElfW(Sym) symbol;
    uintptr_t at = !strcmp(name, "executor_globals") && has_globals ? place(GLOBALS)
                   : !strcmp(name, "module_registry")               ? place(REGISTRY)
                   : !strcmp(name, "execute_ex")                    ? code.lo
                   : !strcmp(name, "zend_execute_ex")               ? place(GLOBALS)
                                                                    : 0;
    (void)module;
    symbol.st_value = at;
    symbol.st_size = at == code.lo ? code.hi - code.lo : GLOBALS_BYTES;
    return at ? &symbol : NULL;
}

static uintptr_t string(unsigned number, const char *text)
{
    size_t at = STRINGS + 64 * number;

    put(at + 8, 4711 + number); /* its hash */
    put(at + 16, strlen(text));
    strcpy(memory + at + 24, text);
    return place(at);
}

/* Its instructions are of the lines 10 × number + 1 … */
static uintptr_t function(unsigned number, unsigned type, uintptr_t name, uintptr_t class,
                          uintptr_t file)
{
    size_t at = FUNCTIONS + 256 * number, instructions = INSTRUCTIONS + 128 * number;

    memory[at] = (char)type;
    put(at + 8, name);
    put(at + 16, class);
    if (type == INTERNAL)
        return place(at);
    put(at + layout.instructions, place(instructions));
    put_number(at + layout.count, 4);
    put(at + layout.file, file);
    put_number(at + layout.file + 8, 10 * number);
    for (unsigned i = 0; i < 4; i++)
        put_number(instructions + 32 * i + 24, 10 * number + i + 1);
    return place(at);
}

/* At its function's second instruction. */
static uintptr_t frame(unsigned number, uintptr_t of, uint32_t info, uintptr_t previous)
{
    size_t at = FRAMES_AT + 128 * number;
    size_t function_number = of ? (of - place(FUNCTIONS)) / 256 : 0;

    put(at, of ? place(INSTRUCTIONS + 128 * function_number + 32) : 0);
    put(at + 24, of);
    put_number(at + 40, info);
    put(at + 48, previous);
    return place(at);
}

/* <main> includes a file, which calls Store::größe, which calls array_map, which calls a closure, which
 * goes through a generator that waits for one that waits for the one that runs. */
static void lay_out(void)
{
    uintptr_t file = string(0, "/x/a.php"), other = string(1, "/x/b.php");

    memset(memory, 0, PAGE);
    put(REGISTRY + 16, place(ENTRIES));
    put_number(REGISTRY + 24, 1);
    put(ENTRIES, place(MODULE));
    put_number(MODULE + 4, layout.api);
    put(CLASS + 8, string(2, "Store"));
    uintptr_t main = frame(0, function(0, USER, 0, 0, file), CODE | TOP, 0);
    uintptr_t included = frame(1, function(1, USER, 0, 0, other), CODE, main);
    uintptr_t method = frame(2,
                             function(2, USER,
                                      string(3, "gr\xc3\xb6\xc3\x9f"
                                                "e"),
                                      place(CLASS), file),
                             0, included);
    uintptr_t map = frame(3, function(3, INTERNAL, string(4, "array_map"), 0, 0), TOP, method);
    uintptr_t closure =
        frame(4, function(4, USER, string(5, "{closure:/x/a.php:3}"), 0, file), TOP, map);
    uintptr_t fake = frame(5, 0, OBJECT, closure);
    uintptr_t waits = function(5, USER, string(6, "waits"), 0, file);
    uintptr_t runs = frame(6, function(6, USER, string(7, "runs"), 0, file), TOP, fake);
    put(FRAMES_AT + 128 * 5 + 32, place(GENERATORS)); /* that goes through it */
    put(GENERATORS + 56, frame(7, waits, TOP, 4711));
    put(GENERATORS + 152, place(GENERATORS + 256));
    put(GENERATORS + 256 + 56, frame(8, function(7, EVAL, 0, 0, other), TOP, 4711));
    put(GENERATORS + 256 + 152, place(GENERATORS + 512));
    put(GENERATORS + 512 + 56, runs);
    put(GENERATORS + 512 + 152, 0);
    put(GLOBALS + 488, runs);
}

static void describe(const struct script_frame *frame_at, char *to, size_t room)
{
    char name[64], file[512];

    php_runtime.function_name(frame_at, name, sizeof name);
    php_runtime.file_name(frame_at, file, sizeof file);
    snprintf(to, room, "%s %s:%u%s", name, file, php_runtime.line(frame_at),
             frame_at->ends ? " ends" : "");
}

static void the_frames_are_what_runs(void **state)
{
    static const char *const want[] = {"runs /x/a.php:62 ends",
                                       "<eval> /x/b.php:72",
                                       "waits /x/a.php:52",
                                       "{closure} /x/a.php:42 ends",
                                       "array_map [internal function]:0",
                                       "Store::größe /x/a.php:22",
                                       "<include> /x/b.php:12",
                                       "<main> /x/a.php:2 ends"};
    struct script_frame frames[FRAMES];
    char text[600];
    (void)state;

    lay_out();
    assert_int_equal(php_runtime.stack(frames, FRAMES), 8);
    for (size_t i = 0; i < 8; i++) {
        describe(&frames[i], text, sizeof text);
        assert_string_equal(text, want[i]);
    }
    assert_int_equal(php_runtime.first_line(&frames[0]), 60);
    assert_int_equal(php_runtime.first_line(&frames[4]), 0);
    assert_int_equal(php_runtime.stack(frames, 2), 2);
    assert_true(php_runtime.is_call(code.lo + 1));
    assert_false(php_runtime.is_call(code.lo));
}

/* Where it runs is the interpreter's then; where that was thrown stands beside it. */
static void what_throws_has_its_line(void **state)
{
    struct script_frame frames[FRAMES];
    (void)state;

    lay_out();
    put(FRAMES_AT + 128 * 6, place(GLOBALS + layout.before_thrown + 8));
    put(GLOBALS + layout.before_thrown, place(INSTRUCTIONS + 128 * 6 + 64));
    assert_int_equal(php_runtime.stack(frames, FRAMES), 8);
    assert_int_equal(php_runtime.line(&frames[0]), 63);
    put(GLOBALS + layout.before_thrown, place(INSTRUCTIONS)); /* another function's */
    assert_int_equal(php_runtime.stack(frames, FRAMES), 8);
    assert_int_equal(php_runtime.line(&frames[0]), 0);
}

static void the_hash_changes_with_what_makes_the_path(void **state)
{
    uint64_t before, none = 0;
    (void)state;

    lay_out();
    before = php_stack_key();
    assert_int_not_equal(before, none);
    assert_int_equal(before, php_stack_key());
    put_number(INSTRUCTIONS + 128 * 2 + 32 + 24, 13); /* another line */
    assert_int_not_equal(before, php_stack_key());
    lay_out();
    put(STRINGS + 64 + 8, 1); /* another file at the same address */
    assert_int_not_equal(before, php_stack_key());
    lay_out();
    put(STRINGS + 64 * 6 + 8, 1); /* another name of one that waits */
    assert_int_not_equal(before, php_stack_key());
    lay_out();
    put_number(FUNCTIONS + 256 * 4 + layout.file + 8, 41); /* it begins elsewhere */
    assert_int_not_equal(before, php_stack_key());
    lay_out();
    put(STRINGS + 64 * 6 + 8, 0); /* a name whose hash nobody asked for */
    before = php_stack_key();
    memory[STRINGS + 64 * 6 + 24] = 'W';
    assert_int_not_equal(before, php_stack_key());
    put(GLOBALS + 488, 0);
    assert_int_equal(php_stack_key(), 0);
}

static void a_fiber_has_no_frame_of_its_own(void **state)
{
    struct script_frame frames[FRAMES];
    (void)state;

    lay_out();
    put(FUNCTIONS + 256 * 3 + 8, 0); /* PHP's own, without a name */
    assert_int_equal(php_runtime.stack(frames, FRAMES), 7);
}

static void a_cut_name_ends_with_a_character(void **state)
{
    struct script_frame frames[FRAMES];
    char name[64];
    (void)state;

    lay_out();
    php_runtime.stack(frames, FRAMES);
    for (size_t room = 1; room < 20; room++) {
        size_t length = php_runtime.function_name(&frames[5], name, room);
        assert_true(length < room && strlen(name) == length);
        assert_true(length == 0 || (name[length - 1] & 0xc0) != 0xc0);
    }
}

/* Memory was unmapped, and there is an address with what tells one epoch of pages from the next. */
static void an_address_of_another_epoch_is_none(void **state)
{
    (void)state;

    for (unsigned i = 0; i < 4; i++) {
        lay_out();
        assert_int_not_equal(php_stack_key(), 0);
        script_memory_forget();
        put(GLOBALS + 488, place(FRAMES_AT + 128 * 6) ^ 1ull << (SCRIPT_EPOCH_SHIFT + 12));
        assert_int_equal(php_stack_key(), 0);
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
        put(draw() % 2 ? FRAMES_AT + draw() % 1024 / 8 * 8 : GENERATORS + draw() % 768 / 8 * 8,
            damage());
        if (draw() % 8 == 0)
            put(GLOBALS + 488, damage());
        php_stack_key();
        uint32_t count = php_runtime.stack(frames, FRAMES);
        for (uint32_t i = 0; i < count; i++) {
            describe(&frames[i], text, sizeof text);
            php_runtime.first_line(&frames[i]);
            php_runtime.identity(&frames[i]);
            php_runtime.frame_key(&frames[i]);
        }
        frames_read += count;
    }
    assert_true(frames_read > ROUNDS);
}

static bool layout_of(int version)
{
    static const __typeof__(layout) layouts[] = {{20210902, 880, 68, 72, 144},
                                                 {20220829, 880, 80, 88, 152},
                                                 {20230831, 880, 76, 80, 144},
                                                 {20240924, 952, 96, 104, 168}};

    if (version < 81 || version > 84)
        return false;
    layout = layouts[version - 81];
    return true;
}

/* Nothing is known before it begins; with threads, made for debugging or of another version it is
 * not read. */
static bool it_begins(void)
{
    static const struct dl_phdr_info none;

    has_globals = false;
    if (php_see_module(&none) || !php_is_unread(&none))
        return false;
    has_globals = true;
    for (unsigned what = 0; what < 3; what++) {
        if (!php_see_module(&none) || php_is_unread(&none))
            return false;
        memset(memory, 0, PAGE);
        if (php_stack_key() || php_is_unknown())
            return false;
        lay_out();
        memory[MODULE + 8 + what] = 1;
        if (what == 2)
            put_number(MODULE + 4, 20990101);
        if (php_stack_key() || !php_is_unknown())
            return false;
        php_runtime.forget();
    }
    lay_out();
    return php_see_module(&none) && php_stack_key() != 0 && !php_is_unknown();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_frames_are_what_runs),
        cmocka_unit_test(what_throws_has_its_line),
        cmocka_unit_test(the_hash_changes_with_what_makes_the_path),
        cmocka_unit_test(a_fiber_has_no_frame_of_its_own),
        cmocka_unit_test(a_cut_name_ends_with_a_character),
        cmocka_unit_test(an_address_of_another_epoch_is_none),
        cmocka_unit_test(no_damage_is_followed_out_of_memory),
    };
    if (!memory_make(BYTES) || !layout_of(argc > 1 ? atoi(argv[1]) : 82))
        return 1;
    return it_begins() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
