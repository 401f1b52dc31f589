/* Opens and closes the server (server.h): the listening socket, the profiles, the token,
 * and then libmicrohttpd's daemon. Its callbacks parse the target once per request and count the
 * connections. */
#include "server/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "server/http.h"

/* ---- The socket ---------------------------------------------------------------------------- */

union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

/* The address's length; 0: it is no literal address. */
static socklen_t server_parse_address(const char *text, uint16_t port, union address *out)
{
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, text, &out->four.sin_addr) == 1) {
        out->four.sin_family = AF_INET;
        out->four.sin_port = htons(port);
        return sizeof out->four;
    }
    if (inet_pton(AF_INET6, text, &out->six.sin6_addr) == 1) {
        out->six.sin6_family = AF_INET6;
        out->six.sin6_port = htons(port);
        return sizeof out->six;
    }
    return 0;
}

static bool server_is_loopback(const union address *address)
{
    if (address->any.sa_family == AF_INET)
        return ntohl(address->four.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&address->six.sin6_addr);
}

static bool server_is_wildcard(const union address *address)
{
    if (address->any.sa_family == AF_INET)
        return address->four.sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(&address->six.sin6_addr);
}

/* A listening descriptor, or -errno with a sentence. */
static int server_listen_at(struct server *server, struct strbuf *why)
{
    union address address;
    const char *text = server->options.bind ? server->options.bind : "127.0.0.1";
    socklen_t length = server_parse_address(text, server->options.port, &address);
    if (!length) {
        strbuf_addf(why, "'%s' is no address: --bind takes one like 127.0.0.1 or ::1", text);
        return -EINVAL;
    }
    if (server->options.no_token && !server_is_loopback(&address)) {
        strbuf_addf(why,
                    "--no-token is for the loopback only: with --bind %s anyone could read "
                    "the profile",
                    text);
        return -EINVAL;
    }
    int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && server->options.port)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (fd < 0 || bind(fd, &address.any, length) || listen(fd, SOMAXCONN) ||
        getsockname(fd, &address.any, &length)) {
        int error = errno;
        strbuf_addf(why, "cannot listen at %s, port %u: %s", text, server->options.port,
                    strerror(error));
        if (fd >= 0)
            close(fd);
        return -error;
    }
    server->is_ipv6 = address.any.sa_family == AF_INET6;
    server->port = ntohs(server->is_ipv6 ? address.six.sin6_port : address.four.sin_port);
    snprintf(server->address, sizeof server->address, "%s",
             server_is_wildcard(&address) ? server->host : text);
    server->is_ipv6 &= !server_is_wildcard(&address);
    return fd;
}

/* ---- Requests come and go ------------------------------------------------------------------ */

/* Called first for each request, with its target as it was sent, not decoded. */
static void *server_begin_request(void *context, const char *target,
                                  struct MHD_Connection *connection)
{
    struct server *server = context;
    struct request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    request->body = (struct strbuf)STRBUF_INIT;
    route_parse(&request->route, target);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    request->client = info ? info->socket_context : NULL;
    clients_begin(&server->clients, request->client);
    return request;
}

static void server_end_request(void *context, struct MHD_Connection *connection, void **request_at,
                               enum MHD_RequestTerminationCode how)
{
    struct request *request = *request_at;
    (void)connection, (void)how;
    struct server *server = context;
    if (request && request->listener)
        listeners_remove(server, request->listener);
    if (request && request->part)
        parts_release(server->parts, request->part);
    if (request) {
        questions_remove(server->questions, request->question);
        strbuf_release(&request->body);
        clients_end(&server->clients, request->client);
    }
    free(request);
    *request_at = NULL;
}

/* Called for a connection before its first request and after its last. */
static void server_note_connection(void *context, struct MHD_Connection *connection,
                                   void **client_at, enum MHD_ConnectionNotificationCode what)
{
    struct server *server = context;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*client_at)
            clients_remove(&server->clients, *client_at);
        *client_at = NULL;
        return;
    }
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const union MHD_ConnectionInfo *address =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (fd && address)
        *client_at = clients_add(&server->clients, fd->connect_fd, address->client_addr);
}

/* Targets are not decoded: ours have nothing that needs it. */
static size_t server_leave_as_it_is(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context, (void)connection;
    return strlen(text);
}

/* Errors of clients are not logged. */
static void server_ignore_log(void *context, const char *format, va_list arguments)
{
    (void)context, (void)format, (void)arguments;
}

static int server_start_daemon(struct server *server, int fd)
{
    server->daemon = MHD_start_daemon(
        MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME |
            MHD_USE_ERROR_LOG,
        0, NULL, NULL, answer, server, MHD_OPTION_EXTERNAL_LOGGER, server_ignore_log, NULL,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)SERVER_THREADS,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)SERVER_PLACES, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)SERVER_TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)SERVER_REQUEST_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK,
        server_begin_request, server, MHD_OPTION_NOTIFY_COMPLETED, server_end_request, server,
        MHD_OPTION_NOTIFY_CONNECTION, server_note_connection, server, MHD_OPTION_UNESCAPE_CALLBACK,
        server_leave_as_it_is, NULL, MHD_OPTION_END);
    return server->daemon ? 0 : -EAGAIN;
}

/* ---- All of it ----------------------------------------------------------------------------- */

