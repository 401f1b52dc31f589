/* Connects a process image to its collector (session.h). Runs inside the profiled program, before
 * its main or in the child of a fork: system calls only, no malloc, no stdio. */
#include "recorder/session.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/probe.h"
#include "base/ticks.h"
#include "recorder/ancestors.h"
#include "recorder/bare_code.h"
#include "recorder/unwind_check.h"
#include "recorder/families.h"
#include "recorder/fatal_signals.h"
#include "recorder/forked.h"
#include "recorder/hooks.h"
#include "recorder/instrument.h"
#include "recorder/locked.h"
#include "recorder/inherited.h"
#include "recorder/module_log.h"
#include "recorder/user_names.h"
#include "recorder/page_events.h"
#include "interpose/c_library.h"
#include "interpose/preloads.h"
#include "interpose/real.h"
#include "unwind/unwind.h"
#include "recorder/pause.h"
#include "recorder/sampled.h"
#include "recorder/script_paths.h"
#include "recorder/shared.h"
#include "recorder/starter.h"
#include "recorder/step_wait.h"
#include "recorder/thread.h"
#include "recorder/trusted_peer.h"
#include "recorder/unseen.h"
#include "wire/write_watch.h"
#include "unwind/signal_lock.h"

/* The state of this process image, in memory that a fork wipes: PHASE_NEW with `state` set is the
 * child of a recorded process. */
enum phase { PHASE_NEW = 0, PHASE_BEGINNING, PHASE_ON };
enum { SESSION_STEP_MS = 20 }; /* between two looks at whether the collector lives */
struct state {
    _Atomic uint32_t phase;
    long pid;                /* a vfork child shares our memory but not our end */
    _Atomic uint32_t asking; /* a thread is in session_ask() */
};
static struct state *session_state;

static bool session_over;          /* recording is over for good, in children too */
static bool session_with_children; /* children are recorded too */
static char session_name[sizeof(((struct sockaddr_un *)0)->sun_path) - 1];

bool session_is_over(void)
{
    return __atomic_load_n(&session_over, __ATOMIC_RELAXED);
}

bool session_is_on(void)
{
    return session_state &&
           atomic_load_explicit(&session_state->phase, memory_order_acquire) == PHASE_ON &&
           !session_is_over();
}

void session_is_of_parent(void)
{
    atomic_store(&session_state->phase, PHASE_NEW);
}

void session_stop(void)
{
    __atomic_store_n(&session_over, true, __ATOMIC_RELAXED);
    /* this thread at once, the others at their next events */
    if (thread_current)
        thread_current->ring = NULL;
}

/* ---- Connecting ---- */

static int session_connect_to(const char *name)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t bytes = strcspn(name, ":");         /* the key is behind it */
    memcpy(address.sun_path + 1, name, bytes); /* [0] is NUL: an abstract name */
    struct timeval patience = {.tv_sec = 600}; /* thousands may be starting at once */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes);
    int status;
    do
        status = connect(fd, (struct sockaddr *)&address, length);
    while (status < 0 && errno == EINTR);
    if (status == 0 && trusted_peer(fd))
        return fd;
    close(fd);
    return -1;
}

/* Lets the collector read this process's memory. Only when a program begins, so that a tracer that
 * the program names later stays: a program that was attached to may have named one already. */
static void session_let_trace(uint32_t tracer)
{
    if (tracer && !permitted_calls_is_forbidden(CALL_TRACER))
        syscall(SYS_prctl, PR_SET_PTRACER, (unsigned long)tracer, 0ul, 0ul, 0ul);
}

/* Receives the welcome and its memfd; -1: this process is not recorded. */
static int session_receive_memory(int fd, enum wire_hello_reason reason)
{
    struct wire_welcome welcome = {0};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {&welcome, sizeof welcome};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t got;
    do
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (!header || header->cmsg_type != SCM_RIGHTS)
        return -1;
    int memory;
    memcpy(&memory, CMSG_DATA(header), sizeof memory);
    if (got == sizeof welcome && welcome.magic == WIRE_MAGIC && welcome.error == 0) {
        session_let_trace(reason == WIRE_HELLO_ATTACH ? 0 : welcome.tracer);
        return memory;
    }
    close(memory);
    return -1;
}

