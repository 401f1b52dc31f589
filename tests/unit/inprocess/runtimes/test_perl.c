/* Frames of Perl read out of memory that was laid out as 5.36 and 5.30 lay it out; and out of the
 * same memory with any damage: no read where there is no memory, no endless loop. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* That may be read too. */
static uintptr_t other_page;
#define ALSO_READABLE(address) (other_page && (address)-other_page < PAGE)

#include "interpreter_memory.h"
#include "interpose/real.h"
#include "runtimes/perl.h"

enum {
    /* Where things lie in the memory. */
    INTERPRETER = 0,
    LEVEL = 0x1000,
    OUTER_LEVEL = 0x1100,
    CONTEXTS = 0x1200,
    OUTER_CONTEXTS = 0x1600,
    STATEMENTS = 0x1800, /* of 64 bytes */
    SUBS = 0x2000,       /* head, body, glob, its body */
    STASH = 0x2800,
    NAMES = 0x2c00, /* of 64 bytes */
    FILES = 0x3000,
    FILE_BYTES = 128,
    TABLE = 0x3400,
    BYTES = 0x4000,
    STATEMENT_COUNT = 5,
    FRAMES = 64,
};

static pthread_key_t key;
static uint8_t revision = 5, version;
static bool has_threads = true;
static uintptr_t statement_now, level_now; /* of an interpreter without */
static struct code_span code = {0x1000, 0x1010};

/* The exports of a module. */
const ElfW(Sym) *real_symbol(const struct dl_phdr_info *module, const char *name)
{
    static ElfW(Sym) symbol;
    const void *at = !strcmp(name, "PL_revision")                       ? (void *)&revision
                     : !strcmp(name, "PL_version")                      ? (void *)&version
                     : !strcmp(name, "PL_thr_key") && has_threads       ? (void *)&key
                     : !strcmp(name, "PL_curcop") && !has_threads       ? (void *)&statement_now
                     : !strcmp(name, "PL_curstackinfo") && !has_threads ? (void *)&level_now
                     : !strcmp(name, "Perl_runops_standard")            ? (void *)code.lo
                                                                        : NULL;
    (void)module;
    symbol.st_value = (uintptr_t)at;
    symbol.st_size = code.hi - code.lo;
    return at ? &symbol : NULL;
}

static void put_half(size_t offset, uint16_t value)
{
    memcpy(memory + offset, &value, sizeof value);
}

static void put_key(size_t at, const char *name, bool is_utf8)
{
    put_number(at + 4, (uint32_t)strlen(name));
    memcpy(memory + at + 8, name, strlen(name));
    memory[at + 8 + strlen(name) + 1] = (char)is_utf8;
}

static void put_name(unsigned number, const char *name, bool is_utf8)
{
    put_key(NAMES + 64 * number, name, is_utf8);
}

/* The name itself, or a glob's "_<NAME". */
static void put_file(unsigned number, const char *file)
{
    size_t at = FILES + FILE_BYTES * number;
    char name[64];

    if (has_threads) {
        strcpy(memory + at, file);
        return;
    }
    put(at, place(at + 32));
    put_number(at + 12, 9);
    put(at + 64, place(at + 80));
    snprintf(name, sizeof name, "_<%s", file);
    put_key(at + 80, name, false);
}

static size_t statement(unsigned number, uint32_t line, const char *file)
{
    size_t at = STATEMENTS + 64 * number;

    put_half(at + 32, 195);
    put_number(at + 36, line);
    put_file(number, file);
    put(at + 48, place(FILES + FILE_BYTES * number));
    put_number(at + 60, number + 100);
    return at;
}

/* With the name in the sub, or in its glob. */
static void sub(unsigned number, bool is_named, size_t start)
{
    size_t head = SUBS + 512 * number, body = head + 64, glob = head + 256, glob_body = head + 320;

    put(head, place(body));
    put_number(head + 12, 13);
    put(body + 32, place(STASH));
    put(body + 40, place(start));
    put(body + 56, is_named ? place(NAMES + 64 * number) : place(glob));
    put_number(body + 92, is_named ? 0x8000 : 0);
    put(glob, place(glob_body));
    put_number(glob + 12, 9);
    put(glob_body + 32, place(NAMES + 64 * number));
    put(glob_body + 40, place(STASH));
}

static void context(size_t at, uint32_t type, uintptr_t sub_at, size_t from, bool returns)
{
    put_number(at, type);
    put(at + 16, place(from));
    put(at + 48, returns);
    put(at + (version >= 32 ? 72 : 64), sub_at);
}

