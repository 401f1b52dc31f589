/* Running a program with a library preloaded, for the commands that do. */
#ifndef TIDEMARK_CLI_LAUNCH_H
#define TIDEMARK_CLI_LAUNCH_H

#include <limits.h>
#include <stdbool.h>

enum { LAUNCH_EXIT_NOT_EXECUTABLE = 126, LAUNCH_EXIT_NOT_FOUND = 127 }; /* as env and the shells */

/* A sentence for programs that nothing can be preloaded into, and the exit status; 0 if it can. */
int launch_refuse(const char *command, const char *program);

/* Of this program's file; that of the loader, if it was told to run it. */
bool launch_own_path(char path[PATH_MAX]);

/* Where the library is: beside us. False, with a sentence, if it is not there. */
bool launch_find_library(const char *command, const char *library, char path[PATH_MAX]);

/* Puts the library in front of LD_PRELOAD. */
void launch_preload(const char *path);

/* Says why a program could not be run; the exit status. */
int launch_say_cannot(const char *command, const char *program, int error);

/* Ends as the program has ended, of whose waitpid() this is the status. */
int launch_end_like(int wait_status);

#endif
