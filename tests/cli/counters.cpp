/* counters THREADS: the counters of tidemark.h against what a program does, as differences, so that
 * what the run-time allocates by itself does not show. Nothing is printed between two readings. */
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tidemark/tidemark.h>
#include <unistd.h>

enum { MOST_THREADS = 16, BLOCKS = 200, BLOCK = 100 };

static void *keep(void *block)
{
    __asm__ volatile("" : "+r"(block)::"memory");
    return block;
}

static tidemark_counters read(tidemark_scope scope)
{
    tidemark_counters counters = TIDEMARK_COUNTERS_INIT;
    int status = tidemark_read_counters(scope, &counters);
    if (status)
        std::printf("not read: %s\n", std::strerror(-status));
    return counters;
}

static void print_change(const char *name, uint64_t before, uint64_t after)
{
    if (before == TIDEMARK_UNKNOWN || after == TIDEMARK_UNKNOWN)
        std::printf(" %s unknown", name);
    else
        std::printf(" %s %+" PRId64, name, (int64_t)(after - before));
}

/* peak: above what is current. */
static void print(const char *what, const tidemark_counters &before, const tidemark_counters &after)
{
    std::printf("%s:", what);
    print_change("current", before.current_bytes, after.current_bytes);
    print_change("peak", after.current_bytes, after.peak_bytes);
    print_change("total", before.total_bytes, after.total_bytes);
    print_change("count", before.count, after.count);
    print_change("live", before.live_count, after.live_count);
    std::putchar('\n');
}

/* ---- One thread ---- */

static void one_thread(tidemark_scope scope, const char *name)
{
    std::printf("-- %s\n", name);
    tidemark_reset_peak(scope);
    tidemark_counters start = read(scope);
    void *block = keep(std::malloc(1000));
    tidemark_counters born = read(scope);
    block = keep(std::realloc(block, 5000));
    tidemark_counters grown = read(scope);
    std::free(block);
    tidemark_counters gone = read(scope);
    void *odd = keep(::operator new(100, std::align_val_t(64)));
    tidemark_counters aligned = read(scope);
    ::operator delete(odd, std::align_val_t(64));
    int reset = tidemark_reset_peak(scope);
    tidemark_counters after = read(scope);
    print("malloc", start, born);
    print("realloc", start, grown);
    print("free", start, gone);
    print("aligned new", gone, aligned);
    std::printf("reset %d\n", reset);
    print("after", start, after);
}

static void single_figures()
{
    tidemark_counters now = read(TIDEMARK_PROCESS);
    bool same = now.current_bytes == tidemark_current() && now.peak_bytes == tidemark_peak() &&
                now.total_bytes == tidemark_total() && now.count == tidemark_count();
    std::printf("single figures %s\n", same ? "the same" : "others");
    char printed[256], expected[64];
    int ends[2];
    if (pipe(ends) != 0)
        std::abort();
    int status = tidemark_print_status(ends[1]);
    ssize_t bytes = ::read(ends[0], printed, sizeof printed - 1);
    printed[bytes > 0 ? bytes : 0] = '\0';
    if (now.count == TIDEMARK_UNKNOWN)
        std::snprintf(expected, sizeof expected, ", count ?\n");
    else if (now.count < 1000)
        std::snprintf(expected, sizeof expected, ", count %" PRIu64 "\n", now.count);
    else
        std::snprintf(expected, sizeof expected, ", count %" PRIu64 ",%03" PRIu64 "\n",
                      now.count / 1000, now.count % 1000);
    std::printf("status %d, a line %s\n", status,
                std::strncmp(printed, "tidemark ### current ", 21) == 0 &&
                        std::strstr(printed, expected)
                    ? "with these"
                    : printed);
    tidemark_counters small = TIDEMARK_COUNTERS_INIT;
    small.struct_bytes = offsetof(tidemark_counters, live_count);
    small.live_count = 7;
    tidemark_read_counters(TIDEMARK_PROCESS, &small);
    std::printf("an older struct is %s\n", small.live_count == 7 ? "left alone" : "overrun");
}

/* ---- What is mapped and what is resident ---- */

static void mapped()
{
    enum { BYTES = 32 << 20 };
    std::puts("-- mapped");
    tidemark_counters start = read(TIDEMARK_PROCESS);
    void *area = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tidemark_counters made = read(TIDEMARK_PROCESS);
    std::memset(area, 1, BYTES);
    tidemark_counters full = read(TIDEMARK_PROCESS), own = read(TIDEMARK_THREAD);
    munmap(area, BYTES);
    tidemark_counters gone = read(TIDEMARK_PROCESS);
    std::printf("made:");
    print_change("mapped", start.mapped_bytes, made.mapped_bytes);
    print_change("current", start.current_bytes, made.current_bytes);
    std::printf("\ngone:");
    print_change("mapped", start.mapped_bytes, gone.mapped_bytes);
    print_change("peak", made.mapped_bytes, gone.mapped_peak_bytes);
    std::printf("\nresident: ");
    if (full.resident_bytes == TIDEMARK_UNKNOWN && gone.resident_peak_bytes == TIDEMARK_UNKNOWN)
        std::puts("unknown");
    else /* to half a MiB, by which the kernel's count may be late */
        std::printf(
            "%s, %s, peak %s\n",
            full.resident_bytes + (1 << 19) >= made.resident_bytes + BYTES ? "touched" : "no",
            gone.resident_bytes + BYTES <= full.resident_bytes + (1 << 19) ? "gone" : "kept",
            gone.resident_peak_bytes + (1 << 19) >= full.resident_bytes ? "kept" : "lost");
    std::printf("a thread's:");
    print_change("mapped", own.mapped_bytes, own.mapped_bytes);
    print_change("resident", own.resident_bytes, own.resident_bytes);
    std::putchar('\n');
}

