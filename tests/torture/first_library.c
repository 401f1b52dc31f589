/* A library whose constructor is the first code of the program that calls anything: libraries are
 * begun in the reverse of the order in which they were loaded, so the recorder has not looked for a
 * single real function yet. The constructor calls the function that argv[1] names, once, and says so.
 * Each row of functions.def has its call here: made from the row, or by hand (CALL_name). */
#include <stdbool.h>
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "first_call.h"

/* ---- Every name may be missing: some C libraries lack some, and then the recorder may bring them ---- */

#define WEAK                                                __attribute__((weak))
#define ALLOCATION(name, libraries, parameters, ...)        void *name parameters WEAK;
#define ALLOCATION_OUT(name, libraries, parameters, ...)    int name parameters WEAK;
#define RELEASE(name, libraries, parameters, ...)           void name parameters WEAK;
#define NEW(name, libraries, demangled, parameters, ...)    void *name parameters WEAK;
#define DELETE(name, libraries, demangled, parameters, ...) void name parameters WEAK;
#include "interpose/functions.def"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* sigset() */
sighandler_t bsd_signal(int number, sighandler_t handler) WEAK;
void cfree(void *block) WEAK;
void __cyg_profile_func_enter(void *function, void *call_site) WEAK;
void __cyg_profile_func_exit(void *function, void *call_site) WEAK;
void __register_frame(void *frames) WEAK;
void __deregister_frame(void *frames) WEAK;
void __longjmp_chk(struct __jmp_buf_tag *environment, int value) __attribute__((weak, noreturn));

/* ---- Calls ---- */

/* Arguments of the rows, by the names that the rows give their parameters. */
static size_t size = 64, count = 3, alignment = 64;
static void *block, *given, **out = &given;
static char tag[1];
static char *first_list[] = {tag, NULL};
static uint32_t frames[1]; /* none */

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void jump(void (*to)(struct __jmp_buf_tag *environment, int value))
{
    static jmp_buf place;
    if (!setjmp(place))
        to(place, 1);
}

