/* What a program is, before it is started: whether the recorder can be loaded into it, and if not,
 * why. Reads files, runs nothing. */
#ifndef TIDEMARK_PROCFS_EXECUTABLE_H
#define TIDEMARK_PROCFS_EXECUTABLE_H

#include <limits.h>
#include <stdbool.h>

enum program_kind {
    PROGRAM_DYNAMIC = 0, /* can be recorded */
    PROGRAM_STATIC,      /* no loader: nothing can be preloaded */
    PROGRAM_STATIC_PIE,  /* the same */
    PROGRAM_FOREIGN,     /* another machine, or 32-bit */
    PROGRAM_PRIVILEGED,  /* setuid, setgid or file capabilities: the loader ignores LD_PRELOAD */
    PROGRAM_SANITIZED,   /* a sanitizer's allocator must come first */
    PROGRAM_NOT_FOUND,
    PROGRAM_NOT_EXECUTABLE, /* no permission */
    PROGRAM_DIRECTORY,
    PROGRAM_NO_INTERPRETER, /* its interpreter (script) or loader (ELF) is missing */
    PROGRAM_TOO_DEEP,       /* scripts run by scripts run by … */
    PROGRAM_BROKEN,         /* an ELF file that cannot be a program */
};

struct program {
    enum program_kind kind; /* of a script: its interpreter's */
    bool script;
    char path[PATH_MAX];        /* the file found; "" if none */
    char interpreter[PATH_MAX]; /* of a script: the ELF file that runs in the end */
    char
        detail[PATH_MAX + 128]; /* one sentence without a full stop: "/bin/x is a 32-bit program" */
};

/* Finds `name` as execvp() would, in `path_variable` (NULL: the system's default) unless there is a
 * slash in it, and looks into it. Privileges are judged for the calling user. "#!/usr/bin/env x" is
 * judged by env, which is what is loaded first. */
void executable_classify(struct program *program, const char *name, const char *path_variable);

#endif
