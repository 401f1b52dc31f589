/* Calls with pointers that lead nowhere. The kernel answers with EFAULT, and a recorder that reads
 * what the pointers lead to before the kernel does would crash. Each call is made in a child, by
 * fork or vfork or from a signal handler, which ends with errno; 0 is /bin/true's. run.sh compares
 * what is printed with the bare run's. */
#include "torture.h"
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>

extern char **environ;

/* ---- Memory with an end ---- */

/* The `bytes` before a page that nobody may read. */
static char *before_the_end(size_t bytes)
{
    size_t pages = (bytes + 65535) / 65536 * 65536;
    char *memory = (char *)mmap(NULL, pages + 65536, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && !mprotect(memory + pages, 65536, PROT_NONE));
    return memory + pages - bytes;
}

static size_t variables_of(char *const *environment)
{
    size_t count = 0;
    while (environment[count])
        count++;
    return count;
}

/* `first`, and then our environment; without a NULL it runs into the end. */
static char **environment_of(const char *first, bool has_null)
{
    size_t count = variables_of(environ);
    char **made = (char **)before_the_end((count + 1 + has_null) * sizeof *made);
    made[0] = (char *)(uintptr_t)first;
    memcpy(made + 1, environ, (count + has_null) * sizeof *made);
    return made;
}

static char *text_without_end(const char *text)
{
    return (char *)memcpy(before_the_end(strlen(text)), text, strlen(text));
}

/* At an odd address, as the kernel permits. */
static char **environment_askew(void)
{
    size_t bytes = (variables_of(environ) + 1) * sizeof *environ;
    return (char **)memcpy((char *)malloc(bytes + 1) + 1, environ, bytes);
}

/* ---- What is tried ---- */

struct pointers {
    const char *name;
    const char *path;
    char **arguments, **environment;
};

static char *true_arguments[] = {(char *)"true", NULL};
static char *no_arguments[] = {NULL};

