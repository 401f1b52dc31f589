/* Modules and symbols found in a process's memory: in our own, where the loader can be asked
 * too. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "attach/target_memory.h"
#include "attach/target.h"

static const struct target_module *libc_of(const struct target *target)
{
    const struct target_module *libc;
    target_find(target, "gnu_get_libc_version", &libc);
    assert_non_null(libc);
    return libc;
}

static void test_finds_what_the_loader_finds(void **state)
{
    static const char *const names[] = {
        "dlopen", "getenv", "free", "qsort", "syscall", "pthread_create", "__errno_location"};
    struct target target;
    (void)state;
    assert_int_equal(target_open(&target, getpid()), 0);
    assert_true(target_is_loader(target_module_called(&target, "ld-linux-x86-64.so.2")));
    const struct target_module *libc = libc_of(&target);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct target_symbol found = target_find_in(&target, libc, names[i]);
        void *true_one = dlsym(RTLD_DEFAULT, names[i]);
        const struct target_module *module = target_module_at(&target, (uintptr_t)true_one);
        if (module != libc)
            continue; /* a sanitizer has its own */
        assert_ptr_equal(found.address, true_one);
        assert_true(found.bytes > 0);
        assert_in_range(found.address, libc->code, libc->code_end - 1);
    }
    target_close(&target);
}

static void test_does_not_find_what_is_not_there(void **state)
{
    struct target target;
    const struct target_module *module;
    (void)state;
    assert_int_equal(target_open(&target, getpid()), 0);
    assert_int_equal(target_find(&target, "no_such_function_anywhere", &module).address, 0);
    assert_null(module);
    assert_int_equal(target_find_in(&target, libc_of(&target), "").address, 0);
    assert_null(target_module_called(&target, "libnothing.so"));
    assert_null(target_module_at(&target, 1));
    target_close(&target);
}

/* Each of them is what it is said to be, by its bytes. */
static void test_gadgets_lead_back(void **state)
{
    struct target target;
    struct target_gadgets gadgets;
    unsigned char code[16];
    (void)state;
    assert_int_equal(target_open(&target, getpid()), 0);
    assert_true(target_find_gadgets(&target, libc_of(&target), &gadgets));
    assert_int_equal(memory_read(getpid(), gadgets.system_call, code, sizeof code), 0);
    assert_memory_equal(code, "\x0f\x05", 2);
    assert_int_equal(memory_read(getpid(), gadgets.sigreturn, code, sizeof code), 0);
    assert_memory_equal(code, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", TARGET_SIGRETURN_BYTES);
    assert_int_equal(memory_read(getpid(), gadgets.keep, code, sizeof code), 0);
    assert_int_equal(code[0] & ~1, 0x48);
    assert_int_equal(code[1], 0x89);
    assert_int_equal(gadgets.keep_pops % 8, 0);
    target_close(&target);
}

/* An update of the tool replaces its library in a process that has the old one loaded. */
static void test_a_deleted_file_keeps_its_name(void **state)
{
    struct target_module modules[] = {
        {.path = (char *)"/usr/lib/libtidemark.so.old", .symbols = 8},
        {.path = (char *)"/usr/lib/libtidemark.so (deleted).old", .symbols = 8},
        {.path = (char *)"/usr/lib/mylibtidemark.so (deleted)", .symbols = 8},
        {.path = (char *)"/usr/lib/libtidemark.so (deleted)", .symbols = 0},
        {.path = (char *)"/usr/lib/libtidemark.so (deleted)", .symbols = 8},
    };
    struct target target = {.modules = modules, .count = sizeof modules / sizeof *modules};
    (void)state;
    assert_ptr_equal(target_module_called(&target, "libtidemark.so"), &modules[4]);
    target.count = 4;
    assert_null(target_module_called(&target, "libtidemark.so"));
}

/* A module whose tables lead nowhere, or round in circles, is searched in vain and in finite
 * time. */
static void test_survives_nonsense(void **state)
{
    struct target target = {.pid = getpid()};
    uint32_t table[64];
    struct target_module module = {.path = (char *)"x"};
    (void)state;
    memset(table, 0, sizeof table);
    table[0] = 1; /* a bucket … */
    table[2] = 0; /* no filter … */
    table[4] = 5; /* whose first symbol is 5, with a chain without an end */
    module.gnu_hash = (uintptr_t)table;
    module.symbols = 8;
    module.strings = 8;
    assert_int_equal(target_find_in(&target, &module, "malloc").address, 0);
    table[2] = UINT32_MAX;
    assert_int_equal(target_find_in(&target, &module, "malloc").address, 0);
    table[0] = UINT32_MAX;
    assert_int_equal(target_find_in(&target, &module, "malloc").address, 0);
    module.gnu_hash = UINTPTR_MAX - 3;
    assert_int_equal(target_find_in(&target, &module, "malloc").address, 0);
}

static void test_strings_end_where_memory_does(void **state)
{
    long page = sysconf(_SC_PAGESIZE);
    char text[16], *two = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    munmap(two + page, (size_t)page);
    memset(two, 'a', (size_t)page);
    assert_int_equal(
        memory_read_string(getpid(), (uintptr_t)two + (uintptr_t)page - 3, text, sizeof text), 0);
    assert_string_equal(text, "aaa");
    assert_int_equal(memory_read_string(getpid(), (uintptr_t)two, text, sizeof text), 0);
    assert_int_equal(strlen(text), sizeof text - 1);
    assert_true(memory_read_string(getpid(), (uintptr_t)two + (uintptr_t)page, text, sizeof text) <
                0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_what_the_loader_finds),
        cmocka_unit_test(test_does_not_find_what_is_not_there),
        cmocka_unit_test(test_gadgets_lead_back),
        cmocka_unit_test(test_a_deleted_file_keeps_its_name),
        cmocka_unit_test(test_survives_nonsense),
        cmocka_unit_test(test_strings_end_where_memory_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
