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
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "profile_build/clock.h"
#include "profile_build/name_turn.h"
#include "profile_build/naming.h"
#include "base/array.h"
#include "base/allocator.h"
#include "base/human.h"
#include "collector/process_image.h"
#include "base/random.h"
#include "base/memory.h"
#include "base/now.h"
#include "collector/output_name.h"
#include "collector/expected_ranks.h"
#include "collector/job_place.h"
#include "collector/memory_bound.h"
#include "collector/own_group.h"
#include "collector/quota.h"
#include "collector/recorded_window.h"
#include "collector/node_files.h"
#include "collector/session_rows.h"
#include "procfs/process.h"
#include "profile/profile.h"
#include "symbols/symbols.h"
#include "symbols/unpack_limit.h"
#include "wire/wire.h"

struct collector_member {
    struct process_image *image;
    int pidfd;   /* -1: none could be had (it said hello, ended and was waited for before we came to
                  it; or descriptors are short): asked by kill() now and then */
    size_t poll; /* its place among what is waited for; 0: none */
    bool launched; /* it has its thread */
    bool ending;
};

/* A process that has connected and not yet sent its hello. On a busy machine seconds may pass
 * between the two. */
struct collector_caller {
    int fd;
    uid_t uid;
    uint64_t since_ns;
};
enum { CALLERS = 64 };
/* Malloc arenas: hundreds of images have a thread each, and few of them work at a time. */
enum { ARENAS = 4 };
/* All ranks of a node work at once. A thread that takes events must not wait for the lock of an
 * arena whose holder is off its processor, so each thread has an arena. */
enum { NODE_ARENAS = 4096 };
/* The first places of the polls, before those of members and callers. */
enum { POLL_VISITORS, POLL_EXTRA, POLL_WINDOW, POLL_FINISHED, POLLS_OF_OURS };
#define CALLER_PATIENCE_NS 60000000000u

struct collector {
    struct collector_options options;
    char name[108];
    char session[96];
    int socket;
    struct collector_member *members;
    size_t member_count, member_room, poll_room;
    struct collector_caller callers[CALLERS];
    size_t caller_count;
    struct expected_ranks expected;
    struct process_image_result *results;
    size_t result_count, result_room;
    size_t given_back_at;   /* result_count when malloc's free memory was last … */
    uint64_t given_back_ns; /* … given back */
    pid_t own_child, named; /* named: the first of all, 0 if there was none */
    bool any;
    bool has_no_room;        /* for a newcomer: descriptors are short */
    uint64_t stuck_since_ns; /* no newcomer has got a thread since; 0: none lacks one */
    uint64_t deaf_since_ns;  /* since then no caller could be accepted for want of a descriptor;
                               0: none waits */
    int reserve; /* a descriptor to close so that one caller can be accepted and let go; -1: none */
    size_t turned_away, passed_over;
    uint32_t unfollowed[WIRE_UNFOLLOWED_KINDS]; /* of processes without an image */
    bool hurried; /* the user was told how to end the wait for the profiles */
    struct pollfd *polls;
    struct window window;
    char over[128]; /* "" while it records */
};

/* ---- Opening ---- */

/* A key that can be guessed would let other users into the session. So without random bytes there
 * is no session. */
static int collector_make_name(char *name, size_t bytes, const char *node)
{
    enum { PUBLIC = 16 };
    unsigned char random[PUBLIC + WIRE_KEY_BYTES / 2];
    if (!random_fill(random, sizeof random))
        return -ENODATA;
    int at = snprintf(name, bytes, "%s", node ? node : "tidemark-");
    for (size_t i = node ? PUBLIC : 0; i < sizeof random; i++)
        at += snprintf(name + at, bytes - (size_t)at, "%s%02x", i == PUBLIC ? ":" : "", random[i]);
    return 0;
}