static int server_open_profiles(struct server *server, struct strbuf *why)
{
    server->profiles = calloc(server->options.shown_count + 1, sizeof(struct served_profile *));
    if (!server->profiles)
        return -ENOMEM;
    for (size_t i = 0; i < server->options.shown_count; i++) {
        int error = served_profile_open(&server->profiles[i], &server->options.shown[i],
                                        server->options.paths);
        if (error) {
            strbuf_add_string(why, error_text());
            return error;
        }
        server->served_profile_count++;
    }
    return 0;
}

/* Requests look at the array without a lock. So the count is told after the array that has as many,
 * and an array that was told once stays until the end. */
size_t server_profile_count(struct server *server)
{
    return __atomic_load_n(&server->served_profile_count, __ATOMIC_ACQUIRE);
}

struct served_profile *server_profile(struct server *server, size_t index)
{
    if (index >= server_profile_count(server))
        return NULL;
    return __atomic_load_n(&server->profiles, __ATOMIC_ACQUIRE)[index];
}

static void server_add_profiles(struct server *server, const struct served_source *sources,
                                size_t count)
{
    size_t before = server->served_profile_count, added = 0;
    struct served_profile **profiles = memory_resize(NULL, before + count, sizeof *profiles);
    memcpy(profiles, server->profiles, before * sizeof *profiles);
    while (added < count &&
           !served_profile_open(&profiles[before + added], &sources[added], server->options.paths))
        added++;
    array_need_room(&server->outgrown, &server->outgrown_room, server->outgrown_count,
                    sizeof *server->outgrown);
    server->outgrown[server->outgrown_count++] = server->profiles;
    __atomic_store_n(&server->profiles, profiles, __ATOMIC_RELEASE);
    __atomic_store_n(&server->served_profile_count, before + added, __ATOMIC_RELEASE);
}

void server_take_ranks(struct server *server)
{
    pthread_mutex_lock(&server->growing);
    for (size_t i = 0; i < server->options.shown_count; i++) {
        const struct served_source *ranks;
        struct served_reading *reading = server->options.shown[i].reading;
        size_t count = reading ? served_reading_take_ranks(reading, &ranks) : 0;
        if (count)
            server_add_profiles(server, ranks, count);
    }
    pthread_mutex_unlock(&server->growing);
}

static int server_make_secrets(struct server *server, struct strbuf *why)
{
    server->has_token = !server->options.no_token;
    gethostname(server->host, sizeof server->host - 1);
    if (access_make_secret(server->token))
        return 0;
    strbuf_add_string(why, "the system has no random numbers for a token");
    return -EIO;
}

/* The threads, and the daemon: it answers at `fd`, which is its own from then on. */
static int server_begin(struct server *server, int fd, struct strbuf *why)
{
    int error = parts_begin(&server->parts, server->options.directory, server->options.paths);
    if (!error)
        error = questions_begin(&server->questions);
    if (!error)
        error = server_start_daemon(server, fd);
    if (!error)
        error = listeners_begin(server);
    if (error == -EAGAIN)
        strbuf_add_string(why, "cannot start the server: too few threads or descriptors are left");
    return error;
}

int server_start(struct server **out, const struct server_options *options, struct strbuf *why)
{
    struct server *server = calloc(1, sizeof *server);
    if (!server)
        return -ENOMEM;
    server->options = *options;
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->woken, NULL);
    clients_init(&server->clients);
    pthread_mutex_init(&server->notes.lock, NULL);
    pthread_mutex_init(&server->growing, NULL);
    int error = server_make_secrets(server, why);
    int fd = error ? error : server_listen_at(server, why);
    error = fd < 0 ? fd : server_open_profiles(server, why);
    if (!error)
        error = server_begin(server, fd, why);
    if (error && fd >= 0 && !server->daemon)
        close(fd);
    if (error)
        server_stop(server);
    else
        *out = server;
    return error;
}

void server_stop(struct server *server)
{
    if (!server)
        return;
    listeners_end(server);
    if (server->parts)
        parts_close(server->parts);
    if (server->questions)
        questions_close(server->questions);
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    parts_free(server->parts);
    questions_free(server->questions);
    for (size_t i = 0; i < server->served_profile_count; i++)
        served_profile_close(server->profiles[i]);
    free(server->profiles);
    for (size_t i = 0; i < server->outgrown_count; i++)
        free(server->outgrown[i]);
    free(server->outgrown);
    clients_release(&server->clients);
    pthread_mutex_destroy(&server->notes.lock);
    pthread_mutex_destroy(&server->growing);
    pthread_cond_destroy(&server->woken);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

uint16_t server_port(const struct server *server)
{
    return server->port;
}

/* The secret stands behind "#", a part that browsers send to nobody. */
static void server_add_address(const struct server *server, const char *secret, const char *value,
                               struct strbuf *out)
{
    const char *open = server->is_ipv6 ? "[" : "", *close = server->is_ipv6 ? "]" : "";
    strbuf_addf(out, "http://%s%s%s:%u/", open, server->address, close, server->port);
    if (server->has_token)
        strbuf_addf(out, "#%s=%s", secret, value);
}

void server_add_url(const struct server *server, struct strbuf *out)
{
    server_add_address(server, "token", server->token, out);
}

bool server_add_browser_url(struct server *server, struct strbuf *out)
{
    if (server->has_token && !ticket_make(server))
        return false;
    server_add_address(server, "ticket", server->ticket, out);
    return true;
}
