/* What ps and maps share: how they are shown, and numbers of processes. */
#ifndef TIDEMARK_COMMANDS_PROC_OUTPUT_H
#define TIDEMARK_COMMANDS_PROC_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/options.h"
#include "base/term.h"
#include "system_memory/show.h"

enum proc_format { PROC_TEXT, PROC_JSON, PROC_CSV };

struct proc_arguments {
    uint64_t top, width;
    int colour, format;
    bool json, pager;
};
#define PROC_ARGUMENTS                                                                             \
    {                                                                                              \
        .top = UINT64_MAX, .pager = true                                                           \
    }

#define PROC_FORMAT_ENTRY(TO)                                                                      \
    {                                                                                              \
        "format", 'f', OPTION_CHOICE, "text|json|csv",                                             \
            "a table, or all figures in bytes for programs (default: text)", TO(format), false,    \
            NULL                                                                                   \
    }

/* Fills in what was not given: `top` in text, all for programs. */
void proc_settle_arguments(struct proc_arguments *arguments, uint64_t top);
/* As wide as the terminal or --width, and no wider: lines of ps have room in 40 columns. */
size_t proc_narrow_columns(const struct proc_arguments *arguments, size_t usual);
struct show_options proc_settle(const struct proc_arguments *arguments);

struct term_pager proc_pager(const struct proc_arguments *arguments);
/* The exit status. A reader that stops early is no error. */
int proc_close(const struct options_command *command, struct term_pager *pager, int error);

/* 0, or the exit status after it was said that `word` is no number of a process. */
int proc_take_pid(const struct options_command *command, const char *word, pid_t *pid);

#endif
