#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "procfs/executable.h"

static char directory[] = "/tmp/tidemark-program-XXXXXX";

static const char *in_directory(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void make(const char *name, mode_t mode, const char *bytes, size_t length)
{
    FILE *file = fopen(in_directory(name), "w");
    fwrite(bytes, 1, length, file);
    fclose(file);
    chmod(in_directory(name), mode);
}

static void make_text(const char *name, mode_t mode, const char *text)
{
    make(name, mode, text, strlen(text));
}

static struct program *classify(const char *name, const char *path_variable)
{
    static struct program program;
    executable_classify(&program, name, path_variable);
    assert_true(*program.detail);
    return &program;
}

static void expect(const char *name, enum program_kind kind)
{
    struct program *program = classify(name, "/nowhere:" PROGRAMS ":/usr/bin:/bin");
    if (program->kind != kind)
        fail_msg("%s: kind %d, expected %d (%s)", name, program->kind, kind, program->detail);
}

static void copy_program(const char *name)
{
    char command[512];
    snprintf(command, sizeof command, "cp " PROGRAMS "/dynamic %s", in_directory(name));
    assert_int_equal(system(command), 0);
}

static void each_way_of_linking_is_known(void **state)
{
    (void)state;
    expect("dynamic", PROGRAM_DYNAMIC);
    expect("static", PROGRAM_STATIC);
    expect("static-pie", PROGRAM_STATIC_PIE);
    expect("sanitized", PROGRAM_SANITIZED);
    expect("musl", access("/lib/ld-musl-x86_64.so.1", F_OK) == 0 ? PROGRAM_DYNAMIC
                                                                 : PROGRAM_NO_INTERPRETER);
    expect("no-loader", PROGRAM_NO_INTERPRETER);
    expect(PROGRAMS "/dynamic", PROGRAM_DYNAMIC);
    expect("sh", PROGRAM_DYNAMIC);
    assert_non_null(strstr(classify(PROGRAMS "/sanitized", "")->detail, "libasan"));
}

static void programs_are_found_as_execvp_finds_them(void **state)
{
    (void)state;
    char path[1024];
    expect("no-such-program", PROGRAM_NOT_FOUND);
    expect("", PROGRAM_NOT_FOUND);
    expect("/tmp", PROGRAM_DIRECTORY);
    expect(PROGRAMS "/dynamic/x", PROGRAM_NOT_FOUND);
    assert_string_equal(classify("sh", NULL)->path, "/bin/sh");
    /* a file that may not be executed does not hide a later one, nor does a directory */
    make_text("dynamic", 0644, "");
    mkdir(in_directory("static"), 0755);
    snprintf(path, sizeof path, "%s:%s", directory, PROGRAMS);
    assert_string_equal(classify("dynamic", path)->path, PROGRAMS "/dynamic");
    assert_string_equal(classify("static", path)->path, PROGRAMS "/static");
    assert_int_equal(classify("dynamic", directory)->kind, PROGRAM_NOT_EXECUTABLE);
    /* an empty element is the current directory */
    assert_int_equal(chdir(PROGRAMS), 0);
    assert_string_equal(classify("dynamic", "/nowhere:")->path, "./dynamic");
    assert_string_equal(classify("dynamic", "")->path, "./dynamic");
}

static void scripts_are_judged_by_what_runs_them(void **state)
{
    (void)state;
    char text[512];
    make_text("script", 0755, "#! \t" PROGRAMS "/static  -x\n");
    struct program *program = classify(in_directory("script"), NULL);
    assert_int_equal(program->kind, PROGRAM_STATIC);
    assert_true(program->script);
    assert_string_equal(program->interpreter, PROGRAMS "/static");
    make_text("no-shebang", 0755, "echo hello\n");
    expect(in_directory("no-shebang"), PROGRAM_DYNAMIC);
    make_text("empty", 0755, "");
    expect(in_directory("empty"), PROGRAM_DYNAMIC);
    make_text("lost", 0755, "#!/nowhere/perl\n");
    expect(in_directory("lost"), PROGRAM_NO_INTERPRETER);
    make_text("nameless", 0755, "#!\n");
    expect(in_directory("nameless"), PROGRAM_NO_INTERPRETER);
    snprintf(text, sizeof text, "#!%s/endless\n", directory);
    make_text("endless", 0755, text);
    expect(in_directory("endless"), PROGRAM_TOO_DEEP);
}

static void strange_files_are_no_programs(void **state)
{
    (void)state;
    char elf[64] = "\177ELF\1\1\1";
    elf[16] = 2;
    elf[18] = 3; /* EM_386 */
    make("i386", 0755, elf, sizeof elf);
    expect(in_directory("i386"), PROGRAM_FOREIGN);
    assert_non_null(strstr(classify(in_directory("i386"), NULL)->detail, "32-bit"));
    make("short", 0755, elf, 5);
    FILE *program = fopen(PROGRAMS "/dynamic", "r");
    char start[700];
    assert_int_equal(fread(start, 1, sizeof start, program), sizeof start);
    fclose(program);
    for (size_t length = 4; length < sizeof start; length += 5) { /* just must not crash */
        make("cut", 0755, start, length);
        classify(in_directory("cut"), NULL);
    }
    make("cut", 0755, start, 100);
    expect(in_directory("cut"), PROGRAM_BROKEN);
    if (geteuid() != 0) {
        make("locked", 0644, "", 0);
        expect(in_directory("locked"), PROGRAM_NOT_EXECUTABLE);
    }
}

static void programs_with_more_rights_than_the_user_are_known(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    copy_program("setuid");
    assert_int_equal(chown(in_directory("setuid"), 12345, 12345), 0);
    assert_int_equal(chmod(in_directory("setuid"), 04755), 0);
    expect(in_directory("setuid"), PROGRAM_PRIVILEGED);
    assert_int_equal(chmod(in_directory("setuid"), 02755), 0);
    expect(in_directory("setuid"), PROGRAM_PRIVILEGED);
    assert_int_equal(chmod(in_directory("setuid"), 0755), 0);
    expect(in_directory("setuid"), PROGRAM_DYNAMIC);

    /* cap_net_raw=ep, as capabilities(7) lays it out; counts for others than root */
    static const unsigned char net_raw[20] = {1, 0, 0, 2, 0, 0x20};
    if (setxattr(in_directory("setuid"), "security.capability", net_raw, sizeof net_raw, 0) != 0)
        skip();
    expect(in_directory("setuid"), PROGRAM_DYNAMIC);
    chmod(directory, 0755);
    pid_t child = fork();
    if (child == 0) {
        struct program program;
        if (setresuid(54321, 54321, 54321) != 0)
            _exit(99);
        executable_classify(&program, in_directory("setuid"), NULL);
        _exit((int)program.kind);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(WEXITSTATUS(status), PROGRAM_PRIVILEGED);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[512];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_of_linking_is_known),
        cmocka_unit_test(programs_are_found_as_execvp_finds_them),
        cmocka_unit_test(scripts_are_judged_by_what_runs_them),
        cmocka_unit_test(strange_files_are_no_programs),
        cmocka_unit_test(programs_with_more_rights_than_the_user_are_known),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