static struct wire_hello session_hello(const char *name, enum wire_hello_reason reason)
{
    struct wire_hello hello = {
        .magic = WIRE_MAGIC,
        .reason = reason,
        .parent = reason == WIRE_HELLO_FORK ? (uint32_t)getppid() : 0,
        .pages = PAGES,
    };
    const char *key = strchr(name, ':');
    if (key && strlen(key + 1) == sizeof hello.key)
        memcpy(hello.key, key + 1, sizeof hello.key);
    return hello;
}

static bool session_join(const char *name, enum wire_hello_reason reason)
{
    int fd = session_connect_to(name);
    if (fd < 0)
        return false;
    struct wire_hello hello = session_hello(name, reason);
    int memory = -1;
    if (send(fd, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello)
        memory = session_receive_memory(fd, reason);
    close(fd);
    if (memory < 0)
        return false;
    struct wire_header *header = shared_open(memory);
    close(memory);
    return header != NULL;
}

/* ---- Which pages are written ---- */

static void session_send_descriptor(int socket, const struct wire_hello *hello, int fd)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {(void *)(uintptr_t)hello, sizeof *hello};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    sendmsg(socket, &message, MSG_NOSIGNAL);
}

/* Not in a process with a seccomp filter, which may kill for an unknown system call. */
static void session_hand_over_watch(void)
{
    if (syscall(SYS_prctl, PR_GET_SECCOMP, 0ul, 0ul, 0ul, 0ul) != 0)
        return;
    int watch = write_watch_open();
    int socket = watch < 0 ? -1 : session_connect_to(session_name);
    if (socket >= 0) {
        struct wire_hello hello = session_hello(session_name, WIRE_HELLO_HEAT);
        session_send_descriptor(socket, &hello, watch);
        close(socket);
    }
    if (watch >= 0)
        close(watch);
}

/* ---- Of programs that are not recorded ---- */

bool session_follows(void)
{
    return session_state && session_with_children && !session_is_over() &&
           (atomic_load_explicit(&session_state->phase, memory_order_acquire) != PHASE_BEGINNING);
}

void session_say_unfollowed(enum wire_unfollowed kind, int difference)
{
    int fd = permitted_calls_is_forbidden(CALL_JOIN) ? -1 : session_connect_to(session_name);
    if (fd < 0)
        return;
    struct wire_hello hello = session_hello(session_name, WIRE_HELLO_UNFOLLOWED);
    hello.parent = (uint32_t)getppid();
    hello.unfollowed = (uint32_t)kind | (difference < 0 ? WIRE_TAKEN_BACK : 0);
    send(fd, &hello, sizeof hello, MSG_NOSIGNAL);
    close(fd);
}

/* ---- Options from the environment ---- */

static void session_drop_variable(const char *name)
{
    size_t bytes = strlen(name);
    char **to = environ;
    for (char **from = environ; from && *from; from++)
        if (strncmp(*from, name, bytes) != 0 || (*from)[bytes] != '=')
            *to++ = *from;
    if (to)
        *to = NULL;
}

static bool session_name_from_environment(void)
{
    const char *name = getenv(WIRE_SESSION_VARIABLE);
    if (!name || strlen(name) >= sizeof session_name)
        return false;
    strcpy(session_name, name);
    return true;
}

/* ---- Beginning ---- */

static const struct unwind_host host = {
    .map_private = private_map,
    .give_back = private_give_back,
    .map_nodes = shared_map_nodes,
    .publish_nodes = shared_publish_nodes,
#ifdef TIDEMARK_PAGES
    .saw_code = page_events_saw_code,
#else
    .saw_code = modules_saw_code,
#endif
    .module_of = modules_start,
    .map_kept = private_map_kept,
    .frame_of_code = bare_code_frame,
};

