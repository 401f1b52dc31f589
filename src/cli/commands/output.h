/* What commands share that print for people: options, width, and how they complain. */
#ifndef TIDEMARK_COMMANDS_OUTPUT_H
#define TIDEMARK_COMMANDS_OUTPUT_H

#include <stddef.h>
#include <stdint.h>
#include "base/options.h"
#include "base/term.h"

/* TO(): as in the command's own entries; its arguments have json, colour, pager and width. */
#define OUTPUT_ENTRIES(TO, json_document) OUTPUT_ENTRIES_FROM(TO, json_document, "72")
/* Of a command that shows lines of `least` columns at least. */
#define OUTPUT_ENTRIES_FROM(TO, json_document, least)                                              \
    {"json",   'j',   OPTION_FLAG, NULL, "JSON, as doc/" json_document " describes",               \
     TO(json), false, NULL},                                                                       \
        OUTPUT_LOOK_ENTRIES_FROM(TO, least)

/* The same without JSON. */
#define OUTPUT_LOOK_ENTRIES(TO) OUTPUT_LOOK_ENTRIES_FROM(TO, "72")
/* clang-format off */
#define OUTPUT_LOOK_ENTRIES_FROM(TO, least)                                                        \
    {"color", 0, OPTION_CHOICE, TERM_COLOUR_CHOICE,                                                \
     "colour (default: auto; NO_COLOR is respected)", TO(colour), true, NULL},                    \
    {"pager", 0, OPTION_SWITCH, NULL, "$PAGER or less, on a terminal (default: yes)", TO(pager),   \
     true, NULL},                                                                                 \
    {"width", 'w', OPTION_NUMBER, "COLUMNS",                                                       \
     "as wide as this, " least " at least (default: the terminal, else 80)", TO(width), true, NULL}
/* clang-format on */

#define HIDE_STD_ENTRY(TO)                                                                         \
    {                                                                                              \
        "hide-std", 0, OPTION_SWITCH, NULL,                                                        \
            "leave out frames of the C, C++, Rust and Python libraries (default: yes)",            \
            TO(hide_std), false, NULL                                                              \
    }

/* Functions that only pass memory on (aggregate/wrappers.h). For option entries of OPTION_CALL. */
int output_add_wrappers(void *unused, const char *pattern);
int output_add_no_wrappers(void *unused, const char *pattern);
/* clang-format off */
#define WRAPPER_ENTRIES                                                                            \
    {"through", 0, OPTION_CALL, "REGEX",                                                           \
     "functions that only pass memory on: who calls them is shown as the owner (default: those "   \
     "that look like it); may be repeated", 0, true, output_add_wrappers},                         \
    {"not-through", 0, OPTION_CALL, "REGEX",                                                       \
     "functions that own what they ask for, whatever they look like; may be repeated", 0, true,   \
     output_add_no_wrappers}
/* clang-format on */

/* A sentence on stderr, made safe for terminals. Returns the exit status for it. */
int output_complain(const char *command, const char *sentence);
int output_complainf(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for a program that is not called "tidemark COMMAND". */
int output_complain_as(const char *program, const char *sentence);

/* Ends the output of a command: closes `pager`, and complains if that fails or `error`, of the
 * writing, is not 0. Returns the exit status. A reader that stops early is no error. */
int output_close(const char *command, struct term_pager *pager, int error);
/* Is standard output a pipe whose reader has closed it? */
bool output_reader_is_gone(void);

/* Columns of output on stdout: `width` if it is not 0, else the terminal's, `usual_most` at most.
 */
size_t output_columns(uint64_t width, size_t usual_most);

#endif