/* An id for people: time, host, and pid. */
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
    /* The reader of our output may have gone; the program's status stays its own. */
    signal(SIGPIPE, SIG_IGN);
    collector_raise_limit(RLIMIT_FSIZE);
    collector_raise_limit(RLIMIT_NOFILE); /* hundreds of processes, a few each */
    collector_raise_limit(RLIMIT_STACK);
    collector_raise_limit(RLIMIT_AS);
    collector_raise_limit(RLIMIT_DATA);
    allocator_share_arenas(collector_has_little_room() ? 1 : ARENAS);
    collector_prepare_stacks(collector_has_little_room());
    allocator_give_back();
    quota_open();
}

/* Releases what all images share. */
static void collector_release_shared(struct collector *collector)
{
    if (collector->options.finished >= 0)
        close(collector->options.finished);
    session_rows_free(collector->options.rows);
    node_files_free(collector->options.nodes);
}

int collector_open(struct collector **out, const struct collector_options *options,
                   const char *name)
{
    struct collector *collector = calloc(1, sizeof *collector);
    if (!collector)
        return -ENOMEM;
    collector->options = *options;
    memory_bound_set(options->memory_bytes);
    unpack_limit_bound(memory_bound_has_room);
    collector_make_session_id(collector->session, sizeof collector->session);
    collector->options.session = collector->session;
    clock_begin();
    quota_open();
    if (options->job) { /* one of many on its machine */
        name_turns_take();
        if (!options->node)
            allocator_share_arenas(1);
        else if (!collector_has_little_room())
            allocator_share_arenas(NODE_ARENAS);
    }
    if (options->node) {
        allocator_give_back_soon();
        quota_bound_work();
        profile_writers_are_many();
        naming_keep_answers();
        job_place_disown();
    }
    int error = 0;
    if (name)
        snprintf(collector->name, sizeof collector->name, "%s", name);
    else
        error = collector_make_name(collector->name, sizeof collector->name, options->node);
    collector->window.wake = -1;
    collector->reserve = eventfd(0, EFD_CLOEXEC);
    if (!options->separate && !options->job)
        collector->options.rows = session_rows_new();
    if (!options->separate && options->job && options->node)
        collector->options.nodes = node_files_new();
    collector->options.finished = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (error == 0)
        error = window_open(&collector->window, options->start_on, options->until, options->for_ns);
    collector->options.window = &collector->window;
    collector->socket = error < 0 ? error : collector_listen_as(collector->name);
    if (collector->socket < 0) {
        error = collector->socket;
        window_close(&collector->window);
        collector_release_shared(collector);
        if (collector->reserve >= 0)
            close(collector->reserve);
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

void collector_tell_begun(struct collector *collector, int socket, struct unsaved *unsaved)
{
    collector->options.begun = socket;
    collector->options.unsaved = unsaved;
}

size_t collector_active(const struct collector *collector)
{
    return collector->member_count + collector->caller_count + collector->expected.count;
}

void collector_expect_rank(struct collector *collector, pid_t pid)
{
    expected_ranks_add(&collector->expected, pid);
}

void collector_expect_nobody(struct collector *collector)
{
    expected_ranks_release(&collector->expected);
}

size_t collector_running(const struct collector *collector)
{
    size_t running = 0;
    for (size_t i = 0; i < collector->member_count; i++)
        running += !collector->members[i].ending;
    return running;
}

bool collector_running_at(const struct collector *collector, size_t index,
                          struct collector_process *process)
{
    for (size_t i = 0; i < collector->member_count; i++) {
        const struct process_image *image = collector->members[i].image;
        if (collector->members[i].ending || index-- > 0)
            continue;
        const struct session_rows *rows = collector->options.rows;
        *process = (struct collector_process){
            process_image_pid(image), process_image_program(image), process_image_path(image),
            rows ? session_rows_path(rows) : NULL};
        return true;
    }
    return false;
}

size_t collector_turned_away(const struct collector *collector)
{
    return collector->turned_away;
}

size_t collector_rows(const struct collector *collector, const char **path)
{
    struct session_rows *rows = collector->options.rows;
    size_t count = rows ? session_rows_count(rows) : 0;
    *path = count ? session_rows_path(rows) : NULL;
    return count;
}

size_t collector_rows_without_room(struct collector *collector)
{
    return collector->options.rows ? session_rows_settle(collector->options.rows) : 0;
}

pid_t collector_largest_row(const struct collector *collector, char program[64],
                            uint64_t *peak_bytes)
{
    struct session_rows *rows = collector->options.rows;
    struct session_rows_largest largest = {0};
    if (rows)
        largest = session_rows_largest(rows);
    snprintf(program, sizeof largest.program, "%s", largest.program);
    *peak_bytes = largest.peak_bytes;
    return largest.pid;
}

size_t collector_passed_over(const struct collector *collector)
{
    return collector->passed_over;
}

uint32_t collector_unfollowed(const struct collector *collector, enum wire_unfollowed kind)
{
    uint32_t count = collector->unfollowed[kind];
    for (size_t i = 0; i < collector->result_count; i++)
        count += collector->results[i].unfollowed[kind];
    return count;
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

static struct collector_member *collector_member_add(struct collector *collector)
{
    if (!array_make_bare_room(&collector->members, &collector->member_room, collector->member_count,
                              sizeof *collector->members) ||
        !array_make_bare_room(&collector->polls, &collector->poll_room,
                              collector->member_count + POLLS_OF_OURS + CALLERS,
                              sizeof *collector->polls))
        return NULL;
    return &collector->members[collector->member_count++];
}

static struct collector_member *collector_member_of(struct collector *collector, pid_t pid)
{
    for (size_t i = 0; i < collector->member_count; i++)
        if (process_image_pid(collector->members[i].image) == pid && !collector->members[i].ending)
            return &collector->members[i];
    return NULL;
}

static void collector_member_close_pidfd(struct collector_member *member)
{
    if (member->pidfd < 0)
        return;
    close(member->pidfd);
    quota_release(1);
    member->pidfd = -1;
}

static void collector_member_end(struct collector_member *member, enum process_image_end how,
                                 int status)
{
    member->ending = true;
    collector_member_close_pidfd(member);
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

/* A forked process is the same program as its parent, which is recorded. */
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

/* Whether the newcomer should wait for a thread: another image may end soon. But the live ones may
 * themselves wait for the newcomer, as in a barrier. So if none has ended for a while, it waits no
 * longer. */
static bool collector_may_get_thread(struct collector *collector, bool any_launched)
{
    const uint64_t patience_ns = 2000000000u;
    uint64_t now_ns = now_monotonic_ns();
    if (!collector->stuck_since_ns)
        collector->stuck_since_ns = now_ns;
    return any_launched && now_ns - collector->stuck_since_ns < patience_ns;
}

static void collector_turn_away(struct collector *collector, struct collector_member *member,
                                int error)
{
    process_image_refuse(member->image, error);
    collector->turned_away++;
    member->ending = true;
}

/* A newcomer without a thread waits for its welcome until another image has ended. If none ends,
 * the newcomer runs on unrecorded. */
static void collector_launch(struct collector *collector)
{
    size_t launched = 0, most = quota_images(collector->options.trace ? 3 : 1);
    for (size_t i = 0; i < collector->member_count; i++)
        launched += collector->members[i].launched;
    for (size_t i = 0; i < collector->member_count; i++) {
        struct collector_member *member = &collector->members[i];
        if (member->launched)
            continue;
        int error = launched < most ? process_image_launch(member->image) : EAGAIN;
        if (error && collector_may_get_thread(collector, launched > 0))
            return;
        if (error)
            collector_turn_away(collector, member, error);
        else
            collector->stuck_since_ns = 0;
        member->launched = true;
        launched += !error;
    }
}

static void collector_welcome(struct collector *collector, int fd, const struct ucred *peer,
                              const struct wire_hello *hello)
{
    struct collector_member *before = collector_member_of(collector, peer->pid);
    if (!collector_is_wanted(collector, peer->pid, hello)) {
        close(fd); /* it runs on without us */
        quota_give(QUOTA_NEWCOMER);
        collector->passed_over++;
        if (before)
            collector_member_end(before, IMAGE_END_EXEC, 0);
        return;
    }
    pid_t parent = hello->reason == WIRE_HELLO_FORK ? (pid_t)hello->parent : 0;
    if (!collector->any)
        own_group_leave(peer->pid);
    collector->named = collector->any ? collector->named : peer->pid;
    struct process_image *image =
        process_image_new(&collector->options, fd, peer->pid, parent, hello->pages, !collector->any,
                          peer->pid == collector->named, hello->reason == WIRE_HELLO_ATTACH,
                          before ? before->image : NULL);
    if (image && collector->options.node)
        process_image_take_rank(image, expected_ranks_of(&collector->expected, peer->pid));
    int pidfd = image && quota_keep(1) ? (int)syscall(SYS_pidfd_open, peer->pid, 0) : -2;
    if (pidfd == -1)
        quota_release(1);
    if (before)
        collector_member_end(before, IMAGE_END_EXEC, 0);
    struct collector_member *member = image ? collector_member_add(collector) : NULL;
    if (!member)
        memory_exhausted();
    *member = (struct collector_member){.image = image, .pidfd = pidfd < 0 ? -1 : pidfd};
    collector->any = true;
    collector_launch(collector);
}

/* ---- Snapshots ---- */

/* Of process `pid`, or of all if it is 0. Each image gets a duplicate of `fd` for its answer; -1:
 * nobody asks. */
static size_t collector_snapshot_members(struct collector *collector, pid_t pid, const char *why,
                                         const struct wire_wish *wish, int fd)
{
    size_t count = 0;
    for (size_t i = 0; i < collector->member_count; i++) {
        struct collector_member *member = &collector->members[i];
        if (member->ending || (pid && process_image_pid(member->image) != pid))
            continue;
        process_image_snapshot(member->image, why, wish,
                               fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3));
        count++;
    }
    return count;
}

void collector_snapshot(struct collector *collector, const char *why)
{
    const struct wire_wish nothing = {0};
    collector_snapshot_members(collector, 0, why, &nothing, -1);
}

static void collector_hear_snapshot(struct collector *collector, int fd,
                                    const struct wire_hello *hello)
{
    static const char none = WIRE_ANSWER_NONE;
    if (!collector_snapshot_members(collector, (pid_t)hello->parent,
                                    "asked for (tidemark snapshot)", &hello->wish, fd))
        send(fd, &none, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
    quota_give(QUOTA_NEWCOMER);
}

static void collector_caller_forget(struct collector *collector, size_t index)
{
    memmove(&collector->callers[index], &collector->callers[index + 1],
            (--collector->caller_count - index) * sizeof *collector->callers);
}

static void collector_caller_drop(struct collector *collector, size_t index)
{
    close(collector->callers[index].fd);
    quota_give(QUOTA_NEWCOMER);
    collector_caller_forget(collector, index);
}

/* Other users may connect and send nothing as often as they like, so their connections are dropped
 * first. */
static bool collector_has_place_for_caller(struct collector *collector)
{
    if (collector->caller_count < CALLERS)
        return true;
    for (size_t i = 0; i < collector->caller_count; i++)
        if (collector->callers[i].uid != geteuid()) {
            collector_caller_drop(collector, i);
            return true;
        }
    return false;
}

static size_t collector_backlog(const struct collector *collector)
{
    size_t count = 0;
    for (size_t i = 0; i < collector->member_count; i++)
        count += collector->members[i].ending || !collector->members[i].launched;
    return count;
}

/* While this is true no connection is accepted, and callers wait in connect(). Nobody is turned
 * away. */
static bool collector_is_behind(const struct collector *collector)
{
    return collector_backlog(collector) >= quota_backlog();
}

static void collector_add_turned_away(struct collector *collector, pid_t pid)
{
    char program[16];
    if (process_thread_name(pid, pid, program) < 0)
        snprintf(program, sizeof program, "?");
    array_need_bare_room(&collector->results, &collector->result_room, collector->result_count,
                         sizeof *collector->results);
    struct process_image_result *result = &collector->results[collector->result_count++];
    *result = (struct process_image_result){.pid = pid, .program = memory_copy_string(program)};
    if (asprintf(&result->error,
                 "process %d (%s) is not recorded: there is no descriptor to collect with "
                 "(ulimit -n)",
                 (int)pid, program) < 0)
        memory_exhausted();
    collector->turned_away++;
}

/* Descriptors have been used up for a while, by files that the quota does not count (symbols, the
 * session's database). Processes that hold descriptors may themselves wait for this caller, so it
 * must not wait for theirs. The reserve is closed, the caller is accepted with that descriptor and
 * let go: it runs on unrecorded. */
static void collector_turn_away_caller(struct collector *collector)
{
    const uint64_t patience_ns = 2000000000u;
    uint64_t now_ns = now_monotonic_ns();
    if (!collector->deaf_since_ns)
        collector->deaf_since_ns = now_ns;
    if (now_ns - collector->deaf_since_ns < patience_ns || collector->reserve < 0)
        return;
    close(collector->reserve);
    int fd = accept4(collector->socket, NULL, NULL, SOCK_CLOEXEC);
    struct ucred peer = {0};
    socklen_t length = sizeof peer;
    bool known = fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
    if (fd >= 0)
        close(fd);
    if (known && peer.uid == geteuid())
        collector_add_turned_away(collector, peer.pid);
    collector->reserve = eventfd(0, EFD_CLOEXEC);
}

static bool collector_accept_one(struct collector *collector)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (!collector_has_place_for_caller(collector) || !quota_admit()) {
        collector->has_no_room = true;
        return false;
    }
    int fd = accept4(collector->socket, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
        int error = errno;
        collector->has_no_room = error != EAGAIN;
        quota_give(QUOTA_NEWCOMER);
        if (error == EMFILE || error == ENFILE)
            collector_turn_away_caller(collector);
        return false;
    }
    collector->deaf_since_ns = 0;
    bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
    collector->callers[collector->caller_count++] =
        (struct collector_caller){fd, known ? peer.uid : (uid_t)-1, now_monotonic_ns()};
    return true;
}

/* In constant time: the time of the comparison must not tell where the keys differ. */
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

/* A process executes a program that will not be recorded. */
static void collector_hear_unfollowed(struct collector *collector, int fd,
                                      const struct wire_hello *hello)
{
    struct collector_member *parent = collector_member_of(collector, (pid_t)hello->parent);
    int difference = hello->unfollowed & WIRE_TAKEN_BACK ? -1 : 1;
    uint32_t kind = hello->unfollowed & ~WIRE_TAKEN_BACK;
    close(fd);
    quota_give(QUOTA_NEWCOMER);
    if (kind >= WIRE_UNFOLLOWED_KINDS)
        return;
    if (parent)
        process_image_note_unfollowed(parent->image, (enum wire_unfollowed)kind, difference);
    else
        collector->unfollowed[kind] += (uint32_t)difference;
}

/* Answers a rank of our own user with the session's name and key. Others get no key. */
static void collector_hear_rank(struct collector *collector, int fd, const struct ucred *peer)
{
    size_t bytes = strlen(collector->name) + 1;
    if (collector->options.node && peer->uid == geteuid() && peer->pid > 0 &&
        send(fd, collector->name, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)bytes)
        collector_expect_rank(collector, peer->pid);
    close(fd);
    quota_give(QUOTA_NEWCOMER);
}

/* heat_begin() checks that the descriptor is a userfaultfd. */
static void collector_hear_watch(struct collector *collector, int fd, const struct ucred *peer,
                                 int watch)
{
    struct collector_member *member = collector_member_of(collector, peer->pid);
    close(fd);
    quota_give(QUOTA_NEWCOMER);
    if (watch >= 0 && member && collector->options.heat_ns && quota_keep(QUOTA_HEAT))
        process_image_take_watch(member->image, watch);
    else if (watch >= 0)
        close(watch);
}

/* The first descriptor that came with a message; -1: none. The others are closed: anybody may send
 * some, and the kernel delivers as many as there is room for. */
static int collector_take_descriptor(struct msghdr *message)
{
    int taken = -1;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
         header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
            if (taken < 0)
                taken = fd;
            else
                close(fd);
        }
    }
    return taken;
}

/* Receives a hello, and the descriptor that came with it; -1: none. The latter may come with an
 * empty message, too. */
static bool collector_receive(int fd, struct wire_hello *hello, int *with)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))]; /* alignment makes room for two descriptors */
    } control;
    struct iovec part = {hello, sizeof *hello};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    *with = got < 0 ? -1 : collector_take_descriptor(&message);
    return got == sizeof *hello && hello->magic == WIRE_MAGIC;
}