/* Registered before the program's exit handlers, so it runs after all of them. */
static void session_on_exit_handler(int status, void *unused)
{
    (void)unused;
    session_end(status);
}

/* musl tells no exit status. There our constructor is the first, and so our destructor is the
 * last. */
static bool session_ends_by_destructor;

__attribute__((destructor)) static void session_destructor(void)
{
    if (session_ends_by_destructor)
        session_end(SESSION_STATUS_UNKNOWN);
}

static int session_quick_exit_status;

static void session_quick_exit_handler(void)
{
    session_end(session_quick_exit_status);
}

void session_will_quick_exit(int status)
{
    session_quick_exit_status = status;
}

/* Removes our entries from LD_PRELOAD; the user's stay. Only one pointer changes, so other threads
 * may read the environment meanwhile. The old text stays. */
static void session_drop_from_preloads(void)
{
    char **entry = (char **)(uintptr_t)preloads_entry(environ);
    char *made = entry ? private_map_kept(strlen(*entry) + 1) : NULL;
    if (!made || !preloads_copy_others(made, *entry, wire_is_recorder_name))
        session_drop_variable("LD_PRELOAD");
    else
        __atomic_store_n(entry, made, __ATOMIC_RELEASE);
}

/* For a program that is recorded without its children: they must find neither the session nor the
 * library. */
static void session_hide_from_children(void)
{
    session_drop_variable(WIRE_SESSION_VARIABLE);
    session_drop_from_preloads();
    preloads_keep(NULL, NULL);
}

/* No emulator is smaller (the smallest of Debian's has 1.9 MB). The size is tested first, because
 * asking for the program's name takes a tenth of an exec. */
#define EMULATOR_BYTES ((uint64_t)1 << 20)

/* By the program headers, which are in memory. */
static uint64_t session_program_bytes(void)
{
    const ElfW(Phdr) *segments = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    uint64_t bytes = 0;
    for (size_t i = 0; segments && i < getauxval(AT_PHNUM); i++)
        if (segments[i].p_type == PT_LOAD)
            bytes += segments[i].p_memsz;
    return bytes;
}

const char *session_program_name(char *path, size_t room)
{
    long length = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, room - 1);
    path[length > 0 && (size_t)length < room - 1 ? length : 0] = '\0';
    return strrchr(path, '/');
}

/* qemu-aarch64 and the like give their environment to the program that they emulate. Its loader
 * would complain of our library, or load it into the emulation, with the emulator's process id. */
static bool session_program_is_emulator(void)
{
    static const char *const others[] = {"img", "io", "nbd", "ga"};
    char path[512];
    if (session_program_bytes() < EMULATOR_BYTES)
        return false;
    const char *name = session_program_name(path, sizeof path);
    if (!name || strncmp(name, "/qemu-", 6) != 0 || strchr(name + 6, '-'))
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name + 6, others[i]) == 0)
            return false;
    return true;
}

#define NO_SESSION "-"

/* Only pointers change, so other threads may read the environment meanwhile. */
void session_forbid_programs(void)
{
    static char forbidden[] = WIRE_SESSION_VARIABLE "=" NO_SESSION;
    for (char **entry = environ; entry && *entry; entry++)
        if (strncmp(*entry, forbidden, sizeof WIRE_SESSION_VARIABLE) == 0)
            __atomic_store_n(entry, forbidden, __ATOMIC_RELAXED);
}

static bool session_is_forbidden(void)
{
    const char *name = getenv(WIRE_SESSION_VARIABLE);
    return name && strcmp(name, NO_SESSION) == 0;
}

/* A setuid program would write files where its user says. The loader ignores LD_PRELOAD there, but
 * the program may be linked with our library. */
static bool session_is_privileged(void)
{
    return getauxval(AT_SECURE) != 0;
}

