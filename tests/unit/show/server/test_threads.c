/* Clients at the same time, while the profile is replaced, is packed, and streams of news are open.
 * Run it under ThreadSanitizer (preset tsan): only there are most of its mistakes seen. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../files/profile/sample.h"
#include "../../files/profile/scratch.h"
#include "server/server.h"

enum { CLIENTS = 4, ROUNDS = 25, REPLACEMENTS = 4 };

/* clang-format off */
static const char *const targets[] = {
    "/", "/api/v1/profiles", "/api/v1/p/0/summary", "/api/v1/p/0/paths", "/api/v1/p/0/code",
    "/api/v1/p/0/columns/alloc_bytes", "/api/v1/p/0/sources", "/api/v1/p/7/summary",
};
/* clang-format on */

static uint16_t port;
static atomic_uint answers, news;

static int connect_to_server(const char *target, const char *after)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    char request[300];
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int length = snprintf(request, sizeof request,
                          "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n%s\r\n", target, port, after);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) ||
        send(fd, request, (size_t)length, MSG_NOSIGNAL) != length)
        abort();
    return fd;
}

static void *ask(void *context)
{
    char bytes[1 << 16];
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned which = (i + (unsigned)(uintptr_t)context) % (sizeof targets / sizeof *targets);
        int fd = connect_to_server(targets[which],
                                   i % 2 ? "Connection: close\r\n"
                                         : "Connection: close\r\nAccept-Encoding: gzip\r\n");
        ssize_t got = recv(fd, bytes, sizeof bytes, MSG_WAITALL);
        if (got > 9 && memcmp(bytes, "HTTP/1.1 ", 9) == 0)
            atomic_fetch_add(&answers, 1);
        while (got > 0)
            got = recv(fd, bytes, sizeof bytes, 0);
        close(fd);
    }
    return NULL;
}

/* A page that is told of changes, until the server ends. */
static void *listen_for_news(void *context)
{
    char bytes[4096];
    int fd = connect_to_server("/api/v1/live", "");
    for (ssize_t got; (got = recv(fd, bytes, sizeof bytes, 0)) > 0;)
        atomic_fetch_add(&news, 1);
    close(fd);
    return context;
}

static void replace(const char *path)
{
    const char *next = scratch("next.tmk");
    struct timespec pause = {0, 300 * 1000 * 1000}; /* the watcher looks each second */
    for (int i = 0; i < REPLACEMENTS; i++) {
        unlink(next);
        assert_int_equal(sample_file(next, i % 2 == 0), 0);
        assert_int_equal(rename(next, path), 0);
        nanosleep(&pause, NULL);
    }
}

static void clients_are_answered_while_the_profile_changes(void **state)
{
    (void)state;
    pthread_t clients[CLIENTS], listener;
    struct server *server;
    struct strbuf why = STRBUF_INIT;
    char path[200];
    strcpy(path, scratch("shown.tmk"));
    assert_int_equal(sample_file(path, true), 0);
    struct served_source shown = {.path = path};
    struct server_options options = {.shown = &shown, .shown_count = 1, .no_token = true};
    assert_int_equal(server_start(&server, &options, &why), 0);
    port = server_port(server);
    pthread_create(&listener, NULL, listen_for_news, NULL);
    for (uintptr_t i = 0; i < CLIENTS; i++)
        pthread_create(&clients[i], NULL, ask, (void *)(3 * i));
    replace(path);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    server_stop(server);
    pthread_join(listener, NULL);
    assert_int_equal(answers, CLIENTS * ROUNDS);
    assert_true(news > 0);
    strbuf_release(&why);
}

/* ---- A job whose ranks are read meanwhile --------------------------------------------------- */

enum { RANKS_TO_READ = 400 };

static int first_file(const char *path)
{
    struct profile_writer *writer;
    int error = profile_writer_open(&writer, path);
    if (error)
        return error;
    error = profile_writer_begin(writer);
    error = error ? error : profile_put_integer(writer, PROFILE_META_JOB_RANKS, RANKS_TO_READ);
    error = error ? error : profile_put_integer(writer, PROFILE_META_TO_READ, RANKS_TO_READ);
    error = error ? error : profile_writer_commit(writer);
    return error ? error : profile_writer_finish(writer, true);
}

static const char *job_path;

static void *read_ranks(void *context)
{
    struct timespec pause = {0, 2 * 1000 * 1000};
    for (size_t i = 1; i <= RANKS_TO_READ; i++) {
        served_reading_tell(context, i);
        nanosleep(&pause, NULL);
    }
    if (rename(scratch("whole.tmk"), job_path))
        served_reading_fail(context, "it was not renamed");
    return NULL;
}

/* The body of an answer is unpacked and short. */
static void ask_for(char *text, size_t room, const char *target)
{
    size_t length = 0;
    int fd = connect_to_server(target, "Connection: close\r\n");
    for (ssize_t got; (got = recv(fd, text + length, room - 1 - length, 0)) > 0;)
        length += (size_t)got;
    text[length] = 0;
    close(fd);
}

static void a_job_is_shown_while_its_ranks_are_read(void **state)
{
    (void)state;
    static char path[200], text[1 << 16];
    pthread_t clients[CLIENTS], reader, listener;
    struct served_reading reading;
    struct server *server;
    struct strbuf why = STRBUF_INIT;
    strcpy(path, scratch("job.tmk"));
    job_path = path;
    assert_int_equal(first_file(path), 0);
    assert_int_equal(sample_file(scratch("whole.tmk"), true), 0);
    served_reading_init(&reading, RANKS_TO_READ);
    struct served_source shown = {.path = path, .kind = SHOWN_JOB, .reading = &reading};
    struct server_options options = {.shown = &shown, .shown_count = 1, .no_token = true};
    assert_int_equal(server_start(&server, &options, &why), 0);
    port = server_port(server);
    ask_for(text, sizeof text, "/api/v1/p/0/paths");
    assert_non_null(strstr(text, "not read yet: 0 of 400 profiles"));
    ask_for(text, sizeof text, "/api/v1/p/0/summary");
    assert_non_null(strstr(text, "\"state\":\"reading\""));
    assert_null(strstr(text, "\"program\":"));
    answers = news = 0;
    pthread_create(&reader, NULL, read_ranks, &reading);
    pthread_create(&listener, NULL, listen_for_news, NULL);
    for (uintptr_t i = 0; i < CLIENTS; i++)
        pthread_create(&clients[i], NULL, ask, (void *)(3 * i));
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    pthread_join(reader, NULL);
    ask_for(text, sizeof text, "/api/v1/profiles");
    assert_non_null(strstr(text, "\"state\":\"complete\",\"generation\":2,\"error\":null}"));
    ask_for(text, sizeof text, "/api/v1/p/0/summary");
    assert_non_null(strstr(text, "\"state\":\"complete\""));
    server_stop(server);
    pthread_join(listener, NULL);
    assert_int_equal(answers, CLIENTS * ROUNDS);
    assert_true(news > 0);
    served_reading_release(&reading);
    strbuf_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_are_answered_while_the_profile_changes),
        cmocka_unit_test(a_job_is_shown_while_its_ranks_are_read),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
