/* Runs the driver under one allocator (trial.h). The child is forked with the candidate's
 * environment and reports through shared memory. The parent kills it when its counters of calls
 * stand still for too long. */
#include "whatif/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/human.h"
#include "base/now.h"
#include "base/text.h"

enum { LOOK_MS = 50, COMPLAINT_BYTES = 4096, EXIT_NOT_EXECUTED = 127 };

bool trial_find_driver(char path[PATH_MAX])
{
    static const char *const tails[] = {
        "../libexec/tidemark/tidemark-alloc-driver",
        "../" TIDEMARK_LIBEXECDIR "/tidemark/tidemark-alloc-driver",
    };
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 128);
    char *slash;

    if (length < 0)
        return false;
    self[length] = '\0';
    slash = strrchr(self, '/');
    for (size_t i = 0; slash && i < sizeof tails / sizeof *tails; i++) {
        strcpy(slash + 1, tails[i]);
        if (realpath(self, path) && access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* ---- The child ----------------------------------------------------------------------------- */

static void trial_set_environment(const struct whatif_candidate *candidate)
{
    unsetenv("LD_PRELOAD");
    unsetenv("TIDEMARK_SESSION");
    unsetenv("TIDEMARK_OPTIONS");
    if (!candidate)
        return;
    if (*candidate->library)
        setenv("LD_PRELOAD", candidate->library, 1);
    for (size_t i = 0; candidate->settings && candidate->settings[i]; i++)
        putenv(candidate->settings[i]);
}

/* If memory runs out, the kernel is to kill the child. */
static void trial_offer_for_killing(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    ssize_t wrote = fd < 0 ? -1 : write(fd, "1000", 4);

    (void)wrote;
    if (fd >= 0)
        close(fd);
}

static _Noreturn void trial_become_driver(const struct trial *trial,
                                          const struct whatif_candidate *candidate, int result,
                                          int complaints, pid_t parent)
{
    static const char *const touches[] = {"all", "first", "none"};
    char stream_text[16], result_text[16];
    /* clang-format off */
    char *arguments[] = {(char *)trial->driver_path, stream_text, result_text,
                         (char *)touches[trial->touch], candidate ? NULL : (char *)"idle", NULL};
    /* clang-format on */
    int null = open("/dev/null", O_RDWR);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_NOT_EXECUTED);
    snprintf(stream_text, sizeof stream_text, "%d", trial->stream_fd);
    snprintf(result_text, sizeof result_text, "%d", result);
    fcntl(trial->stream_fd, F_SETFD, 0);
    fcntl(result, F_SETFD, 0);
    dup2(null, 0);
    dup2(null, 1);
    dup2(complaints, 2);
    trial_offer_for_killing();
    trial_set_environment(candidate);
    execv(trial->driver_path, arguments);
    _exit(EXIT_NOT_EXECUTED);
}

/* ---- Watching ------------------------------------------------------------------------------ */

static uint64_t trial_calls_done(const struct trial *trial, struct driver_result *result)
{
    struct driver_progress *progress = driver_progress(result);
    uint64_t calls = 0;

    for (uint32_t i = 0; i < trial->seat_count; i++)
        calls += atomic_load_explicit(&progress[i].calls, memory_order_relaxed);
    return calls;
}

/* True: it ended by itself. False: it made no progress for too long, and was killed. */
static bool trial_watch(const struct trial *trial, pid_t child, struct driver_result *result,
                        int *status)
{
    int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    uint64_t seen = 0, since_ns = now_monotonic_ns();
    bool patient = true;

    for (;;) {
        struct pollfd end = {.fd = pidfd, .events = POLLIN};
        uint64_t calls = trial_calls_done(trial, result);
        poll(&end, pidfd >= 0, LOOK_MS);
        if (waitpid(child, status, WNOHANG) == child)
            break;
        if (calls != seen) {
            seen = calls;
            since_ns = now_monotonic_ns();
        } else if (patient && now_monotonic_ns() - since_ns > trial->patience_ns) {
            patient = false;
            kill(child, SIGKILL);
        }
    }
    if (pidfd >= 0)
        close(pidfd);
    return patient;
}

/* ---- How it ended -------------------------------------------------------------------------- */

static void trial_add_complaint(struct strbuf *failure, int complaints)
{
    char text[COMPLAINT_BYTES];
    ssize_t count = pread(complaints, text, sizeof text - 1, 0);
    size_t length = 0;

    if (count <= 0)
        return;
    text[count] = '\0';
    length = strcspn(text, "\n"); /* nothing was written: the file is zeros */
    if (!*text)
        return;
    strbuf_add_string(failure, ": \"");
    text_add_safe(failure, text, strnlen(text, length));
    strbuf_add_string(failure, "\"");
}

static void trial_say_signal(struct strbuf *failure, int signal)
{
    const char *name = sigabbrev_np(signal);

    strbuf_addf(failure, "ended by signal %d", signal);
    if (name)
        strbuf_addf(failure, " (SIG%s)", name);
    if (signal == SIGKILL)
        strbuf_add_string(failure, ", as when memory runs out");
}

static void trial_say_end(const struct trial *trial, struct trial_outcome *outcome, bool patient,
                          int status)
{
    struct strbuf *failure = &outcome->failure;
    uint32_t state = atomic_load(&outcome->result.state);

    if (!patient)
        strbuf_addf(failure, "hung: no call came back for %s",
                    human_duration(trial->patience_ns).text);
    else if (state == DRIVER_FAILED)
        text_add_safe(failure, outcome->result.sentence,
                      strnlen(outcome->result.sentence, sizeof outcome->result.sentence));
    else if (WIFSIGNALED(status))
        trial_say_signal(failure, WTERMSIG(status));
    else if (WEXITSTATUS(status) == EXIT_NOT_EXECUTED && !outcome->result.allocator[0])
        strbuf_add_string(failure, "could not be started");
    else if (state != DRIVER_DONE)
        strbuf_addf(failure, "ended early, with status %d", WEXITSTATUS(status));
}

/* ---- A run --------------------------------------------------------------------------------- */

static int trial_memory_file(const char *name, uint64_t bytes)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)bytes) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) < 0) {
        int error = -errno;
        close(fd);
        return error;
    }
    return fd;
}

