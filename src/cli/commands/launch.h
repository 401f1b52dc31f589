/* Running a program with a library preloaded, for the commands that do. */
#ifndef TIDEMARK_COMMANDS_LAUNCH_H
#define TIDEMARK_COMMANDS_LAUNCH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { LAUNCH_EXIT_NOT_EXECUTABLE = 126, LAUNCH_EXIT_NOT_FOUND = 127 }; /* as env and the shells */

/* 0 if a library can be preloaded into the program; else the exit status after a sentence. */
int launch_refuse(const char *command, const char *program);

/* What a command needs before it starts a program: bytes of address space, of data, and of a file
 * that it writes (0: none). A program that exceeds the limit on files is killed. */
struct launch_needs {
    uint64_t address_space, data, file;
};

/* Is there room? 0, or OPTIONS_EXIT_FAILURE after a sentence where a limit (ulimit -v, -d, -f) is
 * lower: the program would not start, or the recording would harm it. */
int launch_refuse_limits(const char *command, const struct launch_needs *needs);

/* The path of this program's file; of the loader's, if the loader was run with this program. */
bool launch_own_path(char path[PATH_MAX]);
/* Is that path of a bundle (bundle.c), where the loader runs this program? */
bool launch_is_bundled(const char *path);

/* The directory of the shipped lists of --allocator-functions. False: there is none. */
bool launch_find_lists(char path[PATH_MAX]);

/* The path of the library beside this program. False, with a sentence: it is not there. */
bool launch_find_library(const char *command, const char *library, char path[PATH_MAX]);

/* The same, by a name that LD_PRELOAD can hold: a link in /tmp where the real name cannot be. */
bool launch_find_preload(const char *command, const char *library, char path[PATH_MAX]);

/* Puts the library in front of LD_PRELOAD. */
void launch_preload(const char *path);
/* The same, by a name that only children of this command have (wire.h: WIRE_SESSION_MARK). */
void launch_preload_of_session(const char *path);

/* A process that ignores SIGCHLD cannot wait for its children, and inherits that from the process
 * that starts it. main() calls this first, so that all commands can wait. */
void launch_hear_children(void);
/* As execvp(), with SIGCHLD ignored in the program if it was ignored here at first. Returns only
 * if that failed, with errno. */
void launch_become(const char *program, char **argv);

/* Says why a program could not be run; the exit status. */
int launch_say_cannot(const char *command, const char *program, int error);

/* Ends as the program has ended, by its status or its signal. `wait_status`: of waitpid(). */
int launch_end_like(int wait_status);

#endif
