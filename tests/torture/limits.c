/* Programs that have little of something, or ask for more than there is. */
#include "torture.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- More than there is ---- */

static void huge(void)
{
    static const size_t sizes[] = {
        SIZE_MAX,        SIZE_MAX - 4096, (size_t)PTRDIFF_MAX + 1, PTRDIFF_MAX,
        (size_t)1 << 60, (size_t)1 << 56, ((size_t)1 << 56) - 1,   (size_t)1 << 48,
        (size_t)1 << 47};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CHECK(!torture_counted(sizes[i]));
        CHECK(!keep(calloc(sizes[i], 2)) && !keep(realloc(NULL, sizes[i])));
        CHECK(!keep(aligned_alloc(4096, sizes[i] & ~(size_t)4095)));
        void *block = keep(malloc(10)), *kept = keep(block); /* a failed realloc leaves it */
        CHECK(!keep(realloc(block, sizes[i])) && errno == ENOMEM);
        CHECK(!keep(reallocarray(kept, sizes[i], 16)));
        free(keep(kept));
    }
    /* A terabyte that nobody touches, where the kernel lends it. */
    void *lent = torture_counted((size_t)1 << 40);
    printf("a terabyte: %s\n", lent ? "lent" : "refused");
    torture_freed(lent);
    for (int i = 0; i < 200; i++) { /* each a mapping of its own, and touched */
        char *block = (char *)torture_counted(5 << 20);
        CHECK(block);
        block[0] = block[(5 << 20) - 1] = 1;
        torture_freed(block);
    }
}

/* Allocates until there is no more, gives back, again: failures in every hook and every size. */
static void limit_memory(rlim_t more_bytes)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%lu", &pages) == 1 && !fclose(file));
    struct rlimit limit = {pages * 4096 + more_bytes, RLIM_INFINITY};
    CHECK(!setrlimit(RLIMIT_AS, &limit));
}

static void *exhaust(void *argument)
{
    enum { MOST = 4096 };
    static _Thread_local void *block[MOST];
    for (int round = 0; round < torture_times(10); round++) {
        int count = 0;
        for (size_t size = 4 << 20; size >= 4096; size /= 2)
            while (count < MOST && (block[count] = torture_counted(size)))
                count++;
        void *small = keep(malloc(24)); /* there may be room for it, and for this */
        small = small ? keep(realloc(small, 1 << 30)) : NULL;
        CHECK(!small);
        while (count)
            torture_freed(block[--count]);
    }
    return argument;
}

static void no_limit(void)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    CHECK(!setrlimit(RLIMIT_AS, &limit));
}

static void enomem(void)
{
    torture_work(100);
    limit_memory(64 << 20);
    exhaust(NULL);
    no_limit();
    torture_work(100);
}

/* New threads, new call paths, all while nothing can be mapped: what the recorder cannot note for
 * want of memory is lost, counted, and the program never knows. */
static VICTIM void descend(int depth)
{
    torture_freed(torture_counted(40));
    if (depth)
        descend(depth - 1);
    barrier();
}

/* Has a thread an arena of its own? What is measured before that would leave it out, and then even the
 * bare program would run out of addresses at times. */
static _Atomic bool starved_has_arena;

static void *starved_body(void *argument)
{
    for (int i = 0; i < 4; i++) {
        descend(400);
        starved_has_arena = true;
    }
    return argument;
}

static void starved(void)
{
    pthread_t thread[16];
    pthread_attr_t attributes;
    CHECK(!pthread_attr_init(&attributes) && !pthread_attr_setstacksize(&attributes, 256 * 1024));
    torture_work(100);
    for (int i = 0; i < 16; i++) {
        CHECK(!pthread_create(&thread[i], &attributes, starved_body, NULL));
        while (!starved_has_arena)
            sched_yield();
        if (i == 0)
            limit_memory(16 * (512 << 10) + (16 << 20)); /* stacks and arenas, not rings */
    }
    for (int i = 0; i < 16; i++)
        CHECK(!pthread_join(thread[i], NULL));
    no_limit();
    torture_work(100);
    victim_fact("may_lose", 1);
}

/* ---- Little from the beginning (run.sh sets the limits before it starts) ---- */

static void *work_in_thread(void *argument)
{
    torture_work(1000);
    return argument;
}

static void plain(void)
{
    torture_work(1000);
    pthread_t thread;
    if (!pthread_create(&thread, NULL, work_in_thread, NULL))
        CHECK(!pthread_join(thread, NULL));
    else
        puts("no thread");
    pid_t pid = fork();
    if (!pid) {
        torture_work(1000);
        _exit(3);
    }
    if (pid > 0)
        CHECK(torture_wait(pid) == 3 << 8);
    else
        puts("no process");
    torture_work(1000);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}); /* for the facts */
}

