/* Says how many secrets of a command line were hidden (redaction.h). It writes one line on
 * standard error, and only if there were secrets. */
#include "commands/redaction.h"

#include <stdio.h>

void redaction_say_hidden(const char *command, size_t secrets)
{
    if (secrets)
        fprintf(stderr,
                "tidemark %s: %zu secret%s in the command line %s hidden (--redact=no keeps %s)\n",
                command, secrets, secrets == 1 ? "" : "s", secrets == 1 ? "is" : "are",
                secrets == 1 ? "it" : "them");
}
