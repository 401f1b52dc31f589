#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "procfs/process.h"

static pid_t start_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    return child;
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void a_meter_sees_memory_come(void **state)
{
    (void)state;
    struct process_meter meter;
    struct process_memory before, after;
    size_t bytes = 32u << 20;
    assert_int_equal(process_meter_open(&meter, getpid(), true), 0);
    assert_int_equal(process_meter_read(&meter, &before), 0);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    assert_int_equal(process_meter_read(&meter, &after), 0);
    assert_true(after.resident_bytes >= before.resident_bytes + bytes * 9 / 10);
    assert_true(after.virtual_bytes >= before.virtual_bytes + bytes);
    assert_true(after.shared_bytes <= after.resident_bytes);
    munmap(memory, bytes);
    process_meter_close(&meter);
}

static void a_process_that_ends_is_gone(void **state)
{
    (void)state;
    struct process_meter meter;
    struct process_memory memory;
    pid_t child = start_child();
    assert_int_equal(process_meter_open(&meter, child, true), 0);
    assert_int_equal(process_meter_read(&meter, &memory), 0);
    kill(child, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
    assert_int_equal(process_meter_read(&meter, &memory), -ESRCH); /* a zombie */
    waitpid(child, NULL, 0);
    assert_int_equal(process_meter_read(&meter, &memory), -ESRCH);
    process_meter_close(&meter);
    char *text;
    assert_int_equal(process_meter_open(&meter, child, true), -ESRCH);
    assert_int_equal(process_executable(child, &text), -ESRCH);
    assert_int_equal(process_command_line(child, &text), -ESRCH);
    assert_int_equal(process_maps(child, NULL, NULL), -ESRCH);
}

static void a_maps_line_is_taken_apart(void **state)
{
    (void)state;
    char line[] = "7f0a1000-7f0a3000 r-xp 0001f000 fe:10 1234                     /tmp/a b\\012c "
                  "(deleted)";
    struct process_mapping mapping;
    assert_int_equal(process_maps_parse(line, &mapping), 0);
    assert_int_equal(mapping.start, 0x7f0a1000);
    assert_int_equal(mapping.end, 0x7f0a3000);
    assert_int_equal(mapping.offset_bytes, 0x1f000);
    assert_int_equal(mapping.device_major, 0xfe);
    assert_int_equal(mapping.device_minor, 0x10);
    assert_int_equal(mapping.inode, 1234);
    assert_true(mapping.readable && !mapping.writable && mapping.executable && !mapping.shared);
    assert_string_equal(mapping.path, "/tmp/a b\nc (deleted)");

    char backslashes[] = "1000-2000 r--p 00000000 00:00 7 /a\\b\\012\\\\012c\\";
    assert_int_equal(process_maps_parse(backslashes, &mapping), 0);
    assert_string_equal(mapping.path, "/a\\b\n\\\nc\\");

    char anonymous[] = "1000-2000 rw-s 00000000 00:00 0 ";
    assert_int_equal(process_maps_parse(anonymous, &mapping), 0);
    assert_true(mapping.shared && mapping.writable);
    assert_string_equal(mapping.path, "");
}

static void a_broken_maps_line_is_refused(void **state)
{
    (void)state;
    char whole[] = "1000-2000 rw-p 00000000 00:00 0 /x";
    struct process_mapping mapping;
    for (size_t length = 0; length < 31; length++) {
        char cut[sizeof whole];
        memcpy(cut, whole, sizeof cut);
        cut[length == 30 ? 0 : length] = '\0';
        assert_int_equal(process_maps_parse(cut, &mapping), -EINVAL);
    }
    char backwards[] = "2000-1000 rw-p 00000000 00:00 0 /x";
    char large[] = "1ffffffffffffffff-2ffffffffffffffff rw-p 00000000 00:00 0 ";
    assert_int_equal(process_maps_parse(large, &mapping), -EINVAL);
    char highest[] = "fffffffffffff000-fffffffffffffFFF r--p 00000000 00:00 0 [top]";
    assert_int_equal(process_maps_parse(highest, &mapping), 0);
    assert_int_equal(mapping.end, UINT64_MAX);
    assert_int_equal(process_maps_parse(backwards, &mapping), -EINVAL);
}

struct sought {
    uint64_t code, stack;
    int found;
};

static int seek(const struct process_mapping *mapping, void *context)
{
    struct sought *sought = context;
    if (sought->code >= mapping->start && sought->code < mapping->end)
        sought->found |=
            mapping->executable && strstr(mapping->path, "test_procfs_process") ? 1 : 0;
    if (sought->stack >= mapping->start && sought->stack < mapping->end)
        sought->found |= strcmp(mapping->path, "[stack]") == 0 ? 2 : 0;
    return sought->found == 3 ? 42 : 0;
}

static void own_mappings_are_found(void **state)
{
    (void)state;
    volatile char on_stack = 0;
    struct sought sought = {(uintptr_t)seek, (uintptr_t)&on_stack, 0};
#ifdef __SANITIZE_ADDRESS__
    sought.stack = (uintptr_t)__builtin_frame_address(0); /* locals are on a fake stack */
#endif
    assert_int_equal(process_maps(getpid(), seek, &sought), 42);
}

static void a_command_line_can_be_pasted_into_a_shell(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sleep", "sleep", "0.0e5", "60", NULL);
        _exit(1);
    }
    char *text = NULL;
    for (int i = 0; i < 60000; i++) {
        free(text);
        assert_int_equal(process_command_line(child, &text), 0);
        if (strcmp(text, "sleep 0.0e5 60") == 0)
            break;
        usleep(1000);
    }
    assert_string_equal(text, "sleep 0.0e5 60");
    free(text);
    end_child(child);
}