static void session_watch_exit(void)
{
    static bool watched;
    if (watched)
        return;
    watched = true;
    session_ends_by_destructor = !c_library_on_exit(session_on_exit_handler);
    c_library_on_quick_exit(session_quick_exit_handler);
    c_library_on_fork(forked_before, forked_in_parent, forked_in_child);
}

/* Finds the session: that of the environment; else one of our own, or that of an ancestor. */
static bool session_find(void)
{
    if (session_name_from_environment())
        return true;
    if (starter_may_start())
        return starter_start(session_name, sizeof session_name, true);
    return ancestors_session(session_name, sizeof session_name) &&
           strcmp(session_name, NO_SESSION) != 0;
}

/* `record` marks the paths that it preloads; preloaded by hand, only the recorder is ours. */
static bool session_is_ours(const char *path, size_t bytes)
{
    return wire_is_recorder_name(path, bytes) || wire_is_of_session_name(path, bytes);
}

static bool session_begin_first(void)
{
    if (session_is_privileged() || session_is_forbidden())
        return false;
    preloads_keep(environ, session_is_ours);
    session_state = private_map(sizeof *session_state);
    if (!session_state || !real_init())
        return false;
    atomic_store(&session_state->phase, PHASE_BEGINNING);
    thread_real_nests = !real_is_glibc();
    if (session_program_is_emulator())
        session_drop_from_preloads();
    if (!session_find() || !session_join(session_name, WIRE_HELLO_START))
        return false;
    session_watch_exit();
    fatal_signals_watch();
    return true;
}

static bool session_begin_in_child(void)
{
    thread_use_forget();
    return session_with_children && !permitted_calls_is_forbidden(CALL_JOIN) &&
           session_join(session_name, WIRE_HELLO_FORK);
}

/* The unwinder's mode for an enum wire_stacks. */
static enum unwind_mode session_mode_of(uint32_t stacks)
{
    return stacks == WIRE_STACKS_FP     ? UNWIND_FP
           : stacks == WIRE_STACKS_NONE ? UNWIND_NONE
                                        : UNWIND_CFI;
}

/* Not if another capture stands in front of the unwinder already. */
static void session_choose_capture(enum unwind_mode mode)
{
    if (thread_capture == unwind_capture || thread_capture == unwind_capture_caller)
        thread_capture = mode == UNWIND_NONE ? unwind_capture_caller : unwind_capture;
}

static bool session_begin_common(struct wire_header *header, bool begun_before)
{
    thread_sample_bytes = header->sample_bytes;
    bool adapts = thread_sample_bytes == WIRE_SAMPLE_ADAPTS;
    if (thread_sample_bytes && !(adapts ? sampled_follow() : sampled_begin()))
        return false;
    /* Lets the collector make all our threads pass a memory barrier (wire.h, "Rings"). */
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
    session_with_children = header->flags & WIRE_FLAG_FOLLOW;
    hooks_free_stacks = header->flags & WIRE_FLAG_FREE_STACKS;
    last_writes_begin(header->flags & WIRE_FLAG_HEAT && !thread_sample_bytes ? header->heat_ticks
                                                                             : 0);
    thread_timed = header->flags & WIRE_FLAG_TIMED;
    thread_real_watched = thread_real_nests || thread_timed;
    pools_begin(header->pool_function_count != 0);
    inherited_begin(session_with_children, begun_before);
    thread_see_plain();
    if (!begun_before && !session_with_children && !real_is_late())
        session_hide_from_children();
    atomic_store(&header->start_ticks, ticks_now());
    atomic_store(&header->node_count, 1);
    unwind_init(&host, session_mode_of(header->stacks), header->max_depth);
    session_choose_capture(session_mode_of(header->stacks));
    instrument_begin(&host, (enum wire_stacks)header->stacks, header->max_depth);
    check_begin(session_mode_of(header->stacks));
    unseen_tell_again();
    if (header->flags & WIRE_FLAG_HEAT)
        session_hand_over_watch();
    if (!begun_before) {
        bare_code_begin();
        families_begin();
        modules_saw_data();
    } else {
        modules_log_again();
        pause_go_on();
    }
#ifdef TIDEMARK_PAGES
    if (!begun_before && !page_events_begin())
        return false;
#endif
    return true;
}