static void *map(void *(*how)(void *, size_t, int, int, int, off_t))
{
    return how(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

#define CALL_syscall                  must(syscall(SYS_getppid) == getppid())
#define CALL_realloc                  must(realloc(NULL, size) != NULL)
#define CALL_reallocarray             must(reallocarray(NULL, count, size) != NULL)
#define CALL_cfree                    cfree(NULL)
#define CALL_mmap                     must(map(mmap) != MAP_FAILED)
#define CALL_mmap64                   must(map(mmap64) != MAP_FAILED)
#define CALL_munmap                   must(munmap(tag, 0) < 0)
#define CALL_mremap                   must(mremap(NULL, 0, 0, 0) == MAP_FAILED)
#define CALL_mprotect                 must(mprotect(tag, 0, PROT_READ) < 0 || (uintptr_t)tag % 4096 == 0)
#define CALL_madvise                  must(madvise(tag, 0, -1) < 0)
#define CALL_shmat                    must(shmat(-1, NULL, 0) == (void *)-1)
#define CALL_shmdt                    must(shmdt(tag) < 0)
#define CALL_brk                      must(brk((void *)(syscall(SYS_brk, 0) + 4096)) == 0)
#define CALL_sbrk                     must(sbrk(4096) != (void *)-1)
#define CALL_mlockall                 must(mlockall(0) < 0)
#define CALL_sigaltstack              must(sigaltstack(NULL, NULL) == 0)
#define CALL__exit                    _exit(FIRST_CALL_STATUS)
#define CALL__Exit                    _Exit(FIRST_CALL_STATUS)
#define CALL_quick_exit               quick_exit(FIRST_CALL_STATUS)
#define CALL_dlopen                   must(dlopen(NULL, RTLD_NOW) != NULL)
#define CALL_dlmopen                  must(dlmopen(LM_ID_BASE, NULL, RTLD_NOW) != NULL)
#define CALL_dlclose                  dlclose(_r_debug.r_map) /* fails: nobody has opened it */
#define CALL_prctl                    must(prctl(PR_GET_DUMPABLE) >= 0)
#define CALL_execve                   must(execve("", first_list, environ) < 0)
#define CALL_execv                    must(execv("", first_list) < 0)
#define CALL_execvp                   must(execvp("", first_list) < 0)
#define CALL_execvpe                  must(execvpe("", first_list, environ) < 0)
#define CALL_fexecve                  must(fexecve(-1, first_list, environ) < 0)
#define CALL_execl                    must(execl("", "a", "b", NULL) < 0)
#define CALL_execlp                   must(execlp("", "a", NULL) < 0)
#define CALL_execle                   must(execle("", "a", NULL, environ) < 0)
#define CALL_posix_spawn              must(posix_spawn(NULL, "", NULL, NULL, first_list, environ) != 0)
#define CALL_posix_spawnp             must(posix_spawnp(NULL, "", NULL, NULL, first_list, environ) != 0)
#define CALL_sigaction                must(sigaction(SIGTERM, NULL, NULL) == 0)
#define CALL_signal                   must(signal(SIGTERM, SIG_DFL) == SIG_DFL)
#define CALL_bsd_signal               must(bsd_signal(SIGTERM, SIG_DFL) == SIG_DFL)
#define CALL_ssignal                  must(ssignal(SIGTERM, SIG_DFL) == SIG_DFL)
#define CALL___sysv_signal            must(__sysv_signal(SIGTERM, SIG_DFL) == SIG_DFL)
#define CALL_sysv_signal              must(sysv_signal(SIGTERM, SIG_DFL) == SIG_DFL)
#define CALL_sigset                   must(sigset(SIGTERM, SIG_DFL) == SIG_DFL)
#define CALL_raise                    must(raise(0) == 0)
#define CALL_kill                     must(kill(getpid(), 0) == 0)
#define CALL_system                   must(system(":") == 0)
#define CALL_popen                    must(pclose(popen(":", "r")) == 0)
#define CALL___cyg_profile_func_enter __cyg_profile_func_enter((void *)must, (void *)must)
#define CALL___cyg_profile_func_exit  __cyg_profile_func_exit((void *)must, (void *)must)
#define CALL_longjmp                  jump(longjmp)
#define CALL__longjmp                 jump(_longjmp)
#define CALL_siglongjmp               jump(siglongjmp)
#define CALL___longjmp_chk            jump(__longjmp_chk)
#define CALL___register_frame         __register_frame(frames)
#define CALL___deregister_frame       (__register_frame(frames), __deregister_frame(frames))

#define BY_HAND(name, ...)                                                                         \
    static void first_##name(void)                                                                 \
    {                                                                                              \
        CALL_##name;                                                                               \
    }
#define REALLOCATION BY_HAND
#define FUNCTION     BY_HAND
#define SAME_AS      BY_HAND
#define REPLACEMENT  BY_HAND
#define MADE(name, call)                                                                           \
    static void first_##name(void)                                                                 \
    {                                                                                              \
        call;                                                                                      \
    }
#define ALLOCATION(name, libraries, parameters, arguments, ...)                                    \
    MADE(name, must(name arguments != NULL))
#define ALLOCATION_OUT(name, libraries, parameters, arguments, ...)                                \
    MADE(name, must(name arguments == 0 && *out))
#define RELEASE(name, libraries, parameters, arguments, ...) MADE(name, name arguments)
#define NEW(name, libraries, demangled, parameters, arguments, ...)                                \
    MADE(name, must(name arguments != NULL))
#define DELETE(name, libraries, demangled, parameters, arguments) MADE(name, name arguments)
#include "interpose/functions.def"

/* ---- Which ---- */

static const struct {
    const char *name;
    void (*call)(void);
    void *function;
} calls[] = {
#define ROW(name, libraries) {#name, first_##name, (void *)name},
#define CALLED(name, ...)
#define LEFT(name, libraries)
#include "interpose/functions.def"
};

enum { CALLS = sizeof calls / sizeof *calls };

const char *first_name(unsigned number)
{
    return number < CALLS ? calls[number].name : NULL;
}

static void say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(1);
}

__attribute__((constructor)) static void call_first(int argc, char **argv)
{
    for (unsigned i = 0; argc == 2 && i < CALLS; i++) {
        if (strcmp(calls[i].name, argv[1]) != 0)
            continue;
        if (!calls[i].function) {
            say("absent ");
            return;
        }
        say("calls ");
        calls[i].call();
        say("called ");
    }
}