/* A caller's hello has come, or the caller has gone. */
static void collector_hear(struct collector *collector, size_t index)
{
    int fd = collector->callers[index].fd;
    struct ucred peer;
    socklen_t length = sizeof peer;
    struct wire_hello hello;
    int with = -1;
    collector_caller_forget(collector, index);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
        collector_receive(fd, &hello, &with) && collector_may_join(collector, &peer, &hello)) {
        if (hello.reason == WIRE_HELLO_HEAT)
            collector_hear_watch(collector, fd, &peer, with);
        else if (hello.reason == WIRE_HELLO_SNAPSHOT)
            collector_hear_snapshot(collector, fd, &hello);
        else if (hello.reason == WIRE_HELLO_UNFOLLOWED)
            collector_hear_unfollowed(collector, fd, &hello);
        else if (hello.reason == WIRE_HELLO_RANK)
            collector_hear_rank(collector, fd, &peer);
        else
            collector_welcome(collector, fd, &peer, &hello);
        with = hello.reason == WIRE_HELLO_HEAT ? -1 : with;
    } else {
        close(fd);
        quota_give(QUOTA_NEWCOMER);
    }
    if (with >= 0)
        close(with);
}

/* `polls` are those of the callers. collector_welcome() may move the array, so they are read
 * first. */
