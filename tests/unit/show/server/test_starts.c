/* A server that cannot start, because one of its threads cannot: it says why, and leaves no
 * descriptor open. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/strbuf.h"
#include "server/server.h"

static int threads_left;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *context), void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *context), void *context);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *context), void *context)
{
    return threads_left-- > 0 ? __real_pthread_create(thread, attributes, run, context) : EAGAIN;
}

static int descriptors(void)
{
    int count = 0;
    DIR *open = opendir("/proc/self/fd");
    assert_non_null(open);
    while (readdir(open))
        count++;
    closedir(open);
    return count;
}

static void a_server_without_threads_says_so(void **state)
{
    (void)state;
    struct server_options options = {.no_token = true};
    for (int threads = 0; threads < 3; threads++) {
        struct server *server = NULL;
        struct strbuf why = STRBUF_INIT;
        int before = descriptors();
        threads_left = threads;
        assert_int_equal(server_start(&server, &options, &why), -EAGAIN);
        assert_string_equal(why.data,
                            "cannot start the server: too few threads or descriptors are left");
        assert_int_equal(descriptors(), before);
        strbuf_release(&why);
    }
}

static void a_server_with_its_threads_starts(void **state)
{
    (void)state;
    struct server_options options = {.no_token = true};
    struct server *server = NULL;
    struct strbuf why = STRBUF_INIT;
    int before = descriptors();
    threads_left = 3;
    assert_int_equal(server_start(&server, &options, &why), 0);
    server_stop(server);
    assert_int_equal(descriptors(), before);
    strbuf_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_with_its_threads_starts),
        cmocka_unit_test(a_server_without_threads_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
