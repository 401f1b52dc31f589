/* Accepts processes on a socket and follows each to its end (collector.h). One poll() loop watches
 * the socket, the callers that have not yet said hello, and a pidfd for each process. Each process
 * image has its own thread. */
#include "collector/collector.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "profile_build/clock.h"
#include "base/allocator.h"
#include "base/human.h"
#include "collector/process_image.h"
#include "base/random.h"
#include "base/memory.h"
#include "collector/output_name.h"
#include "collector/recorded_window.h"
#include "procfs/process.h"
#include "symbols/symbols.h"
#include "wire/wire.h"

struct member {
    struct process_image *image;
    int pidfd; /* -1: none could be had (it said hello, ended and was waited for before we came to
                  it; or we have too many descriptors open): asked by kill() now and then */
    bool ending;
};

/* Has called and not yet said who it is: on a busy machine seconds may pass between the two. */
struct caller {
    int fd;
    uint64_t since_ns;
};
enum { CALLERS = 64 };
/* In front of those of members and callers: for visitors, the caller's own, the window's. */
enum { POLLS_OF_OURS = 3 };
#define CALLER_PATIENCE_NS 60000000000u

struct collector {
    struct collector_options options;
    char name[108];
    char session[96];
    int socket;
    struct member *members;
    size_t member_count, member_room;
    struct caller callers[CALLERS];
    size_t caller_count;
    struct process_image_result *results;
    size_t result_count;
    pid_t own_child;
    bool any, turned_away;
    bool hurried; /* the user waits for what is completed, and has been told how not to */
    size_t passed_over;
    struct pollfd *polls;
    struct window window;
    char over[96]; /* "" while it records */
};

/* ---- Opening ---- */

/* A key that can be guessed would let other users into the session: without random bytes there is
 * none. */
static int collector_make_name(char *name, size_t bytes)
{
    unsigned char random[16 + WIRE_KEY_BYTES / 2];
    if (!random_fill(random, sizeof random))
        return -ENODATA;
    int at = snprintf(name, bytes, "tidemark-");
    for (size_t i = 0; i < sizeof random; i++)
        at += snprintf(name + at, bytes - (size_t)at, "%s%02x", i == 16 ? ":" : "", random[i]);
    return 0;
}

/* For people to find: when, where, and which process of that second. */
static void collector_make_session_id(char *id, size_t bytes)
{
    char when[32] = "", host[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    gethostname(host, sizeof host - 1);
    for (char *at = host; *at; at++)
        *at = *at == '/' ? '_' : *at;
    snprintf(id, bytes, "%s-%s-%d", when, host, (int)getpid());
}

static int collector_listen_as(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t bytes = strcspn(name, ":"); /* the key is not for everybody */
    if (bytes + 1 > sizeof address.sun_path)
        return -ENAMETOOLONG;
    memcpy(address.sun_path + 1, name, bytes);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, 4096) == 0)
        return fd;
    int error = -errno;
    if (fd >= 0)
        close(fd);
    return error;
}

static void collector_raise_limit(int resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
}

/* True if the limit on address space, which cannot be raised, leaves little room. Each thread's
 * malloc arena takes 64 MiB of it, and a stack as large as `ulimit -s` says usually 8 MiB. */
static bool collector_has_little_room(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < 1u << 30;
}

/* Threads get stacks as large as `ulimit -s` says, which may be far too little for us, or too
 * much. */
static void collector_prepare_stacks(bool little_room)
{
    const size_t enough = 1 << 20;
    size_t bytes;
    pthread_attr_t usual;
    if (pthread_getattr_default_np(&usual) != 0)
        return;
    if (pthread_attr_getstacksize(&usual, &bytes) == 0 && (bytes < enough || little_room) &&
        pthread_attr_setstacksize(&usual, enough) == 0)
        pthread_setattr_default_np(&usual);
    pthread_attr_destroy(&usual);
}

void collector_prepare_limits(void)
{
    signal(SIGXFSZ, SIG_IGN);
    collector_raise_limit(RLIMIT_FSIZE);
    collector_raise_limit(RLIMIT_NOFILE); /* hundreds of processes, a few each */
    collector_raise_limit(RLIMIT_STACK);
    collector_raise_limit(RLIMIT_AS);
    collector_raise_limit(RLIMIT_DATA);
    if (collector_has_little_room())
        allocator_share_arena();
    collector_prepare_stacks(collector_has_little_room());
    allocator_give_back();
}

