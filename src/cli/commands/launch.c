/* Helpers for commands that start a program (launch.h): refuse what cannot be recorded, find our
 * library beside the executable, set LD_PRELOAD, and end with the program's own status or signal.
 */
#include "commands/launch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/human.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "procfs/executable.h"
#include "wire/wire.h"

static int launch_exit_status_for(enum program_kind kind)
{
    switch (kind) {
    case PROGRAM_NOT_FOUND:
    case PROGRAM_NO_INTERPRETER:
        return LAUNCH_EXIT_NOT_FOUND;
    case PROGRAM_NOT_EXECUTABLE:
    case PROGRAM_DIRECTORY:
    case PROGRAM_BROKEN:
        return LAUNCH_EXIT_NOT_EXECUTABLE;
    default:
        return OPTIONS_EXIT_FAILURE;
    }
}

int launch_refuse(const char *command, const char *name)
{
    struct program program;
    executable_classify(&program, name, getenv("PATH"));
    if (program.kind == PROGRAM_DYNAMIC)
        return 0;
    int status = launch_exit_status_for(program.kind);
    bool ours = status == OPTIONS_EXIT_FAILURE;
    fprintf(stderr, "tidemark %s: %s%s%s%s\n", command, ours ? "cannot " : "", ours ? command : "",
            ours ? ": " : "", program.detail);
    return status;
}

static bool launch_is_less(int resource, uint64_t needed, uint64_t *allowed)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return false;
    *allowed = limit.rlim_cur;
    return limit.rlim_cur < needed;
}

int launch_refuse_limits(const char *command, const struct launch_needs *needs)
{
    const struct {
        int resource;
        uint64_t needed;
        const char *what, *option;
    } limits[] = {{RLIMIT_AS, needs->address_space, "address space", "-v"},
                  {RLIMIT_DATA, needs->data, "data", "-d"},
                  {RLIMIT_FSIZE, needs->file, "a file", "-f"}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        uint64_t allowed;
        if (!launch_is_less(limits[i].resource, limits[i].needed, &allowed))
            continue;
        fprintf(stderr,
                "tidemark %s: %s is limited to %s (ulimit %s), and '%s' needs %s of its own: raise "
                "the limit\n",
                command, limits[i].what, human_bytes(allowed).text, limits[i].option, command,
                human_bytes(limits[i].needed).text);
        return OPTIONS_EXIT_FAILURE;
    }
    return 0;
}

/* Without /proc (as in some chroots) it is the path that execve() was given (AT_EXECFN). */
bool launch_own_path(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    const char *called = (const char *)getauxval(AT_EXECFN);
    if (length >= 0) {
        path[length] = '\0';
        return true;
    }
    return called && realpath(called, path);
}

bool launch_is_bundled(const char *path)
{
    return !strcmp(basename(path), "ld.so");
}

/* BINDIR/../lib, or a directory of the library's own there. */
bool launch_find_library(const char *command, const char *library, char path[PATH_MAX])
{
    static const char *const places[] = {"../lib/", "../" TIDEMARK_LIBDIR "/"};
    char self[2 * PATH_MAX] = "";
    char *slash = launch_own_path(self) ? strrchr(self, '/') : NULL;
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        strcpy(slash + 1, places[i]);
        strcat(slash + 1, library);
        if (realpath(self, path) && access(path, R_OK) == 0)
            return true;
    }
    fprintf(stderr,
            "tidemark %s: %s is not beside this program (../lib); is the installation whole?\n",
            command, library);
    return false;
}

/* BINDIR/../share/tidemark/allocators. */
bool launch_find_lists(char path[PATH_MAX])
{
    char self[2 * PATH_MAX] = "";
    char *slash = launch_own_path(self) ? strrchr(self, '/') : NULL;
    if (!slash)
        return false;
    strcpy(slash + 1, "../share/tidemark/allocators");
    return realpath(self, path) != NULL;
}

/* ---- LD_PRELOAD ---- */

/* Makes the link. If there is one already, it must be this user's own and name the directory: in a
 * sticky directory nobody else can replace it. */
static bool launch_link_is_ours(const char *link, const char *directory)
{
    char leads_to[PATH_MAX];
    struct stat facts;
    if (symlink(directory, link) == 0)
        return true;
    ssize_t length = readlink(link, leads_to, sizeof leads_to - 1);
    if (length < 0 || lstat(link, &facts) < 0 || facts.st_uid != geteuid())
        return false;
    leads_to[length] = '\0';
    return !strcmp(leads_to, directory);
}

/* LD_PRELOAD ends a name at a blank or a colon, and replaces $LIB. A directory with such a
 * character gets a link with a plain name. The link stays, since programs started with it may run
 * for long. */
static bool launch_give_plain_name(char path[PATH_MAX])
{
    enum { TRIES = 16 };
    char link[64], *slash = strrchr(path, '/');
    struct strbuf plain = STRBUF_INIT;
    bool given = false;
    if (!strpbrk(path, " :$"))
        return true;
    *slash = '\0';
    for (unsigned i = 0; i < TRIES && !given; i++) {
        snprintf(link, sizeof link, "/tmp/tidemark-%u-%08x", (unsigned)geteuid(),
                 (unsigned)hash_bytes(path, strlen(path)) + i);
        given = launch_link_is_ours(link, path);
    }
    strbuf_addf(&plain, "%s/%s", link, slash + 1);
    if (given && plain.length < PATH_MAX)
        strcpy(path, plain.data);
    strbuf_release(&plain);
    return given;
}

bool launch_find_preload(const char *command, const char *library, char path[PATH_MAX])
{
    if (!launch_find_library(command, library, path))
        return false;
    if (launch_give_plain_name(path))
        return true;
    fprintf(
        stderr,
        "tidemark %s: %s lies in %s, and LD_PRELOAD can hold no name with a blank, a colon or a "
        "dollar; no link to it can be made in /tmp\n",
        command, library, path);
    return false;
}

void launch_preload_of_session(const char *path)
{
    struct strbuf marked = STRBUF_INIT;
    const char *slash = strrchr(path, '/'); /* it is absolute */
    strbuf_addf(&marked, "%.*s" WIRE_SESSION_MARK "%s", (int)(slash - path), path, slash);
    launch_preload(marked.data);
    strbuf_release(&marked);
}

void launch_preload(const char *path)
{
    const char *before = getenv("LD_PRELOAD");
    struct strbuf value = STRBUF_INIT;
    strbuf_add_string(&value, path);
    if (before && *before)
        strbuf_addf(&value, ":%s", before);
    setenv("LD_PRELOAD", value.data, 1);
    strbuf_release(&value);
}

static bool launch_ignored_children;

void launch_hear_children(void)
{
    launch_ignored_children = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
}

void launch_become(const char *program, char **argv)
{
    if (launch_ignored_children)
        signal(SIGCHLD, SIG_IGN);
    execvp(program, argv);
}

int launch_say_cannot(const char *command, const char *program, int error)
{
    fprintf(stderr, "tidemark %s: cannot run '%s': %s\n", command, program, strerror(error));
    return error == ENOENT ? LAUNCH_EXIT_NOT_FOUND : LAUNCH_EXIT_NOT_EXECUTABLE;
}

int launch_end_like(int wait_status)
{
    if (!WIFSIGNALED(wait_status))
        return WEXITSTATUS(wait_status);
    int number = WTERMSIG(wait_status);
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core); /* the program's own core is enough */
    signal(number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
    return 128 + number;
}
