/* Hashes of Python's frames: that of the last time taken on is what all frames anew would give,
 * whatever has run between; frames that have gone are not read. */
#include <stdlib.h>
#include <string.h>
#include "interpreter_memory.h"
#include "interpose/real.h"
#include "runtimes/python_keys.h"

enum { FRAME_BYTES = 128, CHUNK = 512, CHUNKS = 8, DEEP = 3000 };

static const struct python_frame_words words = {8, 56};
static uintptr_t stack[DEEP + 1]; /* frames that run, outermost first */
static uint32_t depth;
static struct python_keys *keys, *empty;

const ElfW(Sym) *real_symbol(const struct dl_phdr_info *module, const char *name)
{
    (void)module, (void)name;
    return NULL;
}

/* Frames lie in chunks that are there only while they are used, as the interpreter's do. */
static uintptr_t place_of(uint32_t number)
{
    return place((size_t)number * FRAME_BYTES);
}

static void push(uintptr_t at, uint64_t instruction)
{
    uintptr_t previous = depth ? stack[depth - 1] : 0;

    memcpy((char *)at + words.previous, &previous, sizeof previous);
    memcpy((char *)at + words.instruction, &instruction, sizeof instruction);
    stack[depth++] = at;
}

/* Calls, among a few functions at a few places. */
static void run(void)
{
    uint64_t turns = draw() % 6;

    while (turns--) {
        uint64_t instruction = 0x1000 + draw() % 4 * 8;
        if (depth && draw() % 2)
            memset((char *)stack[--depth], 0xee, FRAME_BYTES);
        if (depth && draw() % 2)
            memcpy((char *)stack[depth - 1] + words.instruction, &instruction, 8);
        if (depth < 200 && draw() % 3)
            push(place_of(draw() % 64 ? depth : 4096 + (uint32_t)(draw() % 4) * 256 + depth),
                 instruction);
    }
}

static uint64_t key_anew(void)
{
    empty->count = 0;
    return python_keys_of(empty, depth ? stack[depth - 1] : 0, words);
}

static void the_hash_is_that_of_all_frames(void **state)
{
    enum { ROUNDS = 300000 };
    uint64_t deepest = 0, last = 0, changes = 0;
    (void)state;

    for (unsigned round = 0; round < ROUNDS; round++) {
        run();
        uint64_t key = python_keys_of(keys, depth ? stack[depth - 1] : 0, words);
        assert_int_equal(key, key_anew());
        assert_int_equal(key == 0, depth == 0);
        changes += key != last;
        last = key;
        deepest = depth > deepest ? depth : deepest;
        if (draw() % 4096 == 0)
            depth = 0;
    }
    assert_true(deepest > 30 && changes > ROUNDS / 4);
}

/* A frame in the middle that has moved on, with all inside of it as before. */
static void each_frame_counts(void **state)
{
    (void)state;

    depth = 0;
    for (uint32_t i = 0; i < 100; i++)
        push(place_of(i), 0x1000);
    uint64_t key = python_keys_of(keys, stack[depth - 1], words);
    for (uint32_t i = 0; i < 100; i++) {
        uint64_t instruction = 0x1008;
        memcpy((char *)stack[i] + words.instruction, &instruction, 8);
        assert_int_not_equal(python_keys_of(keys, stack[depth - 1], words), key);
        instruction = 0x1000;
        memcpy((char *)stack[i] + words.instruction, &instruction, 8);
        assert_int_equal(python_keys_of(keys, stack[depth - 1], words), key);
    }
}

/* Callers are another chain, and what was there before cannot be read any more. */
static void frames_that_have_gone_are_not_read(void **state)
{
    size_t half = memory_bytes / 2;
    uint32_t first = (uint32_t)(half / FRAME_BYTES);
    (void)state;

    depth = 0;
    for (uint32_t i = 0; i < 50; i++)
        push(place_of(first + i), 0x1000);
    push(place_of(0), 0x1000);
    python_keys_of(keys, stack[depth - 1], words);
    assert_int_equal(mprotect(memory + half, half, PROT_NONE), 0);
    depth = 0;
    push(place_of(1), 0x1000);
    push(place_of(0), 0x1000);
    assert_int_equal(python_keys_of(keys, stack[depth - 1], words), key_anew());
    assert_int_equal(mprotect(memory + half, half, PROT_READ | PROT_WRITE), 0);
}

/* Of more frames than any path has the innermost ones count, and no more are read. */
static void a_deep_recursion_has_an_end(void **state)
{
    (void)state;

    depth = 0;
    for (uint32_t i = 0; i < DEEP; i++)
        push(place_of(i), 0x1000 + i * 8);
    uint64_t key = python_keys_of(keys, stack[depth - 1], words);
    assert_int_not_equal(key, 0);
    assert_int_equal(python_keys_of(keys, stack[depth - 1], words), key);
    memset((char *)stack[DEEP - 1 - PYTHON_KEYS_MOST], 0xff, FRAME_BYTES);
    assert_int_equal(python_keys_of(keys, stack[depth - 1], words), key);
    depth -= 2500;
    assert_int_equal(python_keys_of(keys, stack[depth - 1], words), key_anew());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_is_that_of_all_frames),
        cmocka_unit_test(each_frame_counts),
        cmocka_unit_test(frames_that_have_gone_are_not_read),
        cmocka_unit_test(a_deep_recursion_has_an_end),
    };

    keys = calloc(1, sizeof *keys);
    empty = calloc(1, sizeof *empty);
    if (!keys || !empty || !memory_make(FRAME_BYTES * CHUNK * CHUNKS * 2))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(keys);
    free(empty);
    return failed;
}