int collector_open(struct collector **out, const struct collector_options *options,
                   const char *name)
{
    struct collector *collector = calloc(1, sizeof *collector);
    if (!collector)
        return -ENOMEM;
    collector->options = *options;
    collector_make_session_id(collector->session, sizeof collector->session);
    collector->options.session = collector->session;
    clock_begin();
    int error = 0;
    if (name)
        snprintf(collector->name, sizeof collector->name, "%s", name);
    else
        error = collector_make_name(collector->name, sizeof collector->name);
    collector->window.wake = -1;
    if (error == 0)
        error = window_open(&collector->window, options->start_on, options->until, options->for_ns);
    collector->options.window = &collector->window;
    collector->socket = error < 0 ? error : collector_listen_as(collector->name);
    if (collector->socket < 0) {
        error = collector->socket;
        window_close(&collector->window);
        free(collector);
        return error;
    }
    *out = collector;
    return 0;
}

const char *collector_open_error(int error)
{
    return error == -ENODATA ? "neither getrandom() nor /dev/urandom gives random bytes for the "
                               "session's key"
                             : strerror(-error);
}

const char *collector_name(const struct collector *collector)
{
    return collector->name;
}

size_t collector_active(const struct collector *collector)
{
    return collector->member_count + collector->caller_count;
}

size_t collector_running(const struct collector *collector)
{
    size_t running = 0;
    for (size_t i = 0; i < collector->member_count; i++)
        running += !collector->members[i].ending;
    return running;
}

bool collector_turned_away(const struct collector *collector)
{
    return collector->turned_away;
}

size_t collector_passed_over(const struct collector *collector)
{
    return collector->passed_over;
}

size_t collector_result_count(const struct collector *collector)
{
    return collector->result_count;
}

const struct process_image_result *collector_result(const struct collector *collector, size_t index)
{
    return &collector->results[index];
}

/* ---- Processes come ---- */

static struct member *collector_member_add(struct collector *collector)
{
    if (collector->member_count == collector->member_room) {
        size_t room = collector->member_room ? 2 * collector->member_room : 16;
        struct member *members = realloc(collector->members, room * sizeof *members);
        struct pollfd *polls =
            realloc(collector->polls, (room + POLLS_OF_OURS + CALLERS) * sizeof *polls);
        if (members)
            collector->members = members;
        if (polls)
            collector->polls = polls;
        if (!members || !polls)
            return NULL;
        collector->member_room = room;
    }
    return &collector->members[collector->member_count++];
}

static struct member *collector_member_of(struct collector *collector, pid_t pid)
{
    for (size_t i = 0; i < collector->member_count; i++)
        if (process_image_pid(collector->members[i].image) == pid && !collector->members[i].ending)
            return &collector->members[i];
    return NULL;
}

static void collector_member_end(struct member *member, enum process_image_end how, int status)
{
    member->ending = true;
    process_image_end(member->image, how, status);
}

/* Is `name` one of `patterns`, between which are commas? */
static bool collector_is_named(const char *patterns, const char *name)
{
    char *copy = strdup(patterns), *rest = copy;
    bool is = false;
    for (char *pattern; !is && (pattern = strsep(&rest, ",")) != NULL;)
        is = !strcmp(pattern, name) || !fnmatch(pattern, name, 0);
    free(copy);
    return is;
}

/* A fork is what its parent is, and that is recorded. */
static bool collector_is_wanted(const struct collector *collector, pid_t pid,
                                const struct wire_hello *hello)
{
    if (!collector->options.only || hello->reason != WIRE_HELLO_START)
        return true;
    char *name = process_image_program_of(pid);
    bool is = name && collector_is_named(collector->options.only, name);
    free(name);
    return is;
}

