/* A supplement comes back as it was told last, of any size; a part of one is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include "sample.h"
#include <cmocka.h>

static char path[64];

static unsigned char *noise(size_t size)
{
    unsigned char *bytes = malloc(size + 1);
    uint64_t state = size + 1;

    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (unsigned char)(state >> 56);
    }
    return bytes;
}

static void write_trace(enum trace_compression compression, const size_t *sizes, size_t count)
{
    struct trace_options options = sample_options(compression);
    struct trace_writer *writer;

    unlink(path);
    assert_int_equal(trace_writer_open(&writer, path, &options), 0);
    assert_int_equal(sample_write_block(writer, 0), 0);
    for (size_t i = 0; i < count; i++) {
        unsigned char *bytes = noise(sizes[i]);
        assert_int_equal(trace_writer_supplement(writer, bytes, sizes[i]), 0);
        free(bytes);
    }
    assert_int_equal(sample_write_block(writer, 1), 0);
    assert_int_equal(trace_writer_finish(writer), 0);
}

/* `wanted`: SIZE_MAX for none. */
static void check(size_t wanted, bool damaged)
{
    struct trace_damage damage;
    struct trace *trace;
    void *bytes;
    size_t size;

    assert_int_equal(trace_open(&trace, path), 0);
    assert_int_equal(trace_block_count(trace), 2);
    assert_int_equal(trace_supplement(trace, &bytes, &size), 0);
    if (wanted == SIZE_MAX) {
        assert_null(bytes);
        assert_int_equal(size, 0);
    } else {
        unsigned char *expected = noise(wanted);
        assert_int_equal(size, wanted);
        assert_memory_equal(bytes, expected, size);
        free(expected);
    }
    free(bytes);
    trace_damage(trace, &damage, NULL, 0);
    assert_int_equal(damage.blocks > 0, damaged);
    trace_close(trace);
}

static void it_comes_back_whatever_its_size(void **state)
{
    static const size_t sizes[] = {1, 1000, (1 << 23) - 1, 1 << 23, (1 << 23) + 1, 20000000};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        write_trace((enum trace_compression)(i % 3), &sizes[i], 1);
        check(sizes[i], false);
    }
}

static void the_last_one_counts(void **state)
{
    static const size_t sizes[] = {20000000, 77, 9000000};

    (void)state;
    write_trace(TRACE_ZSTD, sizes, 2);
    check(77, false);
    write_trace(TRACE_ZSTD, sizes, 3);
    check(9000000, false);
}

static void there_may_be_none(void **state)
{
    (void)state;
    write_trace(TRACE_ZSTD, NULL, 0);
    check(SIZE_MAX, false);
}

/* In its first, second and third piece. */
static void a_part_of_one_is_none(void **state)
{
    static const size_t size = 20000000;

    (void)state;
    for (long i = 0; i < 3; i++) {
        FILE *file;
        write_trace(TRACE_STORED, &size, 1);
        file = fopen(path, "r+b");
        assert_non_null(file);
        fseek(file, 100000 + i * 8 * 1024 * 1024, SEEK_SET);
        int byte = fgetc(file);
        fseek(file, -1, SEEK_CUR);
        fputc(byte ^ 1, file);
        fclose(file);
        check(SIZE_MAX, true);
    }
}

static int name_file(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/test_trace_supplement.%d.tmt", (int)getpid());
    return 0;
}

static int remove_file(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_comes_back_whatever_its_size),
        cmocka_unit_test(the_last_one_counts),
        cmocka_unit_test(there_may_be_none),
        cmocka_unit_test(a_part_of_one_is_none),
    };

    return cmocka_run_group_tests(tests, name_file, remove_file);
}
