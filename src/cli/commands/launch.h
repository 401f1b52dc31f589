/* Running a program with a library preloaded, for the commands that do. */
#ifndef TIDEMARK_COMMANDS_LAUNCH_H
#define TIDEMARK_COMMANDS_LAUNCH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { LAUNCH_EXIT_NOT_EXECUTABLE = 126, LAUNCH_EXIT_NOT_FOUND = 127 }; /* as env and the shells */

/* A sentence for programs that nothing can be preloaded into, and the exit status; 0 if it can. */
int launch_refuse(const char *command, const char *program);

/* What a command needs before it starts a program, in bytes of address space and of data; of a
 * file, where the program would be killed for one that grows larger (0: it makes none). */
struct launch_needs {
    uint64_t address_space, data, file;
};

/* A sentence where a limit (ulimit -v, -d, -f) gives less, and OPTIONS_EXIT_FAILURE: else the
 * program would not even start, or be hurt by what is done to it. 0: there is room. */
int launch_refuse_limits(const char *command, const struct launch_needs *needs);

/* Of this program's file; that of the loader, if it was told to run it. */
bool launch_own_path(char path[PATH_MAX]);

/* Where the library is: beside us. False, with a sentence, if it is not there. */
/* Where the shipped lists of --allocator-functions are; false: nowhere. */
bool launch_find_lists(char path[PATH_MAX]);
bool launch_find_library(const char *command, const char *library, char path[PATH_MAX]);

/* The same, by a name that LD_PRELOAD can hold. */
bool launch_find_preload(const char *command, const char *library, char path[PATH_MAX]);

/* Puts the library in front of LD_PRELOAD. */
void launch_preload(const char *path);
/* The same, by a name that only children of this command have (wire.h: WIRE_SESSION_MARK). */
void launch_preload_of_session(const char *path);

/* Says why a program could not be run; the exit status. */
int launch_say_cannot(const char *command, const char *program, int error);

/* Ends as the program has ended, of whose waitpid() this is the status. */
int launch_end_like(int wait_status);

#endif
