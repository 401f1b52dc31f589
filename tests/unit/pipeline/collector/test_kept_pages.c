/* What is read through kept pages is what is there, also beside memory that is not, and each page
 * is read once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "collector/kept_pages.h"

enum { PAGE_BYTES = 4096, PAGES = 5, LAST_BYTES = 100, ROUNDS = 20000, MOST = 3 * PAGE_BYTES };
#define BASE 0x7f0000000000u

/* All pages but the fourth are there, and of the last one the beginning. */
struct program {
    unsigned char bytes[PAGES * PAGE_BYTES];
    unsigned reads;
};

static size_t there_from(size_t at)
{
    size_t gap = 3 * PAGE_BYTES, after = 4 * PAGE_BYTES, end = after + LAST_BYTES;
    return at < gap ? gap - at : at >= after && at < end ? end - at : 0;
}

static size_t read_program(const void *context, uint64_t address, void *to, size_t bytes)
{
    struct program *program = (struct program *)(uintptr_t)context;
    size_t at = address - BASE, there = address < BASE ? 0 : there_from(at);
    program->reads++;
    bytes = bytes < there ? bytes : there;
    memcpy(to, program->bytes + (bytes ? at : 0), bytes);
    return bytes;
}

static struct program *make_program(void)
{
    struct program *program = calloc(1, sizeof *program);
    assert_non_null(program);
    for (size_t i = 0; i < sizeof program->bytes; i++)
        program->bytes[i] = (unsigned char)(i * 2654435761u >> 13);
    return program;
}

static void what_is_read_is_what_is_there(void **state)
{
    (void)state;
    struct program *program = make_program();
    struct block_types_memory memory = {read_program, program, NULL};
    struct kept_pages kept = {0};
    static unsigned char kept_bytes[MOST], bytes[MOST];
    srand(1);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t address = BASE - PAGE_BYTES + (uint64_t)rand() % (sizeof program->bytes + MOST);
        size_t count = (size_t)rand() % (rand() % 2 ? 300 : MOST);
        size_t got = read_program(program, address, bytes, count);
        assert_int_equal(kept_pages_read(&kept, &memory, address, kept_bytes, count), got);
        assert_memory_equal(kept_bytes, bytes, got);
    }
    kept_pages_release(&kept);
    free(program);
}

static void each_page_is_read_once(void **state)
{
    (void)state;
    struct program *program = make_program();
    struct block_types_memory memory = {read_program, program, NULL};
    struct kept_pages kept = {0};
    unsigned char bytes[264];
    for (size_t at = 0; at + sizeof bytes < (size_t)3 * PAGE_BYTES; at += 8)
        assert_int_equal(kept_pages_read(&kept, &memory, BASE + at, bytes, sizeof bytes),
                         sizeof bytes);
    assert_int_equal(program->reads, 3);
    kept_pages_release(&kept);
    free(program);
}

static void a_page_takes_the_place_of_another(void **state)
{
    (void)state;
    struct program *program = make_program();
    struct block_types_memory memory = {read_program, program, NULL};
    struct kept_pages kept = {0};
    unsigned char byte;
    const uint64_t other = BASE + (uint64_t)KEPT_PAGES * PAGE_BYTES; /* has no memory */
    for (int round = 0; round < 3; round++) {
        assert_int_equal(kept_pages_read(&kept, &memory, BASE + 7, &byte, 1), 1);
        assert_int_equal(byte, program->bytes[7]);
        assert_int_equal(kept_pages_read(&kept, &memory, other + 7, &byte, 1), 0);
    }
    kept_pages_release(&kept);
    free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_what_is_there),
        cmocka_unit_test(each_page_is_read_once),
        cmocka_unit_test(a_page_takes_the_place_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
