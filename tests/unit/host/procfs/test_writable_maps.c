/* Private mappings that can be written, of this process: by either method the same, and those that
 * the test makes are among them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "procfs/writable_maps.h"

enum { PAGE = 4096, PARTS = 6, MOST = 4096 };

struct found {
    struct {
        uint64_t start, end;
    } ranges[MOST];
    size_t count;
    int error;
    enum writable_maps_method method; /* that was used in the end */
};

static void find(struct found *found, enum writable_maps_method method)
{
    struct writable_maps maps;
    assert_int_equal(writable_maps_open_with(&maps, getpid(), method), 0);
    found->count = 0;
    while (found->count < MOST && writable_maps_next(&maps, &found->ranges[found->count].start,
                                                     &found->ranges[found->count].end))
        found->count++;
    found->error = maps.error;
    found->method = maps.method;
    writable_maps_close(&maps);
}

static bool has(const struct found *found, const char *memory)
{
    uint64_t address = (uint64_t)(uintptr_t)memory;
    for (size_t i = 0; i < found->count; i++)
        if (found->ranges[i].start <= address && address < found->ranges[i].end)
            return true;
    return false;
}

/* One page each: private and shared, that can be written, read, and neither. */
static void only_private_ones_that_can_be_written(void **state)
{
    (void)state;
    static const int protection[] = {PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE};
    static struct found found;
    for (int by = WRITABLE_MAPS_QUERY; by <= WRITABLE_MAPS_TEXT; by++)
        for (int i = 0; i < PARTS; i++) {
            char *memory = mmap(NULL, PAGE, protection[i / 2],
                                MAP_ANONYMOUS | (i % 2 ? MAP_SHARED : MAP_PRIVATE), -1, 0);
            assert_ptr_not_equal(memory, MAP_FAILED);
            find(&found, (enum writable_maps_method)by);
            assert_int_equal(found.error, 0);
            assert_int_equal(has(&found, memory), i == 0);
            munmap(memory, PAGE);
        }
}

static void both_methods_find_the_same(void **state)
{
    (void)state;
    static struct found query, text; /* larger than a stack should hold */
    char *parts = mmap(NULL, 64 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 64; i += 2) /* 32 mappings */
        assert_int_equal(mprotect(parts + i * PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
    find(&text, WRITABLE_MAPS_TEXT);
    find(&query, WRITABLE_MAPS_QUERY);
    if (query.method == WRITABLE_MAPS_TEXT)
        print_message("the kernel is not asked: it is older than Linux 6.11\n");
    assert_int_equal(query.count, text.count);
    assert_true(query.count >= 32);
    assert_memory_equal(query.ranges, text.ranges, text.count * sizeof text.ranges[0]);
    assert_int_equal(query.error | text.error, 0);
    munmap(parts, 64 * PAGE);
}

/* A process that ends between two mappings, or before the first. */
static void a_process_that_is_gone_has_no_more(void **state)
{
    (void)state;
    struct writable_maps maps;
    uint64_t start, end;
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    assert_int_equal(writable_maps_open(&maps, child), 0);
    assert_true(writable_maps_next(&maps, &start, &end));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    for (int i = 0; i < MOST && writable_maps_next(&maps, &start, &end); i++)
        ;
    assert_false(writable_maps_next(&maps, &start, &end));
    writable_maps_close(&maps);
    assert_int_equal(writable_maps_open(&maps, child), -ESRCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_private_ones_that_can_be_written),
        cmocka_unit_test(both_methods_find_the_same),
        cmocka_unit_test(a_process_that_is_gone_has_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
