/* A file that is written whole or not at all: it gets its name when it is whole, so that a kill
 * leaves nothing. An existing file is replaced only where that was asked for. Sentences go to
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
    struct strbuf temporary; /* of whole_file_name(): a name to be moved to `name`; "": none */
    bool in_place;           /* whole_file_name() gave `name` itself: nothing was there */
};

/* Refuse a name that is one of the input files, and one that is a profile or a trace: nobody means
 * to replace these, not by --force either. */
int whole_file_spare(const char *command, const char *name, const char *const *inputs,
                     size_t count);
int whole_file_spare_ours(const char *command, const char *name);

int whole_file_open(struct whole_file *file, const char *command, const char *name, bool force);
/* For callers that make a file by name and do not use `out`. Returns `name`, or where a file may
 * have to be replaced, an unused name beside it. NULL, after a sentence. */
const char *whole_file_name(struct whole_file *file);
/* `status`: of the writing; if it is not 0, the file does not appear. Says "wrote NAME". */
int whole_file_close(struct whole_file *file, int status);

/* The default name for a file made of `source`: `ending` takes the place of .tmk and .tmt. */
void whole_file_default_name(struct strbuf *name, const char *source, const char *ending);

/* Complains: "WHAT NAME: the error". Returns the exit status. */
int whole_file_complain_of(const char *command, const char *what, const char *name, int error);

#endif
