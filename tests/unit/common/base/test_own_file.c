/* What may be put out of the way for an output. */
#include <errno.h>
#include <fcntl.h>
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
#include "base/old_file.h"
#include "base/own_file.h"

static char directory[] = "/tmp/test_own_file.XXXXXX";

static int enter(void **state)
{
    (void)state;
    return !mkdtemp(directory) || chdir(directory);
}

static int leave(void **state)
{
    (void)state;
    return chdir("/") || rmdir(directory);
}

static void write_file(const char *path, const void *bytes, size_t count)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, bytes, count), (ssize_t)count);
    close(fd);
}

static void profiles_and_traces_are_ours(void **state)
{
    (void)state;
    static const char *const ours[] = {"profile-v1.tmk", "profile-v2.plain.tmk", "profile-v2.tmk",
                                       "trace-v1.zstd.tmt", "trace-v2.stored.tmt"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        char path[1000];
        snprintf(path, sizeof path, "%s/%s", GOLDEN_DIR, ours[i]);
        assert_true(own_file_is(path));
        assert_int_equal(own_file_check(path), 0);
    }
}

static void nothing_and_an_empty_file_are_nobodys(void **state)
{
    (void)state;
    assert_int_equal(own_file_check("file"), 0);
    write_file("file", "", 0);
    assert_int_equal(own_file_check("file"), 0);
    assert_false(own_file_is("file"));
    assert_int_equal(symlink("nowhere", "link"), 0);
    assert_int_equal(own_file_check("link"), 0);
    assert_int_equal(unlink("file") | unlink("link"), 0);
}

static void what_people_write_is_not_ours(void **state)
{
    (void)state;
    char database[200] = "SQLite format 3";
    write_file("file", "int main(void)\n", 15);
    assert_int_equal(own_file_check("file"), -EEXIST);
    write_file("file", "x", 1);
    assert_int_equal(own_file_check("file"), -EEXIST);
    write_file("file", database, sizeof database); /* somebody's, without an id */
    assert_int_equal(own_file_check("file"), -EEXIST);
    write_file("file-wal", "", 0); /* the id may be in the log */
    assert_int_equal(own_file_check("file"), 0);
    assert_int_equal(unlink("file") | unlink("file-wal"), 0);
    assert_int_equal(own_file_check("."), -EINVAL);
}

static void a_move_replaces_nothing_of_others(void **state)
{
    (void)state;
    write_file("from", "TMTRACE\n", 8);
    write_file("to", "int main(void)\n", 15);
    assert_int_equal(old_file_move("from", "to"), -EEXIST);
    write_file("to", "TMTRACE\n", 8);
    assert_int_equal(old_file_move("from", "to"), 0);
    assert_int_equal(unlink("to") | unlink("to.old"), 0);
}

static void a_text_replaces_its_like(void **state)
{
    (void)state;
    assert_int_equal(own_file_check_text("text", "<?xml"), 0);
    write_file("text", "<?xml version", 13);
    assert_int_equal(own_file_check_text("text", "<?xml"), 0);
    assert_int_equal(own_file_check_text("text", "{"), -EEXIST);
    write_file("text", "<", 1);
    assert_int_equal(own_file_check_text("text", "<?xml"), -EEXIST);
    assert_int_equal(unlink("text"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_and_traces_are_ours),
        cmocka_unit_test(nothing_and_an_empty_file_are_nobodys),
        cmocka_unit_test(what_people_write_is_not_ours),
        cmocka_unit_test(a_move_replaces_nothing_of_others),
        cmocka_unit_test(a_text_replaces_its_like),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
