/* See trial.h. */
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
#include <time.h>
#include <unistd.h>
#include "base/human.h"
#include "base/text.h"

enum { LOOK_MS = 50, COMPLAINT_BYTES = 4096, EXIT_NOT_EXECUTED = 127 };

bool trial_find_churn(char path[PATH_MAX])
{
    static const char *const tails[] = {
        "../libexec/tidemark/tidemark-churn",
        "../" TIDEMARK_LIBEXECDIR "/tidemark/tidemark-churn",
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

static void set_environment(const struct whatif_candidate *candidate)
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

/* If memory runs out it is the child that goes. */
static void offer_for_killing(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    ssize_t wrote = fd < 0 ? -1 : write(fd, "1000", 4);

    (void)wrote;
    if (fd >= 0)
        close(fd);
}

static _Noreturn void become_churn(const struct trial *trial,
                                   const struct whatif_candidate *candidate, int result,
                                   int complaints, pid_t parent)
{
    static const char *const touches[] = {"all", "first", "none"};
    char script_text[16], result_text[16];
    char *arguments[] = {(char *)trial->churn, script_text, result_text,
                         (char *)touches[trial->touch], candidate ? NULL : (char *)"idle", NULL};
    int null = open("/dev/null", O_RDWR);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_NOT_EXECUTED);
    snprintf(script_text, sizeof script_text, "%d", trial->script);
    snprintf(result_text, sizeof result_text, "%d", result);
    fcntl(trial->script, F_SETFD, 0);
    fcntl(result, F_SETFD, 0);
    dup2(null, 0);
    dup2(null, 1);
    dup2(complaints, 2);
    offer_for_killing();
    set_environment(candidate);
    execv(trial->churn, arguments);
    _exit(EXIT_NOT_EXECUTED);
}

/* ---- Watching ------------------------------------------------------------------------------ */

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t calls_done(const struct trial *trial, struct churn_result *result)
{
    struct churn_progress *progress = churn_progress(result);
    uint64_t calls = 0;

    for (uint32_t i = 0; i < trial->seat_count; i++)
        calls += atomic_load_explicit(&progress[i].calls, memory_order_relaxed);
    return calls;
}

/* True: it ended by itself. False: it made no progress for too long, and was killed. */
static bool watch(const struct trial *trial, pid_t child, struct churn_result *result, int *status)
{
    int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    uint64_t seen = 0, since_ns = now_ns();
    bool patient = true;

    for (;;) {
        struct pollfd end = {.fd = pidfd, .events = POLLIN};
        uint64_t calls = calls_done(trial, result);
        poll(&end, pidfd >= 0, LOOK_MS);
        if (waitpid(child, status, WNOHANG) == child)
            break;
        if (calls != seen) {
            seen = calls;
            since_ns = now_ns();
        } else if (patient && now_ns() - since_ns > trial->patience_ns) {
            patient = false;
            kill(child, SIGKILL);
        }
    }
    if (pidfd >= 0)
        close(pidfd);
    return patient;
}

/* ---- How it ended -------------------------------------------------------------------------- */

static void add_complaint(struct strbuf *failure, int complaints)
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

static void say_signal(struct strbuf *failure, int signal)
{
    const char *name = sigabbrev_np(signal);

    strbuf_addf(failure, "ended by signal %d", signal);
    if (name)
        strbuf_addf(failure, " (SIG%s)", name);
    if (signal == SIGKILL)
        strbuf_add_string(failure, ", as when memory runs out");
}

static void say_end(const struct trial *trial, struct trial_outcome *outcome, bool patient,
                    int status)
{
    struct strbuf *failure = &outcome->failure;
    uint32_t state = atomic_load(&outcome->result.state);

    if (!patient)
        strbuf_addf(failure, "hung: no call came back for %s",
                    human_duration(trial->patience_ns).text);
    else if (state == CHURN_FAILED)
        text_add_safe(failure, outcome->result.sentence,
                      strnlen(outcome->result.sentence, sizeof outcome->result.sentence));
    else if (WIFSIGNALED(status))
        say_signal(failure, WTERMSIG(status));
    else if (WEXITSTATUS(status) == EXIT_NOT_EXECUTED && !outcome->result.allocator[0])
        strbuf_add_string(failure, "could not be started");
    else if (state != CHURN_DONE)
        strbuf_addf(failure, "ended early, with status %d", WEXITSTATUS(status));
}

/* ---- A run --------------------------------------------------------------------------------- */

static int memory_file(const char *name, uint64_t bytes)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)bytes) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) < 0) {
        int error = -errno;
        close(fd);
        return error;
    }
    return fd;
}

static int start_and_watch(const struct trial *trial, const struct whatif_candidate *candidate,
                           struct trial_outcome *outcome, int result_fd, int complaints)
{
    size_t bytes = churn_result_bytes(trial->seat_count);
    struct churn_result *result =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, result_fd, 0);
    pid_t parent = getpid(), child;
    bool patient;
    int status = 0;

    if (result == MAP_FAILED)
        return -errno;
    result->magic = CHURN_MAGIC;
    result->seat_count = trial->seat_count;
    child = fork();
    if (child == 0)
        become_churn(trial, candidate, result_fd, complaints, parent);
    if (child < 0) {
        int error = -errno;
        munmap(result, bytes);
        return error;
    }
    patient = watch(trial, child, result, &status);
    outcome->result = *result;
    outcome->result.allocator[sizeof outcome->result.allocator - 1] = '\0';
    outcome->calls = calls_done(trial, result);
    munmap(result, bytes);
    say_end(trial, outcome, patient, status);
    if (outcome->failure.length)
        add_complaint(&outcome->failure, complaints);
    return 0;
}

int trial_run(const struct trial *trial, const struct whatif_candidate *candidate,
              struct trial_outcome *outcome)
{
    int result = memory_file("tidemark-result", churn_result_bytes(trial->seat_count));
    int complaints = memory_file("tidemark-complaints", COMPLAINT_BYTES);
    int error = result < 0 ? result : complaints < 0 ? complaints : 0;

    memset(outcome, 0, sizeof *outcome);
    outcome->failure = STRBUF_INIT;
    if (!error)
        error = start_and_watch(trial, candidate, outcome, result, complaints);
    if (result >= 0)
        close(result);
    if (complaints >= 0)
        close(complaints);
    return error;
}
