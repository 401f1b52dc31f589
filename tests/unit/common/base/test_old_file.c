/* What may step aside for an output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/old_file.h"

static char directory[] = "/tmp/test_old_file.XXXXXX";

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

static void a_file_and_a_link_to_one_step_aside(void **state)
{
    (void)state;
    assert_int_equal(old_file_check("file"), 0);
    close(open("file", O_CREAT | O_WRONLY, 0600));
    assert_int_equal(symlink("file", "link"), 0);
    assert_int_equal(old_file_check("file"), 0);
    assert_int_equal(old_file_check("link"), 0);
    assert_int_equal(old_file_keep("link", NULL), 0);
    assert_int_equal(old_file_keep("file", NULL), 0);
    assert_int_not_equal(access("file", F_OK), 0);
    assert_int_equal(unlink("link.old") | unlink("file.old"), 0);
}

static void devices_pipes_and_directories_do_not(void **state)
{
    (void)state;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(old_file_check("pipe"), -EINVAL);
    assert_int_equal(old_file_check("."), -EINVAL);
    assert_int_equal(old_file_check("/dev/null"), -EINVAL);
    assert_int_equal(unlink("pipe"), 0);
}

static void what_is_new_replaces_nothing(void **state)
{
    (void)state;
    close(open("new", O_CREAT | O_WRONLY, 0600));
    close(open("file", O_CREAT | O_WRONLY, 0600));
    assert_int_equal(old_file_move_new("new", "file"), -EEXIST);
    assert_int_equal(access("new", F_OK) | access("file", F_OK), 0);
    assert_int_equal(unlink("file"), 0);
    assert_int_equal(old_file_move_new("new", "file"), 0);
    assert_int_not_equal(access("new", F_OK), 0);
    assert_int_equal(old_file_move_new("new", "other"), -ENOENT);
    assert_int_equal(unlink("file"), 0);
}

/* With regular files behind them: as root these renames would succeed. */
static void names_of_open_files_do_not(void **state)
{
    (void)state;
    char names[4][64];
    int file = open("file", O_CREAT | O_RDWR, 0600), before = dup(STDOUT_FILENO);
    snprintf(names[0], sizeof names[0], "/dev/fd/%d", file);
    snprintf(names[1], sizeof names[1], "/proc/self/fd/%d", file);
    snprintf(names[2], sizeof names[2], "/dev/../dev/stdout");
    snprintf(names[3], sizeof names[3], "/dev//stdout");
    fflush(stdout);
    dup2(file, STDOUT_FILENO);
    int errors[4];
    for (int i = 0; i < 4; i++)
        errors[i] = old_file_check(names[i]);
    dup2(before, STDOUT_FILENO);
    for (int i = 0; i < 4; i++)
        assert_int_equal(errors[i], -EINVAL);
    close(before);
    close(file);
    assert_int_equal(unlink("file"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_and_a_link_to_one_step_aside),
        cmocka_unit_test(devices_pipes_and_directories_do_not),
        cmocka_unit_test(what_is_new_replaces_nothing),
        cmocka_unit_test(names_of_open_files_do_not),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