/* ---- Many threads: each keeps a block and frees one that another has made, in turn ---- */

static pthread_barrier_t barrier;
static size_t threads;
static void *blocks[MOST_THREADS][BLOCKS];
static tidemark_counters own[MOST_THREADS][2];

static void *work(void *argument)
{
    size_t me = (size_t)argument;
    std::free(keep(std::malloc(1))); /* the thread's beginning is over */
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* the main thread reads */
    own[me][0] = read(TIDEMARK_THREAD);
    for (void *&block : blocks[me])
        block = keep(std::malloc(BLOCK));
    own[me][1] = read(TIDEMARK_THREAD);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* the main thread reads */
    for (size_t i = 0; i < BLOCKS; i += 2)
        std::free(blocks[(me + 1) % threads][i]);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* the main thread reads */
    return NULL;
}

static void many_threads()
{
    pthread_t ids[MOST_THREADS];
    pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
    for (size_t i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, work, (void *)i);
    pthread_barrier_wait(&barrier);
    tidemark_reset_peak(TIDEMARK_PROCESS);
    tidemark_counters start = read(TIDEMARK_PROCESS);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    tidemark_counters full = read(TIDEMARK_PROCESS);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    tidemark_counters half = read(TIDEMARK_PROCESS);
    pthread_barrier_wait(&barrier);
    for (size_t i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    std::printf("-- %zu threads\n", threads);
    print("all made", start, full);
    print("half freed", start, half);
    print("the first's own", own[0][0], own[0][1]);
    print("the last's own", own[threads - 1][0], own[threads - 1][1]);
}

/* ---- Changes ---- */

enum { MOST_CHANGES = 16 };

static struct {
    int64_t change, current;
} changes[MOST_CHANGES];
static std::atomic<int> told;
static std::atomic<int64_t> sum;

/* Allocates, reads the counters, and says that it wants no more: all of that may be done here. */
static void note(void *context, int64_t change, uint64_t current)
{
    int at = told++;
    sum += change;
    errno = ENOTTY;
    if (context)
        return;
    std::free(keep(std::malloc(12345)));
    tidemark_counters now = read(TIDEMARK_PROCESS);
    if (at < MOST_CHANGES)
        changes[at] = {change,
                       (int64_t)(now.current_bytes == current || change == -10 ? current : 0)};
}

static void *churn(void *argument)
{
    size_t me = (size_t)argument;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 1000; i++) {
        void *block = keep(std::realloc(keep(std::malloc(10)), 30));
        if (i == 0)
            blocks[me][0] = block;
        else
            std::free(block);
    }
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(
        &barrier); /* the main thread wants no more: what ends threads is not told */
    return NULL;
}

static void stop(void *, int64_t, uint64_t)
{
    told++;
    tidemark_on_change(NULL, NULL);
}

static void changed()
{
    std::puts("-- changes");
    int status = tidemark_on_change(note, NULL);
    if (status) {
        std::printf("no: %s\n", std::strerror(-status));
        return;
    }
    int64_t before = (int64_t)tidemark_current();
    errno = 0;
    void *block = keep(std::malloc(10));
    block = keep(std::realloc(block, 30));
    std::free(block);
    block = keep(::operator new(100, std::align_val_t(64)));
    ::operator delete(block, std::align_val_t(64));
    int kept_errno = errno;
    tidemark_on_change(NULL, NULL);
    int of_one = told;
    for (int i = 0; i < of_one && i < MOST_CHANGES; i++)
        std::printf("%+" PRId64 " to %+" PRId64 "\n", changes[i].change,
                    changes[i].current - before);
    std::printf("errno %s\n", kept_errno == 0 ? "kept" : "lost");

    pthread_t ids[MOST_THREADS];
    for (size_t i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, churn, (void *)i);
    told = 0;
    sum = 0;
    tidemark_on_change(note, &told);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    tidemark_on_change(NULL, NULL);
    pthread_barrier_wait(&barrier);
    for (size_t i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    std::printf("each thread's: %d, %+" PRId64 " bytes\n", told / (int)threads,
                sum / (int64_t)threads);

    told = 0;
    tidemark_on_change(stop, NULL);
    std::free(keep(std::malloc(1)));
    std::printf("one that stops itself: %d\n", told.load());
}

/* The child's bytes are its parent's, its calls its own. */
static void forked()
{
    tidemark_counters before = read(TIDEMARK_PROCESS);
    pid_t child = fork();
    if (child == 0) {
        keep(std::malloc(50));
        tidemark_counters after = read(TIDEMARK_PROCESS);
        before.total_bytes = before.count = 0;
        print("-- child", before, after);
        std::fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    threads = argc > 1 ? std::strtoul(argv[1], NULL, 10) : 4;
    if (threads < 1 || threads > MOST_THREADS)
        return 2;
    tidemark_counters now = read(TIDEMARK_PROCESS);
    if (now.count == TIDEMARK_UNKNOWN) {
        print("nobody counts", now, now);
        std::printf("reset %s\n", std::strerror(-tidemark_reset_peak(TIDEMARK_PROCESS)));
        single_figures();
        changed();
        return 0;
    }
    std::free(keep(std::malloc(10000000))); /* the peak of the whole run, before any reset */
    std::puts("before any thread");
    one_thread(TIDEMARK_PROCESS, "process");
    one_thread(TIDEMARK_THREAD, "thread");
    single_figures();
    std::fflush(stdout);
    forked();
    mapped();
    std::fflush(stdout);
    many_threads();
    one_thread(TIDEMARK_PROCESS, "process, after threads");
    changed();
    return 0;
}