static int trial_start_and_watch(const struct trial *trial,
                                 const struct whatif_candidate *candidate,
                                 struct trial_outcome *outcome, int result_fd, int complaints)
{
    size_t bytes = driver_result_bytes(trial->seat_count);
    struct driver_result *result =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, result_fd, 0);
    pid_t parent = getpid(), child;
    bool patient;
    int status = 0;

    if (result == MAP_FAILED)
        return -errno;
    result->magic = DRIVER_MAGIC;
    result->seat_count = trial->seat_count;
    child = fork();
    if (child == 0)
        trial_become_driver(trial, candidate, result_fd, complaints, parent);
    if (child < 0) {
        int error = -errno;
        munmap(result, bytes);
        return error;
    }
    patient = trial_watch(trial, child, result, &status);
    outcome->result = *result;
    outcome->result.allocator[sizeof outcome->result.allocator - 1] = '\0';
    outcome->calls = trial_calls_done(trial, result);
    munmap(result, bytes);
    trial_say_end(trial, outcome, patient, status);
    if (outcome->failure.length)
        trial_add_complaint(&outcome->failure, complaints);
    return 0;
}

int trial_run(const struct trial *trial, const struct whatif_candidate *candidate,
              struct trial_outcome *outcome)
{
    int result = trial_memory_file("tidemark-result", driver_result_bytes(trial->seat_count));
    int complaints = trial_memory_file("tidemark-complaints", COMPLAINT_BYTES);
    int error = result < 0 ? result : complaints < 0 ? complaints : 0;

    memset(outcome, 0, sizeof *outcome);
    outcome->failure = STRBUF_INIT;
    if (!error)
        error = trial_start_and_watch(trial, candidate, outcome, result, complaints);
    if (result >= 0)
        close(result);
    if (complaints >= 0)
        close(complaints);
    return error;
}
