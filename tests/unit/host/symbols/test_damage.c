/* Damaged object files: what they say is wrong or nothing, but reading them ends and does no harm.
 * The damage is the same on every run. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "symbols/static_variables.h"

static uint64_t seed;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

struct file {
    char *bytes;
    size_t length;
};

static struct file read_file(const char *path)
{
    struct file file = {0};
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    fseek(stream, 0, SEEK_END);
    file.length = (size_t)ftell(stream);
    rewind(stream);
    file.bytes = malloc(file.length);
    assert_int_equal(fread(file.bytes, 1, file.length, stream), file.length);
    fclose(stream);
    return file;
}

static struct file shapes, variables;
static uint64_t low_address, high_address;

static void resolve_some(const char *path)
{
    struct symbols *symbols = symbols_new("");
    int module = symbols_add_module(symbols, path, NULL, 0);
    struct symbols_frame frames[16];
    for (uint64_t address = low_address; address < high_address; address += 61) {
        size_t count = symbols_resolve(symbols, module, address, frames, 16);
        assert_in_range(count, 1, 16);
        for (size_t i = 0; i < count; i++) {
            if (frames[i].function)
                (void)!strlen(frames[i].function);
            if (frames[i].file)
                (void)!strlen(frames[i].file);
        }
        struct symbols_call_type type;
        if (symbols_type_of_call(symbols, module, address, &type) && !type.hands_on)
            assert_true(strlen(type.name) && type.bytes);
    }
    symbols_free(symbols);
}

/* Whatever the file says, the sums are right. */
static void read_variables(const char *path)
{
    struct variables found;
    struct variables_request request = {.path = path, .place_ms = VARIABLES_PLACE_MS};
    if (variables_read(&found, &request) != 0)
        return;
    uint64_t named = 0;
    for (size_t i = 0; i < found.count; i++) {
        const struct variable *variable = &found.list[i];
        assert_true(*variable->name);
        assert_in_range(variable->section, 0, found.section_count - 1);
        assert_in_range(variable->bytes, 1, found.sections[variable->section].bytes);
        assert_in_range(variable->counted_bytes, 0, variable->bytes);
        named += variable->counted_bytes;
        if (variable->file)
            (void)!strlen(variable->file);
    }
    for (size_t i = 0; i < found.section_count; i++) {
        assert_true(found.sections[i].named_bytes <= found.sections[i].bytes);
        named -= found.sections[i].named_bytes;
    }
    assert_int_equal(named, 0);
    variables_release(&found);
}

typedef void reader(const char *path);

static void read_from(const char *bytes, size_t length, reader *read)
{
    char path[] = "/tmp/tidemark-damage-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, bytes, length), length);
    close(fd);
    read(path);
    unlink(path);
}

static void truncate_file(struct file file, reader *read)
{
    for (size_t part = 0; part <= 100; part++)
        read_from(file.bytes, file.length * part / 100, read);
    for (size_t bytes = 0; bytes < 200; bytes += 3)
        read_from(file.bytes, bytes, read);
}

static void flip_bytes(struct file file, reader *read, size_t from, size_t to, size_t flips)
{
    char *damaged = malloc(file.length);
    memcpy(damaged, file.bytes, file.length);
    for (size_t i = 0; i < flips; i++)
        damaged[from + next_random() % (to - from)] = (char)next_random();
    read_from(damaged, file.length, read);
    free(damaged);
}

/* Seed 113 makes siblings point among children, which once took for ever. Other seeds and more
 * rounds are for looking for trouble by hand. */
static void flip_file(struct file file, reader *read)
{
    const char *rounds_text = getenv("TIDEMARK_FUZZ_ROUNDS"),
               *seed_text = getenv("TIDEMARK_FUZZ_SEED");
    size_t rounds = rounds_text ? strtoul(rounds_text, NULL, 10) : 1000;
    seed = (seed_text ? strtoul(seed_text, NULL, 10) : 113) * 0x9E3779B97F4A7C15ull;
    for (size_t round = 0; round < rounds; round++) {
        flip_bytes(file, read, 0, file.length, 1 + next_random() % 200);
        flip_bytes(file, read, 0, 1024, 1 + next_random() % 4); /* headers */
        flip_bytes(file, read, file.length - 3000, file.length,
                   1 + next_random() % 4); /* sections */
    }
}

static void a_truncated_file_does_no_harm(void **state)
{
    (void)state;
    truncate_file(shapes, resolve_some);
    truncate_file(variables, read_variables);
}

static void flipped_bytes_do_no_harm(void **state)
{
    (void)state;
    flip_file(shapes, resolve_some);
}

static void flipped_bytes_in_variables_do_no_harm(void **state)
{
    (void)state;
    flip_file(variables, read_variables);
}

int main(void)
{
    shapes = read_file(FIXTURES "/shapes");
    variables = read_file(FIXTURES "/variables");
    struct fixture_symbol function = fixture_symbol(FIXTURES "/shapes", "main");
    low_address = function.value & ~0xfffull;
    high_address = low_address + 0x1000;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_truncated_file_does_no_harm),
        cmocka_unit_test(flipped_bytes_do_no_harm),
        cmocka_unit_test(flipped_bytes_in_variables_do_no_harm),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(shapes.bytes);
    free(variables.bytes);
    return failed;
}