static void collector_welcome(struct collector *collector, int fd, const struct ucred *peer,
                              const struct wire_hello *hello)
{
    struct member *before = collector_member_of(collector, peer->pid);
    if (!collector_is_wanted(collector, peer->pid, hello)) {
        close(fd); /* it runs on without us */
        collector->passed_over++;
        if (before)
            collector_member_end(before, IMAGE_END_EXEC, 0);
        return;
    }
    pid_t parent = hello->reason == WIRE_HELLO_FORK ? (pid_t)hello->parent : 0;
    bool first = !collector->any;
    int pidfd = (int)syscall(SYS_pidfd_open, peer->pid, 0);
    struct process_image *image =
        process_image_start(&collector->options, fd, peer->pid, parent, hello->pages, first,
                            hello->reason == WIRE_HELLO_ATTACH, before ? before->image : NULL);
    if (before)
        collector_member_end(before, IMAGE_END_EXEC, 0);
    if (!image) {
        close(pidfd);
        collector->turned_away = true;
        return;
    }
    struct member *member = collector_member_add(collector);
    if (!member)
        memory_exhausted();
    *member = (struct member){.image = image, .pidfd = pidfd};
    collector->any = true;
}

/* ---- Snapshots ---- */

/* Of process `pid`, or all; `fd` (taken over): who wants to be told, or -1. */
static size_t collector_snapshot_members(struct collector *collector, pid_t pid, const char *why,
                                         int fd)
{
    size_t count = 0;
    for (size_t i = 0; i < collector->member_count; i++) {
        struct member *member = &collector->members[i];
        if (member->ending || (pid && process_image_pid(member->image) != pid))
            continue;
        process_image_snapshot(member->image, why, fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3));
        count++;
    }
    return count;
}

void collector_snapshot(struct collector *collector, const char *why)
{
    collector_snapshot_members(collector, 0, why, -1);
}