static void stash(void)
{
    size_t body = STASH + 64;

    put(STASH, place(body));
    put_number(STASH + 12, 12 | 0x02000000);
    put(STASH + 16, place(TABLE));
    put(body + 24, 7);
    put(version >= 36 ? body + 32 : TABLE + 8 * sizeof(uintptr_t), place(NAMES + 64 * 2));
}

/* <main>:3 calls load:12, which requires a file; its line 1 calls, from native code, Store::größe:7,
 * in a loop. */
static void lay_out(void)
{
    size_t bytes = version >= 32 ? 104 : 96;
    size_t now = statement(0, 7, "lib/Store.pm"), in_file = statement(1, 1, "/x/Loaded.pm");
    size_t in_load = statement(2, 12, "./a.pl"), in_main = statement(3, 3, "a.pl");
    bool is_old = version <= 32;

    memset(memory + INTERPRETER, 0, PAGE);
    put(is_old ? 224 : 208, place(now));
    put(is_old ? 240 : 224, place(LEVEL));
    statement_now = place(now);
    level_now = place(LEVEL);
    put(LEVEL + 8, place(CONTEXTS));
    put(LEVEL + 16, place(OUTER_LEVEL));
    put_number(LEVEL + 32, 1);
    put_number(LEVEL + 36, 9);
    put(OUTER_LEVEL + 8, place(OUTER_CONTEXTS));
    put(OUTER_LEVEL + 16, 0);
    put_number(OUTER_LEVEL + 32, 2);
    put_number(OUTER_LEVEL + 36, 2);
    put_name(0,
             "gr\xc3\xb6\xc3\x9f"
             "e",
             true);
    put_name(1,
             "l\xf6"
             "ad",
             false);
    put_name(2, "Store", false);
    sub(0, true, statement(4, 5, "lib/Store.pm"));
    sub(1, false, 0);
    stash();
    context(CONTEXTS, 9, place(SUBS), in_file, false);
    context(CONTEXTS + bytes, 4, 0, now, true);                   /* a loop */
    context(OUTER_CONTEXTS, 9, place(SUBS + 512), in_main, true); /* löad */
    context(OUTER_CONTEXTS + bytes, 11 | 0x40, 0, in_load, true); /* eval {} */
    context(OUTER_CONTEXTS + 2 * bytes, 11 | (342u << 7) << 16, 0, in_load, true);
}

static void describe(const struct script_frame *frame, char *to, size_t room)
{
    char name[64], file[512];

    perl_runtime.function_name(frame, name, sizeof name);
    perl_runtime.file_name(frame, file, sizeof file);
    snprintf(to, room, "%s %s:%u%s", name, strrchr(file, '/') ? strrchr(file, '/') + 1 : file,
             perl_runtime.line(frame), frame->ends ? " ends" : "");
}

static void the_frames_are_what_runs(void **state)
{
    static const char *const want[] = {"Store::größe Store.pm:7 ends", "<require> Loaded.pm:1",
                                       "Store::löad a.pl:12", "<main> a.pl:3 ends"};
    struct script_frame frames[FRAMES];
    char text[600];
    (void)state;

    lay_out();
    assert_int_equal(perl_runtime.stack(frames, FRAMES), 4);
    for (size_t i = 0; i < 4; i++) {
        describe(&frames[i], text, sizeof text);
        assert_string_equal(text, want[i]);
    }
    assert_int_equal(perl_runtime.first_line(&frames[0]), 5);
    assert_int_equal(perl_runtime.first_line(&frames[2]), 0);
    assert_int_equal(perl_runtime.stack(frames, 2), 2);
    assert_true(perl_runtime.is_call(code.lo + 1));
    assert_false(perl_runtime.is_call(code.lo));
}

static void the_hash_changes_with_what_makes_the_path(void **state)
{
    uint64_t before, none = 0;
    (void)state;

    lay_out();
    before = perl_stack_key();
    assert_int_not_equal(before, none);
    assert_int_equal(before, perl_stack_key());
    put_number(STATEMENTS + 64 * 2 + 36, 13); /* another line */
    assert_int_not_equal(before, perl_stack_key());
    lay_out();
    put_number(STATEMENTS + 60, 4711); /* another statement at the same address */
    assert_int_not_equal(before, perl_stack_key());
    lay_out();
    put(CONTEXTS + (version >= 32 ? 72 : 64), place(SUBS + 512)); /* another sub */
    assert_int_not_equal(before, perl_stack_key());
    pthread_setspecific(key, NULL);
    statement_now = 0;
    assert_int_equal(perl_stack_key(), 0); /* a thread that is none of Perl's */
    pthread_setspecific(key, memory);
}

