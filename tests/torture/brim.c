/* Programs that use what they are allowed to the brim: one case for each limit. Each says how often
 * it got what it asked for, which must be as often as without us. */
#include "torture.h"
#include <limits.h>
#include <linux/capability.h>
#include <malloc.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

static void brim_limit(int resource, rlim_t soft, rlim_t hard)
{
    CHECK(!setrlimit((__rlimit_resource_t)resource, &(struct rlimit){soft, hard}));
}

/* root may exceed its limits; the rest of it stays root. */
static void brim_drop_capability(unsigned number)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    CHECK(!syscall(SYS_capget, &header, data));
    data[number / 32].effective &= ~(1u << number % 32);
    data[number / 32].permitted &= ~(1u << number % 32);
    CHECK(!syscall(SYS_capset, &header, data));
}

/* A number in a file of /proc. */
static unsigned long brim_number(const char *path, const char *format)
{
    char line[256];
    unsigned long number = 0;
    bool found = false;
    FILE *file = fopen(path, "r");
    CHECK(file);
    while (!found && fgets(line, sizeof line, file))
        found = sscanf(line, format, &number) == 1;
    CHECK(found && !fclose(file));
    return number;
}

/* How often: up to `most` times. */
static int brim_map_pages(int most, size_t bytes)
{
    int count = 0;
    while (count < most && mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                -1, 0) != MAP_FAILED)
        count++;
    return count;
}

/* ---- Locks: what is locked is the program's, and only that is counted ---- */

static atomic_bool brim_over;

static void *brim_wait_at_work(void *argument)
{
    torture_work(100);
    while (!brim_over)
        usleep(1000);
    return argument;
}

static unsigned long brim_locked_kib; /* while they last ran */

static int brim_start_threads(int most, size_t stack_bytes)
{
    pthread_t thread[64];
    pthread_attr_t attributes;
    int count = 0;
    CHECK(!pthread_attr_init(&attributes) && !pthread_attr_setstacksize(&attributes, stack_bytes));
    brim_over = false;
    while (count < most && !pthread_create(&thread[count], &attributes, brim_wait_at_work, NULL))
        count++;
    brim_locked_kib = brim_number("/proc/self/status", "VmLck: %lu");
    brim_over = true;
    for (int i = 0; i < count; i++)
        CHECK(!pthread_join(thread[i], NULL));
    return count;
}

enum { MEMLOCK_BYTES = 8 << 20 };

static void brim_prepare_locks(void)
{
    mallopt(M_ARENA_MAX, 1); /* an arena more or less would be as many threads */
    torture_work(100);
    brim_drop_capability(CAP_IPC_LOCK);
    brim_limit(RLIMIT_MEMLOCK, MEMLOCK_BYTES, MEMLOCK_BYTES);
}

static VICTIM void brim_descend(int depth)
{
    torture_freed(torture_counted(40));
    if (depth)
        brim_descend(depth - 1);
    barrier();
}

static void brim_memlock_future(void)
{
    brim_prepare_locks();
    errno = 0;
    CHECK(!mlockall(MCL_FUTURE) && errno == 0);
    printf("%d threads of half a MiB\n", brim_start_threads(12, 512 << 10));
    brim_descend(5000); /* new call paths: memory of the recorder's */
    brim_map_pages(INT_MAX, 4096);
    CHECK(errno == EAGAIN &&
          brim_number("/proc/self/status", "VmLck: %lu") == MEMLOCK_BYTES / 1024);
    brim_descend(5001);
}

static void brim_memlock_onfault(void)
{
    brim_prepare_locks();
    CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT));
    printf("%d threads of half a MiB\n", brim_start_threads(10, 256 << 10));
    CHECK(mlockall(MCL_ONFAULT) < 0 && errno == EINVAL);
    CHECK(!munlockall());
    torture_work(1000);
}

/* All that is the program's is locked, to the page. */
static void brim_memlock_current(void)
{
    brim_prepare_locks();
    void *mine = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mine != MAP_FAILED);
    CHECK(!mlockall(MCL_CURRENT));
    CHECK(brim_number("/proc/self/status", "VmLck: %lu") >= 1024);
    unsigned char in_memory;
    CHECK(!mincore(mine, 1, &in_memory) && in_memory & 1);
    brim_descend(1000);
    printf("%d half MiB locked behind it\n", !mlock(keep(malloc(512 << 10)), 512 << 10));
}

