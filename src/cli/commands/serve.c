/* The command `tidemark serve`. It hands profiles to the server room, prints the URL, opens a
 * browser where there is a display, and waits for a signal that ends it. */
#include "commands/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/allocator.h"
#include "base/options.h"
#include "commands/output.h"
#include "commands/showing.h"
#include "commands/source_path.h"
#include "server/server.h"

struct arguments {
    struct source_paths paths;
    const char *bind, *host, *id;
    uint64_t port;
    bool no_token, no_notes, open;
};

#define TO(field) OPTION_TO(struct arguments, field)

static int cmd_serve_add_source_path(void *target, const char *value);

static const struct option_entry entries[] = {
    OPTION_GROUP("Where"),
    {"port", 'p', OPTION_NUMBER, "PORT", "listen at this port (default: a free one)", TO(port),
     false, NULL},
    {"bind", 0, OPTION_STRING, "ADDRESS", "listen at this address (default: 127.0.0.1)", TO(bind),
     false, NULL},
    {"host", 0, OPTION_STRING, "NAME",
     "a further name that browsers may call this machine by, such as a proxy's", TO(host), false,
     NULL},
    {"no-token", 0, OPTION_FLAG, NULL, "let everyone on this machine in; for the loopback only",
     TO(no_token), false, NULL},
    {"no-notes", 0, OPTION_FLAG, NULL,
     "write nothing beside profiles: refuse notes and saved views", TO(no_notes), false, NULL},
    {"open", 0, OPTION_SWITCH, NULL,
     "open the browser (default: on a terminal, where there is a display)", TO(open), false, NULL},
    OPTION_GROUP("What"),
    {"id", 0, OPTION_STRING, "ID", "the job of that id, where a directory has several", TO(id),
     false, NULL},
    SOURCE_PATH_ENTRY(cmd_serve_add_source_path),
    WRAPPER_ENTRIES,
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "serve",
    .synopsis = "[options] PROFILE|JOBDIR|TRACE…",
    .purpose =
        "Shows profiles in the browser, also ones that are still being recorded, the jobs in "
        "directories (tidemark record --job), and traces (tidemark record --trace). Prints "
        "the URL to open, and serves until it is interrupted.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark serve run.tmk\n"
                "  tidemark serve --port 8080 before.tmk after.tmk\n"
                "  tidemark serve run64\n"
                "  tidemark serve run.tmt\n",
};

static int cmd_serve_add_source_path(void *target, const char *value)
{
    struct arguments *arguments = target;
    return source_path_add(&command, &arguments->paths, value);
}

static bool cmd_serve_has_display(void)
{
    const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return (x && *x) || (wayland && *wayland);
}

/* ---- What is said -------------------------------------------------------------------------- */

/* This machine has no display: how to reach the server from the user's own. */
static void cmd_serve_say_tunnel(const struct server *server)
{
    const char *user = getenv("USER");
    char host[256] = "HOST";
    gethostname(host, sizeof host - 1);
    fprintf(stderr, "From the machine with your browser:  ssh -L %u:127.0.0.1:%u %s%s%s\n",
            server_port(server), server_port(server), user ? user : "", user ? "@" : "", host);
}

static void cmd_serve_say(const struct server *server, const char *url,
                          const struct arguments *arguments)
{
    puts(url);
    fflush(stdout);
    if (!cmd_serve_has_display() && !arguments->bind)
        cmd_serve_say_tunnel(server);
    if (isatty(STDERR_FILENO))
        fputs("Ctrl-C ends it.\n", stderr);
}

/* The browser does not inherit the signals that the server blocks or ignores. */
static void cmd_serve_set_usual_signals(posix_spawnattr_t *attributes)
{
    sigset_t none, ignored_here;
    sigemptyset(&none);
    sigemptyset(&ignored_here);
    sigaddset(&ignored_here, SIGPIPE);
    sigaddset(&ignored_here, SIGCHLD);
    posix_spawnattr_init(attributes);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &ignored_here);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

/* The browser gets a ticket, not the token: every user of this machine can read its arguments. */
static void cmd_serve_open_browser(struct server *server)
{
    extern char **environ;
    char program[] = "xdg-open";
    struct strbuf url = STRBUF_INIT;
    if (!server_add_browser_url(server, &url)) {
        fputs("tidemark serve: the system has no random numbers: open the URL yourself\n", stderr);
        return;
    }
    char *const argv[] = {program, url.data, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_t attributes;
    cmd_serve_set_usual_signals(&attributes);
    if (posix_spawnp(&pid, program, &actions, &attributes, argv, environ))
        fputs("tidemark serve: no xdg-open here: open the URL yourself\n", stderr);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    strbuf_release(&url);
}

/* ---- The command --------------------------------------------------------------------------- */

static int cmd_serve_wait_for_end(const sigset_t *signals)
{
    int signal;
    do
        signal = sigwaitinfo(signals, NULL);
    while (signal < 0 && errno == EINTR);
    return 0;
}

/* Gives freed memory back, and uses few arenas, which keep the small pieces. */
static void cmd_serve_settle_allocator(void)
{
    allocator_give_back();
    mallopt(M_ARENA_MAX, 2);
}

static int cmd_serve_until_end(const struct server_options *options,
                               const struct arguments *arguments, struct showing *showing)
{
    sigset_t signals;
    struct server *server;
    struct strbuf why = STRBUF_INIT, url = STRBUF_INIT;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL); /* threads of the server inherit it */
    showing_unguard(true);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    showing_fill(showing);
    int error = server_start(&server, options, &why);
    if (error) {
        output_complain("serve", why.length ? why.data : strerror(-error));
    } else {
        server_add_url(server, &url);
        cmd_serve_say(server, url.data, arguments);
        if (arguments->open)
            cmd_serve_open_browser(server);
        showing_tell_filling(showing);
        cmd_serve_wait_for_end(&signals);
        showing_stop_filling(showing);
        server_stop(server);
    }
    strbuf_release(&why);
    strbuf_release(&url);
    return error ? OPTIONS_EXIT_FAILURE : 0;
}

int cmd_serve(int argc, char **argv)
{
    struct arguments arguments = {.open = cmd_serve_has_display() && isatty(STDOUT_FILENO)};
    source_path_only_here(&arguments.paths);
    int operand = options_parse(&command, argc, argv, &arguments);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (operand == argc)
        return options_usage_error(&command, "no profile given");
    if (arguments.port > UINT16_MAX)
        return options_usage_error(&command, "there is no port %llu: the highest is %d",
                                   (unsigned long long)arguments.port, UINT16_MAX);
    struct showing showing;
    struct showing_options to_show = {
        .command = "serve", .id = arguments.id, .ranks = true, .fills = true};
    cmd_serve_settle_allocator();
    int status = showing_open(&showing, &to_show, (const char *const *)argv + operand,
                              (size_t)(argc - operand));
    struct server_options options = {
        .shown = showing.shown,
        .shown_count = showing.count,
        .directory = showing.trace_count ? showing.directory : NULL,
        .paths = &arguments.paths,
        .bind = arguments.bind,
        .host = arguments.host,
        .port = (uint16_t)arguments.port,
        .no_token = arguments.no_token,
        .no_notes = arguments.no_notes,
    };
    if (!status)
        status = cmd_serve_until_end(&options, &arguments, &showing);
    showing_release(&showing);
    return status;
}