static void see_pointers(void (*see)(const struct pointers *pointers))
{
    char *bad[] = {(char *)8, NULL}, **nowhere = (char **)8, **kernel = (char **)-4096L;
    const struct pointers all[] = {
        {"good", "/bin/true", true_arguments, environ},
        {"no environment", "/bin/true", true_arguments, NULL},
        {"environment at 8", "/bin/true", true_arguments, nowhere},
        {"environment of the kernel", "/bin/true", true_arguments, kernel},
        {"environment of -1", "/bin/true", true_arguments, (char **)-1L},
        {"environment with a bad entry", "/bin/true", true_arguments,
         environment_of((const char *)8, true)},
        {"environment without NULL", "/bin/true", true_arguments, environment_of("A=1", false)},
        {"environment without NULL, LD_PRELOAD first", "/bin/true", true_arguments,
         environment_of("LD_PRELOAD=libm.so.6", false)},
        {"environment at the end of a page", "/bin/true", true_arguments,
         environment_of("A=1", true)},
        {"entry without NUL", "/bin/true", true_arguments,
         environment_of(text_without_end("A"), true)},
        {"LD_PRELOAD without NUL", "/bin/true", true_arguments,
         environment_of(text_without_end("LD_PRELOAD=libm.so.6"), true)},
        {"half of LD_PRELOAD", "/bin/true", true_arguments,
         environment_of(text_without_end("LD_PREL"), true)},
        {"environment askew", "/bin/true", true_arguments, environment_askew()},
        {"NULL as arguments", "/bin/true", NULL, environ},
        {"no arguments", "/bin/true", no_arguments, environ},
        {"arguments at 8", "/bin/true", nowhere, environ},
        {"a bad argument", "/bin/true", bad, environ},
        {"no such file, and no environment", "/no/such", true_arguments, nowhere},
        {"path at 8", (const char *)8, true_arguments, environ},
        {"path NULL", NULL, true_arguments, environ},
        {"path without NUL", text_without_end("/bin/true"), true_arguments, environ},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        see(&all[i]);
}

/* ---- How it is executed ---- */

static void by_execve(const struct pointers *with)
{
    execve(with->path, with->arguments, with->environment);
}

static void by_execv(const struct pointers *with)
{
    environ = with->environment;
    execv(with->path, with->arguments);
}

/* The C library reads the name before the kernel does: a bad one ends the child, bare too. */
static void by_execvpe(const struct pointers *with)
{
    execvpe(with->path, with->arguments, with->environment);
}

static void by_fexecve(const struct pointers *with)
{
    int file = open("/bin/true", O_RDONLY | O_CLOEXEC);
    fexecve(file, with->arguments, with->environment);
}

static void by_spawn(const struct pointers *with)
{
    pid_t pid = 0;
    errno = posix_spawn(&pid, with->path, NULL, NULL, with->arguments, with->environment);
    if (!errno)
        _exit(torture_wait(pid) != 0);
}

/* The name is searched in the new process, which ends if it cannot be read. */
static void by_spawnp(const struct pointers *with)
{
    pid_t pid = 0;
    errno = posix_spawnp(&pid, with->path, NULL, NULL, with->arguments, with->environment);
    if (!errno)
        _exit(torture_wait(pid) ? 100 : 0);
}

static void by_system(const struct pointers *with)
{
    environ = with->environment;
    int status = system(with->path);
    _exit(status == -1 ? errno : WEXITSTATUS(status));
}

static void by_popen(const struct pointers *with)
{
    environ = with->environment;
    FILE *pipe = popen(with->path, "r");
    if (pipe)
        _exit(WEXITSTATUS(pclose(pipe)));
}

static void tell(const char *how, const struct pointers *with, int status)
{
    if (WIFSIGNALED(status))
        printf("%s, %s: signal %d\n", how, with->name, WTERMSIG(status));
    else
        printf("%s, %s: %s\n", how, with->name,
               WEXITSTATUS(status) == 100 ? "child ended" : strerrorname_np(WEXITSTATUS(status)));
    fflush(stdout);
}

/* `name` is searched for in see_with(). */
static const struct way {
    const char *name;
    void (*call)(const struct pointers *with);
    bool in_vfork; /* it changes nothing of its parent's */
} ways[] = {
    {"execve", by_execve, true},      {"execv", by_execv, false},
    {"execvpe", by_execvpe, true},    {"fexecve", by_fexecve, true},
    {"posix_spawn", by_spawn, false}, {"posix_spawnp", by_spawnp, false},
    {"system", by_system, false},     {"popen", by_popen, false},
};
static const struct way *way;

static void see_by_fork(const struct pointers *with)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) {
        errno = 0;
        way->call(with);
        _exit(errno);
    }
    tell(way->name, with, torture_wait(pid));
}

static void see_by_vfork(const struct pointers *with)
{
    pid_t pid = vfork();
    if (!pid) {
        errno = 0;
        way->call(with);
        _exit(errno);
    }
    tell(way->name, with, torture_wait(pid));
}

static void bad_pointers(void)
{
    torture_work(100);
    for (way = ways; way < ways + sizeof ways / sizeof *ways; way++)
        see_pointers(see_by_fork);
    torture_work(100);
    victim_fact("unfollowed", 1);
}

static void bad_pointers_vfork(void)
{
    torture_work(100);
    for (way = ways; way < ways + sizeof ways / sizeof *ways; way++)
        if (way->in_vfork)
            see_pointers(see_by_vfork);
    torture_work(100);
    victim_fact("unfollowed", 1);
}

/* ---- Other calls ---- */

static void tell_call(const char *what, bool failed)
{
    printf("%s: %s\n", what, failed ? strerrorname_np(errno) : "done");
}