static void a_title_that_fills_its_room_is_one(void **state)
{
    (void)state;
    static const char *const words[] = {"srv: worker process", "a program of mine"};
    static const char *const texts[] = {"srv: worker process", "'a program of mine'"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct strbuf read = STRBUF_INIT;
        strbuf_add(&read, words[i], strlen(words[i]) + 1);
        char *text = process_command_of(&read);
        assert_string_equal(text, texts[i]);
        free(text);
        strbuf_release(&read);
    }
}

static char *arguments_start, *arguments_end;

static void a_title_is_no_list_of_words(void **state)
{
    (void)state;
    pid_t child = fork(); /* the words lie in one piece on the stack, and are written over */
    if (child == 0) {
        size_t room = (size_t)(arguments_end - arguments_start);
        memset(arguments_start, 0, room);
        snprintf(arguments_start, room, "me *:7");
        pause();
        _exit(1);
    }
    char *text = NULL;
    for (int i = 0; i < 60000; i++) {
        free(text);
        assert_int_equal(process_command_line(child, &text), 0);
        if (strcmp(text, "me *:7") == 0)
            break;
        usleep(1000);
    }
    assert_string_equal(text, "me *:7");
    free(text);
    end_child(child);
}

static void words_are_quoted_where_needed(void **state)
{
    (void)state;
    static const char *const table[][2] = {{"plain-x=1.5/y", "plain-x=1.5/y"},
                                           {"", "''"},
                                           {"a b", "'a b'"},
                                           {"it's", "'it'\\''s'"},
                                           {"$x", "'$x'"},
                                           {"~", "'~'"},
                                           {"caf\xc3\xa9", "caf\xc3\xa9"},
                                           {"a\nb", "'a\nb'"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char *quoted = process_shell_quoted(table[i][0]);
        assert_string_equal(quoted, table[i][1]);
        free(quoted);
    }
}

static void a_process_has_a_place_a_name_and_a_start(void **state)
{
    (void)state;
    char *path, *own = realpath("/proc/self/exe", NULL), *host, name[16];
    uint64_t start_ns;
    pid_t pid;
    assert_int_equal(process_executable(getpid(), &path), 0);
    assert_string_equal(path, own);
    free(path);
    free(own);

    own = getcwd(NULL, 0);
    assert_int_equal(process_directory(getpid(), &path), 0);
    assert_string_equal(path, own);
    free(path);
    free(own);

    prctl(PR_SET_NAME, "a) b\t1 (x");
    assert_int_equal(process_thread_name(getpid(), getpid(), name), 0);
    assert_string_equal(name, "a) b?1 (x");

    assert_int_equal(process_start_time(getpid(), &start_ns), 0);
    int64_t age_s = (int64_t)time(NULL) - (int64_t)(start_ns / 1000000000u);
    assert_in_range(age_s + 5, 0, 65);

    assert_int_equal(process_own_pid(getpid(), &pid), 0);
    assert_int_equal(pid, getpid());
    assert_int_equal(process_host_name(&host), 0);
    assert_true(*host);
    free(host);
    assert_int_equal(process_page_bytes(), sysconf(_SC_PAGESIZE));
}

static void time_on_processors_is_told_from_waiting_for_one(void **state)
{
    (void)state;
    uint64_t ran, waited;
    assert_int_equal(process_schedstat_parse("12 34 5\n", &ran, &waited), 0);
    assert_int_equal(ran, 12);
    assert_int_equal(waited, 34);
    const char *const damaged[] = {"", "12", "12 ", "12\t34", "x 1 2", "99999999999999999999 1 1"};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
        assert_int_equal(process_schedstat_parse(damaged[i], &ran, &waited), -EINVAL);

    int error = process_main_thread_time(getpid(), &ran, &waited);
    if (error == -ENOENT)
        skip(); /* the kernel does not count it */
    assert_int_equal(error, 0);
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    assert_true(ran > 0 && ran <= (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
    pid_t child = start_child();
    end_child(child);
    assert_true(process_main_thread_time(child, &ran, &waited) < 0);
}

int main(int argc, char **argv)
{
    arguments_start = argv[0];
    arguments_end = argv[argc - 1] + strlen(argv[argc - 1]) + 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_meter_sees_memory_come),
        cmocka_unit_test(a_process_that_ends_is_gone),
        cmocka_unit_test(a_maps_line_is_taken_apart),
        cmocka_unit_test(a_broken_maps_line_is_refused),
        cmocka_unit_test(own_mappings_are_found),
        cmocka_unit_test(a_command_line_can_be_pasted_into_a_shell),
        cmocka_unit_test(a_title_is_no_list_of_words),
        cmocka_unit_test(a_title_that_fills_its_room_is_one),
        cmocka_unit_test(words_are_quoted_where_needed),
        cmocka_unit_test(a_process_has_a_place_a_name_and_a_start),
        cmocka_unit_test(time_on_processors_is_told_from_waiting_for_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
