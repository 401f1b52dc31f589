/* What html and export share: what is hidden of a profile before it is passed on. */
#ifndef TIDEMARK_COMMANDS_REDACTION_H
#define TIDEMARK_COMMANDS_REDACTION_H

#include "base/options.h"
#include "redact/redact.h"

struct redaction_arguments {
    int level; /* enum redact_level */
    const char *salt;
};

/* TO(): as in the command's own entries; its arguments have a redaction. */
#define REDACTION_ENTRIES(TO)                                                                      \
    {"redact",                                                                                     \
     0,                                                                                            \
     OPTION_CHOICE,                                                                                \
     REDACT_CHOICE,                                                                                \
     "what is hidden: secrets (default), places, names too",                                       \
     TO(redaction.level),                                                                          \
     false,                                                                                        \
     NULL},                                                                                        \
    {                                                                                              \
        "redact-salt", 0, OPTION_STRING, "TEXT", "the same hashes in every file",                  \
            TO(redaction.salt), true, NULL                                                         \
    }

/* Notes on stderr how many were hidden, since secrets are hidden without being asked for. Nothing
 * where `secrets` is 0. */
void redaction_say_hidden(const char *command, size_t secrets);

#endif