#define TELL(call, failure)                                                                        \
    do {                                                                                           \
        errno = 0;                                                                                 \
        bool failed_ = (call) == (failure);                                                        \
        tell_call(#call, failed_);                                                                 \
    } while (0)

/* Each of these fails before it reads. */
static void bad_pointers_else(void)
{
    void *nowhere = (void *)8;
    volatile size_t most = SIZE_MAX;
    const int no_mode = 0x4000000;
    torture_work(100);
    TELL(dlopen((const char *)nowhere, no_mode), NULL);
    TELL(dlopen("./no\xff$such", RTLD_NOW), NULL);
    TELL(sigaltstack((const stack_t *)nowhere, NULL), -1);
    TELL(sigaltstack(NULL, (stack_t *)nowhere), -1);
    TELL(prctl(PR_SET_NAME, nowhere), -1);
    TELL(prctl(PR_SET_SECCOMP, 2, nowhere), -1);
    TELL(syscall(SYS_seccomp, 1, 0, nowhere), -1L);
    TELL(syscall(SYS_execve, "/bin/true", nowhere, nowhere), -1L);
    TELL(munmap(nowhere, 4096), -1);
    TELL(mremap(nowhere, 4096, 8192, 0), MAP_FAILED);
    TELL(mprotect(nowhere, 4096, PROT_READ), -1);
    TELL(madvise(nowhere, 4096, MADV_DONTNEED), -1);
    TELL(shmdt(nowhere), -1);
    TELL(shmat(-1, nowhere, 0), MAP_FAILED);
    TELL(brk(nowhere), -1);
    TELL(reallocarray(keep(nowhere), most, 2), NULL);
    errno = posix_memalign((void **)nowhere, 3, 10);
    tell_call("posix_memalign", errno);
    torture_work(100);
}

/* ---- As much as fits ---- */

/* The child's arguments are texts of 1000 bytes and one of what is left. */
static bool fits(size_t bytes, char *const *environment)
{
    static char text[1001], last[1001];
    char *arguments[512] = {(char *)"true"};
    size_t count = 1;
    memset(text, 'a', 1000);
    for (; bytes > 1000; bytes -= 1000)
        arguments[count++] = text;
    memset(last, 'b', bytes);
    last[bytes] = 0;
    arguments[count] = last;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) {
        execve("/bin/true", arguments, environment);
        _exit(errno == E2BIG ? 1 : 2);
    }
    int status = torture_wait(pid);
    CHECK(status == 0 || status == 1 << 8);
    return status == 0;
}

static size_t most_that_fits(char *const *environment)
{
    size_t most = 0, too_much = 256 * 1024;
    while (too_much - most > 1) {
        size_t bytes = (most + too_much) / 2;
        *(fits(bytes, environment) ? &most : &too_much) = bytes;
    }
    return most;
}

/* What differs between the runs of run.sh is left out, and our list of libraries if `first` is
 * another. */
static char **same_environment(const char *first)
{
    size_t count = 0;
    char **made = (char **)malloc((variables_of(environ) + 2) * sizeof *made);
    if (first)
        made[count++] = (char *)(uintptr_t)first;
    for (char **entry = environ; *entry; entry++)
        if (strncmp(*entry, "VICTIM_FACTS=", 13) && strncmp(*entry, "_=", 2) &&
            !(first && strncmp(*entry, "LD_PRELOAD=", 11) == 0))
            made[count++] = *entry;
    made[count] = NULL;
    return made;
}

/* Arguments and environment may have 128 KiB together, if the stack has 512. */
static void exec_to_the_brim(void)
{
    struct rlimit limit;
    torture_work(100);
    CHECK(!getrlimit(RLIMIT_STACK, &limit));
    limit.rlim_cur = 512 * 1024;
    CHECK(!setrlimit(RLIMIT_STACK, &limit));
    printf("%zu bytes fit\n", most_that_fits(same_environment(NULL)));
    printf("%zu with another list of libraries\n",
           most_that_fits(same_environment("LD_PRELOAD=libm.so.6")));
    torture_work(100);
    victim_fact("unfollowed", 1);
}

/* ---- Small stacks ---- */