static void collector_hear_snapshot(struct collector *collector, int fd,
                                    const struct wire_hello *hello)
{
    static const char none = WIRE_ANSWER_NONE;
    if (!collector_snapshot_members(collector, (pid_t)hello->parent,
                                    "asked for (tidemark snapshot)", fd))
        send(fd, &none, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

static void collector_caller_drop(struct collector *collector, size_t index)
{
    memmove(&collector->callers[index], &collector->callers[index + 1],
            (--collector->caller_count - index) * sizeof *collector->callers);
}

static void collector_accept_one(struct collector *collector)
{
    int fd = accept4(collector->socket, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    if (collector->caller_count == CALLERS) {
        close(collector->callers[0].fd); /* that so many are silent is no accident */
        collector_caller_drop(collector, 0);
    }
    collector->callers[collector->caller_count++] = (struct caller){fd, clock_read().ns};
}

/* Without looking where they differ: how long it takes says nothing. */
static bool collector_knows_key(const struct collector *collector, const struct wire_hello *hello)
{
    const char *key = strchr(collector->name, ':');
    if (!key || strlen(key + 1) != sizeof hello->key)
        return false;
    unsigned differ = 0;
    for (size_t i = 0; i < sizeof hello->key; i++)
        differ |= (unsigned)(key[1 + i] ^ hello->key[i]);
    return differ == 0;
}

static bool collector_may_join(const struct collector *collector, const struct ucred *peer,
                               const struct wire_hello *hello)
{
    if (hello->reason == WIRE_HELLO_SNAPSHOT && peer->uid == 0)
        return true; /* shares no memory */
    return peer->uid == geteuid() || (geteuid() == 0 && collector_knows_key(collector, hello));
}

/* Its hello has come, or it has gone. */
static void collector_hear(struct collector *collector, size_t index)
{
    int fd = collector->callers[index].fd;
    struct ucred peer;
    socklen_t length = sizeof peer;
    struct wire_hello hello;
    collector_caller_drop(collector, index);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
        recv(fd, &hello, sizeof hello, MSG_DONTWAIT) == sizeof hello && hello.magic == WIRE_MAGIC &&
        collector_may_join(collector, &peer, &hello)) {
        if (hello.reason == WIRE_HELLO_SNAPSHOT)
            collector_hear_snapshot(collector, fd, &hello);
        else
            collector_welcome(collector, fd, &peer, &hello);
    } else {
        close(fd);
    }
}

/* `polls` are those of the callers; a process that is welcomed may move them. */
static void collector_hear_callers(struct collector *collector, const struct pollfd *polls)
{
    uint64_t now_ns = clock_read().ns;
    bool said[CALLERS];
    size_t count = collector->caller_count;
    for (size_t i = 0; i < count; i++)
        said[i] = polls[i].revents != 0;
    for (size_t i = 0, at = 0; i < count; i++) {
        if (said[i]) {
            collector_hear(collector, at);
        } else if (now_ns - collector->callers[at].since_ns > CALLER_PATIENCE_NS) {
            close(collector->callers[at].fd);
            collector_caller_drop(collector, at);
        } else {
            at++;
        }
    }
}

/* ---- Processes go ---- */

/* struct pidfd_info of Linux 6.13, asked for what 6.15 can tell of a process that is gone. */
struct pidfd_end {
    uint64_t mask, cgroup_id;
    uint32_t pid, tgid, ppid, ids[8];
    int32_t exit_code;
    uint32_t coredump_mask, coredump_signal;
};
#define PIDFD_END_ASK _IOWR(0xFF, 11, struct pidfd_end)
enum { PIDFD_END_EXIT = 1 << 3 };

static void collector_end_from_wait_status(struct member *member, int code)
{
    if (code & 0x7f)
        collector_member_end(member, IMAGE_END_SIGNAL, code & 0x7f);
    else
        collector_member_end(member, IMAGE_END_EXIT, code >> 8 & 0xff);
}

static void collector_member_gone(struct member *member)
{
    struct pidfd_end info = {.mask = PIDFD_END_EXIT};
    int code;
    if (process_zombie_status(process_image_pid(member->image), &code) == 0)
        collector_end_from_wait_status(member, code); /* not yet waited for by its parent */
    else if (ioctl(member->pidfd, PIDFD_END_ASK, &info) == 0 && info.mask & PIDFD_END_EXIT)
        collector_end_from_wait_status(member, info.exit_code);
    else
        collector_member_end(member, IMAGE_END_UNKNOWN, 0);
}

void collector_own_child(struct collector *collector, pid_t pid)
{
    collector->own_child = pid;
}

void collector_tell_end(struct collector *collector, pid_t pid, enum process_image_end how,
                        int status)
{
    struct member *member = collector_member_of(collector, pid);
    if (member)
        collector_member_end(member, how, status);
}

static void collector_reap(struct collector *collector, bool wait)
{
    for (size_t i = 0; i < collector->member_count;) {
        struct member *member = &collector->members[i];
        if (!member->ending && process_image_has_left(member->image))
            collector_member_end(member, IMAGE_END_DETACHED, 0);
        if (!(member->ending && (wait || process_image_is_done(member->image)))) {
            i++;
            continue;
        }
        struct process_image_result *results = memory_need(
            realloc(collector->results, (collector->result_count + 1) * sizeof *results));
        collector->results = results;
        process_image_join(member->image, &results[collector->result_count++]);
        if (member->pidfd >= 0)
            close(member->pidfd);
        *member = collector->members[--collector->member_count];
    }
}

void collector_detach(struct collector *collector)
{
    for (size_t i = 0; i < collector->member_count; i++)
        if (!collector->members[i].ending)
            collector_member_end(&collector->members[i], IMAGE_END_DETACHED, 0);
    collector_reap(collector, true);
}

void collector_leave(struct collector *collector)
{
    bool is_new = false;
    for (size_t i = 0; i < collector->member_count; i++)
        if (!collector->members[i].ending) {
            collector_member_end(&collector->members[i], IMAGE_END_DETACHED, 0);
            is_new = true;
        }
    if (is_new || !collector->member_count)
        return;
    if (!collector->hurried) {
        collector->hurried = true;
        fputs("tidemark: the profile is being completed; the same signal once more gives up names "
              "of functions\n",
              stderr);
    } else if (!symbols_have_given_up()) {
        symbols_give_up();
        fputs("tidemark: names of functions were given up: the figures are all there, call paths "
              "have addresses\n",
              stderr);
    }
}

/* ---- The window of the recording ---- */

const char *collector_over(const struct collector *collector)
{
    return *collector->over ? collector->over : NULL;
}

static void collector_say_how(struct collector *collector, enum window_end end)
{
    if (end == WINDOW_FOR)
        snprintf(collector->over, sizeof collector->over, "after %s (--for)",
                 human_duration(collector->window.for_ns).text);
    else
        snprintf(collector->over, sizeof collector->over, "at a mark (--until=%s)",
                 collector->window.until);
}

/* Who calls from now on finds nobody. */
static void collector_see_window(struct collector *collector)
{
    struct window *window = &collector->window;
    window_hear(window);
    if (window_left_ms(window, clock_read().ns) == 0)
        window_end(window, WINDOW_FOR);
    enum window_end end = (enum window_end)atomic_load(&window->end);
    if (end == WINDOW_GOES_ON || *collector->over)
        return;
    collector_say_how(collector, end);
    close(collector->socket);
    collector->socket = -1;
    while (collector->caller_count)
        close(collector->callers[--collector->caller_count].fd);
    collector_detach(collector);
}

/* ---- Waiting ---- */

enum { ENDING_MS = 2, UNWATCHED_MS = 200, CALLER_MS = 1000 };

/* The longest that poll() may take: images that complete their profile, and processes without a
 * pidfd, do not wake it. */
static int collector_shortened(const struct collector *collector, int timeout_ms)
{
    int most = timeout_ms < 0 ? INT_MAX : timeout_ms;
    int left = *collector->over ? -1 : window_left_ms(&collector->window, clock_read().ns);
    most = left >= 0 && left < most ? left : most;
    if (collector->caller_count && most > CALLER_MS)
        most = CALLER_MS;
    for (size_t i = 0; i < collector->member_count; i++) {
        const struct member *member = &collector->members[i];
        int own = member->ending ? ENDING_MS : member->pidfd < 0 ? UNWATCHED_MS : INT_MAX;
        most = own < most ? own : most;
    }
    return most == INT_MAX ? -1 : most;
}

static void collector_see_unwatched(struct collector *collector)
{
    for (size_t i = 0; i < collector->member_count; i++) {
        struct member *member = &collector->members[i];
        pid_t pid = process_image_pid(member->image);
        if (!member->ending && member->pidfd < 0 && pid != collector->own_child &&
            kill(pid, 0) < 0 && errno == ESRCH)
            collector_member_end(member, IMAGE_END_UNKNOWN, 0);
    }
}

bool collector_wait(struct collector *collector, int extra_fd, int timeout_ms)
{
    struct pollfd small[POLLS_OF_OURS + CALLERS],
        *polls = collector->polls ? collector->polls : small;
    size_t watched = collector->member_count, calling = collector->caller_count;
    polls[0] = (struct pollfd){.fd = collector->socket, .events = POLLIN};
    polls[1] = (struct pollfd){.fd = extra_fd, .events = POLLIN};
    polls[2] = (struct pollfd){.fd = collector->window.wake, .events = POLLIN};
    for (size_t i = 0; i < watched; i++) {
        struct member *member = &collector->members[i];
        bool watch = !member->ending && process_image_pid(member->image) != collector->own_child;
        polls[i + POLLS_OF_OURS] =
            (struct pollfd){.fd = watch ? member->pidfd : -1, .events = POLLIN};
    }
    for (size_t i = 0; i < calling; i++)
        polls[watched + POLLS_OF_OURS + i] =
            (struct pollfd){.fd = collector->callers[i].fd, .events = POLLIN};
    int events =
        poll(polls, watched + POLLS_OF_OURS + calling, collector_shortened(collector, timeout_ms));
    collector_see_unwatched(collector);
    if (events <= 0) {
        for (size_t i = 0; i < watched + POLLS_OF_OURS + calling; i++)
            polls[i].revents = 0; /* poll() has failed: they say nothing */
    }
    bool extra = polls[1].revents != 0;
    bool visitor = polls[0].revents != 0;
    for (size_t i = 0; i < watched; i++)
        if (polls[i + POLLS_OF_OURS].revents)
            collector_member_gone(&collector->members[i]);
    collector_hear_callers(collector, polls + watched + POLLS_OF_OURS);
    if (visitor)
        collector_accept_one(collector);
    collector_reap(collector, false);
    collector_see_window(collector);
    return extra;
}

void collector_close(struct collector *collector)
{
    if (!collector)
        return;
    collector_detach(collector);
    while (collector->caller_count)
        close(collector->callers[--collector->caller_count].fd);
    for (size_t i = 0; i < collector->result_count; i++) {
        free(collector->results[i].path);
        free(collector->results[i].error);
        free(collector->results[i].program);
        free(collector->results[i].trace);
        free(collector->results[i].trace_error);
    }
    if (collector->socket >= 0)
        close(collector->socket);
    window_close(&collector->window);
    free(collector->members);
    free(collector->polls);
    free(collector->results);
    free(collector);
}