static void collector_hear_callers(struct collector *collector, const struct pollfd *polls)
{
    uint64_t now_ns = now_monotonic_ns();
    bool said[CALLERS];
    size_t count = collector->caller_count;
    for (size_t i = 0; i < count; i++)
        said[i] = polls[i].revents != 0;
    for (size_t i = 0, at = 0; i < count; i++) {
        if (said[i]) {
            collector_hear(collector, at);
        } else if (now_ns - collector->callers[at].since_ns > CALLER_PATIENCE_NS) {
            collector_caller_drop(collector, at);
        } else {
            at++;
        }
    }
}

/* ---- Processes go ---- */

/* struct pidfd_info of Linux 6.13, with a request that 6.15 answers for a process that is gone. */
struct pidfd_end {
    uint64_t mask, cgroup_id;
    uint32_t pid, tgid, ppid, ids[8];
    int32_t exit_code;
    uint32_t coredump_mask, coredump_signal;
};
#define PIDFD_END_ASK _IOWR(0xFF, 11, struct pidfd_end)
enum { PIDFD_END_EXIT = 1 << 3 };

static void collector_end_from_wait_status(struct collector_member *member, int code)
{
    if (code & 0x7f)
        collector_member_end(member, IMAGE_END_SIGNAL, code & 0x7f);
    else
        collector_member_end(member, IMAGE_END_EXIT, code >> 8 & 0xff);
}