static bool session_begin_recording(bool forked)
{
    bool joined = forked ? session_begin_in_child() : session_begin_first();
    return joined && session_begin_common(shared_header(), forked);
}

bool session_begin(void)
{
    uint32_t expected = PHASE_NEW;
    bool forked = session_state != NULL;
    if (forked &&
        !atomic_compare_exchange_strong(&session_state->phase, &expected, PHASE_BEGINNING)) {
        /* another thread is beginning the session */
        while (atomic_load(&session_state->phase) == PHASE_BEGINNING && !session_is_over())
            syscall(SYS_sched_yield);
        return session_is_on();
    }
    if (!session_begin_recording(forked)) {
        session_over = true;
        return false;
    }
    session_state->pid = syscall(SYS_getpid);
    atomic_store_explicit(&session_state->phase, PHASE_ON, memory_order_release);
    PROBE(begin, forked);
    return true;
}

/* Begins the session in programs that allocate nothing before main. It may not run earlier (-z
 * initfirst), because environ and exit handlers need an initialised C library. The loader runs this
 * before __libc_start_main registers its own exit handler, so ours runs after all destructors. */
__attribute__((constructor)) static void session_constructor(void)
{
    if (real_init() && real_is_late())
        session_over = true; /* until session_attach() */
    else if (!thread_current)
        thread_begin();
}

/* ---- In a program that runs already ---- */

/* A session without a living collector is over, even if no thread has noticed that. */
static int session_may_attach(void)
{
    if (!real_init())
        return -ENOSYS;
    if (!real_is_late())
        return -EEXIST;
    if (!session_state)
        return 0;
    return session_is_on() && session_collector_lives() ? -EALREADY : -ESTALE;
}

static bool session_name_of(const char *name)
{
    if (!name)
        return starter_start(session_name, sizeof session_name, false);
    if (strlen(name) >= sizeof session_name)
        return false;
    strcpy(session_name, name);
    return true;
}

int session_attach(const char *name)
{
    static bool before;
    int status = !name && session_is_privileged() ? -EPERM : session_may_attach();
    if (status != 0)
        return status;
    thread_real_nests = !real_is_glibc();
    if (!session_name_of(name) || !session_join(session_name, WIRE_HELLO_ATTACH))
        return -ECONNREFUSED;
    struct state *made = private_map(sizeof *made);
    inherited_forget();
    if (before)
        unseen_forget_pools();
    if (!made || !session_begin_common(shared_header(), before))
        return -ENOMEM;
    if (before)
        families_renew();
    before = true;
    locked_came_late();
    session_watch_exit();
    made->pid = syscall(SYS_getpid);
    atomic_store_explicit(&made->phase, PHASE_ON, memory_order_release);
    __atomic_store_n(&session_state, made, __ATOMIC_RELEASE);
    __atomic_store_n(&session_over, false, __ATOMIC_RELEASE);
    PROBE(begin, 0);
    return 0;
}

bool session_leave(void)
{
    struct wire_header *header = shared_header();
    if (!header || !session_is_on())
        return false;
    session_stop();
    atomic_store(&header->end_kind, WIRE_END_LEFT);
    session_wake_collector();
    return true;
}

int session_renew(void)
{
    if (!session_state)
        return 0;
    if (session_is_on() && session_collector_lives())
        return -EALREADY;
    if (!thread_renew())
        return -EAGAIN;
    session_over = true;
    session_state = NULL;
    names_renew();
    script_paths_renew();
    sampled_renew();
    shared_renew();
    unwind_init(&host, UNWIND_NONE, 0); /* so that the unwinder has no pointer to unmapped memory */
    return 0;
}

const void *session_state_word(void)
{
    struct wire_header *header = shared_header();
    return header ? &header->session_state : NULL;
}