/* No limits, but facts may be short of some: descriptors are all taken. */
static void no_descriptors(void)
{
    torture_work(100);
    int taken = 0;
    struct rlimit limit;
    CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
    while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
        taken++;
    CHECK(errno == EMFILE);
    torture_work(1000);
    pthread_t thread; /* a new ring, new memory */
    CHECK(!pthread_create(&thread, NULL, work_in_thread, NULL) && !pthread_join(thread, NULL));
    pid_t pid = fork(); /* no descriptor to connect with: it is not recorded, and does not suffer */
    CHECK(pid >= 0);
    if (!pid) {
        torture_work(1000);
        _exit(4);
    }
    CHECK(torture_wait(pid) == 4 << 8);
    closefrom(3);
    victim_fact("unfollowed", 1);
}

/* ---- Filters ---- */

#define ALLOW(name)                                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                         \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void filter(const struct sock_filter *rules, size_t count)
{
    struct sock_fprog program = {(unsigned short)count, (struct sock_filter *)rules};
    CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        TORTURE_SKIP("no filter may be set");
}

/* What a worker that computes would be left with. Everything else fails (`kill` is false) or
 * kills. */
static void compute_only(bool kills)
{
    /* clang-format off */
    const struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(read), ALLOW(write), ALLOW(close), ALLOW(brk), ALLOW(mmap), ALLOW(munmap), ALLOW(mprotect),
        ALLOW(mremap), ALLOW(madvise), ALLOW(futex), ALLOW(rt_sigprocmask), ALLOW(rt_sigreturn), ALLOW(rt_sigaction),
        ALLOW(exit_group), ALLOW(exit), ALLOW(getpid), ALLOW(gettid), ALLOW(sched_yield), ALLOW(clone),
        ALLOW(clone3), ALLOW(set_robust_list), ALLOW(rseq), ALLOW(newfstatat), ALLOW(openat), ALLOW(tgkill),
        ALLOW(getrandom), ALLOW(wait4),
        BPF_STMT(BPF_RET | BPF_K, kills ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM),
    };
    /* clang-format on */
    filter(rules, sizeof rules / sizeof *rules);
}

static void filtered_work(bool kills)
{
    torture_work(1000);
    compute_only(kills);
    torture_work(100000); /* the collector must be woken, a ring goes round */
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, work_in_thread, NULL) && !pthread_join(thread, NULL));
}

static void seccomp_errno(void)
{
    filtered_work(false);
}

static void seccomp_kill(void)
{
    filtered_work(true);
}

/* A child that may not make sockets is not recorded, and goes on. */
static void seccomp_child(void)
{
    torture_work(1000);
    compute_only(false);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) {
        torture_work(1000);
        _exit(5);
    }
    CHECK(torture_wait(pid) == 5 << 8);
    torture_work(1000);
    victim_fact("unfollowed", 1);
}

/* ---- Filters that leave next to nothing, and kill ---- */

/* For its own output, its break, and the facts. */
/* clang-format off */
static const struct sock_filter strict_rules[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(read), ALLOW(write), ALLOW(close), ALLOW(openat), ALLOW(newfstatat), ALLOW(brk),
    ALLOW(exit_group), ALLOW(rt_sigreturn),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
/* clang-format on */
static const struct sock_fprog strict_filter = {sizeof strict_rules / sizeof *strict_rules,
                                                (struct sock_filter *)strict_rules};

/* A ring goes round many times, its collector asleep at first; the stack grows by pages; paths are
 * new. */
static VICTIM void work_deeper(int depth)
{
    torture_work(20);
    if (depth)
        work_deeper(depth - 1);
    barrier();
}

static void strict_work(void)
{
    torture_work(300000);
    work_deeper(5000);
}

static void before_strict(void)
{
    torture_work(1000);
    usleep(200 * 1000); /* the collector sleeps */
    CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

static void seccomp_strict(void)
{
    before_strict();
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &strict_filter))
        TORTURE_SKIP("no filter may be set");
    strict_work();
}

/* As libseccomp does it. */
static void seccomp_strict_syscall(void)
{
    before_strict();
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &strict_filter))
        TORTURE_SKIP("no filter may be set");
    strict_work();
}

/* ---- No clock ----
 * One thread forbids itself the processor's clock and lives on; reading it would be its death. */

enum { CLOCKLESS_BLOCKS = 1000 };