static void collector_member_gone(struct collector_member *member)
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
    struct collector_member *member = collector_member_of(collector, pid);
    if (member)
        collector_member_end(member, how, status);
    /* Its hello may not have been heard yet. It is then watched like any other process. */
    if (pid == collector->own_child)
        collector->own_child = 0;
}

static void collector_reap(struct collector *collector, bool wait)
{
    for (size_t i = 0; i < collector->member_count;) {
        struct collector_member *member = &collector->members[i];
        if (!member->ending && process_image_has_left(member->image))
            collector_member_end(member, IMAGE_END_DETACHED, 0);
        if (!(member->ending && (wait || process_image_is_done(member->image)))) {
            i++;
            continue;
        }
        array_need_bare_room(&collector->results, &collector->result_room, collector->result_count,
                             sizeof *collector->results);
        process_image_join(member->image, &collector->results[collector->result_count++]);
        *member = collector->members[--collector->member_count];
    }
}

/* Whether there was any that had not ended. */
static bool collector_end_all(struct collector *collector)
{
    bool is_new = false;
    for (size_t i = 0; i < collector->member_count; i++)
        if (!collector->members[i].ending) {
            collector_member_end(&collector->members[i], IMAGE_END_DETACHED, 0);
            is_new = true;
        }
    return is_new;
}