static void brim_memlock_both(void)
{
    brim_prepare_locks();
    for (int i = 0; i < 3; i++)
        CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE));
    printf("%d threads\n", brim_start_threads(5, 128 << 10));
    unsigned long of_five = brim_locked_kib;
    printf("%d threads", brim_start_threads(15, 128 << 10));
    printf(" lock %lu KiB more\n", brim_locked_kib - of_five); /* theirs alone */
    pid_t pid = fork(); /* locks are not inherited, nor is what we do about them */
    CHECK(pid >= 0);
    if (!pid) {
        brim_descend(2000);
        _exit(3);
    }
    CHECK(torture_wait(pid) == 3 << 8);
}

/* ---- Memory ---- */

static void brim_as(void)
{
    torture_work(1000);
    rlim_t most = brim_number("/proc/self/statm", "%lu") * 4096 + (64 << 20);
    brim_limit(RLIMIT_AS, most, RLIM_INFINITY);
    printf("%d MiB\n", brim_map_pages(100, 1 << 20));
    brim_limit(RLIMIT_AS, RLIM_INFINITY, RLIM_INFINITY);
}

static void brim_data(void)
{
    torture_work(1000);
    rlim_t most = brim_number("/proc/self/status", "VmData: %lu") * 1024 + (64 << 20);
    brim_limit(RLIMIT_DATA, most, RLIM_INFINITY);
    printf("%d MiB\n", brim_map_pages(100, 1 << 20));
    brim_limit(RLIMIT_DATA, RLIM_INFINITY, RLIM_INFINITY);
}

/* What is left of a stack where malloc is called last: 6 KiB is enough (doc/LIMITS.md). */
enum { STACK_BYTES = 64 << 10, STACK_LEFT = 6 << 10 };

static VICTIM void brim_use_stack(uintptr_t end)
{
    volatile char frame[256];
    frame[0] = frame[255] = 1;
    if ((uintptr_t)frame - end > STACK_LEFT + sizeof frame * 2)
        brim_use_stack(end);
    torture_freed(torture_counted(100));
    barrier();
}

static void *brim_stack_body(void *memory)
{
    brim_use_stack((uintptr_t)memory);
    return memory;
}

static void brim_stack(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    char *memory =
        mmap(NULL, 4096 + STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && !mprotect(memory, 4096, PROT_NONE));
    CHECK(!pthread_attr_init(&attributes) &&
          !pthread_attr_setstack(&attributes, memory + 4096, STACK_BYTES));
    CHECK(!pthread_create(&thread, &attributes, brim_stack_body, memory + 4096));
    CHECK(!pthread_join(thread, NULL));
}

/* ---- Descriptors, processes, signals, queues ---- */

static void brim_nofile(void)
{
    int count = 0;
    torture_work(100);
    closefrom(3);
    brim_limit(RLIMIT_NOFILE, 20, 20);
    while (open("/dev/null", O_RDONLY) >= 0)
        count++;
    printf("%d files, then %s\n", count, strerrorname_np(errno));
    torture_work(1000);
    closefrom(3);
}

/* A user of our own, so that nobody else's processes count. */
static void brim_become_somebody(void)
{
    uid_t somebody = 70000 + (uid_t)getpid() % 100000;
    if (geteuid() != 0)
        TORTURE_SKIP("only root can become a user that has no other processes");
    CHECK(!setresgid(somebody, somebody, somebody) && !setresuid(somebody, somebody, somebody));
}

static void brim_nproc(void)
{
    enum { MOST = 12 };
    int ends[2], count = 0, status;
    torture_work(100);
    CHECK(!pipe(ends));
    brim_become_somebody();
    brim_limit(RLIMIT_NPROC, MOST, MOST);
    pid_t pid;
    while (count < 2 * MOST && (pid = fork()) >= 0) {
        if (!pid) {
            char byte;
            close(ends[1]);
            torture_work(10);
            _exit(read(ends[0], &byte, 1) == 0 ? 4 : 5);
        }
        count++;
    }
    printf("%d processes, then %s\n", count, strerrorname_np(errno));
    close(ends[1]);
    for (int i = 0; i < count; i++)
        CHECK(wait(&status) > 0 && status == 4 << 8);
    victim_fact("unfollowed", 1);
}

