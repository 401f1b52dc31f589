/* Texts out of an interpreter's memory: whole where they fit, cut between two characters where they
 * do not, and up to the end of memory. */
#include <stdlib.h>
#include "interpreter_memory.h"
#include "interpose/real.h"
#include "runtimes/script_memory.h"

enum { ROOM = 64 };

const ElfW(Sym) *real_symbol(const struct dl_phdr_info *module, const char *name)
{
    (void)module, (void)name;
    return NULL;
}

/* Of characters of one to four bytes. */
static const char *const texts[] = {"abc", "caf\xc3\xa9", "\xe6\x97\xa5\xe6\x9c\xac",
                                    "a\xf0\x9f\x98\x80", "\xc3\xa9"};
enum { TEXTS = sizeof texts / sizeof *texts };

static bool begins_a_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

static void a_text_that_fits_is_whole(void **state)
{
    char to[ROOM];
    (void)state;

    for (size_t i = 0; i < TEXTS; i++) {
        size_t length = strlen(texts[i]);
        strcpy(memory, texts[i]);
        for (size_t most = length; most < length + 3; most++) {
            assert_int_equal(script_text(place(0), most, to, length + 1), length);
            assert_string_equal(to, texts[i]);
        }
        assert_int_equal(script_text(place(0), SIZE_MAX, to, ROOM), length);
        assert_string_equal(to, texts[i]);
    }
}

static void a_text_is_cut_before_the_first_character_without_room(void **state)
{
    char to[ROOM];
    (void)state;

    for (size_t i = 0; i < TEXTS; i++) {
        strcpy(memory, texts[i]);
        for (size_t room = 1; room <= strlen(texts[i]); room++) {
            size_t expected = room - 1;
            while (expected && !begins_a_character(texts[i][expected]))
                expected--;
            assert_int_equal(script_text(place(0), SIZE_MAX, to, room), expected);
            assert_memory_equal(to, texts[i], expected);
            assert_int_equal(to[expected], 0);
        }
    }
}

static void a_text_ends_with_its_memory(void **state)
{
    char to[ROOM];
    (void)state;

    memset(memory + memory_bytes - 3, 'x', 3);
    assert_int_equal(script_text(place(memory_bytes) - 3, SIZE_MAX, to, ROOM), 3);
    assert_int_equal(script_text(place(memory_bytes), SIZE_MAX, to, ROOM), 0);
    assert_int_equal(script_text(UINT64_MAX - 1, SIZE_MAX, to, ROOM), 0);
}

static void what_was_seen_counts_until_it_is_forgotten(void **state)
{
    size_t bytes = memory_bytes;
    (void)state;

    put(0, 5);
    assert_int_equal(script_word(place(0)), 5);
    memory_bytes = 0; /* it has gone */
    assert_true(script_is_there(place(0)));
    script_memory_forget();
    assert_false(script_is_there(place(0)));
    assert_int_equal(script_word(place(0)), 0);
    memory_bytes = bytes;
    assert_int_equal(script_word(place(0)), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_that_fits_is_whole),
        cmocka_unit_test(a_text_is_cut_before_the_first_character_without_room),
        cmocka_unit_test(a_text_ends_with_its_memory),
        cmocka_unit_test(what_was_seen_counts_until_it_is_forgotten),
    };

    return memory_make(PAGE) ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
