/* What becomes of our library in a program that is about to be executed, by what its file says.
 * Runs inside the profiled program, in children of vfork too: system calls only, no malloc, no
 * stdio. */
#ifndef TIDEMARK_RECORDER_EXECUTED_H
#define TIDEMARK_RECORDER_EXECUTED_H

enum executed {
    EXECUTED_LOADS_US = 0, /* or it cannot be executed, or nothing is known of it */
    EXECUTED_PRIVILEGED,   /* setuid, setgid: its loader ignores LD_PRELOAD */
    EXECUTED_STATIC,       /* it has no loader, and hands LD_PRELOAD on to what it executes */
    EXECUTED_HARMED,       /* of 32 bits or for another machine: its loader prints a warning; with a
                            * sanitizer in it: its run-time refuses to come second */
};

/* Of a script: what its interpreter is. Keeps nothing; errno is lost. */
enum executed executed_look_at(const char *path);

#endif