/* ---- While it runs ---- */

static void session_futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

void session_wake_collector(void)
{
    struct wire_header *header = shared_header();
    if (header && !permitted_calls_is_forbidden(CALL_WAKE) && atomic_load(&header->asleep) &&
        atomic_exchange(&header->asleep, 0))
        session_futex_wake(&header->asleep, 1);
}

bool session_collector_lives(void)
{
    struct wire_header *header = shared_header();
    return header &&
           !(atomic_load_explicit(&header->collector, memory_order_relaxed) & FUTEX_OWNER_DIED) &&
           !atomic_load_explicit(&header->stop, memory_order_relaxed) &&
           atomic_load_explicit(&header->session_state, memory_order_relaxed) != WIRE_SESSION_SAFE;
}

/* ---- Requests ---- */

static bool session_wait_for_answer(struct wire_header *header, uint32_t number,
                                    unsigned patience_ms)
{
    struct step_wait wait = step_wait_begin(SESSION_STEP_MS);
    while (session_collector_lives()) {
        uint32_t answered = atomic_load_explicit(&header->answered, memory_order_acquire);
        if (answered == number)
            return true;
        if (step_wait_ms(&wait) >= patience_ms || permitted_calls_is_forbidden(CALL_WAIT))
            return false;
        session_wake_collector();
        step_wait_for(&wait, &header->answered, answered);
    }
    return false;
}

static void session_read_answer(const struct wire_answer *from, struct session_answer *answer)
{
    *answer = (struct session_answer){
        .current_bytes = atomic_load_explicit(&from->current_bytes, memory_order_relaxed),
        .peak_bytes = atomic_load_explicit(&from->peak_bytes, memory_order_relaxed),
        .total_bytes = atomic_load_explicit(&from->total_bytes, memory_order_relaxed),
        .count = atomic_load_explicit(&from->count, memory_order_relaxed),
        .live_count = atomic_load_explicit(&from->live_count, memory_order_relaxed),
        .mapped_bytes = atomic_load_explicit(&from->mapped_bytes, memory_order_relaxed),
        .mapped_peak_bytes = atomic_load_explicit(&from->mapped_peak_bytes, memory_order_relaxed),
        .resident_bytes = atomic_load_explicit(&from->resident_bytes, memory_order_relaxed),
        .resident_peak_bytes =
            atomic_load_explicit(&from->resident_peak_bytes, memory_order_relaxed)};
}

/* A request that was given up is still answered later; its number shows that the answer is not for
 * the next request. */
static int session_ask_collector(struct wire_header *header, enum wire_request request,
                                 uint32_t asker, unsigned patience_ms,
                                 struct session_answer *answer)
{
    uint32_t number = atomic_load_explicit(&header->asked, memory_order_relaxed) + 1;
    atomic_store_explicit(&header->request, request, memory_order_relaxed);
    atomic_store_explicit(&header->asker, asker, memory_order_relaxed);
    atomic_store(&header->asked, number);
    if (session_wait_for_answer(header, number, patience_ms)) {
        session_read_answer(&header->answer, answer);
        return 0;
    }
    return session_collector_lives() ? -ETIMEDOUT : -ENODATA;
}

int session_ask(enum wire_request request, uint32_t asker, unsigned patience_ms,
                struct session_answer *answer)
{
    int saved_errno = errno, status = -ENODATA;
    thread_use_begin();
    if (session_is_on() && session_collector_lives()) {
        while (atomic_exchange_explicit(&session_state->asking, 1, memory_order_acquire))
            signal_lock_let_others();
        status = session_ask_collector(shared_header(), request, asker, patience_ms, answer);
        atomic_store_explicit(&session_state->asking, 0, memory_order_release);
    }
    thread_use_end();
    errno = saved_errno;
    return status;
}

/* ---- The end ---- */

