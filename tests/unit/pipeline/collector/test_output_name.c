/* Names of profiles. The names given in one test count in the next: each test has its own. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "collector/output_name.h"
#include "procfs/launcher.h"

static void assert_name(const char *pattern, const char *program, pid_t pid, const char *expected)
{
    assert_null(output_name_check(pattern));
    char *name = output_name(pattern, program, pid);
    assert_string_equal(name, expected);
    free(name);
}

static void every_escape_is_filled_in(void **state)
{
    (void)state;
    char host[256] = "", expected[300];
    gethostname(host, sizeof host - 1);
    snprintf(expected, sizeof expected, "e-%s.tmk", host);
    setenv("TIDEMARK_TEST_JOB", "job7", 1);
    assert_name("e-%p.tmk", "prog", 12, "e-12.tmk");
    assert_name("e-%n.tmk", "prog", 12, "e-prog.tmk");
    assert_name("e-%h.tmk", "prog", 12, expected);
    assert_name("e-%q{TIDEMARK_TEST_JOB}-%q{TIDEMARK_TEST_JOB}.tmk", "prog", 12, "e-job7-job7.tmk");
    assert_name("e-%q{TIDEMARK_TEST_NOT_SET}.tmk", "prog", 12, "e-.tmk");
    assert_name("e-100%%.tmk", "prog", 12, "e-100%.tmk");
    assert_name("e-%%n%n%p.tmk", "prog", 12, "e-%nprog12.tmk");
    assert_name(OUTPUT_NAME_DEFAULT, "prog", 12, "tidemark.prog.12.tmk");
}

/* Nobody knows process 1's rank but we, if we have one. */
static void without_a_rank_there_is_none(void **state)
{
    (void)state;
    struct launcher launcher;
    launcher_of(&launcher, getpid());
    if (launcher.name)
        skip();
    assert_name("r-%r", "prog", 1, "r-none");
}

/* Under mpirun the collector is the launcher's, and only the processes have ranks. */
static void the_rank_is_the_process_own(void **state)
{
    (void)state;
    char expected[32], byte;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char *const words[] = {"sh", "-c", "echo; kill -STOP $$", NULL};
        char *const variables[] = {"PATH=/usr/bin:/bin", "XPMI_RANK=8", "PMI_RANK=7",
                                   "TIDEMARK_TEST_JOB=its own", NULL};
        dup2(ready[1], STDOUT_FILENO);
        execve("/bin/sh", words, variables);
        _exit(127);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    setenv("TIDEMARK_TEST_JOB", "ours", 1);
    snprintf(expected, sizeof expected, "o7-its own-%d", (int)child);
    assert_name("o%r-%q{TIDEMARK_TEST_JOB}-%p", "prog", child, expected);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ready[0]);
    close(ready[1]);
}

static void slashes_are_the_users_only(void **state)
{
    (void)state;
    setenv("TIDEMARK_TEST_JOB", "../a/b", 1);
    assert_name("dir/s-%n.tmk", "/usr/bin/prog", 1, "dir/s-_usr_bin_prog.tmk");
    assert_name("dir/s-%q{TIDEMARK_TEST_JOB}.tmk", "prog", 1, "dir/s-.._a_b.tmk");
}

/* The variables are the program's. */
static void no_value_leads_out_of_the_directory(void **state)
{
    (void)state;
    setenv("TIDEMARK_TEST_UP", "..", 1);
    setenv("TIDEMARK_TEST_HERE", ".", 1);
    setenv("TIDEMARK_TEST_NONE", "", 1);
    assert_name("b/%q{TIDEMARK_TEST_UP}/f.tmk", "prog", 1, "b/__/f.tmk");
    assert_name("b/%q{TIDEMARK_TEST_HERE}%q{TIDEMARK_TEST_HERE}/g.tmk", "prog", 1, "b/__/g.tmk");
    assert_name("b/.%q{TIDEMARK_TEST_HERE}/h.tmk", "prog", 1, "b/__/h.tmk");
    assert_name("%q{TIDEMARK_TEST_NONE}/i.tmk", "prog", 1, "_/i.tmk");
    assert_name("b/%q{TIDEMARK_TEST_HERE}/j.tmk", "prog", 1, "b/._/j.tmk");
    assert_name("b/%n", "..", 1, "b/__");
    assert_name("/b//../%q{TIDEMARK_TEST_UP}x/k.tmk", "prog", 1, "/b//../..x/k.tmk");
    assert_name("b/%q{TIDEMARK_TEST_UP}/", "prog", 1, "b/__/");
}

