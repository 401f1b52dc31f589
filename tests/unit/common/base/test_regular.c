/* Files that are read whole, and what is not opened at all. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/regular.h"

static void a_file_is_read_up_to_its_limit(void **state)
{
    (void)state;
    char path[] = "/tmp/tidemark-regular.XXXXXX";
    int fd = mkstemp(path);
    struct regular_file file;
    assert_int_equal(write(fd, "0123456789", 10), 10);
    assert_int_equal(regular_file_read(&file, path, 10), 0);
    assert_int_equal(file.count, 10);
    assert_memory_equal(file.bytes, "0123456789", 10);
    assert_true(file.status.st_mtim.tv_sec > 0);
    free(file.bytes);
    assert_int_equal(regular_file_read(&file, path, 9), -EFBIG);
    assert_null(file.bytes);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(regular_file_read(&file, path, 0), 0);
    assert_int_equal(file.count, 0);
    free(file.bytes);
    close(fd);
    unlink(path);
    assert_int_equal(regular_file_read(&file, path, 9), -ENOENT);
}

static void what_is_no_regular_file_is_not_opened(void **state)
{
    (void)state;
    struct regular_file file;
    char directory[] = "/tmp/tidemark-regular.XXXXXX", pipe[64];
    assert_non_null(mkdtemp(directory));
    snprintf(pipe, sizeof pipe, "%s/pipe", directory);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(regular_file_read(&file, pipe, 100), -EINVAL);
    assert_int_equal(regular_file_read(&file, directory, 100), -EINVAL);
    assert_int_equal(regular_file_read(&file, "/dev/zero", 100), -EINVAL);
    unlink(pipe);
    rmdir(directory);
}

static void a_nul_is_binary(void **state)
{
    (void)state;
    assert_true(regular_file_is_binary("a\0b", 3));
    assert_false(regular_file_is_binary("a\0b", 1));
    assert_false(regular_file_is_binary(NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_up_to_its_limit),
        cmocka_unit_test(what_is_no_regular_file_is_not_opened),
        cmocka_unit_test(a_nul_is_binary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