static bool session_may_exit(const struct wire_header *header)
{
    uint32_t reached = atomic_load(&header->session_state);
    return reached == WIRE_SESSION_SAFE ||
           (reached == WIRE_SESSION_LOOKED && !(header->flags & WIRE_FLAG_EXIT_WAITS));
}

/* May there be blocks to look for? A process that has recorded no call path has none. It has never
 * walked a stack either, and this walk alone would read the tables of our library and the C
 * library. */
static bool session_may_have_blocks(const struct wire_header *header)
{
    return header->stacks == WIRE_STACKS_NONE || atomic_load(&header->node_count) > 1;
}

/* Stores the registers of the caller of exit(), because a pointer may be in a register only. */
static void session_say_exit_caller(struct wire_header *header, const struct unwind_start *here)
{
    const uintptr_t exits[UNWIND_EXITS] = {(uintptr_t)real.quick_exit, (uintptr_t)exit};
    struct unwind_caller caller = unwind_caller_of_exit(here, exits);
    for (size_t i = 0; i < WIRE_KEPT_REGISTERS; i++)
        atomic_store(&header->exit_registers[i], caller.kept[i]);
    atomic_store(&header->exit_stack, caller.sp);
}

static void session_say_cut(struct wire_header *header, const struct session_cut *cut)
{
    for (size_t i = 0; i < WIRE_EXIT_REGISTERS; i++)
        atomic_store(&header->exit_registers[i], cut->registers[i]);
    atomic_store(&header->exit_stack, cut->stack);
}

/* Waits until the collector has looked at the process. Our exit handlers are the last, so the
 * program's memory does not change any more. `cut`: NULL at an exit. */
static __attribute__((noinline)) void session_wait_for_collector(struct wire_header *header,
                                                                 const struct session_cut *cut)
{
    struct step_wait wait = step_wait_begin(SESSION_STEP_MS);
    struct unwind_start here = UNWIND_START_HERE();
    if (cut)
        session_say_cut(header, cut);
    else if (session_may_have_blocks(header))
        session_say_exit_caller(header, &here);
    atomic_store(&header->exit_pointer, (uintptr_t)__builtin_frame_address(0));
    atomic_store(&header->exit_ticks, ticks_now());
    atomic_store(&header->exit_waiting, 1);
    while (step_wait_ms(&wait) < header->exit_wait_ms) {
        uint32_t reached = atomic_load(&header->session_state);
        if (session_may_exit(header) || !session_collector_lives() ||
            permitted_calls_is_forbidden(CALL_WAIT))
            return;
        session_wake_collector();
        step_wait_for(&wait, &header->session_state, reached);
    }
}

/* False also if a filter forbids to ask: the process then ends as if it had been killed. Without
 * the test the child of a vfork would record its end as its parent's. */
bool session_is_own_process(void)
{
    return session_is_on() && !permitted_calls_is_forbidden(CALL_PID | CALL_CLOCK) &&
           session_state->pid == syscall(SYS_getpid);
}

static void session_end_as(enum wire_end_kind kind, int status, const struct session_cut *cut)
{
    if (!session_is_own_process())
        return;
    if (kind != WIRE_END_SIGNAL)
        fatal_signals_prevail();
    struct wire_header *header = shared_header();
    int saved_errno = errno;
    PROBE(end, status);
    check_end();
    instrument_end();
    if (kind != WIRE_END_NONE) {
        atomic_store(&header->end_status, status);
        atomic_store(&header->end_kind, kind);
    }
    if (header->flags & (WIRE_FLAG_EXIT_WAITS | WIRE_FLAG_EXIT_LOOKED))
        session_wait_for_collector(header, cut);
    errno = saved_errno;
}

void session_end(int status)
{
    bool is_known = status != (int)SESSION_STATUS_UNKNOWN;
    session_end_as(is_known ? WIRE_END_EXIT : WIRE_END_NONE, status, NULL);
}

void session_end_by_signal(int number, const struct session_cut *cut)
{
    session_end_as(WIRE_END_SIGNAL, number, cut);
}
