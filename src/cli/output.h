/* Options that every command has that prints a profile for people. */
#ifndef TIDEMARK_CLI_OUTPUT_H
#define TIDEMARK_CLI_OUTPUT_H

#include "base/options.h"
#include "base/term.h"

/* TO(): as in the command's own entries; its arguments have json, colour, pager and width. */
#define OUTPUT_ENTRIES(TO, json_document)                                                          \
    {"json", 'j', OPTION_FLAG, NULL, "JSON, as doc/" json_document " describes", TO(json), false,  \
     NULL},                                                                                        \
    {"color", 0, OPTION_CHOICE, TERM_COLOUR_CHOICE,                                                \
     "colour (default: auto; NO_COLOR is respected)", TO(colour), false, NULL},                    \
    {"pager", 0, OPTION_SWITCH, NULL, "$PAGER or less, on a terminal (default: yes)", TO(pager),   \
     false, NULL},                                                                                 \
    {"width", 'w', OPTION_NUMBER, "COLUMNS",                                                       \
     "as wide as this, 72 at least (default: the terminal, else 80)", TO(width), false, NULL}

#endif