static void bad_patterns_are_told(void **state)
{
    (void)state;
    static const char *const bad[] = {"",       "%",     "a%",     "%x",   "%P",  "%q",     "-",
                                      "-q.tmk", "%qVAR", "%q{VAR", "a%%%", "%1p", "%p%q}{", "% p"};
    static const char *const good[] = {"a",    "%p",        "%%",   "%q{VAR}",
                                       "%q{}", "dir/%n.%p", "%h%r", "./-"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_non_null(output_name_check(bad[i]));
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_null(output_name_check(good[i]));
}

static void a_name_given_before_gets_program_and_pid(void **state)
{
    (void)state;
    assert_name("u.tmk", "make", 10, "u.tmk");
    assert_name("u.tmk", "cc", 11, "u.cc.11.tmk");
    assert_name("u.tmk", "cc", 12, "u.cc.12.tmk");
    assert_name("u.tmk", "cc", 12, "u.cc.12.2.tmk");
    assert_name("u.tmk", "cc", 12, "u.cc.12.3.tmk");
    assert_name("u-%%p.tmk", "cc", 1, "u-%p.tmk"); /* no pid in that */
    assert_name("u-%%p.tmk", "cc", 2, "u-%p.cc.2.tmk");
    assert_name("u-slash.tmk", "cc", 1, "u-slash.tmk");
    assert_name("u-slash.tmk", "a/b", 1, "u-slash.a_b.1.tmk");
}

static void a_name_with_a_pid_gets_a_number(void **state)
{
    (void)state;
    assert_name("n.%p.tmk", "a", 5, "n.5.tmk");
    assert_name("n.%p.tmk", "b", 5, "n.5.2.tmk");
    assert_name("n.%p.tmk", "c", 5, "n.5.3.tmk");
    assert_name("n.%p.tmk", "c", 6, "n.6.tmk");
}

static void the_mark_goes_before_the_suffix_of_the_file(void **state)
{
    (void)state;
    assert_name("dir.d/plain", "x", 1, "dir.d/plain");
    assert_name("dir.d/plain", "x", 2, "dir.d/plain.x.2");
    assert_name("./a.b.tmk", "x", 1, "./a.b.tmk");
    assert_name("./a.b.tmk", "x", 2, "./a.b.x.2.tmk");
}

/* sh -c 'exec server': the name is the server's, and the shell's files go beside. */
static void what_takes_the_place_fits_and_the_other_goes_beside(void **state)
{
    (void)state;
    assert_name("w.tmk", "sh", 7, "w.tmk");
    assert_true(output_name_fits("w.tmk", "w.tmk", "server", 7));
    assert_false(output_name_fits("w.sh.7.tmk", "w.tmk", "server", 7));
    assert_true(output_name_fits("w.7.tmk", "w.%p.tmk", "server", 7));
    assert_false(output_name_fits("w.7.tmk", "w.%p.tmk", "server", 8));
    assert_false(output_name_fits("w.sh.7.tmk", "w.%n.%p.tmk", "server", 7));
    char *beside = output_name_beside("w.tmk", "w.tmk", "sh", 7);
    assert_string_equal(beside, "w.sh.7.tmk");
    free(beside);
    assert_name("w.tmk", "sh", 7, "w.sh.7.2.tmk"); /* the other is given */
    assert_name("w.%p.tmk", "sh", 7, "w.7.tmk");
    beside = output_name_beside("w.7.tmk", "w.%p.tmk", "sh", 7);
    assert_string_equal(beside, "w.7.2.tmk");
    free(beside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_escape_is_filled_in),
        cmocka_unit_test(without_a_rank_there_is_none),
        cmocka_unit_test(the_rank_is_the_process_own),
        cmocka_unit_test(slashes_are_the_users_only),
        cmocka_unit_test(no_value_leads_out_of_the_directory),
        cmocka_unit_test(bad_patterns_are_told),
        cmocka_unit_test(a_name_given_before_gets_program_and_pid),
        cmocka_unit_test(a_name_with_a_pid_gets_a_number),
        cmocka_unit_test(the_mark_goes_before_the_suffix_of_the_file),
        cmocka_unit_test(what_takes_the_place_fits_and_the_other_goes_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
