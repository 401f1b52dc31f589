/* The end of the tool when there is no memory. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/array.h"
#include "base/memory.h"

#ifdef __SANITIZE_ADDRESS__
/* The sanitizer's malloc returns NULL too, but it says a warning of its own first. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static void ask_by_resize(void)
{
    memory_resize(NULL, SIZE_MAX / 2, 4);
}

static void ask_by_zeroed(void)
{
    memory_zeroed(SIZE_MAX / 2, 4);
}

static void ask_by_array(void)
{
    char *array = NULL;
    size_t room = 0;
    array_need_room(&array, &room, SIZE_MAX - 1, 16);
}

static void ask_by_need(void)
{
    memory_need(NULL);
}

/* The sentence that a child says, and its signal. */
static int end_of(void (*ask)(void), char *sentence, size_t size)
{
    int pipe_ends[2], status;
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t child = fork();
    if (!child) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        signal(SIGABRT, SIG_DFL);
        dup2(pipe_ends[1], 2);
        ask();
        _exit(0);
    }
    close(pipe_ends[1]);
    size_t length = 0;
    for (ssize_t count; (count = read(pipe_ends[0], sentence + length, size - 1 - length)) > 0;)
        length += (size_t)count;
    sentence[length] = 0;
    close(pipe_ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void a_lack_of_memory_ends_with_one_sentence(void **state)
{
    void (*const asks[])(void) = {ask_by_resize, ask_by_zeroed, ask_by_array, ask_by_need};
    (void)state;
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        static const char wanted[] = "tidemark: out of memory\n";
        static char said[1 << 16];
        assert_int_equal(end_of(asks[i], said, sizeof said), SIGABRT);
        if (SANITIZED)
            assert_non_null(strstr(said, wanted));
        else
            assert_string_equal(said, wanted);
    }
}

static void nothing_is_something_too(void **state)
{
    (void)state;
    char *none = memory_zeroed(0, 0);
    assert_non_null(none);
    assert_int_equal(none[0], 0);
    none = memory_resize(none, 0, 8);
    assert_non_null(none);
    free(none);
    assert_null(memory_copy_string(NULL));
    char *copy = memory_copy_string("words");
    assert_string_equal(copy, "words");
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lack_of_memory_ends_with_one_sentence),
        cmocka_unit_test(nothing_is_something_too),
    };
    return cmocka_run_group_tests_name("base/memory", tests, NULL, NULL);
}
