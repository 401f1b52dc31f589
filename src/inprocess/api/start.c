/* Begins recording from inside the program: loads the recorder and calls the function that
 * `tidemark attach` calls (recorder/late.h). If $TIDEMARK_SIGNAL names a signal when the program
 * starts, that signal begins recording too. A handler may not load a library, so a thread waits for
 * the handler. */
#include "api/provider.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

typedef int late_begin(const char *session);

/* The recorder beside this library; if that fails, as in a program that contains us, the one that
 * the loader finds. */
static void *api_start_load_recorder(void)
{
    static const char name[] = "libtidemark.so";
    char path[PATH_MAX];
    Dl_info own;
    void *handle = NULL;
    const char *slash = dladdr((void *)(uintptr_t)&tidemark_start, &own) && own.dli_fname
                            ? strrchr(own.dli_fname, '/')
                            : NULL;
    size_t directory = slash ? (size_t)(slash - own.dli_fname) + 1 : 0;
    if (directory && directory + sizeof name <= sizeof path) {
        memcpy(path, own.dli_fname, directory);
        memcpy(path + directory, name, sizeof name);
        handle = dlopen(path, RTLD_NOW);
    }
    return handle ? handle : dlopen(name, RTLD_NOW);
}

API int tidemark_start(void)
{
    int saved_errno = errno, status = -ENOENT;
    late_begin *begin = NULL;
    if (tidemark_is_recording())
        return -EALREADY;
    if (getauxval(AT_SECURE))
        return -EPERM;
    void *handle = api_start_load_recorder();
    if (handle)
        *(void **)&begin = dlsym(handle, "tidemark_late_begin");
    if (begin)
        status = begin(NULL);
    errno = saved_errno;
    return status;
}

/* ---- By signal ---- */

static sem_t start_wanted;

static void api_start_on_signal(int number)
{
    int saved_errno = errno;
    (void)number;
    sem_post(&start_wanted);
    errno = saved_errno;
}

static void api_start_say(int status)
{
    char line[160];
    int bytes =
        snprintf(line, sizeof line, "tidemark: recording cannot begin: %s\n", strerror(-status));
    if (write(STDERR_FILENO, line, (size_t)bytes) != bytes)
        return;
}

static void *api_start_wait_for_signal(void *unused)
{
    for (;;) {
        while (sem_wait(&start_wanted) < 0)
            ;
        int status = tidemark_start();
        if (status < 0 && status != -EALREADY)
            api_start_say(status);
    }
    return unused;
}

/* "USR2", "SIGUSR2" or a number; 0: no signal. */
static int api_start_number_of(const char *name)
{
    char *end;
    long number = strtol(name, &end, 10);
    if (*name && !*end)
        return number > 0 && number < _NSIG ? (int)number : 0;
    if (!strncmp(name, "SIG", 3))
        name += 3;
    for (int each = 1; each < _NSIG; each++)
        if (sigabbrev_np(each) && !strcmp(sigabbrev_np(each), name))
            return each;
    return 0;
}

/* Starts the thread, with all signals blocked, so that it never runs the program's handlers. */
static bool api_start_thread(void)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, api_start_wait_for_signal, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    return started;
}

/* The thread and the handler are code of our module, so a plug-in that links us statically must not
 * be unmapped any more. (The shared library is marked so in CMakeLists.txt.) */
static void api_start_keep_module(void)
{
    Dl_info own;
    if (dladdr((void *)(uintptr_t)&tidemark_start, &own) && own.dli_fname)
        dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

/* A program that later sets a handler of its own for the signal replaces this one. */
__attribute__((constructor)) static void api_start_watch_signal(void)
{
    const char *name = secure_getenv("TIDEMARK_SIGNAL");
    int number = name ? api_start_number_of(name) : 0;
    struct sigaction action = {.sa_handler = api_start_on_signal, .sa_flags = SA_RESTART};
    if (name && !number)
        dprintf(STDERR_FILENO, "tidemark: TIDEMARK_SIGNAL=%s is no signal\n", name);
    if (number && sem_init(&start_wanted, 0, 0) == 0 && api_start_thread()) {
        api_start_keep_module();
        sigaction(number, &action, NULL);
    }
}
