/* What of Tidemark works on this machine, and what to do where it does not. A finding comes from a
 * trial where a trial is harmless, and else from what the kernel says.
 *
 * doctor_machine.c tries system calls and reads policies and limits. doctor_tools.c looks for
 * directories, debuginfod, MPI and allocators, and records `true`. doctor_program.c reads one
 * program's file. */
#ifndef TIDEMARK_DOCTOR_DOCTOR_H
#define TIDEMARK_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "base/strbuf.h"

enum doctor_state {
    DOCTOR_OK = 0,
    DOCTOR_NOTE,    /* works, but something is missing that would make it better */
    DOCTOR_PROBLEM, /* recording does not work, or not as it should */
};

struct doctor_finding {
    const char *area; /* "kernel" */
    enum doctor_state state;
    char *what;   /* what was found */
    char *advice; /* what to do; NULL: nothing */
};

struct doctor {
    struct doctor_finding *findings;
    size_t count;
};

/* `advice` may be NULL; `format` makes what was found. Out of memory ends the process, as for
 * strbufs. */
void doctor_add(struct doctor *doctor, const char *area, enum doctor_state state,
                const char *advice, const char *format, ...) __attribute__((format(printf, 5, 6)));
void doctor_release(struct doctor *doctor);
size_t doctor_problems(const struct doctor *doctor);

/* Processor, kernel, C library, limits, policies. */
void doctor_look_at_machine(struct doctor *doctor);
/* Directories, debuginfod, commands. `executable`: the path of tidemark itself. */
void doctor_look_at_tools(struct doctor *doctor, const char *executable);
/* Records `true` with `executable`, and says whether that worked. */
void doctor_try_recording(struct doctor *doctor, const char *executable);
/* Can the program be recorded, and will there be names, lines and whole call paths? `program` is
 * searched for as a shell does. */
void doctor_look_at_program(struct doctor *doctor, const char *program);

/* 0 or -errno of the stream. */
int doctor_text(FILE *out, const struct doctor *doctor, bool colour, size_t columns);
int doctor_json(FILE *out, const struct doctor *doctor);

#endif