void collector_detach(struct collector *collector)
{
    collector_end_all(collector);
    collector_reap(collector, true);
}

void collector_leave(struct collector *collector)
{
    if (collector_end_all(collector) || !collector->member_count)
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
    else if (end == WINDOW_MEMORY)
        snprintf(collector->over, sizeof collector->over, "%s", WINDOW_MEMORY_TEXT);
    else
        snprintf(collector->over, sizeof collector->over, "at a mark (--until=%s)",
                 collector->window.until);
}

/* At the window's end no further process can connect. The profiles are completed while signals are
 * still handled. */
static void collector_see_window(struct collector *collector)
{
    struct window *window = &collector->window;
    window_hear(window);
    if (window_left_ms(window, now_monotonic_ns()) == 0)
        window_end(window, WINDOW_FOR);
    enum window_end end = (enum window_end)atomic_load(&window->end);
    if (end == WINDOW_GOES_ON || *collector->over)
        return;
    collector_say_how(collector, end);
    close(collector->socket);
    collector->socket = -1;
    while (collector->caller_count)
        collector_caller_drop(collector, collector->caller_count - 1);
    collector_end_all(collector);
}

/* ---- Waiting ---- */

enum { SHORT_MS = 5, UNWATCHED_MS = 200, CALLER_MS = 1000 };

