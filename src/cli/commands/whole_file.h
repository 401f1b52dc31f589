/* A file that is written whole or not at all: it has no name until it is whole, so that a kill
 * leaves nothing. What is there already is replaced only where that was asked for. Sentences go to
 * stderr, "tidemark COMMAND: …"; the functions return an exit status. */
#ifndef TIDEMARK_COMMANDS_WHOLE_FILE_H
#define TIDEMARK_COMMANDS_WHOLE_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include "base/new_file.h"
#include "base/strbuf.h"

struct whole_file {
    const char *command, *name;
    bool force; /* replace what is there */
    FILE *out;
    struct new_file made;
    struct strbuf temporary; /* its name, where who writes it gives it one; else "" */
    bool in_place;           /* that is `name`: nothing is to be replaced */
};

/* Refuses a name that is one of the files that are read, and one that is a profile or a trace:
 * replacing these is never what was meant, not by --force either. */
int whole_file_spare(const char *command, const char *name, const char *const *inputs,
                     size_t count);
int whole_file_spare_ours(const char *command, const char *name);

int whole_file_open(struct whole_file *file, const char *command, const char *name, bool force);
/* For who makes a whole file of his own, and not `out`: its name; where something may have to be
 * replaced, one beside the place, which nobody has. NULL: a sentence was said. */
const char *whole_file_name(struct whole_file *file);
/* `status` is of the writing: other than 0, and the file does not appear. Says "wrote NAME". */
int whole_file_close(struct whole_file *file, int status);

/* The name of what is made of `source` where none was given: .tmk and .tmt make way for
 * `ending`. */
void whole_file_default_name(struct strbuf *name, const char *source, const char *ending);

/* "WHAT NAME: the error", as these say it. Returns the exit status for it. */
int whole_file_complain_of(const char *command, const char *what, const char *name, int error);

#endif
