/* Tells from a program's file what would happen to our library there. Runs inside the profiled
 * program, in children of vfork too: system calls only, no malloc, no stdio. */
#ifndef TIDEMARK_RECORDER_EXECUTED_H
#define TIDEMARK_RECORDER_EXECUTED_H

enum executed {
    EXECUTED_LOADS_US = 0, /* also if it cannot be executed or read */
    EXECUTED_PRIVILEGED,   /* setuid, setgid: its loader ignores LD_PRELOAD */
    EXECUTED_STATIC,       /* it has no loader; programs that it executes get its LD_PRELOAD */
    EXECUTED_HARMED,       /* our library would do harm: the loader of a program of 32 bits or for
                            * another machine prints a warning, and a sanitizer's run-time refuses
                            * to run unless it is the first library */
};

/* For a script, the answer is that of its interpreter. Changes errno. */
enum executed executed_look_at(const char *path);

#endif