static void tell_small(const char *what, int status)
{
    printf("%s: %s %d\n", what, WIFSIGNALED(status) ? "signal" : "status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    fflush(stdout);
}

/* What crash handlers do. */
static void execute_in_handler(int signal)
{
    (void)signal;
    pid_t pid = fork();
    if (!pid) {
        execlp("true", "true", (char *)NULL);
        _exit(99);
    }
    _exit(pid > 0 && torture_wait(pid) == 0 ? 0 : 98);
}

static void exec_in_handler(void)
{
    enum { BYTES = 8192 }; /* SIGSTKSZ, of programs that were compiled some years ago */
    torture_work(100);
    stack_t stack = {.ss_sp = before_the_end(BYTES), .ss_size = BYTES};
    struct sigaction action = {.sa_handler = execute_in_handler, .sa_flags = SA_ONSTACK};
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) {
        CHECK(!mprotect((char *)stack.ss_sp - 4096, 4096, PROT_NONE));
        if (sigaltstack(&stack, NULL))
            _exit(97);
        CHECK(!sigaction(SIGUSR1, &action, NULL));
        raise(SIGUSR1);
    }
    tell_small("in a handler", torture_wait(pid));
    torture_work(100);
}

enum { MANY_VARIABLES = 100000 };
static char *many_variables[MANY_VARIABLES + 128];

static void *execute_with_many(void *argument)
{
    pid_t pid;
    CHECK(!posix_spawn(&pid, "/bin/true", NULL, NULL, true_arguments, many_variables));
    tell_small("spawned", torture_wait(pid));
    pid = vfork();
    if (!pid) {
        execve("/bin/true", true_arguments, many_variables);
        _exit(errno);
    }
    tell_small("executed", torture_wait(pid));
    return argument;
}

static unsigned long own_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return pages * (unsigned long)sysconf(_SC_PAGESIZE);
}

/* The parent has the memory of its children that execute. */
static void exec_leaves_nothing(void)
{
    char **same = same_environment("LD_PRELOAD=libm.so.6");
    size_t count = variables_of(same);
    memcpy(many_variables, same, count * sizeof *same);
    while (count < MANY_VARIABLES) /* 800,000 bytes */
        many_variables[count++] = (char *)"A";
    torture_work(100);
    unsigned long before = own_bytes();
    for (int i = 0; i < 20; i++) {
        pid_t pid = vfork();
        if (!pid) {
            execve("/bin/true", true_arguments, many_variables);
            _exit(errno);
        }
        CHECK(torture_wait(pid) == 0);
    }
    if (own_bytes() > before + (4 << 20))
        printf("%lu bytes more after 20 executions\n", own_bytes() - before);
    torture_work(100);
}

/* A copy of such an environment is larger than the thread's stack. */
static void exec_with_many_variables(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    char **same = same_environment("LD_PRELOAD=libm.so.6");
    size_t count = variables_of(same);
    CHECK(count < 128);
    memcpy(many_variables, same, count * sizeof *same);
    while (count < MANY_VARIABLES)
        many_variables[count++] = (char *)"A";
    torture_work(100);
    CHECK(!pthread_attr_init(&attributes) && !pthread_attr_setstacksize(&attributes, 64 * 1024));
    CHECK(!pthread_create(&thread, &attributes, execute_with_many, NULL));
    CHECK(!pthread_join(thread, NULL));
    torture_work(100);
}

/* A filter that kills for a call that no exec needs, as judges of programs have. */
static void exec_behind_filter(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    char *environment[] = {(char *)"A=1", NULL};
    torture_work(100);
    for (int how = 0; how < 2; how++) { /* prctl(), seccomp() */
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (!pid) {
            CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
            if (how ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
                    : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
                _exit(97);
            execve("/bin/true", true_arguments, environment);
            _exit(errno);
        }
        tell_small(how ? "behind seccomp()" : "behind prctl()", torture_wait(pid));
    }
    torture_work(100);
}

int main(int argc, char **argv)
{
    static const struct torture_case cases[] = {
        {"bad_pointers", bad_pointers},
        {"bad_pointers_vfork", bad_pointers_vfork},
        {"bad_pointers_else", bad_pointers_else},
        {"exec_to_the_brim", exec_to_the_brim},
        {"exec_in_handler", exec_in_handler},
        {"exec_with_many_variables", exec_with_many_variables},
        {"exec_leaves_nothing", exec_leaves_nothing},
        {"exec_behind_filter", exec_behind_filter},
        {NULL, NULL},
    };
    return torture_main(argc, argv, cases);
}