static uint64_t keys_of_frames(void)
{
    struct script_frame frames[FRAMES];
    uint64_t keys = 0;

    for (uint32_t i = perl_runtime.stack(frames, FRAMES); i--;)
        keys = keys * 3 + perl_runtime.frame_key(&frames[i]);
    return keys;
}

/* Its line is remembered by that key. */
static void each_line_gives_a_frame_another_key(void **state)
{
    uint64_t keys[9];
    (void)state;

    for (uint32_t line = 1; line < 9; line++) {
        lay_out();
        put_number(STATEMENTS + 64 * 2 + 36, line);
        keys[line] = keys_of_frames();
        assert_int_equal(keys[line], keys_of_frames());
        for (uint32_t before = 1; before < line; before++)
            assert_int_not_equal(keys[line], keys[before]);
    }
}

static void a_cut_name_ends_with_a_character(void **state)
{
    struct script_frame frames[FRAMES];
    char name[64];
    (void)state;

    lay_out();
    perl_runtime.stack(frames, FRAMES);
    for (size_t room = 1; room < 20; room++) {
        size_t length = perl_runtime.function_name(&frames[0], name, room);
        assert_true(length < room && strlen(name) == length);
        assert_true(length == 0 || (name[length - 1] & 0xc0) != 0xc0);
    }
}

/* The program's frame is called from a statement of another interpreter's, which frees it. */
static void what_made_a_thread_may_go(void **state)
{
    char *other = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct script_frame frames[FRAMES];
    uint64_t before;
    (void)state;

    if (!has_threads)
        skip();
    lay_out();
    assert_true(other != MAP_FAILED);
    other_page = (uintptr_t)other;
    memcpy(other, memory + STATEMENTS + 64 * 3, 64);
    put(OUTER_CONTEXTS + 16, (uintptr_t)other);
    before = perl_stack_key();
    assert_int_equal(perl_runtime.stack(frames, FRAMES), 4);
    other_page = 0;
    assert_int_equal(munmap(other, PAGE), 0);
    assert_int_equal(perl_stack_key(), before);
    assert_int_equal(perl_runtime.stack(frames, FRAMES), 3);
}

static void no_damage_is_followed_out_of_memory(void **state)
{
    enum { ROUNDS = 200000 };
    struct script_frame frames[FRAMES];
    char text[600];
    uint64_t frames_read = 0;
    (void)state;

    for (unsigned round = 0; round < ROUNDS; round++) {
        lay_out();
        for (uint64_t changes = 1 + draw() % 4; changes--;)
            put(draw() % (BYTES - 8) & ~7ull, damage());
        put(draw() % 2 ? 208 : LEVEL + draw() % 48 / 8 * 8, damage());
        statement_now = draw() % 4 ? statement_now : damage();
        level_now = draw() % 4 ? level_now : damage();
        perl_stack_key();
        uint32_t count = perl_runtime.stack(frames, FRAMES);
        for (uint32_t i = 0; i < count; i++) {
            describe(&frames[i], text, sizeof text);
            perl_runtime.first_line(&frames[i]);
            perl_runtime.identity(&frames[i]);
            perl_runtime.frame_key(&frames[i]);
        }
        frames_read += count;
    }
    assert_true(frames_read > ROUNDS);
}

int main(int argc, char **argv)
{
    static const struct dl_phdr_info none;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_frames_are_what_runs),
        cmocka_unit_test(the_hash_changes_with_what_makes_the_path),
        cmocka_unit_test(each_line_gives_a_frame_another_key),
        cmocka_unit_test(a_cut_name_ends_with_a_character),
        cmocka_unit_test(what_made_a_thread_may_go),
        cmocka_unit_test(no_damage_is_followed_out_of_memory),
    };
    version = argc > 1 ? (uint8_t)atoi(argv[1]) : 36;
    has_threads = argc <= 2;
    if (!memory_make(BYTES) || pthread_key_create(&key, NULL) != 0 ||
        pthread_setspecific(key, memory) != 0)
        return 1;
    version++; /* a development version */
    if (perl_see_module(&none))
        return 1;
    version--;
    return perl_see_module(&none) ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
