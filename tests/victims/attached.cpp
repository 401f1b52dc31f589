/* What tidemark attach meets: threads that sleep, compute, wait for each other, allocate all the
 * time; and work of known size, done on command while it is (or is not) recorded.
 *
 *     attached THREADS            commands on standard input, one answer each on standard output:
 *     work N    N blocks of 1000 bytes by C and N of 100 by C++, all freed but N of each ten
 *     load dlopen()s the library named by $ATTACHED_PLUGIN; "plug N" has it allocate N blocks of 64
 *     throw N   N exceptions through frames that allocate
 *     old       frees 10 blocks from before the first command
 *     thread N  N blocks of 500 bytes each by two threads made for it
 *     fork N    a child allocates N blocks of 300 bytes and ends
 * The last line says what went wrong, if anything did: every wait that failed, every errno that
 * changed, every signal mask or register that did not survive. */
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdexcept>
#include <string>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>

static std::atomic<bool> ending;
static std::atomic<int> faults;

static void fault(const char *what)
{
    faults++;
    fprintf(stderr, "attached: %s (%s)\n", what, strerror(errno));
}

/* ---- Threads that must not notice ---- */

/* Never restarted by the kernel: an EINTR here is a stop that showed. */
static void *wait_for_events(void *)
{
    int set = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event;
    while (!ending)
        if (epoll_wait(set, &event, 1, 200) < 0)
            fault("epoll_wait");
    close(set);
    return nullptr;
}

static void *sleep_in_pieces(void *)
{
    while (!ending) {
        struct timespec time = {0, 150 * 1000 * 1000}, left = {0, 0};
        errno = 77;
        if (nanosleep(&time, &left) < 0)
            fault("nanosleep");
        if (errno != 77)
            fault("errno");
    }
    return nullptr;
}

/* Registers and vector registers: the sum comes out right or it does not. */
static void *compute(void *)
{
    while (!ending) {
        double sum = 0;
        unsigned long hash = 5381;
        for (int i = 1; i <= 200000; i++) {
            sum += 1.0 / i;
            hash = hash * 33 + (unsigned long)i;
        }
        static std::atomic<double> first_sum;
        static std::atomic<unsigned long> first_hash;
        if (first_sum == 0) {
            first_sum = sum;
            first_hash = hash;
        } else if (first_sum != sum || first_hash != hash) {
            fault("registers");
        }
    }
    return nullptr;
}

static void *keep_mask(void *)
{
    sigset_t mine, now;
    sigemptyset(&mine);
    sigaddset(&mine, SIGUSR1);
    sigaddset(&mine, SIGSEGV);
    pthread_sigmask(SIG_SETMASK, &mine, nullptr);
    while (!ending) {
        usleep(20000);
        pthread_sigmask(SIG_SETMASK, nullptr, &now);
        if (!sigismember(&now, SIGUSR1) || !sigismember(&now, SIGSEGV) ||
            sigismember(&now, SIGTERM))
            fault("signal mask");
    }
    return nullptr;
}

/* In malloc most of the time, and its blocks pass from one recording to the next. */
static void *churn(void *)
{
    std::vector<void *> blocks(64, nullptr);
    for (unsigned i = 0; !ending; i++) {
        free(blocks[i % 64]);
        blocks[i % 64] = malloc(16 + i % 500);
        if (i % 4096 == 0)
            usleep(1000);
    }
    for (void *block : blocks)
        free(block);
    return nullptr;
}

/* ---- Work ---- */

extern "C" {
__attribute__((noinline)) void *victim_c(size_t bytes)
{
    return malloc(bytes);
}
__attribute__((noinline)) char *victim_cxx(size_t bytes)
{
    return new char[bytes];
}
__attribute__((noinline)) void *victim_thread(size_t bytes)
{
    return malloc(bytes);
}
__attribute__((noinline)) void victim_deep(int depth)
{
    void *block = malloc(200);
    std::string text(300, 'x');
    try {
        if (depth == 0)
            throw std::runtime_error("bottom");
        victim_deep(depth - 1);
    } catch (...) {
        free(block);
        throw;
    }
}
}

static void work(int count)
{
    for (int i = 0; i < count; i++) {
        void *c = victim_c(1000);
        char *cxx = victim_cxx(100);
        if (i % 10) {
            free(c);
            delete[] cxx;
        }
    }
}

static void throw_all(int count)
{
    int caught = 0;
    for (int i = 0; i < count; i++) {
        try {
            victim_deep(5);
        } catch (const std::exception &) {
            caught++;
        }
    }
    if (caught != count)
        fault("exceptions");
}

static void *thread_work(void *argument)
{
    for (int i = 0; i < *(int *)argument; i++)
        free(victim_thread(500));
    return nullptr;
}

static void in_threads(int count)
{
    pthread_t threads[2];
    for (pthread_t &thread : threads)
        pthread_create(&thread, nullptr, thread_work, &count);
    for (pthread_t &thread : threads)
        pthread_join(thread, nullptr);
}

static void in_child(int count)
{
    pid_t child = fork();
    int status;
    if (child == 0) {
        for (int i = 0; i < count; i++)
            victim_thread(300);
        exit(3);
    }
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3)
        fault("fork");
}

static void (*plugin)(int);

static void load(void)
{
    void *handle = dlopen(getenv("ATTACHED_PLUGIN"), RTLD_LAZY);
    if (handle)
        plugin = (void (*)(int))dlsym(handle, "plugin_work");
    if (!plugin)
        fault("dlopen");
}

static std::vector<void *> old_blocks;

static void free_old(void)
{
    for (void *block : old_blocks)
        free(block);
    old_blocks.clear();
}

static bool obey(const char *line)
{
    char what[32] = "";
    int count = 0;
    sscanf(line, "%31s %d", what, &count);
    if (!strcmp(what, "work"))
        work(count);
    else if (!strcmp(what, "throw"))
        throw_all(count);
    else if (!strcmp(what, "thread"))
        in_threads(count);
    else if (!strcmp(what, "fork"))
        in_child(count);
    else if (!strcmp(what, "load"))
        load();
    else if (!strcmp(what, "plug") && plugin)
        plugin(count);
    else if (!strcmp(what, "old"))
        free_old();
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    static void *(*const kinds[])(void *) = {wait_for_events, sleep_in_pieces, compute, keep_mask,
                                             churn};
    std::vector<pthread_t> threads(argc > 1 ? (size_t)atoi(argv[1]) : 0);
    static char line[256], out[4096]; /* no blocks of stdio's own */
    setvbuf(stdout, out, _IOLBF, sizeof out);
    for (int i = 0; i < 10; i++)
        old_blocks.push_back(malloc(100));
    for (size_t i = 0; i < threads.size(); i++)
        pthread_create(&threads[i], nullptr, kinds[i % 5], nullptr);
    puts("ready");
    for (size_t used = 0;;) {
        ssize_t got = read(0, line + used, 1);
        if (got <= 0) {
            if (got < 0)
                fault("read");
            break;
        }
        if (line[used++] != '\n' && used + 1 < sizeof line)
            continue;
        line[used] = '\0';
        used = 0;
        puts(obey(line) ? "done" : "what?");
    }
    ending = true;
    for (pthread_t thread : threads)
        pthread_join(thread, nullptr);
    printf("%d faults\n", (int)faults);
    return faults ? 1 : 5;
}