static int collector_member_patience_ms(const struct collector *collector,
                                        const struct collector_member *member)
{
    if (!member->launched)
        return SHORT_MS;
    /* An image that could not be recorded is done before its process ends, and no descriptor wakes
     * poll() then. */
    if (member->ending && process_image_is_done(member->image))
        return 0;
    if (member->ending)
        return collector->options.finished < 0 ? SHORT_MS : INT_MAX;
    if (process_image_has_left(member->image))
        return 0;
    return member->pidfd < 0 && process_image_pid(member->image) != collector->own_child
               ? UNWATCHED_MS
               : INT_MAX;
}

/* The longest that poll() may take: descriptors that are given back, a thread that has ended, and
 * processes without a pidfd do not wake it. */
static int collector_shortened(const struct collector *collector, int timeout_ms)
{
    int most = timeout_ms < 0 ? INT_MAX : timeout_ms;
    int left = *collector->over ? -1 : window_left_ms(&collector->window, now_monotonic_ns());
    most = left >= 0 && left < most ? left : most;
    if (collector->caller_count && most > CALLER_MS)
        most = CALLER_MS;
    if (collector->has_no_room && most > SHORT_MS)
        most = SHORT_MS;
    for (size_t i = 0; i < collector->member_count; i++) {
        int own = collector_member_patience_ms(collector, &collector->members[i]);
        most = own < most ? own : most;
    }
    return most == INT_MAX ? -1 : most;
}

static void collector_see_unwatched(struct collector *collector)
{
    for (size_t i = 0; i < collector->member_count; i++) {
        struct collector_member *member = &collector->members[i];
        pid_t pid = process_image_pid(member->image);
        if (!member->ending && member->pidfd < 0 && pid != collector->own_child &&
            kill(pid, 0) < 0 && errno == ESRCH)
            collector_member_end(member, IMAGE_END_UNKNOWN, 0);
    }
}

static struct pollfd collector_poll_of(int fd)
{
    return (struct pollfd){.fd = fd, .events = POLLIN};
}

/* Only members with something to wait for: poll() refuses more entries than RLIMIT_NOFILE. */
static size_t collector_prepare_members(struct collector *collector, struct pollfd *polls,
                                        size_t count)
{
    for (size_t i = 0; i < collector->member_count; i++) {
        struct collector_member *member = &collector->members[i];
        bool watch = member->pidfd >= 0 && !member->ending &&
                     process_image_pid(member->image) != collector->own_child;
        member->poll = watch ? count : 0;
        if (watch)
            polls[count++] = collector_poll_of(member->pidfd);
    }
    return count;
}

