/* A file has its name when it is whole, and nothing is left of one that was not placed. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/new_file.h"

static char directory[] = "/tmp/tidemark-new-file.XXXXXX";
static char path[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "%s/file", mkdtemp(directory));
    return 0;
}

/* Fails where anything is left. */
static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

static void write_new(struct new_file *file, const char *text)
{
    assert_int_equal(new_file_open(file, path), 0);
    assert_int_equal(write(file->fd, text, strlen(text)), (int)strlen(text));
}

static void assert_has(const char *text)
{
    char got[16] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, got, sizeof got - 1) >= 0);
    close(fd);
    assert_string_equal(got, text);
}

static void a_file_that_is_not_placed_never_was(void **state)
{
    struct new_file file;
    (void)state;
    write_new(&file, "one");
    assert_int_not_equal(access(path, F_OK), 0);
    new_file_release(&file);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void a_name_that_is_taken_stays_whose_it_is(void **state)
{
    struct new_file file;
    (void)state;
    write_new(&file, "one");
    int fd = file.fd;
    assert_int_equal(new_file_place(&file, path), 0);
    assert_int_equal(file.fd, -1);
    new_file_release(&file);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
    write_new(&file, "two");
    assert_int_equal(new_file_place(&file, path), -EEXIST);
    new_file_release(&file);
    assert_has("one");
}

static void a_file_takes_the_place_of_another(void **state)
{
    struct new_file file;
    (void)state;
    write_new(&file, "three");
    int fd = file.fd;
    assert_int_equal(new_file_replace(&file, path), 0);
    new_file_release(&file);
    close(fd);
    assert_has("three");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_not_placed_never_was),
        cmocka_unit_test(a_name_that_is_taken_stays_whose_it_is),
        cmocka_unit_test(a_file_takes_the_place_of_another),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
