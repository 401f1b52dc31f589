/* Damaged object files: what they say is wrong or nothing, but reading them ends and does no harm.
 * The damage is the same on every run. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>

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

static void resolve_some(const char *bytes, size_t length, uint64_t low, uint64_t high)
{
    char path[] = "/tmp/tidemark-damage-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, bytes, length), length);
    close(fd);
    struct symbols *symbols = symbols_new("");
    int module = symbols_add_module(symbols, path, NULL, 0);
    struct symbols_frame frames[16];
    for (uint64_t address = low; address < high; address += 61) {
        size_t count = symbols_resolve(symbols, module, address, frames, 16);
        assert_in_range(count, 1, 16);
        for (size_t i = 0; i < count; i++) {
            if (frames[i].function)
                (void)!strlen(frames[i].function);
            if (frames[i].file)
                (void)!strlen(frames[i].file);
        }
    }
    symbols_free(symbols);
    unlink(path);
}

static struct file shapes;
static uint64_t low_address, high_address;

static void a_truncated_file_does_no_harm(void **state)
{
    (void)state;
    for (size_t part = 0; part <= 100; part++)
        resolve_some(shapes.bytes, shapes.length * part / 100, low_address, high_address);
    for (size_t bytes = 0; bytes < 200; bytes += 3)
        resolve_some(shapes.bytes, bytes, low_address, high_address);
}

static void flip_bytes(size_t from, size_t to, size_t flips)
{
    char *damaged = malloc(shapes.length);
    memcpy(damaged, shapes.bytes, shapes.length);
    for (size_t i = 0; i < flips; i++)
        damaged[from + next_random() % (to - from)] = (char)next_random();
    resolve_some(damaged, shapes.length, low_address, high_address);
    free(damaged);
}

static void flipped_bytes_do_no_harm(void **state)
{
    (void)state;
    /* Seed 113 makes siblings point among children, which once took for ever. Other seeds and more
     * rounds are for looking for trouble by hand. */
    const char *rounds_text = getenv("TIDEMARK_FUZZ_ROUNDS"),
               *seed_text = getenv("TIDEMARK_FUZZ_SEED");
    size_t rounds = rounds_text ? strtoul(rounds_text, NULL, 10) : 1000;
    seed = (seed_text ? strtoul(seed_text, NULL, 10) : 113) * 0x9E3779B97F4A7C15ull;
    for (size_t round = 0; round < rounds; round++) {
        flip_bytes(0, shapes.length, 1 + next_random() % 200);
        flip_bytes(0, 1024, 1 + next_random() % 4);                             /* headers */
        flip_bytes(shapes.length - 3000, shapes.length, 1 + next_random() % 4); /* sections */
    }
}

int main(void)
{
    shapes = read_file(FIXTURES "/shapes");
    struct fixture_symbol function = fixture_symbol(FIXTURES "/shapes", "main");
    low_address = function.value & ~0xfffull;
    high_address = low_address + 0x1000;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_truncated_file_does_no_harm),
        cmocka_unit_test(flipped_bytes_do_no_harm),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(shapes.bytes);
    return failed;
}