static void brim_sigpending(void)
{
    int count = 0;
    sigset_t one;
    torture_work(1000);
    if (geteuid() == 0)
        brim_become_somebody(); /* the limit is a user's: other tests' signals would count */
    CHECK(!sigemptyset(&one) && !sigaddset(&one, SIGRTMIN) && !sigprocmask(SIG_BLOCK, &one, NULL));
    rlim_t most = brim_number("/proc/self/status", "SigQ: %lu") + 16;
    brim_limit(RLIMIT_SIGPENDING, most, most);
    while (count < 100 && !sigqueue(getpid(), SIGRTMIN, (union sigval){count}))
        count++;
    printf("%d signals, then %s\n", count, strerrorname_np(errno));
    torture_work(1000);
}

static void brim_msgqueue(void)
{
    struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 1024};
    char name[64];
    int count = 0;
    torture_work(100);
    brim_become_somebody();
    brim_limit(RLIMIT_MSGQUEUE, 32768, 32768);
    for (; count < 32; count++) {
        snprintf(name, sizeof name, "/tidemark-%d-%d", (int)getpid(), count);
        if (mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes) < 0)
            break;
        mq_unlink(name);
    }
    if (count == 0 && errno == ENOSYS)
        TORTURE_SKIP("no message queues");
    printf("%d queues, then %s\n", count, strerrorname_np(errno));
    victim_fact("unfollowed", 1);
}

/* ---- Files, time, cores ---- */

static void brim_fsize(void)
{
    char block[4096] = "";
    int file = memfd_create("brim", MFD_CLOEXEC), count = 0;
    torture_work(100);
    signal(SIGXFSZ, SIG_IGN);
    brim_limit(RLIMIT_FSIZE, 1 << 16, RLIM_INFINITY);
    while (count < 100 && write(file, block, sizeof block) == sizeof block)
        count++;
    printf("%d blocks, then %s\n", count, strerrorname_np(errno));
    brim_descend(2000); /* new memory of ours */
    pid_t pid = fork(); /* and all of it */
    CHECK(pid >= 0);
    if (!pid) {
        torture_work(1000);
        _exit(6);
    }
    CHECK(torture_wait(pid) == 6 << 8);
    brim_limit(RLIMIT_FSIZE, RLIM_INFINITY, RLIM_INFINITY);
}

/* A second is a second, whose ever it is: what is the same is what comes of it. */
static volatile sig_atomic_t brim_times_over;

static void brim_time_is_over(int number)
{
    (void)number;
    brim_times_over++;
}

static void brim_cpu(void)
{
    signal(SIGXCPU, brim_time_is_over);
    brim_limit(RLIMIT_CPU, 1, 60);
    while (!brim_times_over)
        free(keep(malloc(100)));
    printf("time is over\n");
}

/* A core has what a core without us has: nothing of ours takes part in what the limit lets through.
 * In /proc/PID/smaps "dd" is what stays out. */
static void brim_core(void)
{
    char line[512];
    unsigned long start, end;
    bool shared = false;
    int dumped = 0;
    brim_descend(5000);
    FILE *maps = fopen("/proc/self/smaps", "r");
    CHECK(maps);
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
            shared = strstr(line, "/memfd:") != NULL;
        else if (shared && !strncmp(line, "VmFlags:", 8))
            dumped += !strstr(line, " dd");
    }
    fclose(maps);
    printf("%d files in memory would be in a core\n", dumped);
}

static void brim_inherited(void)
{
    torture_work(1000);
    printf("%d threads\n", brim_start_threads(3, 64 << 10));
}

int main(int argc, char **argv)
{
    static const struct torture_case cases[] = {
        {"brim_memlock_future", brim_memlock_future},
        {"brim_memlock_onfault", brim_memlock_onfault},
        {"brim_memlock_current", brim_memlock_current},
        {"brim_memlock_both", brim_memlock_both},
        {"brim_as", brim_as},
        {"brim_data", brim_data},
        {"brim_stack", brim_stack},
        {"brim_nofile", brim_nofile},
        {"brim_nproc", brim_nproc},
        {"brim_sigpending", brim_sigpending},
        {"brim_msgqueue", brim_msgqueue},
        {"brim_fsize", brim_fsize},
        {"brim_cpu", brim_cpu},
        {"brim_core", brim_core},
        {"brim_inherited", brim_inherited},
        {NULL, NULL},
    };
    return torture_main(argc, argv, cases);
}