static void clockless_work(void)
{
    for (int i = 0; i < CLOCKLESS_BLOCKS; i++)
        free(keep(malloc(16 + (size_t)i)));
    void *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    pages = mremap(pages, 8192, 16384, MREMAP_MAYMOVE);
    CHECK(pages != MAP_FAILED && !munmap(pages, 16384));
}

/* Kills for mmap(), too, as for all but read, write, exit and sigreturn. */
static void *clockless_strict(void *argument)
{
    void *small[64];
    for (int i = 0; i < 64; i++)
        free(keep(malloc(100))); /* the C library has all it needs */
    CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
    for (int i = 0; i < 64; i++)
        small[i] = keep(malloc(64));
    for (int i = 0; i < 64; i++)
        free(small[i]);
    syscall(SYS_exit, 0);
    return argument;
}

static void *clockless_begun(void *argument)
{
    clockless_work();
    return argument;
}

static void *clockless_in_thread(void *argument)
{
    pthread_t thread;
    torture_work(100);
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
        return NULL; /* no such clock here */
    clockless_work();
    CHECK(!pthread_create(&thread, NULL, clockless_begun, argument));
    CHECK(!pthread_join(thread, NULL));
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) {
        clockless_work();
        _exit(5);
    }
    CHECK(torture_wait(pid) == 5 << 8);
    return NULL;
}

static void clockless_thread(void *(*begin)(void *))
{
    pthread_t thread;
    torture_work(1000);
    CHECK(!pthread_create(&thread, NULL, begin, NULL));
    CHECK(!pthread_join(thread, NULL));
    torture_work(1000);
    victim_fact("may_lose", 1);
}

/* ---- Calls that are dispatched to the program ----
 * As Wine does: what is not called from the C library's code is a signal. */

static volatile char dispatch_selector;
static volatile int dispatched;

static void dispatch_count(int number)
{
    (void)number;
    dispatched++;
}

static void dispatch_begin(void)
{
    unsigned long start = 0, end = 0;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "libc.so") && strstr(line, "r-x"))
            sscanf(line, "%lx-%lx", &start, &end);
    CHECK(maps && !fclose(maps));
    CHECK(signal(SIGSYS, dispatch_count) != SIG_ERR);
    if (prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1ul, start, end - start, &dispatch_selector))
        TORTURE_SKIP("calls cannot be dispatched");
}

static void dispatch(void)
{
    torture_work(1000);
    dispatch_begin();
    dispatch_selector = 1;
    strict_work();
    dispatch_selector = 0;
    torture_work(1000);
    printf("calls of others: %d\n", dispatched);
}

static void seccomp_mode_strict(void)
{
    clockless_thread(clockless_strict);
}

static void no_clock(void)
{
    clockless_thread(clockless_in_thread);
}

/* All but the calls by which the recorder's library would connect: what is executed under it, and
 * what is forked, lives unrecorded. */
static void seccomp_helpers(void)
{
    const struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    torture_work(1000);
    filter(rules, sizeof rules / sizeof *rules);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) {
        torture_work(1000);
        _exit(6);
    }
    CHECK(torture_wait(pid) == 6 << 8);
    CHECK(system("exit 7") == 7 << 8);
    torture_work(1000);
    victim_fact("unfollowed", 1);
}

/* ---- Descriptors are closed from under us, all of them, in threads ---- */

static void *close_all(void *argument)
{
    for (int i = 0; i < 50; i++) {
        CHECK(!syscall(SYS_close_range, 3u, ~0u, 0u));
        torture_work(100);
    }
    return argument;
}

static void close_range_threads(void)
{
    victim_in_threads(4, close_all);
    CHECK(!syscall(SYS_close_range, 3u, ~0u, 2u /* CLOSE_RANGE_UNSHARE */));
    torture_work(1000);
}

int main(int argc, char **argv)
{
    static const struct torture_case cases[] = {
        {"huge", huge},
        {"enomem", enomem},
        {"starved", starved},
        {"plain", plain},
        {"no_descriptors", no_descriptors},
        {"seccomp_errno", seccomp_errno},
        {"seccomp_kill", seccomp_kill},
        {"seccomp_child", seccomp_child},
        {"seccomp_strict", seccomp_strict},
        {"seccomp_strict_syscall", seccomp_strict_syscall},
        {"seccomp_mode_strict", seccomp_mode_strict},
        {"no_clock", no_clock},
        {"dispatch", dispatch},
        {"seccomp_helpers", seccomp_helpers},
        {"close_range_threads", close_range_threads},
        {NULL, NULL},
    };
    return torture_main(argc, argv, cases);
}