static size_t collector_prepare_polls(struct collector *collector, struct pollfd *polls,
                                      int extra_fd)
{
    bool closed = collector->has_no_room || collector_is_behind(collector);
    polls[POLL_VISITORS] = collector_poll_of(closed ? -1 : collector->socket);
    polls[POLL_EXTRA] = collector_poll_of(extra_fd);
    polls[POLL_WINDOW] = collector_poll_of(collector->window.wake);
    polls[POLL_FINISHED] = collector_poll_of(collector->options.finished);
    size_t count = collector_prepare_members(collector, polls, POLLS_OF_OURS);
    for (size_t i = 0; i < collector->caller_count; i++)
        polls[count++] = collector_poll_of(collector->callers[i].fd);
    return count;
}

/* Empties the eventfd. Its number is not needed: collector_reap() asks every image. */
static void collector_hear_finished(struct collector *collector)
{
    uint64_t count;
    if (read(collector->options.finished, &count, sizeof count) < 0)
        return;
}

/* `count` polls, of which the last are the callers'. */
static void collector_take_events(struct collector *collector, const struct pollfd *polls,
                                  size_t count)
{
    bool visitors = polls[POLL_VISITORS].revents != 0;
    if (polls[POLL_FINISHED].revents)
        collector_hear_finished(collector);
    for (size_t i = 0; i < collector->member_count; i++) {
        struct collector_member *member = &collector->members[i];
        if (member->poll && polls[member->poll].revents)
            collector_member_gone(member);
    }
    collector_hear_callers(collector, polls + count - collector->caller_count);
    while (visitors && collector_accept_one(collector))
        ;
}

/* Memory that ended images have freed lies between memory that is in use. Without trimming, malloc
 * would keep all that many processes needed at once. */
static void collector_give_back(struct collector *collector)
{
    enum { LEAST_FREE_BYTES = 4 << 20 };
    uint64_t now_ns = now_monotonic_ns();
    allocator_trim_owed();
    if (collector->result_count == collector->given_back_at ||
        now_ns - collector->given_back_ns < 1000000000u)
        return;
    collector->given_back_at = collector->result_count;
    collector->given_back_ns = now_ns;
    allocator_trim(LEAST_FREE_BYTES);
}

bool collector_wait(struct collector *collector, int extra_fd, int timeout_ms)
{
    struct pollfd small[POLLS_OF_OURS + CALLERS],
        *polls = collector->polls ? collector->polls : small;
    size_t count = collector_prepare_polls(collector, polls, extra_fd);
    int events = poll(polls, count, collector_shortened(collector, timeout_ms));
    collector->has_no_room = false;
    collector_see_unwatched(collector);
    for (size_t i = 0; events <= 0 && i < count; i++)
        polls[i].revents = 0; /* poll() has failed: they say nothing */
    bool extra = polls[POLL_EXTRA].revents != 0;
    collector_take_events(collector, polls, count);
    collector_reap(collector, false);
    expected_ranks_reap(&collector->expected);
    collector_launch(collector);
    collector_see_window(collector);
    collector_give_back(collector);
    return extra;
}

void collector_close(struct collector *collector)
{
    if (!collector)
        return;
    collector_detach(collector);
    while (collector->caller_count)
        collector_caller_drop(collector, collector->caller_count - 1);
    for (size_t i = 0; i < collector->result_count; i++) {
        free(collector->results[i].path);
        free(collector->results[i].error);
        free(collector->results[i].program);
        free(collector->results[i].trace);
        free(collector->results[i].trace_error);
    }
    if (collector->socket >= 0)
        close(collector->socket);
    if (collector->reserve >= 0)
        close(collector->reserve);
    window_close(&collector->window);
    collector_release_shared(collector);
    expected_ranks_release(&collector->expected);
    free(collector->members);
    free(collector->polls);
    free(collector->results);
    free(collector);
}
